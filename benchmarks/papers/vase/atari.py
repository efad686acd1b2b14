"""VasE, section 4.1 and appendix F: eight and ten agents on 54 Atari games."""

import math
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from benchmarks.papers.atari import ScoreTable, ten_agents
from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import DATA, Drawn, Output, Run, Value, claim, equal, unprinted
from benchmarks.papers.vase.methods import Scores, compared, methods, printed_table
from benchmarks.papers.vase.paper import PAPER
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.equilibria import AlphaRankOptions, alpharank, nash_average
from ratings_core.games import agent_vs_task
from ratings_core.solution import Floats
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.profile import Profile

TIED = (("freeway", "ddqn", "dist-dqn"), ("pong", "dqn", "noisy-dqn"), ("pong", "prio-ddqn", "dist-dqn"))
"""Pairs of agents with equal scores on a game. The paper breaks them at random for each method."""
SMOOTHING = 0.02
"""Wins added to each agent of each pair before the Elo fit. With it the fit gives the printed ratings of both tables."""
PRINTED_ELO = {
    8: {"rainbow": 424, "dist-dqn": 325, "prio-ddqn": 274, "duel-ddqn": 238, "a3c": 213, "ddqn": 162, "noisy-dqn": 92, "dqn": 0},
    10: {"rainbow": 1049, "dist-dqn": 953, "prio-ddqn": 912, "duel-ddqn": 880, "a3c": 855, "human": 849, "ddqn": 810, "noisy-dqn": 748}
    | {"dqn": 658, "random": 0},
}


def resolutions(table: ScoreTable) -> Iterator[tuple[str, Profile]]:
    """Profiles of the table for each of the eight ways to break the three ties."""
    for chosen in product(*[(first, second) for _, first, second in TIED]):
        scores = table.scores.copy()
        for (game, *_), agent in zip(TIED, chosen, strict=True):
            scores[table.agents.index(agent), table.games.index(game)] += 1e-6
        how = f"ties: {chosen[0]} ahead on freeway, {chosen[1]} and {chosen[2]} on pong"
        yield how, Profile.from_scores(scores, names=table.agents)


def votes(number: str, agents: int) -> list[Value]:
    """All methods of table 6 or 7 beside the printed scores."""
    table = ten_agents().first(agents)
    printed = printed_table(DATA / "vase" / "tables_6_7.csv", table=number)
    values = []
    for name, method in methods(approved=3, winners=3).items():
        if name == "iml":
            even = printed[name] | dict.fromkeys(("a3c", "duel-ddqn"), f"{math.floor(float(printed[name]['a3c'])) + 0.5}")
            expected = [float(even[agent]) for agent in table.agents]
            values.append(compared(name, method, resolutions(table), printed[name], tolerance=5e-3, reason=EVEN, expected=expected))
        else:
            values.append(compared(name, method, resolutions(table), printed[name]))
    return values


EVEN = "a3c and duel-ddqn have a margin of 0, so every split of their level is a maximal lottery; ours has the largest entropy"


def elo(profile: Profile) -> Floats:
    """Batch Elo above the lowest agent, in points, from votes as wins."""
    wins = profile.preferences() + SMOOTHING * (1 - np.eye(len(profile.names)))
    ratings = bradley_terry(wins).ratings
    return np.asarray(ratings - ratings.min())


def elo_value(agents: int) -> Value:
    """Table 5: Elo ratings of the agents, for the resolution of ties that comes nearest to the printed ones."""
    table, printed = ten_agents().first(agents), PRINTED_ELO[agents]
    wanted = np.array([float(printed[name]) for name in table.agents])
    ratings = min((elo(profile) for _, profile in resolutions(table)), key=lambda found: float(np.abs(found - wanted).max()))
    value = equal(f"Elo: {', '.join(table.agents)}", wanted, ratings, tolerance=1.0)
    return Value(value.label, value.printed, value.ours, value.match, "tolerance 1 point")


@PAPER.item("table-5", "Table 5", "Elo ratings of Atari agents")
def table_5(_: Run) -> Output:
    note = f"""Ratings above the lowest agent. Each vote counts as a win of the agent that it ranks higher. The printed ratings of ten
agents need {SMOOTHING} wins added to each agent of each pair, because the lowest agent wins almost never. We add them in both tables."""
    return Output([elo_value(8), elo_value(10)], note=note)


TABLE_2 = {
    "approval": "rainbow, dist-dqn, prio-ddqn, a3c, duel-ddqn, ddqn, noisy-dqn, dqn",
    "borda": "rainbow, dist-dqn, prio-ddqn, duel-ddqn, a3c, ddqn, noisy-dqn, dqn",
    "plurality": "rainbow, a3c, dist-dqn, prio-ddqn, duel-ddqn, ddqn, noisy-dqn, dqn",
    "stv": "rainbow, dist-dqn, a3c, prio-ddqn, duel-ddqn, ddqn, noisy-dqn, dqn",
}
"""Rankings of table 2. Its column A is that of approval and of four more methods, B of Borda and Copeland."""
COLUMNS = {"kemeny_young": "approval", "iml": "approval", "ranked_pairs": "approval", "schulze": "approval", "copeland": "borda"}
IN_TABLE_6 = {
    "ranked_pairs": "rainbow, dist-dqn, prio-ddqn, duel-ddqn, a3c, ddqn, noisy-dqn, dqn",
    "stv": "rainbow, dist-dqn, a3c, duel-ddqn, prio-ddqn, noisy-dqn, ddqn, dqn",
}
"""Rankings of table 6 that contradict table 2."""


def ranks(scores: Scores, agents: tuple[str, ...], order: list[str]) -> bool:
    """Whether the scores of the agents do not increase along an order."""
    given = [float(scores[agents.index(agent)]) for agent in order]
    return all(above >= below - 1e-9 for above, below in pairwise(given))


def _only_a3c(rankings: dict[str, str]) -> Value:
    """Observation 2, tested on our rankings: without a3c, all methods have one order."""
    orders = {name: ", ".join(agent for agent in ranking.split(", ") if agent != "a3c") for name, ranking in rankings.items()}
    others = sorted(name for name, order in orders.items() if order != orders["approval"])
    reason = "the printed stv of table 2 agrees with it; the one of table 6, which our scores give, moves four more agents"
    return claim(
        "only a3c changes its relative rank (observation 2)",
        "yes, by all methods",
        f"not by {', '.join(others)}" if others else "yes, by all methods",
        holds=not others,
        reason=reason if others == ["stv"] else "",
    )


@PAPER.item("table-2", "Table 2, observation 2", "Rankings of eight Atari agents")
def table_2(_: Run) -> Output:
    table = ten_agents().first(8)
    profiles = list(resolutions(table))
    values, ours = [], {}
    for name, method in methods(approved=3, winners=3).items():
        printed = TABLE_2[COLUMNS.get(name, name)]
        solved = [method(profile, ties) for _, profile in profiles for ties in ("order", *range(12))]
        possible = [
            order
            for order in (printed, IN_TABLE_6.get(name, printed))
            if any(ranks(scores, table.agents, order.split(", ")) for scores in solved)
        ]
        reason, expected = (
            ("table 6 has this other ranking, and so have our scores", IN_TABLE_6[name]) if name in IN_TABLE_6 else ("", None)
        )
        ours[name] = possible[0] if possible else "another ranking"
        values.append(equal(f"ranking by {name}", printed, ours[name], reason=reason, expected=expected))
    values.append(_only_a3c(ours))
    note = "A ranking matches if it is that of the scores for one of the eight resolutions of equal game scores, in one order of ties."
    return Output(values, note=note)


NOTE = """Votes are the agents' order on each game. Two games have equal scores (freeway, pong). The paper breaks such ties at random for
each method. The last column names which of the eight resolutions gives the printed scores."""


@PAPER.item("table-6", "Table 6, observation 1", "Eight Atari agents by every method")
def table_6(_: Run) -> Output:
    table = ten_agents().first(8)
    profiles = list(resolutions(table))
    distinct = {len({ballot.levels for ballot in profile.ballots}) for _, profile in profiles}
    strong = {condorcet_winners(profile.margins()).strong for _, profile in profiles}
    values = [
        *votes("6", 8),
        claim("every vote is unique (observation 1)", "54 of 54", f"{min(distinct)} of 54", holds=distinct == {54}),
        claim("rainbow is the strong Condorcet winner", "yes", "yes", holds=strong == {table.agents.index("rainbow")}),
    ]
    return Output(values, note=NOTE)


@PAPER.item("table-7", "Table 7", "The same with a human and a random agent")
def table_7(_: Run) -> Output:
    table = ten_agents()
    strong = {condorcet_winners(profile.margins()).strong for _, profile in resolutions(table)}
    values = [
        *votes("7", 10),
        claim("rainbow stays the strong Condorcet winner", "yes", "yes", holds=strong == {table.agents.index("rainbow")}),
    ]
    return Output(values, note=NOTE)


@PAPER.item("atari-nash", "Section 4.1, observations 4 to 6", "Adversarial task selection by Nash averaging")
def nash(_: Run) -> Output:
    values: list[Value] = []
    figure, panels = grid(columns=2, width=7.4, height=2.8)
    for axes, (agents, worth, core, mix) in zip(
        panels,
        (
            (8, 0.3891, "a3c, dist-dqn, duel-ddqn, rainbow", {"assault": 0.36, "boxing": 0.29, "breakout": 0.26, "venture": 0.09}),
            (10, 0.4253, "a3c, dist-dqn, human, rainbow", {"asterix": 0.032, "breakout": 0.39, "gopher": 0.17, "montezuma_revenge": 0.40}),
        ),
        strict=True,
    ):
        table = ten_agents().first(agents)
        solved = nash_average(table.normalised())
        top = sorted(name for name, rating in zip(table.agents, solved.ratings, strict=True) if rating >= solved.value - 1e-9)
        ours = {game: float(share) for game, share in zip(table.games, solved.task_dist, strict=True) if share > 1e-9}
        values += [
            equal(f"{agents} agents: value of the best agents", worth, solved.value, tolerance=5e-5),
            equal(f"{agents} agents: tie for first place", core, ", ".join(top)),
            equal(f"{agents} agents: games with mass", ", ".join(sorted(mix)), ", ".join(sorted(ours))),
        ]
        values += [
            equal(f"{agents} agents: mass of {game}", share, ours.get(game, 0.0), tolerance=5e-4 if game == "asterix" else 5e-3)
            for game, share in mix.items()
        ]
        axes.barh(sorted(ours, reverse=True), [ours[game] for game in sorted(ours, reverse=True)], color=COLOURS[1])
        axes.set(title=f"{agents} agents", xlabel="probability")
    raw = nash_average(ten_agents().first(8).scores)
    raw_games = [game for game, share in zip(ten_agents().games, raw.task_dist, strict=True) if share > 1e-9]
    values.append(equal("raw scores: games with mass (observation 4)", "skiing", ", ".join(raw_games)))
    unused = {agents: 1 - sum(value.label.startswith(f"{agents} agents: mass") for value in values) / 54 for agents in (8, 10)}
    values.append(
        claim(
            "share of games without mass (observations 5, 6)",
            "more than 92 %",
            f"{min(unused.values()):.1%}",
            holds=min(unused.values()) > 0.92,
        )
    )
    caption = "Games that the Nash average uses to rate eight agents (left) and ten (right). Two more agents change three of four games."
    note = "Scores are scaled to 0..1 in each game (observation 4 says what happens without)."
    return Output(values, [Drawn("tasks", caption, figure)], note=note)  # fmt: skip


@PAPER.item("alpha-rank", "Appendix F.0.3, figures 7 and 8", "alpha-Rank of the Atari agents")
def alpha_rank(_: Run) -> Output:
    table = ten_agents().first(8)
    found = alpharank(agent_vs_task(table.normalised()).game, options=AlphaRankOptions(alpha=float("inf"), noise=1e-4))
    agents, games = found.marginals
    order = [table.agents[a] for a in np.argsort(-agents)]
    printed = "rainbow, dist-dqn, duel-ddqn, prio-ddqn, a3c, ddqn, noisy-dqn, dqn"
    values = [
        equal("ranking", printed, ", ".join(order)),
        equal("smallest and largest probability of an agent", (0.07, 0.21), (agents.min(), agents.max()), tolerance=5e-3),
        equal("smallest and largest probability of a game", (0.005, 0.057), (games.min(), games.max()), tolerance=1e-3),
        unprinted("probabilities of the agents", ", ".join(f"{name} {agents[table.agents.index(name)]:.3f}" for name in order)),
    ]
    figure, (left, right) = grid(columns=2, width=7.4, height=3.4)
    left.barh(order[::-1], np.sort(agents), color=COLOURS[0])
    left.set(title="Agents (figure 8)", xlabel="probability")
    right.bar(np.arange(1, len(games) + 1), np.sort(games)[::-1], color=COLOURS[1])
    right.set(title="Games, largest first (figure 7)", xlabel="rank of the game", ylabel="probability")
    note = (
        "alpha-Rank of the normalised table in the limit of strong selection. A noise of 1e-2 to 1e-6 gives the same ranking; this is 1e-4."
    )
    return Output(values, [Drawn("masses", "Stationary probabilities of agents and games.", figure)], note=note)

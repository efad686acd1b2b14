"""Section 4.2 of Balduzzi et al. 2018: agents on Atari games."""

import numpy as np
from matplotlib.figure import Figure

from benchmarks.papers.atari import ScoreTable, ten_agents, twenty_agents
from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from benchmarks.papers.nash_averaging.paper import PAPER
from ratings_core.equilibria import nash_average
from ratings_core.solution import Floats


def atari_values(table: ScoreTable) -> tuple[list[Value], list[Drawn]]:
    """Nash average of a table of normalised scores: core agents and games, and both figures of section 4.2."""
    S = table.normalised()
    solved, plain = nash_average(S), S.mean(axis=1)
    core = [a for a in np.argsort(-solved.agent_dist) if solved.agent_dist[a] > 1e-9]
    games = [t for t in np.argsort(-solved.task_dist) if solved.task_dist[t] > 1e-9]
    values = [
        unprinted(f"{len(core)} core agents", ", ".join(f"{table.agents[a]} {solved.agent_dist[a]:.3f}" for a in core)),
        unprinted(f"{len(games)} core games", ", ".join(f"{table.games[t]} {solved.task_dist[t]:.3f}" for t in games)),
        unprinted("Nash average of the core agents", solved.value),
        claim(
            "agents with mass tie for the top",
            "yes",
            "equal to 1e-7",
            holds=bool(np.ptp(solved.ratings[core]) < 1e-7 and solved.ratings[core].min() >= solved.ratings.max() - 1e-7),
        ),
    ]
    values += [
        unprinted(f"{agent}: uniform average, Nash average", (round(float(a), 4), round(float(b), 4)))
        for agent, a, b in zip(table.agents, plain, solved.ratings, strict=True)
    ]
    mixes, (left, right) = grid(columns=2, width=7.4, height=3.2)
    left.barh([table.agents[a] for a in core][::-1], solved.agent_dist[core][::-1], color=COLOURS[0])
    right.barh([table.games[t] for t in games][::-1], solved.task_dist[games][::-1], color=COLOURS[1])
    left.set(title="Core agents", xlabel="probability")
    right.set(title="Core games", xlabel="probability")
    skills = two_averages(table.agents, plain, solved.ratings, "score, 0 to 1", "Skills of agents")
    difficulties = two_averages(table.games, -S.mean(axis=0), solved.task_ratings, "minus the score, -1 to 0", "Difficulty of games")
    drawn = [
        Drawn("mixes", "Nash distributions over agents and games (the paper's figure 1).", mixes),
        Drawn("skills", "Skills under uniform averages over games and under Nash averages (the paper's figure 2A).", skills),
        Drawn(
            "difficulties", "Difficulty under uniform averages over agents and under Nash averages (the paper's figure 2B).", difficulties
        ),
    ]
    return values, drawn


def two_averages(names: tuple[str, ...], plain: Floats, nash: Floats, unit: str, title: str) -> Figure:
    """Bars of uniform and Nash averages of agents or games, best at the top."""
    figure, (axes,) = grid(width=6.4, height=(0.26 if len(names) < 30 else 0.16) * len(names) + 1.2)
    order = np.argsort(plain)
    place = np.arange(len(names))
    axes.barh(place + 0.2, plain[order], 0.4, color=COLOURS[4], label="uniform average")
    axes.barh(place - 0.2, nash[order], 0.4, color=COLOURS[0], label="Nash average")
    axes.set_yticks(place, [names[one] for one in order], fontsize=9 if len(names) < 30 else 7)
    axes.set(xlabel=unit, title=title, ylim=(-0.8, len(names) - 0.2))
    axes.legend(loc="best")
    return figure


@PAPER.item("atari", "Section 4.2, figures 1 and 2", "Re-evaluation of Atari agents")
def re_evaluation(_: Run) -> Output:
    table = ten_agents()
    values, drawn = atari_values(table)
    S = table.normalised()
    solved = nash_average(S)
    human = table.agents.index("human")
    tied = bool(solved.ratings[human] >= solved.ratings.max() - 1e-7)
    rank = int((S.mean(axis=1) > S.mean(axis=1)[human]).sum()) + 1
    values += [
        claim("human ties with the best agents", "yes", f"{'yes' if tied else 'no'}; rank {rank} of 10 by uniform averages", holds=tied),
    ]
    note = """The paper has 20 agents on 54 games, from four papers, and prints no table of them. We run the ten agents whose scores are in
`atari_10_agents.csv`, among them agents that the paper names: rainbow, dueling networks, prioritised replay, DQN, human and random."""
    return Output(values, drawn, note=note)


@PAPER.item("atari-20", "Section 4.2", "The same with 20 newer agents")
def newer_agents(_: Run) -> Output:
    values, drawn = atari_values(twenty_agents())
    note = """Scores of 20 newer agents on 53 games, as Marris et al. print them (their table 3). The human does not tie for the
top here."""
    return Output(values, drawn, note=note)

"""Every registered method against the laws of boards; parameters; what does not apply says why."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ratings_core.batch.comparisons import Comparisons
from ratings_core.equilibria import AlphaRankOptions, alpharank, cce, lle
from ratings_core.errors import InputError
from ratings_core.games import NormalForm, agent_vs_agent_vs_task, agent_vs_task
from ratings_core.games.duel_prior import KAPPAS
from ratings_core.methods import registry
from ratings_core.methods.method import Takes
from ratings_core.methods.parameters import accepted
from ratings_core.methods.registry import METHODS, NotApplicable
from ratings_core.options import Parameter, Value
from ratings_core.problems.inputs import FeaturesInput, GamesInput, MarginsInput, PairsInput, Problem, ProfileInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts
from ratings_core.voting.profile import Ballot, Profile
from services.solve.registry import methods
from services.solve.registry.methods import solve
from services.wire.pools import Kind

GOLDEN = Path(__file__).parents[2] / "golden"
SCORES = ScoresInput(("zed", "amy", "bob"), ("t2", "t1", "t3"), np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]]))
UNEVEN = ScoresInput(("zed", "amy", "bob"), ("t2", "t1", "t3"), np.array([[0.1, 2.3, 1.0], [1.7, 0.4, 2.1], [1.2, 1.5, 0.3]]))
WINS = np.array([[0.0, 3, 1, 2], [1, 0, 4, 2], [3, 1, 0, 2], [1, 1, 1, 0]])
PAIRS = PairsInput(("zed", "amy", "bob", "cyd"), PairCounts.from_dense(WINS))
PLACES = PlaceCounts(*(np.array(column, np.int32) for column in ([0, 1, 2, 3], [4] * 4, [0, 1, 1, 3], [1, 2, 2, 1])), np.full(4, 3.0))
NO_PLACES = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
GAMES = GamesInput(PAIRS.names, PAIRS.counts, PLACES, ("t2", "t1"), (PAIRS.counts, PairCounts.from_dense(WINS.T)))
MET = [(a, b, 1.0) for a in range(4) for b in range(4) for _ in range(int(WINS[a, b]))]
FEATURES = FeaturesInput(
    PAIRS.names,
    Comparisons(
        4,
        np.array([a for a, _, _ in MET]),
        np.array([b for _, b, _ in MET]),
        np.ones(len(MET)),
        np.arange(len(MET)),
        np.ones(len(MET)),
    ),
    np.random.default_rng(0).normal(size=(len(MET), 2)),
    ("length", "headers"),
)
MARGINS = MarginsInput(PAIRS.names, PAIRS.margins)
ORDERS = [(3, ((0,), (1, 2))), (2, ((2,), (1,), (0,))), (2, ((3,), (0,))), (2, ((1,),))]
BALLOTS = ProfileInput(Profile.from_ballots([Ballot(weight, levels) for weight, levels in ORDERS], PAIRS.names))


def problems(method: str) -> list[Problem]:
    taken: dict[Takes, list[Problem]] = {
        Takes.PROFILE: [SCORES, BALLOTS],
        Takes.PLACES: [SCORES, BALLOTS, GAMES],
        Takes.TASK_PAIRS: [SCORES, GAMES],
        Takes.PAIRS: [SCORES, BALLOTS, GAMES, PAIRS],
        Takes.MARGINS: [SCORES, BALLOTS, GAMES, PAIRS, MARGINS],
        Takes.FEATURES: [FEATURES],
    }
    return taken[METHODS[method].takes]


CASES = [(method, problem) for method in METHODS for problem in problems(method)]


@pytest.mark.parametrize(("method", "problem"), CASES)
def test_boards_are_sorted_ranked_and_certified(method: str, problem: Problem) -> None:
    found = solve(method, problem)
    ratings = [None if row.rating is None else round(row.rating, 12) for row in found.agents]  # equal ones are ordered by name
    assert sorted(row.agent for row in found.agents) == sorted(problem.names)
    assert ratings == sorted(ratings, reverse=True, key=lambda rating: -math.inf if rating is None else rating) or len(set(ratings)) == 1
    assert [row.rank for row in found.agents] == sorted(row.rank for row in found.agents)
    assert found.agents[0].rank == 1
    assert found.status == "optimal"
    assert 0 <= (found.certificate.value or 0.0) <= 1e-6
    assert found.method == method


@pytest.mark.parametrize(("method", "problem"), CASES)
def test_the_order_of_agents_in_the_input_changes_nothing(method: str, problem: Problem) -> None:
    found, again = solve(method, problem), solve(method, problem.by_name())
    assert found.agents == again.agents
    assert found.tasks == again.tasks


@pytest.mark.parametrize(("method", "problem"), CASES)
def test_ordered_ties_number_agents_without_gaps(method: str, problem: Problem) -> None:
    found = solve(method, problem, ties="order")
    assert [row.rank for row in found.agents] == list(range(1, len(problem.names) + 1))


@pytest.mark.parametrize(("method", "problem"), CASES)
def test_unknown_parameters_are_refused_naming_the_known_ones(method: str, problem: Problem) -> None:
    with pytest.raises(InputError, match=METHODS[method].parameters[0].name):
        solve(method, problem, {"no_such": 1.0})


@pytest.mark.parametrize(("method", "problem"), CASES)
def test_defaults_may_be_given(method: str, problem: Problem) -> None:
    given = {parameter.name: parameter.default for parameter in METHODS[method].parameters}
    assert solve(method, problem, given).agents == solve(method, problem).agents
    text = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    assert solve(method, problem, text).agents == solve(method, problem).agents


def test_atari_nash_average_is_the_published_one() -> None:
    rows = [line.split(",") for line in (GOLDEN / "deviation" / "atari_table3.csv").read_text().split()]
    table = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]).T
    found = solve("nash_average", ScoresInput(tuple(rows[0][1:]), tuple(row[0] for row in rows[1:]), table))
    assert (len(found.agents), len(found.tasks)) == (20, 53)
    assert found.extra["value"] == pytest.approx(0.4154012609, abs=1e-9)
    assert [row.agent for row in found.agents if row.rank == 1] == ["agent57", "muzero", "r2d2", "r2d2(bandit)"]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_shared_ranks_do_not_depend_on_the_unit_of_scores(scale: float, shift: float) -> None:
    names, tasks = tuple("abcdef"), tuple("vwxyz")
    scores = np.random.default_rng(0).integers(0, 64, (6, 5)) / 64
    plain = solve("nash_average", ScoresInput(names, tasks, scores))
    found = solve("nash_average", ScoresInput(names, tasks, scale * (scores + shift)))
    assert [(row.agent, row.rank) for row in found.agents] == [(row.agent, row.rank) for row in plain.agents]
    assert [(row.task, row.rank) for row in found.tasks] == [(row.task, row.rank) for row in plain.tasks]
    assert 1 < len({row.rank for row in plain.agents}) < 6


def test_shared_ranks_do_not_depend_on_the_scale_of_points() -> None:
    even = PairsInput(("a", "b", "c"), PairCounts.from_dense([[0, 3, 5], [3, 0, 5], [2, 2, 0]]))
    for scale in (1e-6, 173.7, 1e6):
        assert [row.rank for row in solve("bradley_terry", even, {"scale": scale, "centre": 0.0}).agents] == [1, 1, 3]


@pytest.mark.parametrize(
    ("players", "top"), [(3, ["agent57", "muzero", "r2d2(bandit)"]), (2, ["agent57", "muzero", "r2d2", "r2d2(bandit)"])]
)
def test_atari_deviation_ratings_have_the_published_top(players: int, top: list[str]) -> None:
    rows = [line.split(",") for line in (GOLDEN / "deviation" / "atari_table3.csv").read_text().split()]
    table = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]).T
    found = solve("deviation", ScoresInput(tuple(rows[0][1:]), tuple(row[0] for row in rows[1:]), table), {"players": players})
    assert (len(found.agents), len(found.tasks)) == (20, 53)
    assert [row.agent for row in found.agents if row.rank == 1] == top
    assert len(found.extra["payoffs"]) == players
    assert sum(row["probability"] for row in found.extra["equilibrium"]) == pytest.approx(1)
    assert all(len(row["joint"]) == players for row in found.extra["equilibrium"])


@pytest.mark.parametrize("players", [2, 3])
def test_deviation_ratings_of_what_was_dropped_are_null(players: int) -> None:
    scores = np.array([[1.0, math.nan, 2.0], [3.0, 4.0, 2.0], [0.0, 1.0, 2.0]])
    problem = ScoresInput(("a", "b", "c"), ("t", "u", "v"), scores)
    tasks = solve("deviation", problem, {"players": players, "missing": "drop_tasks", "normalise": "minmax"})
    assert (tasks.extra["dropped_tasks"], tasks.extra["constant_tasks"]) == (["u"], ["v"])
    assert {row.task: row.rating is None for row in tasks.tasks} == {"t": False, "u": True, "v": True}
    agents = solve("deviation", problem, {"players": players, "missing": "drop_agents"})
    assert agents.extra["dropped_agents"] == ["a"]
    assert [row.agent for row in agents.agents if row.rating is None] == ["a"]


PUBLISHED = {
    "copeland": "copeland",
    "maximal_lottery": "maximal_lottery",
    "iterated_maximal_lotteries": "iml_score",
    "plurality": "plurality",
    "approval": "approval_k2",
    "borda": "borda",
    "stv": "stv",
    "schulze": "schulze_score",
    "ranked_pairs": "ranked_pairs_score",
    "kemeny": "kemeny_score",
}


@pytest.mark.parametrize("method", PUBLISHED)
def test_pentathlon(method: str) -> None:
    case = json.loads((GOLDEN / "vase" / "pentathlon.json").read_text())
    names = tuple(case["alternatives"])
    votes = [Ballot(vote["weight"], tuple((names.index(name),) for name in vote["ranking"])) for vote in case["votes"]]
    ballots = [vote["ranking"] for vote in case["votes"] for _ in range(vote["weight"])]
    assert len(ballots) == 5
    scores = np.array([[-float(ballot.index(name)) for ballot in ballots] for name in names])
    published = {name: float(score) for name, score in case[PUBLISHED[method]].items()}
    for problem in (ScoresInput(names, tuple("12345"), scores), ProfileInput(Profile.from_ballots(votes, names))):
        assert {row.agent: row.rating for row in solve(method, problem).agents} == pytest.approx(published, abs=1e-9)


def test_voting_methods_say_what_they_found() -> None:
    assert solve("stv", BALLOTS, {"winners": 2}).extra["winners"] == ["zed"]
    assert solve("stv", BALLOTS, {"winners": 2, "tie_rule": "order"}).extra["winners"] == ["zed", "amy"]
    assert solve("ranked_pairs", SCORES).extra["universes"] == 3
    kemeny = solve("kemeny", SCORES, {"tie_rule": "order"})
    assert (kemeny.extra["order"], kemeny.extra["unique"]) == (["amy", "bob", "zed"], False)
    assert kemeny.extra["broken_ties"] == [["amy", "bob", "zed"]]
    assert [row.rank for row in kemeny.agents] == [1, 2, 3]
    drawn = [solve("plurality", SCORES, {"tie_rule": "seed", "seed": seed}).agents for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_ballots_that_list_some_agents_only() -> None:
    votes = Profile.from_ballots([Ballot(2.0, ((0,),)), Ballot(1.0, ((1,), (0,)))], ("a", "b"))
    assert [solve("borda", ProfileInput(votes, unlisted)).agents[0].rating for unlisted in ("last", "unknown")] == [2.0, 1.0]
    assert solve("copeland", ProfileInput(votes, "unknown")).agents[0].agent == "b"


def test_tie_tolerance_is_for_methods_that_rank_by_ratings() -> None:
    with pytest.raises(InputError, match="tie_tolerance"):
        solve("kemeny", SCORES, tie_tolerance=0.5)


def test_agents_without_rating_come_last_as_null() -> None:
    wins = np.array([[0.0, 1, 5], [1, 0, 5], [0, 0, 0]])
    found = solve("bradley_terry", PairsInput(("a", "b", "lost"), PairCounts.from_dense(wins)))
    assert [(row.agent, row.rank, row.rating is None) for row in found.agents] == [("a", 1, False), ("b", 1, False), ("lost", 3, True)]
    assert found.extra["unrated"] == 1


def test_intervals_hold_the_rating() -> None:
    for row in solve("bradley_terry", PAIRS, {"standard_errors": "sandwich"}).agents:
        assert row.low is not None
        assert row.high is not None
        assert row.rating is not None
        assert row.low < row.rating < row.high


@pytest.mark.parametrize(
    ("method", "problem", "words"),
    [
        ("nash_average", PAIRS, "results counted per task"),
        ("nash_average", BALLOTS, "results counted per task"),
        ("stv", PAIRS, "ballots or scores"),
        ("borda", MARGINS, "games, ballots or scores"),
        ("plurality", PAIRS, "games, ballots or scores"),
        ("bradley_terry", MARGINS, "wins, losses and ties"),
        ("copeland", MarginsInput(("a",), np.zeros((1, 1))), "at least 2 agents"),
    ],
)
def test_what_does_not_apply_says_why(method: str, problem: Problem, words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        solve(method, problem)


@pytest.mark.parametrize("method", [name for name in METHODS if registry.why_not(METHODS[name], GAMES) is None])
def test_games_of_teams_alone_have_no_answer_by_pairs_or_places(method: str) -> None:
    """All agents were ranked first, and the solution was called proven."""
    nothing = PairCounts.from_dense(np.zeros((4, 4)))
    games = GamesInput(PAIRS.names, nothing, NO_PLACES, ("t2", "t1"), (nothing, nothing))
    with pytest.raises(NotApplicable, match="places of teams" if METHODS[method].takes is Takes.PLACES else "not counted by pairs"):
        solve(method, games)


REFUSE_GAPS = {
    "alpharank", "alpharank_tasks", "cce", "deviation", "lle", "nash_average", "nash_average_agents", "payoff", "uniform"
}  # fmt: skip
"""Methods whose game needs every cell or pair, unless `missing` says what becomes of the others."""


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.takes is not Takes.FEATURES])
def test_a_table_with_gaps_is_rated_or_refused_with_what_helps(method: str) -> None:
    """Amy and Bob share no task. What refuses says that `missing` decides, and then takes the table."""
    gappy = ScoresInput(("zed", "amy", "bob"), ("t1", "t2"), np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 1.0]]))
    if method not in REFUSE_GAPS:
        assert len(solve(method, gappy).agents) == 3
        return
    with pytest.raises(InputError, match=r"missing.*'?(zero|prior)") as refused:
        solve(method, gappy)
    assert "amy" in str(refused.value) or "bob" in str(refused.value), "an example is named"
    assert len(solve(method, gappy, {"missing": "zero"}).agents) == 3


def large_pool() -> PairsInput:
    """5,001 agents, of whom the first three met in a cycle and all beat the fourth."""
    names = tuple(f"a{i:04}" for i in range(5001))
    first, second = np.array([0, 0, 0, 1, 1, 2], np.int32), np.array([1, 2, 3, 2, 3, 3], np.int32)
    wins = np.array([1.0, 0, 1, 1, 1, 1])
    return PairsInput(names, PairCounts(first, second, wins, 1 - wins, np.zeros(6)))


def test_pools_too_large_for_the_lottery_of_largest_entropy_get_a_certified_one() -> None:
    found = solve("maximal_lottery", large_pool(), {"margins": "observed"})
    rating = {row.agent: row.rating for row in found.agents}
    assert found.extra["mode"] == "any"
    assert found.status == "optimal"
    assert rating["a0003"] == 0
    assert rating["a0000"] == pytest.approx(rating["a5000"] / 3)
    with pytest.raises(InputError, match="must be any for sparse margins of more than 5000"):
        solve("maximal_lottery", large_pool(), {"mode": "maxent", "margins": "observed"})


def test_an_agent_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="each one once"):
        solve("copeland", MarginsInput(("a", "a"), np.zeros((2, 2))))


def test_an_unknown_method_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="copeland"):
        solve("elo2", PAIRS)


@pytest.mark.parametrize("kind", Kind)
def test_default_methods_apply_and_take_their_parameters(kind: Kind) -> None:
    problem: Problem = SCORES if kind is Kind.SCORES else GAMES
    for method, parameters in methods.defaults(kind).items():
        assert solve(method, problem, parameters).agents


def test_scores_serve_every_method_and_games_those_that_need_no_ballots() -> None:
    featured = {name for name, method in METHODS.items() if method.takes is Takes.FEATURES}
    assert {name for name, method in METHODS.items() if registry.why_not(method, SCORES)} == featured
    refused = {name for name, method in METHODS.items() if registry.why_not(method, GAMES)}
    assert refused == featured | {name for name, method in METHODS.items() if method.takes is Takes.PROFILE}
    assert {"plurality", "approval", "borda"} & refused == set()


NUMBER, WHOLE = Parameter("n", 1.0, "", 0.5, 2.0), Parameter("w", 3, "", 1, 9)
SWITCH, WORD = Parameter("s", True, ""), Parameter("c", "x", "", choices=("x", "y"))


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [(NUMBER, "0.5", 0.5), (NUMBER, 2, 2.0), (WHOLE, "9", 9), (WHOLE, 1.0, 1), (SWITCH, "false", False), (WORD, "y", "y")],
)
def test_values_taken(parameter: Parameter, given: Value, value: Value) -> None:
    assert accepted([parameter], {parameter.name: given}) == {parameter.name: value}
    assert type(accepted([parameter], {parameter.name: given})[parameter.name]) is type(value)


@pytest.mark.parametrize(
    ("parameter", "given"),
    [(NUMBER, 0.4), (NUMBER, "nan"), (NUMBER, True), (NUMBER, "x"), (WHOLE, 1.5), (WHOLE, "inf"), (WHOLE, 10),
     (SWITCH, "yes"), (SWITCH, 1), (WORD, "z")],
)  # fmt: skip
def test_values_refused(parameter: Parameter, given: Value) -> None:
    with pytest.raises(InputError, match="must be"):
        accepted([parameter], {parameter.name: given})


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("method", ["deviation", "uniform", "payoff"])
def test_games_by_task_are_solved_as_wins_less_losses(method: str, players: int) -> None:
    """Of scores 0 and 1 every task is one game: the same boards from both, but against tasks, where a mean over opponents is a score."""
    scores = np.array([[1.0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 1]])
    off = 1 - np.eye(3)
    per_task = tuple(PairCounts.from_dense(np.maximum(np.subtract.outer(own, own), 0), (own[:, None] == own) * off) for own in scores.T)
    games = GamesInput(("a", "b", "c"), per_task[0], NO_PLACES, tuple("wxyz"), per_task)
    found = solve(method, games, {"players": players})
    assert [row.task for row in sorted(found.tasks, key=lambda row: row.task)] == list("wxyz")
    if players == 3:
        table = solve(method, ScoresInput(("a", "b", "c"), tuple("wxyz"), scores), {"players": 3})
        assert {row.agent: row.rating for row in found.agents} == pytest.approx({row.agent: row.rating for row in table.agents}, abs=1e-9)


def test_policies_of_games_are_refused_and_applied() -> None:
    gaps = PairCounts.from_dense([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    games = GamesInput(("a", "b", "c"), gaps, NO_PLACES, ("x",), (gaps,))
    for method in ("deviation", "nash_average_agents", "alpharank"):
        with pytest.raises(InputError, match="compared"):
            solve(method, games, {} if method == "deviation" else {"margins": "observed"})
        found = solve(method, games, {"missing": "prior", "kappa": 2.0})
        assert found.extra["imputed"] == pytest.approx(1 / 3)
        assert found.agents[0].agent == "a"
        assert found.extra["kappa"] == 2.0
        assert solve(method, games, {"missing": "prior", "fit_kappa": True}).extra["kappa"] in KAPPAS
        dropped = solve(method, games, {"missing": "drop_agents"})
        assert dropped.extra["dropped_agents"] == ["c"]
        assert dropped.agents[-1].rating is None
    with pytest.raises(InputError, match="normalise"):
        solve("uniform", games, {"normalise": "z"})
    certain = PairsInput(("a", "b"), PairCounts.from_dense([[0, 2], [0, 0]]))
    with pytest.raises(InputError, match="pseudo_count"):
        solve("nash_average_agents", certain, {"payoff": "logit", "margins": "observed"})


def test_payoff_ratings_are_deviation_ratings_and_what_is_expected() -> None:
    strict, found = solve("deviation", SCORES, {"players": 2}), solve("payoff", SCORES, {"players": 2})
    for one, other in zip(found.agents, strict.agents, strict=True):
        assert one.rating == pytest.approx(other.rating + strict.extra["payoffs"]["agent"], abs=1e-9)  # type: ignore[operator, index]
    mass = solve("payoff", SCORES, {"players": 2, "rating": "mass"})
    assert sum(row.rating or 0.0 for row in mass.agents) == pytest.approx(1)


@pytest.mark.parametrize("equilibrium", ["cce", "lle"])
@pytest.mark.parametrize("players", [2, 3])
def test_payoffs_are_read_off_other_equilibria_too(equilibrium: str, players: int) -> None:
    options = {"players": players, "equilibrium": equilibrium}
    found = solve("payoff", UNEVEN, options)
    game = (agent_vs_agent_vs_task if players == 3 else agent_vs_task)(UNEVEN.scores).game
    core = {"cce": cce, "lle": lle}[equilibrium](game)  # type: ignore[operator]
    wanted = dict(zip(UNEVEN.names, core.ratings + core.payoffs[0], strict=True))
    assert {row.agent: row.rating for row in found.agents} == pytest.approx(wanted, abs=1e-5)
    assert list(found.extra["marginals"]) == list(game.players)  # type: ignore[call-overload]
    mass = solve("payoff", UNEVEN, {**options, "rating": "mass"})
    assert sum(row.rating or 0.0 for row in mass.agents) == pytest.approx(1)
    given_play = solve("payoff", UNEVEN, {**options, "rating": "payoff_if_played"})
    assert any(row.rating is not None for row in given_play.agents)


def test_exact_copies_share_mass() -> None:
    names = ("a", "b", "c", "c again")
    table = np.array([[1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    mass = solve("payoff", ScoresInput(names, ("x", "y", "z"), table), {"players": 2, "rating": "mass"})
    rated = {row.agent: row.rating for row in mass.agents}
    assert sum(rated.values()) == pytest.approx(1)  # type: ignore[arg-type]
    assert rated["c"] == rated["c again"]


def test_agents_and_tasks_evolve_as_two_populations() -> None:
    found = solve("alpharank_tasks", UNEVEN, {"alpha": 1.0})
    core = alpharank(NormalForm.of([UNEVEN.scores, -UNEVEN.scores]), options=AlphaRankOptions(alpha=1.0))
    assert {row.agent: row.rating for row in found.agents} == pytest.approx(dict(zip(UNEVEN.names, core.ratings, strict=True)))
    assert {row.task: row.rating for row in found.tasks} == pytest.approx(dict(zip(UNEVEN.tasks, core.by_player[1], strict=True)))
    shares = [one["probability"] for one in found.extra["likeliest"]]  # type: ignore[attr-defined, union-attr, index]
    assert shares == sorted(shares, reverse=True)
    large = ScoresInput(tuple(map(str, range(50))), tuple(map(str, range(50))), np.arange(2500.0).reshape(50, 50))
    with pytest.raises(InputError, match="agents x tasks must be at most 2048"):
        solve("alpharank_tasks", large)


def test_two_populations_that_are_too_large_are_refused_before_their_game_is_built() -> None:
    """The game itself would refuse the gap; where duplicates or gaps may leave the game, it is built and counted first."""
    scores = np.arange(2500.0).reshape(50, 50)
    scores[3, 4] = np.nan
    names = tuple(map(str, range(50)))
    with pytest.raises(InputError, match="agents x tasks must be at most 2048"):
        solve("alpharank_tasks", ScoresInput(names, names, scores))
    same = ScoresInput(names, names, np.tile(UNEVEN.scores, (17, 17))[:50, :50])
    assert len(solve("alpharank_tasks", same, {"merge": True, "alpha": 1.0}).agents) == 50


def test_the_limit_of_strong_selection_sits_on_who_beats_everybody() -> None:
    wins = PairCounts.from_dense([[0, 3, 3], [1, 0, 2], [1, 2, 0]])
    found = solve("alpharank", PairsInput(("a", "b", "c"), wins), {"infinite": True})
    assert found.agents[0].agent == "a"
    assert found.agents[0].rating == pytest.approx(1, abs=1e-6)


def test_deviation_ratings_say_which_tasks_they_are_made_of() -> None:
    found = solve("deviation", SCORES, {"explain": 3})
    parts = found.extra["contributions"]
    for row in found.agents:
        assert sum(parts[row.agent].values()) == pytest.approx(row.rating, abs=1e-9)  # type: ignore[index]
    assert all(len(one) == 1 for one in solve("deviation", SCORES, {"explain": 1}).extra["contributions"].values())  # type: ignore[union-attr, attr-defined]
    assert "contributions" not in solve("deviation", SCORES).extra


def test_the_nash_average_of_games_by_task_is_that_of_mean_results() -> None:
    tasks = (PairCounts.from_dense([[0, 3, 1], [1, 0, 2], [3, 2, 0]]), PairCounts.from_dense([[0, 1, 4], [3, 0, 1], [0, 3, 0]]))
    games = GamesInput(("a", "b", "c"), tasks[0], NO_PLACES, ("x", "y"), tasks)
    means = np.array([[0.0, 0.25], [-0.25, 0.0], [0.25, -0.25]])
    table = ScoresInput(("a", "b", "c"), ("x", "y"), means)
    found, wanted = solve("nash_average", games), solve("nash_average", table)
    assert [(row.agent, row.rating) for row in found.agents] == [(row.agent, pytest.approx(row.rating)) for row in wanted.agents]
    assert found.extra["task_dist"] == pytest.approx(wanted.extra["task_dist"])

"""Terms of ratings: their sums for every method, readable twins, finite differences, and the sums that papers print."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from ratings_core.analysis.terms import Opponents, Terms
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.explained import Solve, UnknownAgent
from ratings_core.methods.explanations import explain
from ratings_core.methods.registry import METHODS
from ratings_core.problems.inputs import FeaturesInput, GamesInput, MarginsInput, PairsInput, ProfileInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts
from ratings_core.voting.profile import Ballot, Profile

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = ("ann", "bob", "cyd", "dan", "eve")
WINS = np.array(
    [
        [0, 6, 3, 7, 0],
        [2, 0, 5, 4, 1],
        [5, 1, 0, 3, 2],
        [1, 2, 3, 0, 4],
        [0, 1, 1, 2, 0],
    ],
    np.float64,
)
TIES = np.array([[0, 1, 0, 2, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [2, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float64)
COUNTS = PairCounts.from_dense(WINS, TIES)


def places_of(wins: np.ndarray, ties: np.ndarray) -> PlaceCounts:
    """Places of games of two sides."""
    rows = []
    for agent in range(len(wins)):
        for ahead, tied, weight in ((0, 1, wins[agent].sum()), (1, 1, wins[:, agent].sum()), (0, 2, ties[agent].sum())):
            if weight:
                rows.append((agent, 2, ahead, tied, weight))
    columns = np.array(rows).T
    return PlaceCounts(*(column.astype(np.int32) for column in columns[:4]), columns[4].astype(np.float64))


def comparisons_of(wins: np.ndarray, ties: np.ndarray) -> Comparisons:
    """Each game as a comparison."""
    m = len(wins)
    rows = [(a, b, 1.0) for a in range(m) for b in range(m) for _ in range(int(wins[a, b]))]
    rows += [(a, b, 0.5) for a in range(m) for b in range(a) for _ in range(int(ties[a, b]))]
    first, second, result = (np.array(column) for column in zip(*rows, strict=True))
    return Comparisons(m, first.astype(np.int64), second.astype(np.int64), result, np.arange(len(rows)), np.ones(len(rows)))


GAMES = GamesInput(NAMES, COUNTS, places_of(WINS, TIES), ("u", "v"), (COUNTS, PairCounts.from_dense(WINS.T, TIES)))
SCORES = ScoresInput(NAMES, ("t1", "t2", "t3", "t4"), np.array([[3, 1, 2, 0.5], [1, 3, 0, 1], [2, 2, 3, 0], [0, 1, 1, 2], [1, 0, 2, 1.0]]))
MARGINS = MarginsInput(NAMES, (WINS - WINS.T) / 2)
PROFILE = ProfileInput(
    Profile.from_ballots([Ballot(2.0, ((0,), (1, 2))), Ballot(1.0, ((3,), (0,), (4,))), Ballot(3.0, ((2,), (1,), (0,), (3,)))], NAMES)
)
FEATURES = FeaturesInput(
    NAMES, GAMES_IN_ORDER := comparisons_of(WINS, TIES), np.cos(np.arange(1.0 * len(GAMES_IN_ORDER)))[:, None], ("style",)
)
SETTINGS = {
    "sco_fit": [{}, {"margins": "observed", "prior": 0.1}, {"margins": "observed", "high": 2.0}],
    "fenchel_young_fit": [{}, {"margins": "observed"}, {"margins": "observed", "high": 0.5, "prior": 1.0}],
    "bradley_terry": [{}, {"prior": 1.0}],
    "davidson": [{}, {"prior": 2.0}],
    "contextual_bradley_terry": [{}, {"prior": 1.0}],
    "copeland": [{}, {"margins": "observed"}, {"margins": "observed", "tie_tolerance": 1.0}],
    "maximal_lottery": [{}, {"margins": "observed"}],
    "iterated_maximal_lotteries": [{}, {"margins": "observed"}],
    "nash_average_agents": [
        {"missing": "zero", "margins": "observed"},
        {"margins": "posterior"},
        {"margins": "posterior", "payoff": "logit"},
    ],
    "alpharank": [{"missing": "zero", "margins": "observed"}],
    "alpharank_tasks": [{"missing": "zero"}],
    "deviation": [{"players": 2, "missing": "zero"}, {"players": 3, "missing": "zero"}],
    "uniform": [{"players": 2, "missing": "zero"}, {"players": 3, "missing": "zero"}],
    "payoff": [{"missing": "zero"}, {"missing": "zero", "equilibrium": "cce"}, {"missing": "zero", "equilibrium": "lle"}],
    "nash_average": [{"missing": "zero"}],
    "cce": [{"missing": "zero"}, {"missing": "zero", "game": "agent_agent_task"}],
    "lle": [{"missing": "zero"}, {"missing": "zero", "game": "agent_agent_task"}],
    "borda": [{}, {"unlisted_pairs": "half"}],
    "approval": [{}, {"k": 1}],
}
UNFIT = {("borda", "games", "half"), ("borda", "scores", "half")}
"""Methods, inputs and values that the method refuses."""
INPUTS = {"games": GAMES, "scores": SCORES, "margins": MARGINS, "profile": PROFILE, "features": FEATURES}


def solved(method: str, problem: object, **parameters: object) -> Solve:
    taken = registry.taken(method, problem, parameters)  # type: ignore[arg-type]
    return Solve(taken, taken.rated())


def cases():
    for method in METHODS:
        for name, problem in INPUTS.items():
            for parameters in SETTINGS.get(method, [{}]) if registry.why_not(METHODS[method], problem) is None else ():
                if (method, name, *parameters.values()) not in UNFIT:
                    yield pytest.param(method, problem, parameters, id=f"{method}-{name}-{'-'.join(map(str, parameters.values()))}")


@pytest.mark.parametrize(("method", "problem", "parameters"), [*cases()])
def test_the_terms_of_every_method_sum_to_what_they_say(method, problem, parameters):
    solve = solved(method, problem, **parameters)
    for agent in solve.names:
        said = explain(solve, agent)
        assert (said.agent, said.method, said.rank, said.agents) == (agent, method, solve.rank[solve.id_of(agent)], len(solve.names))
        assert bool(said.terms) is (said.why_not is None)
        for terms in said.terms:
            assert len(terms.names) == len(terms.values) == len(set(terms.names))
            assert all(len(column) == len(terms.names) for column in terms.columns.values())
            assert np.isfinite(terms.values).all()
            assert terms.error <= terms.allowed, terms
            assert terms.total in (None, 0.0) or terms.total == pytest.approx(said.rating, abs=1e-9) or "lotter" in method
            assert float(np.abs(terms.shares).sum()) <= 1 + 1e-9


@pytest.mark.parametrize("method", ["bradley_terry", "davidson", "copeland", "fenchel_young_fit"])
@pytest.mark.parametrize("seed", range(12))
def test_sums_hold_for_small_pools_of_few_games_and_ties_whose_terms_cancel(method, seed):
    rng = np.random.default_rng(seed)
    m = 2 + seed % 3
    wins, ties = np.triu(rng.integers(0, 4, (m, m)), 1).astype(float), np.triu(rng.integers(0, 3, (m, m)), 1).astype(float)
    wins = wins + (wins.T if seed % 2 else rng.integers(0, 4, (m, m)) * (1 - np.eye(m)))
    ties = np.triu(np.maximum(ties, 1), 1) if seed % 4 == 0 else ties
    problem = PairsInput(NAMES[:m], PairCounts.from_dense(np.zeros((m, m)) if seed % 4 == 0 else wins, ties + ties.T))
    try:
        solve = solved(method, problem)
    except InputError:  # Davidson's fit is not finite for some of these results
        return
    for agent in solve.names:
        for terms in explain(solve, agent).terms:
            assert terms.error <= terms.allowed, terms


def test_copeland_of_games_that_were_all_tied_gives_every_agent_half_of_the_points():
    ties = np.array([[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0.0]])
    solve = solved("copeland", PairsInput(NAMES[:4], PairCounts.from_dense(np.zeros((4, 4)), ties)))
    assert solve.solution.ratings.tolist() == [1.5] * 4, "all posterior margins are 0"
    for agent in solve.names:
        (terms,) = explain(solve, agent).terms
        assert (terms.sum, terms.columns["margin"].tolist()) == (1.5, [0.0] * 3)


def test_uniform_ratings_of_equal_scores_are_sums_within_rounding():
    scores = ScoresInput(NAMES[:3], ("t1", "t2", "t3"), np.array([[0.1, 0.7, 0.2], [0.7, 0.2, 0.1], [0.2, 0.1, 0.7]]))
    solve = solved("uniform", scores, players=3)
    for agent in solve.names:
        for terms in explain(solve, agent).terms:
            assert terms.error <= terms.allowed, terms


def test_uniform_ratings_of_games_that_cancel_are_sums_within_rounding():
    wins = np.zeros((4, 4))
    wins[3, 0] = wins[1, 3] = wins[2, 3] = 1.0
    counts, none = PairCounts.from_dense(wins), PairCounts.from_dense(np.zeros((4, 4)))
    problem = GamesInput(NAMES[:4], counts, places_of(wins, np.zeros((4, 4))), ("u", "v"), (counts, none))
    solve = solved("uniform", problem, players=3, missing="prior")
    assert abs(float(solve.solution.ratings[3])) < 1e-12, "a win and a loss, as predicted: rounding alone"
    for agent in solve.names:
        for terms in explain(solve, agent).terms:
            assert terms.error <= terms.allowed, terms


def test_nash_averages_of_payoffs_that_cancel_are_sums_within_rounding():
    scores = ScoresInput(NAMES[:3], tuple("uvwxyz"), np.array([[3.0, 0, 3, 0, 3, 0], [2, 1, 3, 1, 2, 0], [3, 0, 2, 3, 0, 1]]))
    scores.scores[0, 1::2] = np.nan
    solve = solved("nash_average", scores, missing="zero", normalise="z")
    for agent in solve.names:
        for terms in explain(solve, agent).terms:
            assert terms.error <= terms.allowed, terms


def test_every_method_either_has_terms_or_says_why_not():
    without = {method for method in METHODS if method in ("alpharank", "alpharank_tasks", "stv")}
    for method in without:
        problem = PROFILE if method == "stv" else GAMES
        parameters = {} if method == "stv" else {"missing": "zero"}
        said = explain(solved(method, problem, **parameters), "ann")
        assert said.terms == ()
        assert said.why_not


# fits


def test_the_balance_of_bradley_terry_is_points_less_expected_points():
    """The readable twin: game by game."""
    solve = solved("bradley_terry", GAMES)
    ratings, scale = solve.solution.ratings, solve.solution.scale
    for a, agent in enumerate(NAMES):
        (terms,) = explain(solve, agent).terms
        wanted = {}
        for b in range(len(NAMES)):
            games = WINS[a, b] + WINS[b, a] + TIES[a, b]
            if games:
                wanted[NAMES[b]] = WINS[a, b] + TIES[a, b] / 2 - games / (1 + math.exp((ratings[b] - ratings[a]) / scale))
        assert dict(zip(terms.names, terms.values.tolist(), strict=True)) == pytest.approx(wanted, abs=1e-9)
        assert terms.sum == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("method", "parameters"), [("bradley_terry", {"prior": 1.5}), ("fenchel_young_fit", {"margins": "observed", "prior": 1.0})]
)
def test_a_term_is_the_slope_of_the_likelihood_of_one_opponents_games(method, parameters):
    """An oracle that knows no formula of the terms: differences of the log likelihood, game by game."""
    solve = solved(method, GAMES, **parameters)
    fit = solve.solution
    scale = fit.scale if method == "bradley_terry" else fit.sigma
    centre = fit.centre if method == "bradley_terry" else (fit.low + fit.high) / 2
    theta = (fit.ratings - centre) / scale

    def likelihood(x, a, b):
        p = expit(x - theta[b])
        return (WINS[a, b] + TIES[a, b] / 2) * np.log(p) + (WINS[b, a] + TIES[a, b] / 2) * np.log(1 - p)

    for a, agent in enumerate(NAMES):
        (terms,) = explain(solve, agent).terms
        for name, value in zip(terms.names, terms.values.tolist(), strict=True):
            b, h = NAMES.index(name), 1e-5
            slope = (likelihood(theta[a] + h, a, b) - likelihood(theta[a] - h, a, b)) / (2 * h)
            assert value == pytest.approx(slope, abs=1e-6)
        prior = parameters["prior"] * (0.5 - expit(theta[a]))
        assert terms.rest["prior"] == pytest.approx(prior, abs=1e-9)


def test_a_term_of_soft_condorcet_is_the_slope_of_the_loss_of_one_pair():
    """The loss of eq. 6 vote by vote, by differences."""
    solve = solved("sco_fit", GAMES, margins="observed", prior=0.5, tau=20.0)
    fit = solve.solution

    def loss(x, a, b):
        return WINS[a, b] * expit((fit.ratings[b] - x) / fit.tau) + WINS[b, a] * expit((x - fit.ratings[b]) / fit.tau)

    for a, agent in enumerate(NAMES):
        (terms,) = explain(solve, agent).terms
        for name, value in zip(*_rows(terms), strict=True):
            h, x = 1e-3, fit.ratings[a]
            slope = (loss(x + h, a, NAMES.index(name)) - loss(x - h, a, NAMES.index(name))) / (2 * h)
            assert value == pytest.approx(-fit.tau * slope, abs=1e-5)


def test_lost_points_are_shown_first():
    terms = explain(solved("copeland", GAMES, margins="observed"), "ann").terms[0]
    shown = [terms.values[i] for i in terms.order.tolist()]
    assert shown == sorted(shown)
    wins = [abs(terms.columns["margin"][i]) for i in terms.order.tolist() if terms.values[i] == 1]
    assert wins == sorted(wins)


def test_agents_outside_the_component_are_no_terms_and_unrated_agents_have_a_reason():
    wins = np.zeros((4, 4))
    wins[0, 1], wins[1, 0], wins[0, 2], wins[2, 3], wins[3, 2] = 2, 1, 5, 1, 1
    solve = solved("bradley_terry", PairsInput(NAMES[:4], PairCounts.from_dense(wins)))
    assert [terms.names for terms in explain(solve, "ann").terms] == [("bob",)]
    alone = np.zeros((3, 3))
    alone[0, 1], alone[1, 0], alone[0, 2] = 2, 1, 5
    said = explain(solved("bradley_terry", PairsInput(NAMES[:3], PairCounts.from_dense(alone))), "cyd")
    assert (said.terms, math.isnan(said.rating)) == ((), True)
    assert "lost all its 5 games" in str(said.why_not)


def test_a_rating_at_a_bound_is_held_there_against_the_other_terms():
    solve = solved("fenchel_young_fit", GAMES, margins="observed", high=0.5, low=0.0)
    held = [agent for agent in NAMES if "bound of the box" in explain(solve, agent).terms[0].rest]
    assert held == [NAMES[i] for i in np.flatnonzero(solve.solution.at_bound).tolist()]
    for agent in held:
        (terms,) = explain(solve, agent).terms
        at_high = solve.solution.ratings[NAMES.index(agent)] == 0.5
        assert (terms.rest["bound of the box"] < 0) == at_high, "the bound pushes inward"


def test_a_rating_at_a_bound_within_rounding_is_held_there():
    """The second agent's rating is 2 less a rounding error, and its certificate counts it as at the bound."""
    wins, ties = np.zeros((5, 5)), np.zeros((5, 5))
    for a, b in ((1, 0), (2, 0), (3, 0), (1, 2), (1, 2), (1, 3), (2, 3), (3, 2), (4, 2), (4, 3)):
        wins[a, b] += 1
    ties[1, 3] = ties[3, 1] = ties[1, 4] = ties[4, 1] = 1
    problem = PairsInput(NAMES, PairCounts.from_dense(wins, ties))
    solve = solved("fenchel_young_fit", problem, margins="observed", high=2.0, low=0.0)
    assert solve.solution.at_bound.tolist() == [True, True, False, False, True]
    for agent in NAMES:
        (terms,) = explain(solve, agent).terms
        assert terms.error <= terms.allowed, terms


# votes, with the numbers that VasE prints


def pentathlon() -> tuple[ProfileInput, dict]:
    case = json.loads((GOLDEN / "vase/pentathlon.json").read_text())
    names = case["alternatives"]
    ballots = [Ballot(float(vote["weight"]), tuple((names.index(name),) for name in vote["ranking"])) for vote in case["votes"]]
    return ProfileInput(Profile.from_ballots(ballots, names)), case


def test_terms_of_the_pentathlon_are_the_printed_margins_and_scores():
    """VasE, figure 4 (margins) and appendix C.2 (the scores of five rules)."""
    problem, case = pentathlon()
    margins = np.array(case["M"])
    for method, printed in (
        ("copeland", case["copeland"]),
        ("kemeny", case["kemeny_score"]),
        ("borda", case["borda"]),
        ("plurality", case["plurality"]),
    ):
        solve = solved(method, problem)
        for a, agent in enumerate("ABC"):
            (terms,) = explain(solve, agent).terms
            assert terms.sum == pytest.approx(printed[agent])
            if "margin" in terms.columns:
                assert dict(zip(terms.names, terms.columns["margin"].tolist(), strict=True)) == {
                    other: margins[a, b] for b, other in enumerate("ABC") if b != a
                }
    assert dict(zip(*_rows(explain(solved("copeland", problem), "A").terms[0]), strict=True)) == {"B": 1.0, "C": 0.0}
    assert dict(zip(*_rows(explain(solved("kemeny", problem), "C").terms[0]), strict=True)) == {"A": 3.0, "B": 3.0}
    assert dict(zip(*_rows(explain(solved("borda", problem), "A").terms[0]), strict=True)) == {
        "place 1 of 3": 4.0,
        "place 2 of 3": 2.0,
        "place 3 of 3": 0.0,
    }
    assert explain(solved("approval", problem, k=2), "A").terms[0].sum == case["approval_k2"]["A"]


def _rows(terms: Terms):
    return terms.names, terms.values.tolist()


FIGURE_12 = np.array(
    [
        [0, 0, 20, 32, 24, -2, 20, 14, 39],
        [0, 0, 33, 87, 17, -7, 67, -8, 50],
        [-20, -33, 0, 25, -7, 2, 10, -28, 12],
        [-32, -87, -25, 0, -21, -3, 26, -54, -11],
        [-24, -17, 7, 21, 0, -13, 21, -27, 27],
        [2, 7, -2, 3, 13, 0, 1, 6, 5],
        [-20, -67, -10, -26, -21, -1, 0, -65, -26],
        [-14, 8, 28, 54, 27, -6, 65, 0, 48],
        [-39, -50, -12, 11, -27, -5, 26, -48, 0],
    ],
    np.float64,
)
"""VasE, figure 12: margins of a level of iterated lotteries on Chatbot Arena."""


@pytest.mark.parametrize("method", ["maximal_lottery", "iterated_maximal_lotteries"])
def test_expected_margins_against_the_lottery_are_the_printed_ones(method):
    """VasE, appendix J.1: the lottery .8333, .0833, .0833, and its expected margins."""
    names = tuple("abcdefghi")
    solve = solved(method, MarginsInput(names, FIGURE_12))
    printed = [0, 3.0821, 0, 7.2471, 12.2451, 0, 3.332, 3.8318, 8.4133]
    for agent, value in zip(names, printed, strict=True):
        terms = explain(solve, agent).terms[-1]
        if set(terms.names) != {"a", "c", "f"}:
            continue  # of a lower level
        shares = dict(zip(terms.names, terms.columns["probability"].tolist(), strict=True))
        assert shares == pytest.approx({"a": 1 / 12, "c": 1 / 12, "f": 10 / 12}, abs=1e-6)
        assert -terms.sum == pytest.approx(value, abs=0.01)
        wanted = [FIGURE_12[names.index(agent), names.index(name)] * shares[name] for name in terms.names]
        assert terms.values == pytest.approx(wanted)
    assert "is elected" in explain(solve, "f").terms[0].meaning


def test_copelands_points_of_posterior_margins_follow_the_posterior():
    solve = solved("copeland", GAMES)
    margins = solve.posterior().dense()
    for a, agent in enumerate(NAMES):
        said = explain(solve, agent)
        assert said.margins == "posterior"
        (terms,) = said.terms
        assert dict(zip(*_rows(terms), strict=True)) == {
            other: 1.0 if margins[a, b] > 0 else 0.0 if margins[a, b] < 0 else 0.5 for b, other in enumerate(NAMES) if b != a
        }
    assert explain(solved("copeland", GAMES, margins="observed"), "ann").margins == "observed"


# games


def test_nash_averages_are_scores_times_probabilities():
    solve = solved("nash_average", SCORES)
    mix = dict(solve.rated.extra["task_dist"])
    for a, agent in enumerate(NAMES):
        (terms,) = explain(solve, agent).terms
        assert dict(zip(*_rows(terms), strict=True)) == pytest.approx(
            {t: p * SCORES.scores[a, SCORES.tasks.index(t)] for t, p in mix.items()}
        )


def test_duplicates_are_merged_into_one_term():
    scores = np.concatenate([SCORES.scores, SCORES.scores[:, :1]], axis=1)
    plain, copied = solved("nash_average", SCORES), solved("nash_average", ScoresInput(NAMES, (*SCORES.tasks, "t1 again"), scores))
    one, two = (explain(solve, "ann").terms[0] for solve in (plain, copied))
    assert dict(zip(*_rows(one), strict=True)) == pytest.approx(dict(zip(*_rows(two), strict=True)), abs=1e-6)


def test_uniform_ratings_are_means_by_task_and_opponent():
    by_opponent, by_task = explain(solved("uniform", SCORES, players=3), "bob").terms
    assert (by_opponent.by, by_task.by) == ("opponent", "task")
    gap = SCORES.scores[1] - SCORES.scores
    assert dict(zip(*_rows(by_task), strict=True)) == pytest.approx(dict(zip(SCORES.tasks, gap.mean(axis=0) / 4, strict=True)))
    assert dict(zip(*_rows(by_opponent), strict=True)) == pytest.approx(dict(zip(NAMES, gap.mean(axis=1) / 5, strict=True)))


def test_tasks_that_lift_the_atari_agents_are_the_published_ones():
    """Marris et al., appendix D.1: r2d2(bandit) leads by solaris, muzero by asteroids, the human by private-eye."""
    table = list(csv.reader((GOLDEN / "deviation/atari_table3.csv").read_text().splitlines()))
    agents, tasks = tuple(table[0][1:]), tuple(row[0] for row in table[1:])
    scores = np.array([[float(score) for score in row[1:]] for row in table[1:]]).T
    solve = solved("deviation", ScoresInput(agents, tasks, scores), players=3)
    for agent, task in (("r2d2(bandit)", "solaris"), ("muzero", "asteroids"), ("human", "private-eye")):
        by_opponent, by_task = explain(solve, agent).terms
        assert (by_opponent.by, by_task.by) == ("opponent", "task")
        assert by_task.names[int(np.argmax(by_task.values))] == task
        assert by_task.error <= by_task.allowed
        assert by_opponent.sum == pytest.approx(by_task.sum, abs=1e-9)


# the records


def test_opponents_of_an_agent_are_its_results_from_both_sides():
    met = Opponents.of(of_tally(COUNTS, 5), 3)
    assert met.ids.tolist() == [0, 1, 2, 4]
    assert met.games.tolist() == [10, 6, 7, 6]
    assert met.points.tolist() == [2.0, 2.0, 3.5, 4.0]


def test_terms_are_ordered_by_size():
    terms = Terms(by="task", quantity="q", names=("a", "b", "c"), values=np.array([1.0, -3.0, 1.0]), meaning="m", total=-1.0)
    assert (terms.order.tolist(), terms.size, terms.error) == ([1, 0, 2], 5.0, 0.0)
    assert terms.shares.tolist() == [0.2, -0.6, 0.2]
    empty = Terms(by="task", quantity="q", names=(), values=np.zeros(0), meaning="m", total=0.0)
    assert (empty.sum, empty.error, empty.shares.tolist()) == (0.0, 0.0, [])


def test_unknown_agents_are_refused():
    with pytest.raises(UnknownAgent, match="agent must be an agent of the solve"):
        explain(solved("copeland", GAMES), "zoe")
    with pytest.raises(UnknownAgent, match="only a part of the pool"):
        explain(solved("copeland", GAMES, most_agents=3), "eve")

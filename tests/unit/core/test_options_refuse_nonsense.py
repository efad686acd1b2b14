"""Every option of every method of votes, tallies and their analysis, against values that make no sense: each is refused by name."""

from functools import partial

import numpy as np
import pytest

from ratings_core.analysis.clones import near_clones
from ratings_core.analysis.contributions import contributions
from ratings_core.analysis.cycles import level_cycles, strongest_cycle, strongest_cycles
from ratings_core.analysis.cyclicity import cyclicity
from ratings_core.analysis.flips import flip_pair, flip_to, flip_top_of_margins
from ratings_core.analysis.hodge import hodge
from ratings_core.analysis.insight import insight
from ratings_core.analysis.intervals import outcome_replicates
from ratings_core.analysis.jackknife import group_deletions, jackknife_intervals, outcome_groups
from ratings_core.analysis.next_cells import next_cells
from ratings_core.analysis.next_matches import all_ratings, next_matches, top
from ratings_core.analysis.policies import by_policy
from ratings_core.analysis.schur import schur
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.davidson import davidson
from ratings_core.batch.fenchel_young import fenchel_young
from ratings_core.batch.sigmoidal_program import sigmoidal_program
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_posterior, soft_condorcet_sgd
from ratings_core.equilibria import cce, deviation, lle, nash_average, nash_average_agents
from ratings_core.errors import InputError
from ratings_core.games import NormalForm, agent_vs_task
from ratings_core.ranking import Ranking
from ratings_core.records.outcomes import OutcomeBatch, fixed_weight
from ratings_core.tallies import PairCounts
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from tests.support.options import arguments_of, assert_refused, called

WINS = np.array([[0, 3, 1.0], [2, 0, 2], [1, 1, 0]])
MARGINS = WINS - WINS.T
VOTES = Profile.from_orders([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
COUNTS = PairCounts.from_dense(WINS)
FOUGHT = Comparisons.of_outcomes(OutcomeBatch.of_pairs([0, 1, 2], [1, 2, 0], [1, 0.5, 0], 3), 3)
GAME = NormalForm.of([MARGINS, -MARGINS])
CELLS = np.ones((2, 2))
METHODS = {
    "approval": partial(approval, VOTES, k=1),
    "plurality": partial(plurality, VOTES),
    "borda": partial(borda, VOTES),
    "stv": partial(stv, VOTES),
    "kemeny": partial(kemeny, WINS),
    "schulze": partial(schulze, WINS),
    "ranked_pairs": partial(ranked_pairs, MARGINS),
    "maximal_lottery": partial(maximal_lottery, MARGINS),
    "iterated_maximal_lotteries": partial(iterated_maximal_lotteries, MARGINS),
    "bradley_terry": partial(bradley_terry, WINS),
    "davidson": partial(davidson, WINS, ties=np.ones((3, 3)) - np.eye(3)),
    "fenchel_young": partial(fenchel_young, WINS),
    "soft_condorcet": partial(soft_condorcet, WINS),
    "soft_condorcet_sgd": partial(soft_condorcet_sgd, VOTES, seed=0, iterations=10),
    "soft_condorcet_posterior": partial(soft_condorcet_posterior, VOTES, seed=0, samples=2, burn_in=10),
    "sigmoidal_program": partial(sigmoidal_program, WINS, max_nodes=1, accept_approximate=True),
    "schur": partial(schur, MARGINS),
    "hodge": partial(hodge, MARGINS),
    "near_clones": partial(near_clones, MARGINS, radius=0.5),
    "strongest_cycle": partial(strongest_cycle, MARGINS),
    "strongest_cycles": partial(strongest_cycles, MARGINS, most=1),
    "level_cycles": partial(level_cycles, MARGINS, found=iterated_maximal_lotteries(MARGINS)),
    "flip_to": partial(flip_to, VOTES, agent=0),
    "flip_pair": partial(flip_pair, VOTES, ahead=0, behind=1),
    "flip_top_of_margins": partial(flip_top_of_margins, MARGINS, two_sided=True),
    "cyclicity": partial(cyclicity, COUNTS, agents=3),
    "insight": partial(insight, COUNTS, agents=3, two_sided=True),
    "next_matches": partial(next_matches, COUNTS, agents=3, loss=all_ratings(), games=5),
    "next_cells": partial(next_cells, CELLS, variance=CELLS, count=CELLS, measurements=5),
    "contributions": partial(contributions, GAME, play=[np.full(3, 1 / 3)] * 2),
    "outcome_replicates": partial(outcome_replicates, FOUGHT, seed=0, replicates=2),
    "group_deletions": partial(group_deletions, FOUGHT, seed=0, groups=2),
    "outcome_groups": partial(outcome_groups, np.zeros((2, 2), np.uint64), seed=0, groups=2),
    "jackknife_intervals": partial(jackknife_intervals, whole=COUNTS, deletions=[COUNTS] * 2, fit=lambda _: np.zeros(3)),
    "by_policy": partial(by_policy, make=lambda missing: agent_vs_task(MARGINS, missing=missing), rate=lambda _: np.zeros(3)),
    "Ranking.from_levels": partial(Ranking.from_levels, levels=[[0], [1]]),
    "nash_average": partial(nash_average, MARGINS),
    "nash_average_agents": partial(nash_average_agents, MARGINS),
    "deviation": partial(deviation, GAME),
    "cce": partial(cce, GAME),
    "lle": partial(lle, GAME),
}
NONSENSE = {
    "a complex number": 1j,
    "text": "nonsense",
    "bytes": b"nonsense",
    "an object": object(),
    "a dict": {"a": 1},
    "a ragged list": [[1.0], [1.0, 2.0]],
    "lists too deep": [[[[1.0]]]],
    "a number beyond doubles": 10**400,
    "a span of time": np.timedelta64(3, "s"),
    "no numbers": np.full((3, 3), np.nan),
    "objects": np.array([[object()] * 2] * 2),
}
CASES = [
    (name, option)
    for name, method in METHODS.items()
    for option in arguments_of(method)
    if (name, option) not in (("jackknife_intervals", "whole"), ("jackknife_intervals", "deletions"))  # what `fit` takes
]
SLOW = {"iterations", "thin", "burn_in"}
ACCEPTED = {
    "a number beyond doubles": SLOW
    | {"k", "ties", "most_programs", "universes", "max_iterations", "max_nodes", "max_solves", "max_steps", "most", "seed", "replicates"}
}
"""What does make sense: a count may be as large as it likes."""


@pytest.mark.parametrize(("name", "option"), CASES, ids=[f"{name}-{option}" for name, option in CASES])
def test_nonsense_is_refused_by_name(name, option):
    for what, value in NONSENSE.items():
        if option in ACCEPTED.get(what, ()):
            continue
        assert_refused(partial(called, METHODS[name], {option: value}), what)


@pytest.mark.parametrize("name", METHODS)
def test_the_methods_take_what_makes_sense(name):
    METHODS[name]()


@pytest.mark.parametrize("weight", [10**400, np.timedelta64(3, "s")])
def test_weights_that_are_no_doubles(weight):
    with pytest.raises(InputError, match="weight"):
        fixed_weight(weight)


@pytest.mark.parametrize(
    "method", ["soft_condorcet", "fenchel_young", "sigmoidal_program", "soft_condorcet_sgd", "soft_condorcet_posterior"]
)
@pytest.mark.parametrize("far", [1e-320, 1e-200, 1e200, 1e308])
def test_temperatures_and_boxes_whose_squares_overflow(method, far):
    scale = "sigma" if method == "fenchel_young" else "tau"
    for option in ({scale: far}, {"high": far}, {"low": -far} if far > 1 else {"low": 0.0, "high": far}):
        with pytest.raises(InputError):
            called(METHODS[method], option)


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1e9, 1e90])
def test_the_unit_of_ratings_does_not_matter(scale):
    """Temperature and box in another unit: the same ratings in it."""
    plain = soft_condorcet(WINS)
    found = soft_condorcet(WINS, options=SoftCondorcetOptions(tau=scale, high=100 * scale))
    assert found.ratings / scale == pytest.approx(plain.ratings, rel=1e-6)
    sampled = soft_condorcet_sgd(VOTES, seed=0, iterations=100, tau=scale, high=100 * scale, alpha=0.01 * scale**2)
    assert sampled.ratings / scale == pytest.approx(soft_condorcet_sgd(VOTES, seed=0, iterations=100).ratings, rel=1e-6)


@pytest.mark.parametrize("games", [1e4, 1e6, 1e9])
@pytest.mark.parametrize("count", [1e-9, 10, 1e9])
def test_where_nothing_can_be_gained_games_are_drawn_evenly(games, count):
    """Of agents so far apart, after so many games, that who is best is certain to rounding."""
    settled = PairCounts.from_dense(np.round(games * np.array([[0, 0.9, 0.99], [0.1, 0, 0.9], [0.01, 0.1, 0]])))
    found = next_matches(settled, 3, top(1), games=count)
    assert found.rate == pytest.approx(np.full(3, 1 / 3))
    assert (found.before, found.after, found.certificate.value) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("measurements", [5e-324, 1e-30, 1e-3, 1e30])
def test_few_and_many_measurements_are_shared_out(measurements):
    rate = next_cells([[1.0, 2.0]], [[1.0, 1.0]], [[1e15, 3.0]], measurements=measurements, floor=0.0).rate
    assert rate.sum() == pytest.approx(1)
    assert rate[0, 1] > rate[0, 0] or measurements > 1

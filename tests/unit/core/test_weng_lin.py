"""Weng and Lin's Plackett-Luce rating beside openskill's."""

import itertools

import numpy as np
import pytest
from openskill.models import PlackettLuce

from ratings_core.online import WengLin
from ratings_core.records.beliefs import Belief
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, game, mixed_games

AGENTS = 40
PLAIN = [g._replace(weight=WEIGHT_ONE) for g in mixed_games(17, 600, AGENTS)]
"""Of weight 1: openskill's weights mean another thing."""


def openskill_ratings(model, games):
    rating = {agent: model.rating() for agent in range(AGENTS)}
    for sides, *_ in games:
        rated = model.rate([[rating[a] for a in members] for members, _ in sides], ranks=[float(place) for _, place in sides])
        rating.update({a: one for (members, _), team in zip(sides, rated, strict=True) for a, one in zip(members, team, strict=True)})
    return rating


@pytest.mark.parametrize(
    "settings", [{}, {"mu": 0.0, "sigma": 3.0, "beta": 1.0, "tau": 0.0}, {"kappa": 0.9, "tau": 2.0}], ids=["default", "still", "kappa"]
)
def test_it_is_openskills_plackett_luce(settings):
    rater = WengLin(**settings)
    state = rater.init(AGENTS)
    rater.fold(state, batch_of(PLAIN))
    theirs = openskill_ratings(PlackettLuce(**settings), PLAIN)
    assert len(theirs) == AGENTS
    np.testing.assert_allclose(state.rating, [theirs[a].mu for a in range(AGENTS)], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state.deviation, [theirs[a].sigma for a in range(AGENTS)], rtol=0, atol=1e-9)
    shown = WengLin(**settings, z=3).read(state, np.arange(AGENTS, dtype=np.int32)).rating
    np.testing.assert_allclose(shown, [theirs[a].ordinal() for a in range(AGENTS)], rtol=0, atol=1e-9)


def test_boards_rank_by_the_mean_unless_told_otherwise():
    state, agents = WengLin().init(3), np.arange(3, dtype=np.int32)
    WengLin().fold(state, batch_of([game(0, 1), game(0, 1)]))
    assert WengLin().read(state, agents).rating.tolist() == state.rating.tolist()
    low, high = WengLin().beliefs.interval(25.0, Belief(2.0), None)
    assert (low + high) / 2 == 25.0
    assert WengLin(z=1).read(state, agents).rating[2] == 25 - 25 / 3


def test_a_win_and_a_tie_between_newcomers():
    """openskill's documented first numbers of this model."""
    rater = WengLin()
    state = rater.init(2)
    rater.fold(state, batch_of([game(0, 1)]))
    assert state.rating == pytest.approx([27.63523138347365, 22.36476861652635], abs=0.01)
    assert state.deviation[0] == state.deviation[1] < 25 / 3
    tied = rater.init(2)
    rater.fold(tied, batch_of([game(0, 1, places=(4, 4))]))
    assert tied.rating == pytest.approx([25, 25], abs=1e-12)


def test_an_outcome_moves_means_by_nothing_in_all_between_equals():
    state = WengLin().init(7)
    WengLin().fold(state, batch_of([game(*range(7))]))
    assert state.rating.sum() == pytest.approx(7 * 25)
    assert (np.diff(state.rating) < 0).all()


def test_the_order_in_which_sides_are_listed_does_not_matter():
    sides = [((0, 1), 3), ((2,), 1), ((3,), 1), ((4, 5, 6), 2)]
    found = []
    for listed in itertools.permutations(sides):
        state = WengLin().init(7)
        WengLin().fold(state, batch_of([game(*(members for members, _ in listed), places=[place for _, place in listed])]))
        found.append(np.concatenate([state.rating, state.deviation]))
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (24, 14)), rtol=1e-13)


def test_ratings_far_apart_stay_numbers():
    state = WengLin().init(3)
    state.rating[:] = [1e9, 0, -1e9]
    WengLin().fold(state, batch_of([game(2, 1, 0), game(0, 1, 2), game(2, 0, 1, places=(1, 2, 2))]))
    assert np.isfinite(state.rating).all()
    assert (state.deviation > 0).all()


def test_a_weight_of_a_half_moves_half_as_much():
    whole, half = WengLin(tau=0).init(2), WengLin(tau=0).init(2)
    WengLin(tau=0).fold(whole, batch_of([game(0, 1)]))
    WengLin(tau=0).fold(half, batch_of([game(0, 1, weight=WEIGHT_ONE // 2)]))
    assert half.rating - 25 == pytest.approx((whole.rating - 25) / 2)
    assert (25 / 3) ** 2 - half.deviation**2 == pytest.approx(((25 / 3) ** 2 - whole.deviation**2) / 2)

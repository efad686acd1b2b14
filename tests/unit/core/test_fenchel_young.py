"""The Fenchel-Young rater: its direction, what it settles at, and noise that a replay draws again."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import FenchelYoung
from ratings_core.records.outcomes import OutcomeBatch
from tests.support.game_streams import batch_of, game, mixed_games

PROFILE = json.loads((Path(__file__).parents[2] / "golden" / "sco" / "eq11_profile.json").read_text())


def ratings(rater, *games):
    state = rater.init(0)
    rater.fold(state, batch_of(games))
    return state.rating.tolist()


def test_the_step_is_towards_what_happened():
    """Eq. 9 as printed is minus the gradient of appendix B: descending it would send winners down."""
    rater = FenchelYoung(sigma=1e-6, alpha=1, low=0, high=100, start=50)
    state = rater.init(4)
    state.rating[:] = [10, 20, 30, 40]
    rater.fold(state, batch_of([game(0, 1, 2, 3)]))
    assert state.rating.tolist() == [13, 21, 29, 37]  # each by the places it ended better than its rating said
    rater.fold(state, batch_of([game(3, 2, 1, 0)]))
    assert state.rating.tolist() == [13, 21, 29, 37]  # as the ratings say: no step


def test_tied_sides_share_their_places():
    rater = FenchelYoung(sigma=1e-6, alpha=1)
    state = rater.init(3)
    state.rating[:] = [10, 20, 30]
    rater.fold(state, batch_of([game(0, 1, 2, places=(1, 1, 1))]))
    assert state.rating.tolist() == [11, 20, 29]


def test_a_team_shares_its_step():
    rater = FenchelYoung(sigma=1e-6, alpha=1)
    state = rater.init(3)
    state.rating[:] = [10, 20, 30]
    rater.fold(state, batch_of([game((0, 1), 2)]))
    assert state.rating.tolist() == [10.5, 20.5, 29]


def test_the_noise_of_an_outcome_depends_on_its_id_and_the_seed_alone():
    rater = FenchelYoung(alpha=1)
    steps = {key: tuple(ratings(rater, game(0, 1, 2, 3, 4, key=(key, 7)))) for key in range(1, 60)}
    assert len(set(steps.values())) > 20
    after = rater.init(0)
    rater.fold(after, batch_of([game(8, 9, key=(3, 3)), game(0, 1, 2, 3, 4, key=(5, 7))]))
    assert tuple(after.rating[:5].tolist()) == steps[5]
    assert any(ratings(FenchelYoung(alpha=1, seed=2), game(0, 1, 2, 3, 4, key=(key, 7))) != list(steps[key]) for key in steps)


def test_the_mean_step_is_the_pairwise_logistic_gradient():
    rater, n = FenchelYoung(sigma=2, alpha=1, low=-1e9, high=1e9, start=0), 8_000
    theta, steps = np.array([1.0, -0.5, 0.3]), np.zeros(3)
    for key in range(1, n + 1):
        state = rater.init(3)
        state.rating[:] = theta
        rater.fold(state, batch_of([game(0, 1, 2, places=(2, 1, 2), key=(key, 0))]))
        steps += state.rating - theta
    score = np.array([[0, 0, 0.5], [1, 0, 1], [0.5, 0, 0]])
    expected = 1 / (1 + np.exp(-np.subtract.outer(theta, theta) / 2))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(steps / n, (score - expected).sum(axis=1), atol=0.03)


def test_it_settles_where_the_published_profile_says():
    """The fixed point on eq. 11, where A beats the Condorcet winner C: Bradley-Terry at scale sigma, mean 0."""
    fixed = PROFILE["fenchel_young_gumbel_stationary_point_over_sigma_mean0_computed"]
    votes = [tuple("ABC".index(agent) for agent in vote["ranking"]) for vote in PROFILE["votes"] for _ in range(vote["weight"])]
    rater = FenchelYoung(sigma=1, alpha=0.005)
    state, total, rounds = rater.init(3), np.zeros(3), 4_000
    for number in range(rounds):
        rater.fold(state, OutcomeBatch.of_rankings(np.array(votes, np.int32), 3).numbered(5 * number))
        total += (state.rating - state.rating.mean()) * (number >= rounds // 4)
    np.testing.assert_allclose(total / (rounds * 3 // 4), [fixed[agent] for agent in "ABC"], atol=0.04)
    assert PROFILE["condorcet_winner_strong"] == "C"


def test_outcomes_without_ids_are_refused_and_can_be_numbered():
    rater, games = FenchelYoung(), np.array([[0, 1, 2], [2, 1, 0]], np.int32)
    state, bare = rater.init(0), OutcomeBatch.of_rankings(games, 3)
    with pytest.raises(InputError, match=r"key\[0\] must be the hash of the outcome's id"):
        rater.fold(state, bare)
    assert len(state) == 0
    with pytest.raises(InputError, match="key must be uint64"):
        rater.fold(state, dataclasses.replace(bare, key=np.ones((2, 2))))
    with pytest.raises(InputError, match="first must be a whole number, at least 0"):
        bare.numbered(-1)
    whole, parts = rater.init(0), rater.init(0)
    rater.fold(whole, bare.numbered())
    rater.fold(parts, bare.slice(0, 1).numbered())
    rater.fold(parts, bare.slice(1, 2).numbered(1))
    assert digest(whole.arrays()) == digest(parts.arrays())


def test_ratings_stay_in_the_box():
    rater, state = FenchelYoung(alpha=50, low=-10, high=10, start=0), FenchelYoung().init(0)
    rater.fold(state, batch_of(mixed_games(1, 200)))
    assert state.rating.min() == -10
    assert state.rating.max() == 10

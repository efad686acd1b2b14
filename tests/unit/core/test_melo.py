"""mElo2k: the published update, cycles that Elo cannot see, and vectors read orthogonal."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.online import Elo, Melo, Prequential
from ratings_core.online.melo import MeloState
from ratings_core.records.outcomes import OutcomeBatch
from tests.support.game_streams import batch_of, game, mixed_games

UPDATE = json.loads((Path(__file__).parents[2] / "golden" / "nash_averaging" / "melo2_update.json").read_text())["example"]


def holding(rating, vector):
    columns = {"rating": np.array(rating, np.float64), "vector": np.array(vector, np.float64)}
    return MeloState.from_arrays(columns | {"outcomes": np.zeros(len(rating), np.int64)})


def predictions(rater, state):
    return np.array([[rater.predict(state, a, b) for b in range(len(state))] for a in range(len(state))])


def test_the_update_of_appendix_e():
    rater, state = Melo(k=16, rate=1, scale=1, base=math.e), holding(UPDATE["r"], UPDATE["c"])
    assert rater.predict(state, UPDATE["i"], UPDATE["j"]) == pytest.approx(UPDATE["p_hat"], abs=1e-12)
    rater.fold(state, batch_of([game(UPDATE["i"], UPDATE["j"])]))
    np.testing.assert_allclose((state.rating - UPDATE["r"])[:2], UPDATE["r_update"], atol=1e-12)
    np.testing.assert_allclose((state.vector - UPDATE["c"])[:2].T, UPDATE["c_update"], atol=1e-12)
    assert state.vector[2].tolist() == UPDATE["c"][2]


def test_without_vectors_it_is_elo():
    games = batch_of(mixed_games(3, 300))
    melo, elo = Melo(spread=0), Elo()
    plain, flat = elo.init(0), melo.init(0)
    elo.fold(plain, games)
    melo.fold(flat, games)
    np.testing.assert_allclose(flat.rating, plain.rating, rtol=1e-12)
    assert not flat.vector.any()


def test_first_vectors_are_drawn_by_seed_and_agent_and_not_by_when_they_came():
    rater = Melo(dimensions=4)
    at_once, later = rater.init(500), rater.init(3)
    rater.fold(later, batch_of([game(7, 499)]))
    rest = np.setdiff1d(np.arange(500), [7, 499])
    assert (at_once.vector[rest] == later.vector[rest]).all()
    assert at_once.vector.std() == pytest.approx(0.1, rel=0.05)
    assert (Melo(dimensions=4, seed=1).init(500).vector != at_once.vector).all()
    assert len(np.unique(at_once.vector)) == 2000


def test_a_cycle_is_learnt_that_elo_calls_even():
    """Rock, paper, scissors among 3 kinds of 4 agents each, 9 of 10 games as the kinds say."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 12, 20_000)
    second = (first + rng.integers(1, 12, 20_000)) % 12
    ahead = (first - second) % 3
    chance = np.array([0.5, 0.9, 0.1])[ahead]
    batch = OutcomeBatch.of_pairs(first.astype(np.int32), second.astype(np.int32), (rng.random(20_000) < chance).astype(float), 12)
    elo, melo = Prequential(), Prequential()
    Elo().fold(Elo().init(12), batch, elo)
    rater = Melo()
    state = rater.init(12)
    rater.fold(state, batch, melo)
    assert elo.log_loss > 0.69
    assert melo.log_loss < 0.5
    found = [rater.predict(state, a, b) for a in range(12) for b in range(12) if (a - b) % 3 == 1]
    assert min(found) > 0.5
    assert np.mean(found) == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("dimensions", [2, 4, 6])
def test_orthogonal_skills_predict_the_same(dimensions):
    rng = np.random.default_rng(dimensions)
    for n in (1, 2, 3, dimensions, 11):
        rater, state = Melo(dimensions=dimensions), holding(rng.normal(1500, 200, n), rng.normal(size=(n, dimensions)))
        before = digest_free_copy(state)
        skills = rater.orthogonal(state)
        np.testing.assert_allclose(predictions(rater, holding(skills.rating, skills.vector)), predictions(rater, state), atol=1e-12)
        np.testing.assert_allclose(skills.vector.sum(axis=0), 0, atol=1e-12)
        products = skills.vector.T @ skills.vector
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
        assert (np.diff(np.diag(products)[::2]) <= 1e-12).all()
        assert all((a == b).all() for a, b in zip(before, digest_free_copy(state), strict=True))


def digest_free_copy(state):
    return state.rating.copy(), state.vector.copy()


def test_skills_are_one_answer_however_the_vectors_are_turned():
    rng = np.random.default_rng(4)
    rating, vector = rng.normal(1500, 100, 8), rng.normal(size=(8, 2))
    turn = np.array([[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]])
    rater = Melo()
    plain, turned = rater.orthogonal(holding(rating, vector)), rater.orthogonal(holding(rating, vector @ turn))
    np.testing.assert_allclose(turned.vector, plain.vector, atol=1e-12)
    np.testing.assert_allclose(turned.rating, plain.rating, atol=1e-9)


def test_what_is_transitive_in_the_vectors_is_read_into_the_ratings():
    """Vectors on a line predict like ratings: nothing is left of them."""
    line = np.column_stack([np.linspace(-1, 1, 6), np.ones(6)])
    skills = Melo().orthogonal(holding(np.full(6, 1500.0), line))
    assert not skills.vector.any()
    np.testing.assert_allclose(np.diff(skills.rating), 0.4 * 400 / math.log(10), rtol=1e-12)
    assert Melo().orthogonal(Melo().init(0)).vector.shape == (0, 2)


def test_a_heavy_outcome_cannot_blow_the_vectors_up():
    rater, state = Melo(rate=1e6), Melo(rate=1e6).init(2)
    rater.fold(state, batch_of([game(0, 1, weight=1000 << 20), game(1, 0, weight=1000 << 20)] * 200), score := Prequential())
    assert np.abs(state.vector).max() <= 10
    assert np.isfinite(state.rating).all()
    assert np.isfinite(score.sums).all()


def test_a_state_of_other_dimensions_is_refused():
    state = Melo(dimensions=4).init(3)
    for ask in (lambda: Melo().fold(state, batch_of([game(0, 1)])), lambda: Melo().predict(state, 0, 1), lambda: Melo().orthogonal(state)):
        with pytest.raises(InputError, match="state must hold vectors of 2 numbers"):
            ask()
    with pytest.raises(InputError, match=r"must be float64 \(n, d\)"):
        MeloState.from_arrays(state.arrays() | {"vector": np.zeros(3)})
    broken = state.arrays()
    broken["vector"][2, 1] = np.inf
    with pytest.raises(InputError, match=r"arrays\['vector'\]\[2, 1\] must be finite"):
        MeloState.from_arrays(broken)

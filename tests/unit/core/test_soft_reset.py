"""Soft reset of ratings between seasons: law 14 of `Rater`, on every rater."""

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import Elo, Glicko2, Melo, Sco, WengLin
from ratings_core.online.soft_reset import shrunk, widened
from tests.support.game_streams import at_times, batch_of, mixed_games
from tests.support.online_subjects import SUBJECTS

subjects = pytest.mark.parametrize(("rater", "twin"), SUBJECTS)
AGENTS = 30
GAMES = at_times(mixed_games(5, 300, AGENTS), np.arange(300) * 2000.0)
IDS = np.arange(AGENTS, dtype=np.int32)


def played(rater):
    state = rater.init(AGENTS + 1)
    rater.fold(state, batch_of(GAMES))
    return state


@subjects
def test_all_kept_changes_no_rating_deviation_or_prediction(rater, twin):
    state = played(rater)
    reset = rater.soft_reset(state, 1.0, rater)
    before, after = rater.read(state, IDS), rater.read(reset, IDS)
    assert after.rating.tolist() == before.rating.tolist()
    assert (after.deviation is None) == (before.deviation is None)
    if before.deviation is not None:
        assert after.deviation.tolist() == before.deviation.tolist()
    pairs = [(a, b) for a in range(0, AGENTS, 5) for b in range(1, AGENTS, 7)]
    assert [rater.predict(reset, a, b) for a, b in pairs] == pytest.approx([rater.predict(state, a, b) for a, b in pairs], abs=1e-15)


@subjects
def test_less_brings_ratings_nearer_to_their_mean_in_the_same_order_and_no_deviation_falls(rater, twin):
    state = played(rater)
    before, after = rater.read(state, IDS), rater.read(rater.soft_reset(state, 0.5, rater), IDS)
    assert np.ptp(after.rating) < np.ptp(before.rating)
    ordered = np.argsort(before.rating, kind="stable")
    assert np.all(np.diff(after.rating[ordered]) >= 0.0)
    if before.deviation is not None:
        assert np.all(after.deviation >= before.deviation)
    assert after.outcomes.tolist() == [0] * AGENTS


@subjects
def test_nothing_kept_makes_all_agents_equal(rater, twin):
    reset = rater.soft_reset(played(rater), 0.0, rater)
    assert np.ptp(rater.read(reset, IDS).rating) == 0.0


@subjects
def test_it_reads_only_and_commutes_with_renaming_agents(rater, twin):
    state = played(rater)
    before = digest(state.arrays())
    new = np.random.default_rng(3).permutation(AGENTS + 1)
    one = rater.soft_reset(state, 0.3, rater).selected(new)
    other = rater.soft_reset(state.selected(new), 0.3, rater)
    assert digest(one.arrays()) == digest(other.arrays())
    assert digest(state.arrays()) == before


@subjects
def test_the_season_goes_on_from_the_reset(rater, twin):
    reset = rater.soft_reset(played(rater), 0.5, rater)
    more = at_times(mixed_games(6, 100, AGENTS + 5), np.arange(100) * 2000.0 + 600_000.0)
    rater.fold(reset, batch_of(more))
    assert np.isfinite(rater.read(reset, np.arange(len(reset), dtype=np.int32)).rating).all()


@subjects
@pytest.mark.parametrize("keep", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused(rater, twin, keep):
    with pytest.raises(InputError) as caught:
        rater.soft_reset(rater.init(2), keep, rater)
    assert caught.value.argument == "keep"


def test_elo_shrinks_to_the_mean_of_all_agents():
    state = Elo().init(3)
    state.rating[:] = [1400.0, 1500.0, 1900.0]
    assert Elo(k=10).soft_reset(state, 0.5, Elo()).rating.tolist() == [1500.0, 1550.0, 1750.0]


def test_deviations_grow_as_variances_do():
    assert widened(np.array([3.0, 5.0]), 5.0, 0.6).tolist() == pytest.approx([(0.36 * 9 + 0.64 * 25) ** 0.5, 5.0])
    state = WengLin().init(2)
    state.deviation[:] = [1.0, 2.0]
    reset = WengLin().soft_reset(state, 0.5, WengLin())
    assert reset.deviation.tolist() == pytest.approx([(0.25 * d * d + 0.75 * (25 / 3) ** 2) ** 0.5 for d in (1.0, 2.0)])


def test_both_terms_of_melo_shrink_alike():
    rater = Melo()
    state = played(rater)
    reset = rater.soft_reset(state, 0.25, rater)
    pairs = [(a, b) for a in range(10) for b in range(10, 20)]
    quarter = [0.25 * rater.log_odds(state, a, b) for a, b in pairs]
    assert [rater.log_odds(reset, a, b) for a, b in pairs] == pytest.approx(quarter, abs=1e-12)
    other = Melo(dimensions=4)
    assert other.soft_reset(state, 0.5, rater).vector.shape == (AGENTS + 1, 4), "vectors of other dimensions are drawn again"


def test_glicko_deviations_go_on_growing_from_the_end_of_the_season():
    rater = Glicko2(period_seconds=1000.0)
    state = played(rater)
    kept = rater.soft_reset(state, 1.0, rater)
    later = 2_000_000.0
    assert rater.read(kept, IDS, later).deviation.tolist() == pytest.approx(rater.read(state, IDS, later).deviation.tolist())
    other = Glicko2(period_seconds=5000.0)
    assert other.read(other.soft_reset(state, 1.0, rater), IDS, later).deviation.tolist() == rater.read(state, IDS).deviation.tolist()


def test_ratings_stay_within_the_bounds_of_the_new_settings():
    state = Sco().init(2)
    state.rating[:] = [0.0, 100.0]
    assert Sco(low=40, high=60).soft_reset(state, 1.0, Sco()).rating.tolist() == [40.0, 60.0]


def test_no_agents_have_no_mean():
    assert shrunk(np.zeros(0), 0.5).tolist() == []

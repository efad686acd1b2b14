"""Glicko-2: the source's example, periods by pool time, deviations that grow, and the form for n sides."""

import math

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import Glicko2
from ratings_core.online.glicko2 import GlickoState
from ratings_core.online.volatility import new_volatility
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from tests.support.game_streams import batch_of, game
from tests.support.online_twins import glicko_volatility

WEEK = 604_800.0


def everybody(state):
    return np.arange(len(state), dtype=np.int32)


def test_the_example_of_the_source():
    """1500 with deviation 200 beats 1400 (30), loses to 1550 (100) and 1700 (300)."""
    rater, state = Glicko2(), Glicko2().init(4)
    state.rating[:] = [1500, 1400, 1550, 1700]
    state.column("deviation")[:] = [200, 30, 100, 300]
    rater.fold(state, batch_of([game(0, 1), game(2, 0), game(3, 0)]))
    known = rater.read(state, everybody(state))
    assert known.rating[0] == pytest.approx(1464.06, abs=0.01)
    assert known.deviation[0] == pytest.approx(151.52, abs=0.01)
    rater.fold(state, batch_of([game(0, 1, time=WEEK)]))  # closes the week
    assert state.column("volatility")[0] == pytest.approx(0.05999, abs=1e-5)
    assert state.rating[0] == known.rating[0]
    assert state.column("deviation")[0] == known.deviation[0]


def test_the_volatility_is_the_root_of_its_equation():
    draw = np.random.default_rng(0)
    for _ in range(500):
        phi2, sigma, tau = np.exp(draw.uniform([-8, -8, -3], [2, 1, 2.2]))
        v = np.exp(draw.uniform(-6, 20))
        delta = v * draw.normal() / math.sqrt(v) * np.exp(draw.uniform(-3, 3))
        assert new_volatility(phi2, sigma, v, delta, tau) == pytest.approx(glicko_volatility(phi2, sigma, v, delta, tau), rel=1e-12)


def test_ratings_stand_still_inside_a_period_and_what_is_shown_does_not():
    rater, state = Glicko2(), Glicko2().init(2)
    rater.fold(state, batch_of([game(0, 1, time=5.0)]))
    first = rater.read(state, everybody(state)).rating
    rater.fold(state, batch_of([game(0, 1, time=10.0)]))
    assert state.rating.tolist() == [1500, 1500]
    assert rater.read(state, everybody(state)).rating[0] > first[0] > 1500


def test_the_order_inside_a_period_does_not_matter():
    rater, games = Glicko2(), [game(0, 1), game(1, 2), game(2, 0), game(0, 2, 1)]
    forth, back = rater.init(3), rater.init(3)
    rater.fold(forth, batch_of(games))
    rater.fold(back, batch_of(games[::-1]))
    np.testing.assert_allclose(rater.read(back, everybody(back)).rating, rater.read(forth, everybody(forth)).rating, rtol=1e-13)


def test_a_late_outcome_counts_in_the_period_that_is_open():
    rater = Glicko2()
    late, now = rater.init(3), rater.init(3)
    rater.fold(late, batch_of([game(0, 1, time=9 * WEEK), game(1, 2, time=0.0)]))
    rater.fold(now, batch_of([game(0, 1, time=9 * WEEK), game(1, 2, time=9 * WEEK)]))
    assert digest(late.arrays()) == digest(now.arrays())


def test_a_deviation_grows_by_the_volatility_of_every_whole_period_away():
    rater, state = Glicko2(), Glicko2().init(4)
    rater.fold(state, batch_of([game(0, 1, time=i) for i in range(30)]))
    played = np.array([0], np.int32)
    known = rater.read(state, played)
    rater.fold(state, batch_of([game(2, 3, time=3.5 * WEEK)]))
    away = rater.read(state, played)
    volatility = _volatility_after(rater, state)
    assert away.deviation[0] == pytest.approx(math.sqrt(known.deviation[0] ** 2 + 2 * (volatility * rater.scale) ** 2))
    assert away.rating[0] == known.rating[0]
    assert rater.read(state, played, time=1.9 * WEEK).deviation[0] == away.deviation[0]  # not before the newest time
    later = [rater.read(state, played, time=weeks * WEEK).deviation[0] for weeks in (4, 40, 400, 4e6)]
    assert later == sorted(later)
    assert later[-1] == pytest.approx(350)
    assert rater.read(state, everybody(state)).provisional(deviation=110).tolist() == [False, False, True, True]
    rater.fold(state, batch_of([game(0, 1, time=40.0 * WEEK)]))
    assert state.column("deviation")[0] == later[1]


def _volatility_after(rater, state):
    """Of agent 0, once its period is closed."""
    other = GlickoState.from_arrays(state.arrays())
    rater.fold(other, batch_of([game(0, 1, time=3.5 * WEEK)]))
    return other.column("volatility")[0]


def test_who_has_not_played_is_a_newcomer_at_any_time():
    rater, state = Glicko2(), Glicko2().init(3)
    known = rater.read(state, everybody(state), time=1e12)
    assert known.rating.tolist() == [1500] * 3
    assert known.deviation.tolist() == [350] * 3
    assert rater.predict(state, 0, 1) == 0.5


def test_a_wide_deviation_tempers_predictions():
    rater, state = Glicko2(), Glicko2().init(3)
    state.rating[:] = [1700, 1500, 1500]
    state.column("deviation")[:] = [50, 50, 350]
    assert 0.5 < rater.predict(state, 0, 2) < rater.predict(state, 0, 1) < 0.76


@pytest.mark.parametrize("k", [2, 4, 7])
def test_deviations_are_as_wide_as_errors_whatever_the_number_of_sides(k):
    """Free-for-alls of agents whose strengths are drawn as a newcomer's belief says: errors over deviations have variance 1."""
    rng, m = np.random.default_rng(k), 3_000
    truth = rng.normal(0, 0.8, m)
    rater = Glicko2(deviation=0.8 * 173.7178, volatility=1e-3, tau=0.01, period_seconds=1)
    state, rounds = rater.init(m), 12
    for number in range(rounds):
        games = rng.permutation(m)[: m // k * k].reshape(-1, k)
        order = np.argsort(-(truth[games] + rng.gumbel(size=games.shape)), axis=1)
        batch = OutcomeBatch.of_rankings(np.take_along_axis(games, order, axis=1).astype(np.int32), m)
        batch.time[:] = number
        rater.fold(state, batch)
    known = rater.read(state, everybody(state))
    errors = ((known.rating - 1500) / rater.scale - truth) / (known.deviation / rater.scale)
    assert errors.var() == pytest.approx(1, abs=0.12)
    assert known.deviation.mean() < 0.8 * rater.scale * 0.85


def test_a_member_learns_less_from_a_team_than_alone():
    rater = Glicko2()
    alone, together = rater.init(4), rater.init(4)
    rater.fold(alone, batch_of([game(0, 1)]))
    rater.fold(together, batch_of([game((0, 2), (1, 3))]))
    ahead = [rater.read(state, everybody(state)) for state in (alone, together)]
    assert ahead[0].rating[0] > ahead[1].rating[0] == ahead[1].rating[2] > 1500
    assert ahead[0].deviation[0] < ahead[1].deviation[0] < 350


def test_an_outcome_of_weight_two_is_two_games():
    rater, twice = Glicko2(), batch_of([game(0, 1), game(0, 1)])
    heavy, plain = rater.init(2), rater.init(2)
    rater.fold(heavy, batch_of([game(0, 1, weight=2 * WEIGHT_ONE)]))
    rater.fold(plain, twice)
    np.testing.assert_allclose(rater.read(heavy, everybody(heavy)).rating, rater.read(plain, everybody(plain)).rating, rtol=1e-14)


def test_an_upset_beyond_belief_stays_a_number():
    rater, state = Glicko2(), Glicko2().init(2)
    state.rating[:] = [1e8, -1e8]
    state.column("deviation")[:] = 1
    for week in range(5):
        rater.fold(state, batch_of([game(1, 0, time=week * WEEK, weight=1000 * WEIGHT_ONE)]))
    known = rater.read(state, everybody(state))
    assert np.isfinite(known.rating).all()
    assert (known.deviation <= 350).all()
    assert (state.column("volatility") <= 350 / rater.scale).all()


def test_times_that_are_none_are_refused_and_change_nothing():
    rater, state = Glicko2(), Glicko2().init(0)
    sound = batch_of([game(0, 1)])
    for time, rule in ((np.array([np.nan]), "must be finite"), (np.array([1e16]), "within"), (np.zeros(2), "must be float64")):
        broken = OutcomeBatch(**{name: getattr(sound, name) for name in sound.__slots__} | {"time": time})
        with pytest.raises(InputError, match=rule):
            rater.fold(state, broken)
    assert (len(state), digest(state.arrays())) == (0, digest(rater.init(0).arrays()))
    with pytest.raises(InputError):
        rater.read(state, everybody(state), time=math.nan)


def test_a_clock_that_is_none_is_refused():
    arrays = Glicko2().init(2).arrays()
    for clock in (None, np.zeros(2, np.int64), np.zeros(1)):
        broken = {name: array for name, array in arrays.items() if name != "clock"} | ({} if clock is None else {"clock": clock})
        with pytest.raises(InputError, match="clock"):
            GlickoState.from_arrays(broken)

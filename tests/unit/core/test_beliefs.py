"""Deviations and intervals of beliefs, by hand."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.online import RATERS
from ratings_core.records.beliefs import Belief, BeliefModel, Stretch

WEEK = 604_800.0
MODEL = BeliefModel(newcomer=350.0, period_seconds=WEEK)
PLAYED_IN_WEEK_4 = Belief(50.0, wander=10.0, since=5)


@pytest.mark.parametrize(
    ("time", "variance"),
    [
        (None, 2500),
        (0.0, 2500),
        (-1e15, 2500),
        (4.5 * WEEK, 2500),
        (5 * WEEK, 2500),
        (5.99 * WEEK, 2500),
        (6 * WEEK, 2600),
        (7.5 * WEEK, 2700),
        (105 * WEEK, 12_500),
        (1e15, 350**2),
    ],
)
def test_variance_grows_for_each_whole_period_away_up_to_a_newcomers(time: float | None, variance: float) -> None:
    assert MODEL.deviation(PLAYED_IN_WEEK_4, time) == math.sqrt(variance)


def test_what_nobody_knows_yet_and_what_does_not_wander_stays() -> None:
    assert MODEL.deviation(Belief(350.0), 1e15) == 350.0
    assert BeliefModel(newcomer=8.0).deviation(Belief(2.5, wander=1.0, since=0), 1e15) == 2.5


def test_periods_before_1970_count_too() -> None:
    assert MODEL.deviation(Belief(50.0, wander=10.0, since=-9), -6.5 * WEEK) == math.sqrt(2700)


def test_the_interval_is_around_the_mean_as_wide_as_the_deviation_then() -> None:
    assert MODEL.interval(1500.0, PLAYED_IN_WEEK_4, None) == (1500 - 98.0, 1500 + 98.0)
    low, high = MODEL.interval(1500.0, PLAYED_IN_WEEK_4, 105 * WEEK)
    assert (low + high) / 2 == 1500
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(12_500))


def test_the_stretch_widens_the_interval_and_leaves_the_deviation() -> None:
    """2 logits from the start, a tenth of a newcomer's 1.2 logits: 1 + .99 (-.1 + .2 * 4 + .5 * .1 - .25 * 1.2)."""
    wide = BeliefModel(newcomer=120.0, start=1500.0, logit=100.0, stretch=Stretch(-0.1, distance=0.2, doubt=0.5, spread=-0.25))
    reach = 1.96 * 12.0 * 1.4455
    assert wide.interval(1700.0, Belief(12.0), None) == pytest.approx((1700 - reach, 1700 + reach))
    assert wide.deviation(Belief(12.0), None) == 12.0


@pytest.mark.parametrize("method", ["glicko2", "weng_lin"])
@given(x=st.floats(-1e6, 1e6), r=st.floats(0.0, 1e3), n=st.floats(0.0, 1e3))
def test_every_stretch_is_above_a_third_and_bounded(method: str, x: float, r: float, n: float) -> None:
    model = RATERS[method]().beliefs
    assert model is not None
    assert 1 / 3 < model.stretch.at(x, r, n) < 6.0


@given(
    rating=st.floats(0.0, 3000.0),
    left=st.floats(1.0, 350.0),
    wander=st.floats(1.0, 350.0),
    weeks=st.lists(st.integers(0, 2000), min_size=2),
)
def test_an_interval_never_narrows_while_its_agent_is_away(rating: float, left: float, wander: float, weeks: list[int]) -> None:
    model = RATERS["glicko2"]().beliefs
    assert model is not None
    ends = [model.interval(rating, Belief(left, wander, since=0), week * WEEK) for week in sorted(weeks)]
    assert all(wider >= narrower * (1 - 1e-9) for narrower, wider in pairwise(high - low for low, high in ends))


@pytest.mark.parametrize("method", ["glicko2", "weng_lin"])
def test_a_newcomer_s_interval_is_that_of_the_prior(method: str) -> None:
    model = RATERS[method]().beliefs
    assert model is not None
    low, high = model.interval(model.start, Belief(model.newcomer), None)
    assert (low + high) / 2 == pytest.approx(model.start)
    assert high - low == pytest.approx(2 * 1.96 * model.newcomer)


def test_a_value_that_ranks_below_the_mean_lies_below_its_interval() -> None:
    """Weng-Lin's ordinal of a mean of 25 and a deviation of 2."""
    assert BeliefModel(newcomer=8.0, below=3.0).interval(19.0, Belief(2.0), 1e9) == pytest.approx((25 - 3.92, 25 + 3.92))


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"newcomer": 0.0}, "newcomer"),
        ({"newcomer": math.nan}, "newcomer"),
        ({"newcomer": 350.0, "period_seconds": 0.0}, "period_seconds"),
        ({"newcomer": 350.0, "period_seconds": 1e-300}, "period_seconds"),
        ({"newcomer": 350.0, "logit": 0.0}, "logit"),
        ({"newcomer": 350.0, "below": math.inf}, "below"),
        ({"newcomer": 350.0, "start": "1500"}, "start"),
        ({"newcomer": 350.0, "stretch": None}, "stretch"),
        ({"newcomer": 350.0, "stretch": Stretch(doubt=math.nan)}, "stretch.doubt"),
    ],
)
def test_parameters_without_an_interval_are_refused(parameters: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as refused:
        BeliefModel(**parameters)
    assert (refused.value.argument, bool(refused.value.rule)) == (argument, True)


@pytest.mark.parametrize(
    ("belief", "time", "argument"),
    [
        ((50.0, 10.0, 5), None, "belief"),
        (Belief(-1.0), None, "belief.deviation"),
        (Belief(math.nan), None, "belief.deviation"),
        (Belief(50.0, wander=-1.0), 0.0, "belief.wander"),
        (Belief(50.0, wander=10.0, since=0.5), 0.0, "belief.since"),
        (Belief(50.0, wander=10.0, since=-(10**400)), 0.0, "belief.since"),
        (Belief(50.0, wander=10.0), math.nan, "time"),
        (Belief(50.0, wander=10.0), math.inf, "time"),
        (Belief(50.0, wander=10.0), "now", "time"),
    ],
)
def test_beliefs_and_times_without_a_deviation_are_refused(belief: Any, time: Any, argument: str) -> None:
    for call in (lambda: MODEL.deviation(belief, time), lambda: MODEL.interval(1500.0, belief, time)):
        with pytest.raises(InputError) as refused:
            call()
        assert refused.value.argument == argument


@given(st.floats(-1e100, 1e100), st.floats(0.0, 1e100), st.floats(0.0, 1e100), st.floats(-1e100, 1e100))
def test_every_accepted_number_has_a_finite_interval(rating: float, deviation: float, wander: float, time: float) -> None:
    far = BeliefModel(newcomer=1e100, below=1e100, period_seconds=1.0, logit=1e-100, stretch=Stretch(1e100, 1e100, 1e100, 1e100))
    for model in (MODEL, far):
        assert np.isfinite(model.interval(rating, Belief(deviation, wander), time)).all()

"""Glicko-2's fold in parts, and volatilities of many agents at a time: the same bits as one outcome, or one agent, after the other."""

import dataclasses

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.online import Glicko2, Prequential
from ratings_core.online.glicko2_periods import (
    CLOSED_DEVIATION,
    CLOSED_RATING,
    CLOSED_VOLATILITY,
    close_lanes,
    closed,
    new_lanes,
    put,
)
from ratings_core.online.trace import RatingTrace
from ratings_core.online.volatility import (
    DELTA,
    LANES,
    SOLVED,
    VARIANCE,
    VOLATILITY,
    VOLATILITY_ROWS,
    V,
    new_volatilities,
    new_volatility,
)
from tests.support.assembly import FORBIDDEN, fresh
from tests.support.game_streams import at_times, batch_of, game, mixed_games

TAUS = (1e-3, 0.1, 0.5, 1.2, 3.0, 10.0)
EDGES = (0.0, 5e-324, 1e-300, 1e-160, 1e-8, 1.0, 1e8, 1e150, 1e300, np.inf, np.nan)
MODEL = (173.7178, 0.5, (350 / 173.7178) ** 2)
AGENTS = 5_000


def by_lanes(variance, volatility, v, delta, tau):
    """Volatilities of any number of agents. Lanes that are not used have arguments that are no numbers."""
    solved = []
    for first in range(0, len(variance), LANES):
        lanes, used = np.full(VOLATILITY_ROWS * LANES, np.nan), min(LANES, len(variance) - first)
        for row, column in ((VARIANCE, variance), (VOLATILITY, volatility), (V, v), (DELTA, delta)):
            lanes[row : row + used] = column[first : first + used]
        new_volatilities(lanes, used, tau)
        solved += lanes[SOLVED : SOLVED + used].tolist()
    return solved


def one_by_one(variance, volatility, v, delta, tau):
    return [new_volatility(*arguments, tau) for arguments in zip(variance, volatility, v, delta, strict=True)]


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0, 300.0])
def test_volatilities_of_many_agents_have_the_bits_of_single_ones(spread, tau):
    draw = np.random.default_rng(round(spread * 10))
    variance, volatility, v, size = np.exp(np.clip(spread * draw.normal(size=(4, 300)), -700, 700))
    arguments = variance, volatility, v, size * draw.normal(size=300), tau
    assert np.array_equal(by_lanes(*arguments), one_by_one(*arguments), equal_nan=True)


@pytest.mark.parametrize("tau", [0.5, 10.0])
def test_so_have_those_at_the_edges_of_the_doubles(tau):
    arguments = [column.ravel() for column in np.meshgrid(*[np.array(EDGES)] * 3, np.array([0.0, 1.0, -1e155, np.inf, np.nan]))]
    assert np.array_equal(by_lanes(*arguments, tau), one_by_one(*arguments, tau), equal_nan=True)


@pytest.mark.parametrize("used", [0, 1, 6, 7, 31, LANES])
def test_periods_of_many_agents_end_as_single_ones_do(used):
    draw = np.random.default_rng(used)
    information = draw.integers(0, 4, used) * 0.2  # agents without games stay as they are
    columns = draw.normal(1500, 200, used), draw.uniform(30, 350, used), np.exp(draw.normal(-3, 1, used)), information
    agents = list(zip(*columns, information * draw.normal(size=used), strict=True))
    lanes = new_lanes()
    for i, agent in enumerate(agents):
        put(lanes, i, *agent)
    close_lanes(lanes, used, MODEL)
    found = [tuple(lanes[row + i] for row in (CLOSED_RATING, CLOSED_DEVIATION, CLOSED_VOLATILITY)) for i in range(used)]
    assert found == [closed(*agent, MODEL) for agent in agents]


def test_vector_instructions_are_neither_libm_nor_fused_operations():
    compiled = fresh(new_volatilities)
    compiled(np.ones(VOLATILITY_ROWS * LANES), LANES, 0.5)
    assembly = "".join(compiled.inspect_asm().values())
    assert not FORBIDDEN.search(assembly)


def _folded(rater, batch, size):
    """Digests of state and scores, and the trace, of a fold of so many outcomes at a time."""
    state, score, trace = rater.init(0), Prequential(), RatingTrace.of(batch)
    for start in range(0, len(batch), size):
        part = batch.slice(start, min(start + size, len(batch)))
        of_part = RatingTrace.of(part)
        rater.fold(state, part, score, of_part)
        first_side = batch.side_start[start]
        first = batch.agent_start[first_side]
        trace.before[first : first + len(part.agent)], trace.after[first : first + len(part.agent)] = of_part.before, of_part.after
        trace.expected[first_side : first_side + len(part.place)] = of_part.expected
    return digest(state.arrays()), digest(score.arrays()), dataclasses.astuple(trace)


def _large():
    """Outcomes, one of which has more members than a part."""
    crowd = np.random.default_rng(4).permutation(AGENTS).tolist()
    large = [game(tuple(crowd[:1_500]), tuple(crowd[1_500:4_000]), time=2e6), game(crowd[0], crowd[2_000], time=2e6)]
    return [*mixed_games(7, 50), *large, *at_times(mixed_games(8, 50), np.full(50, 3e6))]


STREAMS = {
    "many agents": lambda: mixed_games(3, 2_000, AGENTS),
    "few agents": lambda: mixed_games(5, 2_000, 9),
    "many periods": lambda: at_times(mixed_games(6, 2_000), np.random.default_rng(4).integers(-20_000, 60_000, 2_000).cumsum()),
    "an outcome larger than a part": _large,
}
streams = pytest.mark.parametrize("stream", STREAMS)


@streams
def test_parts_change_no_bit_of_state_scores_and_trace(stream):
    batch = batch_of(STREAMS[stream]())
    whole, cut = _folded(Glicko2(), batch, len(batch)), _folded(Glicko2(), batch, 1)
    assert whole[:2] == cut[:2]
    for once, often in zip(whole[2], cut[2], strict=True):
        assert np.array_equal(once, often)


@streams
def test_a_fold_without_scores_leaves_the_same_state(stream):
    rater, state, batch = Glicko2(), Glicko2().init(0), batch_of(STREAMS[stream]())
    rater.fold(state, batch)
    assert digest(state.arrays()) == _folded(rater, batch, 100)[0]

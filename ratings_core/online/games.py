"""Helpers for the kernels of online raters: columns in kernel form, results of pairs, ratings of sides."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.online.prequential import Prequential
from ratings_core.online.state import OnlineState
from ratings_core.records.outcomes import MAX_SIDES, WEIGHT_ONE, OutcomeBatch

UNIT: Final = 1.0 / WEIGHT_ONE
"""Factor from fixed-point weights to weights; the product is exact."""

_DTYPES: Final = {"side_start": np.int64, "place": np.int32, "agent_start": np.int64, "agent": np.int32, "weight": np.int64}
_FAULTS: Final = {
    -2: ("side_start", f"must run from 0 to the number of sides, with 2 to {MAX_SIDES} sides per outcome"),
    -3: ("agent_start", "must run from 0 to the number of agents, with at least 1 agent per side"),
    -4: ("agent", "must hold ids from 0"),
    -5: ("weight", "must be positive"),
}
_NOT_SCORED: Final = Prequential()
"""Placeholder if nothing is scored, so that one compiled kernel serves both cases; never written."""
NO_KEYS: Final = np.zeros((0, 2), np.uint64)
"""Placeholder for the outcomes' keys, for raters that draw no random numbers."""
NO_KEYS.flags.writeable = False


class Games(NamedTuple):
    """The columns of a batch for kernels: of the right dtype, contiguous and read-only, so that all batches have one signature.

    Ids are checked to be nonnegative and then unsigned, because numba then omits the code for negative indices.
    """

    side_start: NDArray[np.int64]
    place: NDArray[np.int32]
    agent_start: NDArray[np.int64]
    agent: NDArray[np.uint32]
    weight: NDArray[np.int64]


class Scoring(NamedTuple):
    """Whether predictions are scored, and the arrays that get the scores."""

    wanted: bool
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]


def games_of(batch: OutcomeBatch) -> tuple[Games, int]:
    """The columns of `batch`, and the number of agents that they need. Raises `InputError` if the columns do not fit together."""
    checks.instance("batch", batch, OutcomeBatch)
    columns = {name: _kernel_column(name, getattr(batch, name), dtype) for name, dtype in _DTYPES.items()}
    _check_length(columns, "side_start", "weight")
    _check_length(columns, "agent_start", "place")
    highest = _highest(**columns)
    if highest in _FAULTS:
        argument, rule = _FAULTS[highest]
        raise InputError(argument, columns[argument], rule)
    columns["agent"] = columns["agent"].view(np.uint32)
    return Games(**columns), highest + 1


def scoring(score: Prequential | None) -> Scoring:
    """`score` in kernel form. Raises `InputError` if it is not a `Prequential`."""
    into = _NOT_SCORED if score is None else checks.instance("score", score, Prequential)
    return Scoring(score is not None, into.counts, into.sums)


def keys_of(batch: OutcomeBatch) -> NDArray[np.uint64]:
    """The keys of `batch` for kernels, (n, 2). Raises `InputError` if an outcome has no key, because all of
    them would draw the same numbers.
    """
    key = batch.key
    if key.dtype != np.uint64 or key.shape != (len(batch), 2):
        raise InputError("key", f"{key.dtype} {key.shape}", f"must be uint64 ({len(batch)}, 2)")
    if (bare := np.flatnonzero(~key.any(axis=1))).size:
        rule = "must be the hash of the outcome's id; `OutcomeBatch.numbered` makes keys for outcomes without ids"
        raise InputError(f"key[{bare[0]}]", 0, rule)
    return _as_kernels_take_it(key)


def times_of(batch: OutcomeBatch) -> NDArray[np.float64]:
    """The times of `batch` for kernels, (n,). Raises `InputError` if a time is not finite."""
    time = batch.time
    if time.dtype != np.float64 or time.shape != (len(batch),):
        raise InputError("time", f"{time.dtype} {time.shape}", f"must be float64 ({len(batch)},)")
    if (bad := np.flatnonzero(~np.isfinite(time))).size:
        raise InputError(f"time[{bad[0]}]", time[bad[0]].item(), "must be finite")
    return _as_kernels_take_it(time)


def check_pair(state: OnlineState, a: int, b: int) -> None:
    """Raises `InputError` unless a and b are agents of `state`."""
    pair: tuple[tuple[str, object], ...] = ("a", a), ("b", b)
    for argument, agent in pair:
        if isinstance(agent, bool) or not isinstance(agent, int | np.integer) or not 0 <= agent < len(state):
            raise InputError(argument, agent, f"must be the id of an agent, 0 to {len(state) - 1}")


def _check_length(columns: Mapping[str, NDArray[Any]], start: str, of: str) -> None:
    if len(columns[start]) != len(columns[of]) + 1:
        raise InputError(start, len(columns[start]), f"must have {len(columns[of]) + 1} entries, one more than {of}")


def _kernel_column(name: str, column: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(name, f"{column.dtype} {column.shape}", f"must be {np.dtype(dtype)} (n,)")
    return _as_kernels_take_it(column)


def _as_kernels_take_it(column: NDArray[Any]) -> NDArray[Any]:
    fit = column.view() if column.flags.c_contiguous and column.flags.aligned else column.copy()
    fit.flags.writeable = False
    return fit


@kernel
def _highest(
    side_start: NDArray[np.int64], place: NDArray[np.int32], agent_start: NDArray[np.int64],
    agent: NDArray[np.int32], weight: NDArray[np.int64],
) -> int:  # fmt: skip
    """The greatest id (-1 for an empty batch), or a key of `_FAULTS` if the columns break a rule."""
    if side_start[0] != 0 or side_start[-1] != len(place) or not _steps_within(side_start, 2, MAX_SIDES):
        return -2
    if agent_start[0] != 0 or agent_start[-1] != len(agent) or not _steps_within(agent_start, 1, len(agent)):
        return -3
    lowest, highest = 0, -1
    for i in range(len(agent)):
        lowest = min(lowest, agent[i])
        highest = max(highest, agent[i])
    if lowest < 0:
        return -4
    least = 1
    for i in range(len(weight)):
        least = min(least, weight[i])
    return highest if least > 0 else -5


@kernel
def _steps_within(start: NDArray[np.int64], least: int, most: int) -> bool:
    """True if all differences are within the bounds. There is no early exit, so that the loop vectorises."""
    fits = True
    for i in range(len(start) - 1):
        step = start[i + 1] - start[i]
        fits &= (step >= least) & (step <= most)
    return fits


@inlined
def result_of(place: int, other: int) -> float:
    """Score of the side at `place` against the side at `other`: 1 if better, 0 if worse, 1/2 if equal. For kernels."""
    return 0.5 + 0.5 * (int(place < other) - int(place > other))


@inlined
def side_means(
    rating: NDArray[np.float64], agent_start: NDArray[np.int64], agent: NDArray[np.uint32], first: int, n: int, mean: NDArray[np.float64]
) -> None:
    """Write the mean rating of the members of each of `n` sides, starting with side `first`, summed in the members' order. For kernels."""
    for side in range(n):
        begin, end = agent_start[first + side], agent_start[first + side + 1]
        total = rating[agent[begin]]
        for member in range(begin + 1, end):
            total += rating[agent[member]]
        mean[side] = total / (end - begin)

"""Helpers for the kernels of online raters: keys and times in kernel form, results of pairs, ratings of sides."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined
from ratings_core.online.prequential import Prequential
from ratings_core.online.state import OnlineState
from ratings_core.records.games import GameColumns, for_kernels
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch

UNIT: Final = 1.0 / WEIGHT_ONE
"""Factor from fixed-point weights to weights; the product is exact."""

_NOT_SCORED: Final = Prequential()
"""Placeholder if nothing is scored, so that one compiled kernel serves both cases; never written."""
_NO_ROWS: Final = np.zeros(0, np.int32)
NO_KEYS: Final = np.zeros((0, 2), np.uint64)
"""Placeholder for the outcomes' keys, for raters that draw no random numbers."""
NO_KEYS.flags.writeable = False


class Scoring(NamedTuple):
    """Whether predictions are scored, the arrays of `Prequential` that get the scores, and the index of each outcome's record there."""

    wanted: bool
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    rows: NDArray[np.int32]


def scoring(score: Prequential | None, games: GameColumns) -> Scoring:
    """`score` in kernel form. It gets a record for each shape of `games` that is new, so all arguments of a fold are checked before."""
    if score is None:
        return Scoring(False, _NOT_SCORED.counts, _NOT_SCORED.sums, _NO_ROWS)
    rows = score.rows(games)
    return Scoring(True, score.counts, score.sums, rows)


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
    return for_kernels(key)


def times_of(batch: OutcomeBatch) -> NDArray[np.float64]:
    """The times of `batch` for kernels, (n,). Raises `InputError` if a time is not finite."""
    time = batch.time
    if time.dtype != np.float64 or time.shape != (len(batch),):
        raise InputError("time", f"{time.dtype} {time.shape}", f"must be float64 ({len(batch)},)")
    if (bad := np.flatnonzero(~np.isfinite(time))).size:
        raise InputError(f"time[{bad[0]}]", time[bad[0]].item(), "must be finite")
    return for_kernels(time)


def check_pair(state: OnlineState, a: int, b: int) -> None:
    """Raises `InputError` unless a and b are agents of `state`."""
    pair: tuple[tuple[str, object], ...] = ("a", a), ("b", b)
    for argument, agent in pair:
        if isinstance(agent, bool) or not isinstance(agent, int | np.integer) or not 0 <= agent < len(state):
            raise InputError(argument, agent, f"must be the id of an agent, 0 to {len(state) - 1}")


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


@inlined
def zero() -> int:
    """0, as the start of a counter that is passed to kernels: numba would compile them for the literal 0, and then for other numbers."""
    return int(np.int64(0))

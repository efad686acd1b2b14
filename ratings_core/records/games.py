"""Columns of a batch of games, checked, in the layout that kernels take. Online raters and tallies read games in this form."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.records.outcomes import MAX_SIDES, MAX_WEIGHT, WEIGHT_ONE, OutcomeBatch, ScoreBatch

MAX_UNITS: Final = int(MAX_WEIGHT) * WEIGHT_ONE
"""The largest weight of an outcome in units of 2**-20."""

_DTYPES: Final = {"side_start": np.int64, "place": np.int32, "agent_start": np.int64, "agent": np.int32, "weight": np.int64}
_UNSOUND: Final = -2
"""Result of `_highest` if an outcome breaks a rule."""
_GREATEST_ID: Final = np.uint32(2**31 - 1)
"""Greatest id. Negative ids are greater as unsigned numbers."""
_SOUND, _SIDES, _WEIGHT, _EMPTY_SIDE, _AGENT, _TWICE = range(6)
_RULES: Final = {
    _SIDES: f"must have 2 to {MAX_SIDES} sides within the batch",
    _WEIGHT: f"must have a weight from 1 to {MAX_UNITS} units of 2**-20",
    _EMPTY_SIDE: "must have agents within the batch on every side",
    _AGENT: "must name agents by ids >= 0",
    _TWICE: "must name each agent once",
}


class GameColumns(NamedTuple):
    """The columns of a batch for kernels: of the right dtype, contiguous and read-only, so that all batches have one signature.

    Ids are checked to be nonnegative and then unsigned, because numba then omits the code for negative indices.
    """

    side_start: NDArray[np.int64]
    place: NDArray[np.int32]
    agent_start: NDArray[np.int64]
    agent: NDArray[np.uint32]
    weight: NDArray[np.int64]


def games_of(batch: OutcomeBatch) -> tuple[GameColumns, int]:
    """Check `batch`.

    Returns:
        Its columns, and the number of agents that they need: the greatest id + 1.

    Raises:
        InputError: A column has another dtype or shape, or an outcome breaks a rule of `OutcomeBatch`. The first such outcome is named.
    """
    checks.instance("batch", batch, OutcomeBatch)
    columns = {name: column_of(batch, name, dtype) for name, dtype in _DTYPES.items()}
    games = GameColumns(**columns | {"agent": columns["agent"].view(np.uint32)})
    check_cut("batch.side_start", games.side_start, len(batch), len(games.place))
    check_cut("batch.agent_start", games.agent_start, len(games.place), len(games.agent))
    highest = _highest(games)
    if highest == _UNSOUND:
        outcome, rule = _unsound_game(games)
        raise InputError("batch", f"outcome {outcome}", _RULES[rule])
    return games, highest + 1


def check_cut(argument: str, start: NDArray[np.int64], pieces: int, total: int) -> None:
    """Raise `InputError` unless `start` has the shape (pieces + 1,) and runs from 0 to `total`."""
    if start.shape != (pieces + 1,) or start[0] != 0 or start[-1] != total:
        raise InputError(argument, start, f"must cut {total} entries into {pieces} pieces")


def column_of(batch: OutcomeBatch | ScoreBatch, name: str, dtype: DTypeLike) -> NDArray[Any]:
    """A column of a batch in the layout that kernels take. Raises `InputError` unless it has the dtype and one dimension."""
    column = getattr(batch, name)
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(f"batch.{name}", f"{column.dtype} {column.shape}", f"must be {np.dtype(dtype)} (n,)")
    return for_kernels(column)


def for_kernels(column: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of a column that is contiguous and aligned; a copy only if the column is not."""
    fit = column.view() if column.flags.c_contiguous and column.flags.aligned else column.copy()
    fit.flags.writeable = False
    return fit


@kernel
def _highest(games: GameColumns) -> int:
    """The greatest id, -1 for an empty batch; `_UNSOUND` if an outcome breaks a rule. Loops have no early exit, so that they vectorise."""
    if not (_steps_within(games.side_start, 2, MAX_SIDES) and _steps_within(games.agent_start, 1, len(games.agent))):
        return _UNSOUND
    highest = np.uint32(0)
    for i in range(len(games.agent)):
        highest = max(highest, games.agent[i])
    least, most = 1, 1
    for i in range(len(games.weight)):
        least, most = min(least, games.weight[i]), max(most, games.weight[i])
    if highest > _GREATEST_ID or least < 1 or most > MAX_UNITS or not _are_distinct(games):
        return _UNSOUND
    return int(highest) if len(games.agent) else -1


@inlined
def _steps_within(start: NDArray[np.int64], least: int, most: int) -> bool:
    fits = True
    for i in range(len(start) - 1):
        step = start[i + 1] - start[i]
        fits &= (step >= least) & (step <= most)
    return fits


@inlined
def _are_distinct(games: GameColumns) -> bool:
    """Whether the sides of every outcome are different agents. Teams are not compared. The steps of both starts are valid."""
    if len(games.agent) == 2 * len(games.weight):  # duels only
        distinct = True
        for i in range(len(games.weight)):
            distinct &= games.agent[2 * i] != games.agent[2 * i + 1]
        return distinct
    for i in range(len(games.weight)):
        for s in range(games.side_start[i], games.side_start[i + 1]):
            if _is_repeated(games, games.side_start[i], s):
                return False
    return True


@inlined
def _is_repeated(games: GameColumns, first: int, side: int) -> bool:
    """Whether `side` is an agent that is also one of the sides from `first` on before it."""
    begin = games.agent_start[side]
    if games.agent_start[side + 1] - begin != 1:
        return False
    for other in range(first, side):
        at = games.agent_start[other]
        if games.agent_start[other + 1] - at == 1 and games.agent[at] == games.agent[begin]:
            return True
    return False


@kernel
def _unsound_game(games: GameColumns) -> tuple[int, int]:
    """Index of the first outcome that breaks a rule, and the rule; (0, `_SOUND`) if all are valid."""
    for i in range(len(games.weight)):
        lo, hi = games.side_start[i], games.side_start[i + 1]
        if hi - lo < 2 or hi - lo > MAX_SIDES or hi > len(games.place):
            return i, _SIDES
        if games.weight[i] < 1 or games.weight[i] > MAX_UNITS:
            return i, _WEIGHT
        for s in range(lo, hi):
            rule = _unsound_side(games, lo, s)
            if rule != _SOUND:
                return i, rule
    return 0, _SOUND


@inlined
def _unsound_side(games: GameColumns, first: int, side: int) -> int:
    begin, end = games.agent_start[side], games.agent_start[side + 1]
    if end <= begin or end > len(games.agent):
        return _EMPTY_SIDE
    for k in range(begin, end):
        if games.agent[k] > _GREATEST_ID:
            return _AGENT
    return _TWICE if _is_repeated(games, first, side) else _SOUND

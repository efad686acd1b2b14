"""The newest games of two agents with their feature values, one row per game: the input of fits with covariates.

Features are real numbers, so games cannot be summed by pair as in `PairTally`. Instead, a window limits the number of rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.frozen import Arrays, Frozen, Still
from ratings_core.errors import InputError
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from ratings_core.solution import Floats

_LEAST_ROOM: Final = 64
_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "agents": np.int32,
    "order": np.int8,
    "weight": np.int64,
    "bucket": np.int64,
    "values": np.float64,
}
_TABLES: Final = frozenset({"agents", "values"})


class FeaturedRows(NamedTuple):
    """n games, in the order in which they were added.

    Attributes:
        first: int64 (n,), agent of the first side.
        second: int64 (n,), agent of the other side.
        result: float64 (n,), of the first agent: 1 won, 1/2 tied, 0 lost.
        weight: float64 (n,), in outcomes.
        bucket: int64 (n,), time bucket.
        values: float64 (n, k), value of each feature, first side minus second side.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    result: Floats
    weight: Floats
    bucket: NDArray[np.int64]
    values: Floats


class FeaturedGames:
    """Games of two single-agent sides with values of all features. Other games are only counted, in `lacking`.

    Existing rows never change. Growth moves the rows to new arrays, so frozen views stay valid.

    Args:
        names: Names of the features.
        window: Largest number of games kept; the oldest games are dropped.

    Attributes:
        counted: Number of games with all features, including dropped games.
        lacking: Number of games with more sides, with teams, or without a value of some feature.
    """

    def __init__(self, names: Sequence[str], window: int) -> None:
        if len(set(names)) != len(names):
            raise InputError("names", list(names), "must name each feature once")
        self.names, self.window = tuple(names), checks.count("window", window, low=1)
        self.counted = self.lacking = 0
        self._columns = _room(0, len(self.names))
        self._begin = self._end = 0

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def nbytes(self) -> int:
        """Bytes of allocated memory, including unused capacity."""
        return sum(column.nbytes for column in self._columns.values())

    def add(self, batch: OutcomeBatch, bucket: NDArray[np.int64], values: Floats) -> None:
        """Add games, in order.

        Args:
            batch: n games.
            bucket: Time bucket of each game, int64 (n,), ascending, also across calls.
            values: Feature values, float64 (n, k); NaN for a missing value.
        """
        if values.shape != (len(batch), len(self.names)):
            raise InputError("values", values.shape, f"must be ({len(batch)}, {len(self.names)})")
        rows = _pairs(batch) & np.isfinite(values).all(axis=1)
        self.counted += int(rows.sum())
        self.lacking += int((~rows).sum())
        side = batch.side_start[:-1][rows]
        agents = np.column_stack([batch.agent[batch.agent_start[side]], batch.agent[batch.agent_start[side + 1]]])
        order = np.sign(batch.place[side].astype(np.int64) - batch.place[side + 1])
        added = {"agents": agents, "order": order, "weight": batch.weight[rows], "bucket": bucket[rows], "values": values[rows] + 0.0}
        self._append(added, len(agents))

    def drop_before(self, bucket: int) -> None:
        """Drop the games of buckets below `bucket`."""
        self._begin += int(np.searchsorted(self._kept("bucket"), bucket))

    def rows(self) -> FeaturedRows:
        """Copies of the kept games, oldest first."""
        agents = self._kept("agents").astype(np.int64)
        result, weight = 0.5 - 0.5 * self._kept("order"), self._kept("weight") / WEIGHT_ONE
        first, second = (np.ascontiguousarray(agents[:, side]) for side in (0, 1))
        return FeaturedRows(first, second, result, weight, self._kept("bucket").copy(), self._kept("values").copy())

    def arrays(self) -> Arrays:
        """Canonical copy, which does not depend on how games were divided into batches.

        agents: int32 (n, 2); order: int8 (n,), -1 if the first agent won, 1 if it lost, 0 for a tie; weight: int64 (n,), in units of
        2**-20; bucket: int64 (n,); values: float64 (n, k); state: int64 (3,), window, counted and lacking; name_bytes, name_start: `Arena`
        of the feature names.
        """
        return {name: array.copy() for name, array in self._views().items()}

    def frozen(self) -> Frozen:
        """Freeze the current content of `arrays` (see `ratings_core.arrays.frozen`)."""
        return Still(self._views())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "FeaturedGames":
        """Restore games from the result of `arrays()`. Raises `InputError` for invalid arrays."""
        checks.named_arrays("arrays", arrays, {*_COLUMNS, "state", "name_bytes", "name_start"})
        state = arrays["state"].tolist()
        games = cls(Arena(arrays["name_bytes"], arrays["name_start"]).names(), state[0])
        n, k = len(arrays["order"]), len(games.names)
        for name, dtype in _COLUMNS.items():
            shape = (n, {"agents": 2, "values": k}[name]) if name in _TABLES else (n,)
            if arrays[name].dtype != dtype or arrays[name].shape != shape:
                raise InputError(f"arrays[{name!r}]", arrays[name].shape, f"must be {np.dtype(dtype).name} {shape}")
        games.counted, games.lacking = state[1:]
        games._append(arrays, n)
        return games

    def _append(self, rows: Mapping[str, NDArray[Any]], n: int) -> None:
        if self._end + n > len(self._columns["order"]):
            self._move(max(2 * (len(self) + n), _LEAST_ROOM))
        for name, column in self._columns.items():
            column[self._end : self._end + n] = rows[name]
        self._end += n
        self._begin = max(self._begin, self._end - self.window)

    def _move(self, room: int) -> None:
        """Move the rows to new arrays, so that frozen views of the old arrays stay valid. room: capacity in rows."""
        columns, kept = _room(room, len(self.names)), len(self)
        for name, column in columns.items():
            column[:kept] = self._kept(name)
        self._columns, self._begin, self._end = columns, 0, kept

    def _kept(self, name: str) -> NDArray[Any]:
        return self._columns[name][self._begin : self._end]

    def _views(self) -> Arrays:
        names = pack(self.names)
        state = np.array([self.window, self.counted, self.lacking], np.int64)
        columns = {name: self._kept(name) for name in self._columns}
        return {**columns, "state": state, "name_bytes": names.bytes, "name_start": names.start}


def _room(rows: int, features: int) -> Arrays:
    width = {"agents": (2,), "values": (features,)}
    return {name: np.empty((rows, *width.get(name, ())), dtype) for name, dtype in _COLUMNS.items()}


def _pairs(batch: OutcomeBatch) -> NDArray[np.bool_]:
    """Mask of the games with two single-agent sides, bool (n,)."""
    first, last = batch.side_start[:-1], batch.side_start[1:] - 1
    members = np.diff(batch.agent_start)
    return np.asarray((last - first == 1) & (members[first] == 1) & (members[last] == 1), np.bool_)

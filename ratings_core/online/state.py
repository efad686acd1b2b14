"""The state of an online rater: one row per agent, in columns that grow by doubling."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import FrozenColumns
from ratings_core.errors import InputError

MAX_ROWS: Final = 2**31
"""Largest number of agents: ids are int32."""


class OnlineState:
    """Ratings and counts of n agents, by roster id. A rater with more columns extends `COLUMNS` in a subclass.

    shapes: shape of an agent's entry, by column name, for columns with more than one number per agent.
    """

    COLUMNS: ClassVar[Mapping[str, DTypeLike]] = MappingProxyType({"rating": np.float64, "outcomes": np.int64})
    """Name to dtype of every column."""

    __slots__ = ("_columns", "_size")

    def __init__(self, shapes: Mapping[str, tuple[int, ...]] = MappingProxyType({})) -> None:
        self._size = 0
        self._columns: dict[str, NDArray[Any]] = {name: np.empty((0, *shapes.get(name, ())), dtype) for name, dtype in self.COLUMNS.items()}

    def __len__(self) -> int:
        return self._size

    @classmethod
    def checked(cls, state: object) -> Self:
        """Return `state` if it is of exactly this class, so that no method uses another method's state. Raises `InputError`."""
        if type(state) is not cls:
            raise InputError("state", type(state).__name__, f"must be a {cls.__name__}, as the method's init returns")
        return state

    @property
    def rating(self) -> NDArray[np.float64]:
        """Rating of each agent: float64 (n,), a view that writes through and is valid until the state grows."""
        return cast("NDArray[np.float64]", self.column("rating"))

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """Number of outcomes of each agent: int64 (n,), a view like `rating`."""
        return cast("NDArray[np.int64]", self.column("outcomes"))

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the columns, including room to grow."""
        return sum(column.nbytes for column in self._columns.values())

    def column(self, name: str) -> NDArray[Any]:
        """The column `name` of all n agents, a view like `rating`."""
        return self._columns[name][: self._size]

    def grow(self, n: int, blank: Mapping[str, float]) -> None:
        """Grow the state to at least `n` agents. New rows get `blank`, which has a value for every column. Memory grows by doubling."""
        if n <= self._size:
            return
        if n > MAX_ROWS:
            raise InputError("n", n, f"must be at most {MAX_ROWS} agents")
        for name, column in self._columns.items():
            self._columns[name] = longer = column if n <= len(column) else _longer(column, self._size, max(n, 2 * len(column)))
            longer[self._size : n] = blank[name]
        self._size = n

    def selected(self, agents: NDArray[np.int64]) -> Self:
        """A state of the agents `agents`, ids (k,), in this order. It shares no memory with this one."""
        columns = {name: self.column(name)[agents] for name in self.COLUMNS}
        return type(self).from_arrays(columns | self._rest())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copies by name: each column, of length n, and the additional arrays. Checkpoints store these, and digests cover
        them.
        """
        return {name: self.column(name).copy() for name in self.COLUMNS} | self._rest()

    def frozen(self) -> FrozenColumns:
        """A frozen copy of what `arrays` returns now, see `ratings_core.arrays.frozen`. Before a fold changes agents, report them to the
        copy.
        """
        return FrozenColumns(self._columns, self._size, self._rest())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The state from its `arrays()`. Raises `InputError` if they are not the columns of this class."""
        state = cls()
        state._take_columns(arrays)
        return state

    def _rest(self) -> dict[str, NDArray[Any]]:
        """Copies of a subclass's additional arrays, by name."""
        return {}

    def _take_columns(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        checks.named_arrays("arrays", arrays, self.COLUMNS)
        self._columns = {name: _checked(name, arrays[name], dtype, self._columns[name].ndim) for name, dtype in self.COLUMNS.items()}
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) != 1:
            raise InputError("arrays", sorted(lengths), "must be of one length")
        self._size = lengths.pop()


def _longer(column: NDArray[Any], used: int, length: int) -> NDArray[Any]:
    longer = np.empty((length, *column.shape[1:]), column.dtype)
    longer[:used] = column[:used]
    return longer


def _checked(name: str, column: NDArray[Any], dtype: DTypeLike, dimensions: int) -> NDArray[Any]:
    """A writable and contiguous copy of `column`, so that restored states use the same compiled kernels as others."""
    if column.dtype != np.dtype(dtype) or column.ndim != dimensions:
        rule = f"must be {np.dtype(dtype)} ({', '.join(['n', 'd'][:dimensions])})"
        raise InputError(f"arrays[{name!r}]", f"{column.dtype} {column.shape}", rule)
    if (bad := np.argwhere(~np.isfinite(column))).size:
        place = tuple(int(i) for i in bad[0])
        raise InputError(f"arrays[{name!r}][{', '.join(map(str, place))}]", column[place].item(), "must be finite")
    return np.array(column, dtype, order="C")

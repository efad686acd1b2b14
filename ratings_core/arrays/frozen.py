"""Content as it is at one moment, read in another thread while it goes on changing: nothing is copied when it is frozen.

The reader copies arrays that change under it, so what it finds of a changed row is worth nothing. But the writer keeps each
row as it was before its first change, and after copying the reader puts those rows back: a fuzzy copy and an undo log, as databases
make backups. The reader ends the log after its copy, under the lock that guards every entry, so a change that the copy may hold has
its entry, and one without an entry came too late to be in the copy. This needs no order of memory beyond that of the lock.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, unlocked

Arrays = dict[str, NDArray[Any]]

_ROWS: Final = 1 << 12


class Frozen(Protocol):
    """What was frozen."""

    def arrays(self) -> Arrays:
        """The canonical arrays as they were. May be called once, in any thread, which ends the freeze."""

    def close(self) -> None:
        """Nobody will ask: changes need not be kept any longer."""


class Still:
    """Content that does not change: copies, or parts of arrays that are only added to."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def arrays(self) -> Arrays:
        """The arrays themselves."""
        return self._arrays

    def close(self) -> None:
        """Nothing is kept."""


class Joined:
    """Several as one; their arrays have different names."""

    def __init__(self, *parts: Frozen) -> None:
        self._parts = parts

    def arrays(self) -> Arrays:
        """As `Frozen.arrays` says."""
        return {name: array for part in self._parts for name, array in part.arrays().items()}

    def close(self) -> None:
        """As `Frozen.close` says."""
        for part in self._parts:
            part.close()


class FrozenColumns:
    """Columns of n rows each, some of which change, and the rest, which does not. The writer calls `save` before it changes rows."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], n: int, rest: Mapping[str, NDArray[Any]] = MappingProxyType({})) -> None:
        self._columns, self._rest = {name: column[:n] for name, column in columns.items()}, rest
        self._marks = np.zeros(n, np.bool_)
        self._saved: list[tuple[NDArray[np.int64], Arrays]] = []
        self._lock, self._open = Lock(), True

    def save(self, rows: NDArray[np.int32]) -> None:
        """Keep `rows` (k,) as they are, those that there were; before they change, by the thread that changes them."""
        with self._lock:
            if not self._open:
                return
            fresh = rows[rows < len(self._marks)].astype(np.int64)
            fresh = fresh[~self._marks[fresh]]
            self._marks[fresh] = True
            self._saved.append((fresh, {name: column[fresh] for name, column in self._columns.items()}))

    def arrays(self) -> Arrays:
        """As `Frozen.arrays` says."""
        copies = {name: column.copy() for name, column in self._columns.items()}
        with self._lock:
            self._open = False
        for rows, saved in self._saved:
            for name, values in saved.items():
                copies[name][rows] = values
        return {**copies, **self._rest}

    def close(self) -> None:
        """As `Frozen.close` says."""
        with self._lock:
            self._open = False
        self._columns, self._saved = {}, []


class Undo(NamedTuple):
    """Where a kernel keeps rows before it changes them.

    marks: bool (n,), rows that need not be kept any more, out of those that were frozen (n is 0 where nothing is); rows: int64 (room,
    width), those kept; kept: int64 (1,), how many of them.
    """

    marks: NDArray[np.bool_]
    rows: NDArray[np.int64]
    kept: NDArray[np.int64]


NOTHING: Final = Undo(np.zeros(0, np.bool_), np.zeros((0, 0), np.int64), np.zeros(1, np.int64))
"""For rows that nobody froze."""


class RowLog:
    """Rows of int64 numbers, the first of which is a row's key and never changes, as they were before their first change.

    open: whether rows are still kept.
    """

    def __init__(self, rows: int, width: int) -> None:
        self._marks, self._width = np.zeros(rows, np.bool_), width
        self._chunks: list[Undo] = []
        self._lock, self.open = Lock(), True

    @contextmanager
    def undo(self, most: int) -> Iterator[Undo]:
        """What a kernel needs that changes at most `most` rows; it has to end within the context."""
        with self._lock:
            yield self._room(min(most, len(self._marks))) if self.open else NOTHING

    def take(self) -> NDArray[np.int64]:
        """End the log: the rows it kept, int64 (k, width), each once."""
        with self._lock:
            self.open = False
        kept, self._chunks = [chunk.rows[: chunk.kept[0]] for chunk in self._chunks], []
        return np.concatenate([np.zeros((0, self._width), np.int64), *kept])

    def _room(self, most: int) -> Undo:
        last = self._chunks[-1] if self._chunks else NOTHING
        if last.kept[0] + most > len(last.rows):
            room = np.empty((max(most, _ROWS, 2 * len(last.rows)), self._width), np.int64)
            self._chunks.append(Undo(self._marks, room, np.zeros(1, np.int64)))
        return self._chunks[-1] if self._chunks else NOTHING


@inlined
def save(undo: Undo, rows: NDArray[np.int64], row: np.int64) -> None:
    """Keep `row` of `rows` as it is, where it was frozen and has not changed since. For kernels, before they change it."""
    if row < len(undo.marks) and not undo.marks[row]:
        undo.marks[row] = True
        at = undo.kept[0]
        for c in range(rows.shape[1]):
            undo.rows[at, c] = rows[row, c]
        undo.kept[0] = at + 1


@unlocked
def put_back(columns: NDArray[np.int64], begin: int, end: int, kept: NDArray[np.int64]) -> None:
    """Write rows `kept` (k, width) over those of their keys: columns (width, total), where columns[0, begin:end] rises."""
    for i in range(len(kept)):
        at = begin + np.searchsorted(columns[0, begin:end], kept[i, 0])
        for c in range(1, kept.shape[1]):
            columns[c, at] = kept[i, c]

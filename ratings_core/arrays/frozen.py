"""Snapshots of content that another thread keeps changing. Taking a snapshot (freezing) copies nothing.

The method is a fuzzy copy with an undo log, as in database backups. The reader copies arrays during changes, so rows that change may be
wrong in the copy. Before the first change of a row, the writer saves the row in the log. After copying, the reader restores the saved
rows in its copy. The reader ends the log after its copy, under the lock that protects every entry. Every change that can be in the copy
therefore has an entry, and a change without an entry happened after the copy. The lock is the only memory ordering that this needs.
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
    """A snapshot of arrays."""

    def arrays(self) -> Arrays:
        """The canonical arrays at the time of the freeze. It can be called once, in any thread, and ends the freeze."""

    def close(self) -> None:
        """End the freeze without reading the arrays. The writer then stops saving rows."""


class Still:
    """Snapshot of arrays that do not change: copies, or existing parts of append-only arrays."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def arrays(self) -> Arrays:
        """The arrays, without a copy."""
        return self._arrays

    def close(self) -> None:
        """Does nothing, because no rows are saved."""


class Joined:
    """Several snapshots combined into one. Their arrays must have different names."""

    def __init__(self, *parts: Frozen) -> None:
        self._parts = parts

    def arrays(self) -> Arrays:
        """The arrays of all parts (see `Frozen.arrays`)."""
        return {name: array for part in self._parts for name, array in part.arrays().items()}

    def close(self) -> None:
        """Close all parts (see `Frozen.close`)."""
        for part in self._parts:
            part.close()


class FrozenColumns:
    """Snapshot of columns of n rows that can change, and of other arrays (`rest`) that do not. The writer calls `save` before a change."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], n: int, rest: Mapping[str, NDArray[Any]] = MappingProxyType({})) -> None:
        self._columns, self._rest = {name: column[:n] for name, column in columns.items()}, rest
        self._marks = np.zeros(n, np.bool_)
        self._saved: list[tuple[NDArray[np.int64], Arrays]] = []
        self._lock, self._open = Lock(), True

    def save(self, rows: NDArray[np.int32]) -> None:
        """Save the present values of `rows` (k,) that were frozen and not yet saved. The changing thread calls it before the change."""
        with self._lock:
            if not self._open:
                return
            fresh = rows[rows < len(self._marks)].astype(np.int64)
            fresh = fresh[~self._marks[fresh]]
            self._marks[fresh] = True
            self._saved.append((fresh, {name: column[fresh] for name, column in self._columns.items()}))

    def arrays(self) -> Arrays:
        """Copy the columns and restore the saved rows (see `Frozen.arrays`)."""
        copies = {name: column.copy() for name, column in self._columns.items()}
        with self._lock:
            self._open = False
        for rows, saved in self._saved:
            for name, values in saved.items():
                copies[name][rows] = values
        return {**copies, **self._rest}

    def close(self) -> None:
        """End the freeze and release its memory (see `Frozen.close`)."""
        with self._lock:
            self._open = False
        self._columns, self._saved = {}, []


class Undo(NamedTuple):
    """Buffer in which a kernel saves rows before it changes them.

    marks: bool (n,), whether each frozen row was saved already; n is 0 if no rows are frozen. rows: int64 (room, width), saved rows; kept:
    int64 (1,), number of saved rows.
    """

    marks: NDArray[np.bool_]
    rows: NDArray[np.int64]
    kept: NDArray[np.int64]


NOTHING: Final = Undo(np.zeros(0, np.bool_), np.zeros((0, 0), np.int64), np.zeros(1, np.int64))
"""Buffer for rows that are not frozen."""


class RowLog:
    """Undo log of int64 rows: the values of each row before its first change. The first number of a row is its key and never changes.

    open: whether the log still saves rows.
    """

    def __init__(self, rows: int, width: int) -> None:
        self._marks, self._width = np.zeros(rows, np.bool_), width
        self._chunks: list[Undo] = []
        self._lock, self.open = Lock(), True

    @contextmanager
    def undo(self, most: int) -> Iterator[Undo]:
        """Buffer for a kernel that changes at most `most` rows. The kernel must end within the context."""
        with self._lock:
            yield self._room(min(most, len(self._marks))) if self.open else NOTHING

    def take(self) -> NDArray[np.int64]:
        """End the log and return its saved rows, int64 (k, width), each once."""
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
    """Save `row` of `rows` if it is frozen and not yet saved. Kernels call it before they change the row."""
    if row < len(undo.marks) and not undo.marks[row]:
        undo.marks[row] = True
        at = undo.kept[0]
        for c in range(rows.shape[1]):
            undo.rows[at, c] = rows[row, c]
        undo.kept[0] = at + 1


@unlocked
def put_back(columns: NDArray[np.int64], begin: int, end: int, kept: NDArray[np.int64]) -> None:
    """Overwrite the rows with the keys of `kept` (k, width) in `columns` (width, total). The keys columns[0, begin:end] ascend."""
    for i in range(len(kept)):
        at = begin + np.searchsorted(columns[0, begin:end], kept[i, 0])
        for c in range(1, kept.shape[1]):
            columns[c, at] = kept[i, c]

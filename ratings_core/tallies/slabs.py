"""Storage of all tallies: one hash table (slab) per time bucket and task, with sums, merges, removal and restoring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.hash_table import FrozenRows, HashTable
from ratings_core.errors import InputError
from ratings_core.records.outcomes import NO_TASK

MAX_WEIGHT_SUM: Final = 1 << 62
"""Limit of the sum of the slabs' largest cells: 4.4e12 outcomes of weight 1. A tally rejects a batch that could exceed it."""

_BLOCK: Final = 4096

Arrays = dict[str, NDArray[Any]]


class Totals(NamedTuple):
    """Sum of slabs. keys: int64 (k,), ascending; values: float64 (columns, k), integer columns first, in stored units."""

    keys: NDArray[np.int64]
    values: NDArray[np.float64]


class _Weighed(NamedTuple):
    """A slab and its weight in a sum."""

    task: int
    weight: float
    keyed: HashTable


class Slabs:
    """Hash tables with the same named columns, one for each (bucket, task) with counts."""

    __slots__ = ("_bound", "floats", "integers", "maps")

    def __init__(self, integers: Sequence[str], floats: Sequence[str] = ()) -> None:
        self.integers, self.floats = tuple(integers), tuple(floats)
        self.maps: dict[tuple[int, int], HashTable] = {}
        self._bound = 0

    @property
    def nbytes(self) -> int:
        """Bytes of allocated memory, including unused capacity."""
        return sum(keyed.nbytes for keyed in self.maps.values())

    @property
    def buckets(self) -> list[int]:
        """Buckets with counts, ascending."""
        return sorted({bucket for bucket, _ in self.maps})

    @property
    def tasks(self) -> list[int]:
        """Tasks with counts, ascending; -1 means no task."""
        return sorted({task for _, task in self.maps})

    def at(self, bucket: int, task: int = NO_TASK) -> HashTable:
        """The hash table of a slab, which is created if it is new."""
        if (keyed := self.maps.get((bucket, task))) is None:
            keyed = self.maps[bucket, task] = HashTable(len(self.integers), len(self.floats))
        return keyed

    def remove(self, bucket: int, task: int = NO_TASK) -> None:
        """Remove a slab."""
        del self.maps[bucket, task]

    def admit(self, weight: int) -> None:
        """Announce that up to `weight` will be added to a cell. Raises `InputError` if a cell could then overflow."""
        if self._bound + weight > MAX_WEIGHT_SUM:
            self._bound = self.largest()
        if self._bound + weight > MAX_WEIGHT_SUM:
            raise InputError("weight", weight, f"must keep the tally's largest cells within {MAX_WEIGHT_SUM} (units of 2**-20)")
        self._bound += weight

    def drop_before(self, bucket: int) -> None:
        """Drop all buckets below `bucket`."""
        self.maps = {slab: keyed for slab, keyed in self.maps.items() if slab[0] >= bucket}

    def merge(self, other: "Slabs") -> None:
        """Add every cell of `other`, which must have the same columns and ids."""
        self.admit(other.largest())
        for slab in sorted(other.maps):
            self.at(*slab).merge(other.maps[slab])

    def totals(self, buckets: Mapping[int, float] | None = None, task: int | None = None) -> Totals:
        """Sum the slabs of `task` (by default of all tasks) over buckets.

        buckets: weight (>= 0) of each bucket, 0 for others; by default all buckets have weight 1. Unknown buckets are ignored. Slabs are
        added in order of bucket and task.
        """
        return self._added([keyed for keyed in self._chosen(_bucket_weights(buckets)) if task in (None, keyed.task)])

    def totals_by_task(self, buckets: Mapping[int, float] | None = None) -> dict[int, Totals]:
        """`totals` of each task, ascending, in one pass. Tasks without a slab of positive weight are left out."""
        chosen: dict[int, list[_Weighed]] = {}
        for weighed in self._chosen(_bucket_weights(buckets)):
            chosen.setdefault(weighed.task, []).append(weighed)
        return {task: self._added(chosen[task]) for task in sorted(chosen)}

    def _added(self, chosen: list[_Weighed]) -> Totals:
        parts = [(one.weight, one.keyed.sorted_columns()) for one in chosen]
        if len(parts) == 1:
            weight, columns = parts[0]
            return Totals(columns[0].copy(), weight * self._values(columns))
        keys = np.unique(np.concatenate([np.zeros(0, np.int64), *(columns[0] for _, columns in parts)]))
        values = np.zeros((len(self.integers) + len(self.floats), len(keys)))
        for weight, columns in parts:  # keys are distinct within a part
            values[:, np.searchsorted(keys, columns[0])] += weight * self._values(columns)
        return Totals(keys, values)

    def arrays(self) -> Arrays:
        """Canonical copy, independent of the order of counting and of capacity: slabs by (bucket, task), rows by key.

        bucket int64 (s,), task int32 (s,), start int64 (s+1,): slab i has rows start[i] to start[i+1]; key int64 (rows,);
        then each column, int64 or float64 (rows,).
        """
        return _canonical(self.maps, self._columns())

    def frozen(self) -> "FrozenSlabs":
        """Freeze the current content (see `ratings_core.arrays.frozen`)."""
        return FrozenSlabs({slab: keyed.frozen() for slab, keyed in self.maps.items()}, self._columns())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the result of `arrays()` into this empty object. Raises `InputError` for invalid arrays."""
        columns = self._columns()
        _check_arrays(arrays, {"bucket": np.int64, "task": np.int32, "start": np.int64, **columns})
        slabs = list(zip(arrays["bucket"].tolist(), arrays["task"].tolist(), strict=True))
        start = _check_slabs(slabs, arrays["start"], len(arrays["key"]))
        for i, slab in enumerate(slabs):
            parts = [arrays[name][start[i] : start[i + 1]].view(np.int64) for name in columns]
            _check_parts(slab, parts, len(self.integers))
            self.maps[slab] = HashTable.from_rows(_rows(parts), len(self.floats))
        self._bound = self.largest()

    def _columns(self) -> dict[str, type[np.int64 | np.float64]]:
        return {"key": np.int64, **dict.fromkeys(self.integers, np.int64), **dict.fromkeys(self.floats, np.float64)}

    def _values(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        split = 1 + len(self.integers)
        return np.vstack([columns[1:split].astype(np.float64), columns[split:].view(np.float64)])

    def _chosen(self, weights: dict[int, float] | None) -> Iterator[_Weighed]:
        for bucket, task in sorted(self.maps):
            weight = 1.0 if weights is None else weights.get(bucket, 0.0)
            if weight:
                yield _Weighed(task, weight, self.maps[bucket, task])

    def largest(self) -> int:
        """Sum of the largest integer cells of all slabs."""
        return sum(int(keyed.rows[: len(keyed), 1 : 1 + len(self.integers)].max()) for keyed in self.maps.values() if len(keyed))


class FrozenSlabs:
    """Frozen content of `Slabs`, which can be read once."""

    def __init__(self, maps: dict[tuple[int, int], FrozenRows], columns: dict[str, type[np.int64 | np.float64]]) -> None:
        self._maps, self._columns = maps, columns

    def arrays(self) -> Arrays:
        """The frozen content in the form of `Slabs.arrays`."""
        return _canonical(self._maps, self._columns)

    def close(self) -> None:
        """End the freeze without reading the content."""
        for rows in self._maps.values():
            rows.log.take()


def _canonical(
    maps: Mapping[tuple[int, int], HashTable] | Mapping[tuple[int, int], FrozenRows], columns: Mapping[str, type[np.int64 | np.float64]]
) -> Arrays:
    slabs = sorted(maps)
    start = np.zeros(len(slabs) + 1, np.int64)
    np.cumsum([maps[slab].size for slab in slabs], out=start[1:])
    written = np.empty((len(columns), start[-1]), np.int64)
    for i, slab in enumerate(slabs):
        maps[slab].write_sorted(written, start[i])
    return {
        "bucket": np.array([bucket for bucket, _ in slabs], np.int64),
        "task": np.array([task for _, task in slabs], np.int32),
        "start": start,
        **{name: written[c].view(dtype) for c, (name, dtype) in enumerate(columns.items())},
    }


def _bucket_weights(buckets: Mapping[int, float] | None) -> dict[int, float] | None:
    if buckets is not None and not isinstance(buckets, Mapping):
        raise InputError("buckets", buckets, "must be a mapping of buckets to weights")
    if buckets is None:
        return None
    return {checks.count("buckets", b, low=-(2**63)): checks.number(f"buckets[{b}]", weight, low=0.0) for b, weight in buckets.items()}


def _check_arrays(arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, type]) -> None:
    checks.named_arrays("arrays", arrays, expected)
    for name, dtype in expected.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise InputError(f"arrays[{name!r}]", arrays[name], f"must be a one-dimensional array of {np.dtype(dtype).name}")


def _check_slabs(slabs: list[tuple[int, int]], start: NDArray[np.int64], rows: int) -> list[int]:
    if sorted(set(slabs)) != slabs:
        raise InputError("arrays['bucket'], arrays['task']", slabs, "must be ascending, with each slab once")
    if len(start) != len(slabs) + 1 or start[0] != 0 or start[-1] != rows or (start[1:] <= start[:-1]).any():
        raise InputError("arrays['start']", start, f"must rise from 0 to {rows}, the number of rows, with an increase for each slab")
    return [int(at) for at in start]


def _check_parts(slab: tuple[int, int], parts: Sequence[NDArray[np.int64]], integers: int) -> None:
    if (parts[0][1:] <= parts[0][:-1]).any():
        raise InputError("arrays['key']", slab, "must rise strictly within each slab")
    if any((part < 0).any() for part in parts[1 : 1 + integers]):
        raise InputError("arrays", slab, "must not contain negative weights")


def _rows(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Transpose columns to rows (n, columns), in blocks that fit into the CPU cache."""
    rows = np.empty((len(parts[0]), len(parts)), np.int64)
    for at in range(0, len(rows), _BLOCK):
        for c, part in enumerate(parts):
            rows[at : at + _BLOCK, c] = part[at : at + _BLOCK]
    return rows

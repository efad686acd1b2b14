"""Slices of a pool: a separate content for each value of some tags, folded from the pool's new outcomes that have the tag.

A slice is folded as a pool of these outcomes alone would be. Deduplication, edits and limits are the pool's: a slice gets what the pool
has just counted. So pool and slices are one fold, in one checkpoint, under one digest.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.frozen import Arrays
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.records.tags import tag_of
from services.control.records import Generation
from services.state.changes import ChangeTracker
from services.state.content import PoolContent
from services.state.edits import NONE, Retracted
from services.state.frozen import FrozenPool
from services.state.parts import named, part
from services.wire.pools import Kind

_NAMES: Final = "slices"
"""Prefix of the arrays with the values of all dimensions."""


class SliceKey(NamedTuple):
    """A slice of a pool. dimension: key of a tag; value: value of the tag."""

    dimension: str
    value: str


class Slice:
    """One slice. content: What was folded. changes: Agents whose values were not published yet."""

    def __init__(self, content: PoolContent) -> None:
        self.content, self.changes = content, ChangeTracker()
        self.changes.reach(len(content.agents))

    def fold(self, columns: Games | TaskScores) -> None:
        """Fold outcomes that are new to the pool, in order."""
        self.changes.version += 1
        self.changes.touch(self.content.count(columns), len(self.content.agents))


class SlicedContent(PoolContent):
    """The content of a pool that has slices.

    Attributes:
        slices: The slices.
    """

    def __init__(self, kind: Kind, generation: Generation, retracted: Retracted = NONE) -> None:
        super().__init__(kind, generation, retracted)
        self.slices = PoolSlices(kind, generation)

    @classmethod
    def from_arrays(cls, kind: Kind, generation: Generation, arrays: Arrays) -> Self:
        """Rebuild a content from the result of `arrays`. Raises as `PoolContent.from_arrays`."""
        content = super().from_arrays(kind, generation, arrays)
        content.slices = PoolSlices.from_arrays(kind, generation, arrays)
        return content

    def count(self, columns: Games | TaskScores) -> NDArray[np.int32]:
        """See `PoolContent.count`."""
        agents = super().count(columns)
        self.slices.fold(columns)
        return agents

    def arrays(self) -> Arrays:
        """The canonical content, copied."""
        return super().arrays() | self.slices.arrays()

    def freeze(self, pool: str) -> FrozenPool:
        """See `PoolContent.freeze`."""
        frozen = super().freeze(pool)
        frozen.add(self.slices.freeze(pool), self.slices.names())
        return frozen

    def memory(self) -> dict[str, int]:
        """Bytes of memory by part, reserved capacity included."""
        return super().memory() | {"slices": self.slices.nbytes}


def content_class(generation: Generation) -> type[PoolContent]:
    """The class of the content of a generation: with slices, if it has dimensions of slices."""
    return SlicedContent if generation.fold.slices else PoolContent


class PoolSlices:
    """The slices of a pool under one generation. Values of a dimension are in the order of their first outcomes in the log.

    Attributes:
        slices: Slices by dimension and value.
        beyond: Dimension -> number of outcomes whose value has no slice, because the dimension has as many values as it may.
    """

    def __init__(self, kind: Kind, generation: Generation) -> None:
        self._kind, self._most = kind, generation.fold.slice_values
        self._generations = {name: slice_generation(kind, generation, name) for name in sorted(generation.fold.slices)}
        self.slices: dict[SliceKey, Slice] = {}
        self.beyond = dict.fromkeys(self._generations, 0)
        self._counts = dict.fromkeys(self._generations, 0)

    @classmethod
    def from_arrays(cls, kind: Kind, generation: Generation, arrays: Arrays) -> "PoolSlices":
        """Rebuild the slices from the arrays of a pool's content. Raises `InputError`, `KeyError` or `ValueError` for invalid arrays."""
        made, names = cls(kind, generation), part(arrays, _NAMES)
        made.beyond = dict(zip(made.beyond, names["beyond"].tolist(), strict=True))
        values = Arena(names["bytes"], names["start"]).names()
        for number, (dimension, value) in enumerate(zip(names["dimension"].tolist(), values, strict=True)):
            key = SliceKey(list(made.beyond)[dimension], value)
            content = PoolContent.from_arrays(kind, made._generations[key.dimension], part(arrays, _prefix(number)))
            made.slices[key] = Slice(content)
            made._counts[key.dimension] += 1
        return made

    def fold(self, columns: Games | TaskScores) -> None:
        """Fold outcomes that the pool counted, in order."""
        if columns.tags is None:
            return
        texts, code = columns.tags.texts.names(), columns.tags.code
        for dimension in self._generations:
            values = [tag_of(text, dimension) for text in texts]
            numbers = {value: number for number, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
            of_text = np.array([*(-1 if value is None else numbers[value] for value in values), -1], np.int64)
            self._fold(dimension, list(numbers), of_text[code], columns)

    def _fold(self, dimension: str, values: list[str], number: NDArray[np.int64], columns: Games | TaskScores) -> None:
        """Fold outcomes into the slices of one dimension. number: int64 (n,), index into `values`, or -1 for an outcome without the tag.

        Outcomes of values without a slice are only counted, so a tag with very many values takes no more time than others.
        """
        left = int(np.count_nonzero(number >= 0))
        for at in _in_order(number):
            key = SliceKey(dimension, values[at])
            if key not in self.slices:
                if self._counts[dimension] >= self._most:
                    continue
                self.slices[key] = Slice(PoolContent(self._kind, self._generations[dimension]))
                self._counts[dimension] += 1
            mask = number == at
            self.slices[key].fold(columns.take(mask))
            left -= int(np.count_nonzero(mask))
        self.beyond[dimension] += left

    def parts(self) -> Iterator[tuple[str, SliceKey, Slice]]:
        """Yield the slices in their canonical order, each with the prefix of its arrays and its key."""
        yield from ((_prefix(number), key, self.slices[key]) for number, key in enumerate(self._keys))

    def methods(self, dimension: str) -> list[str]:
        """Online methods of the slices of a dimension."""
        return list(self._generations[dimension].fold.methods(self._kind))

    def arrays(self) -> Arrays:
        """Canonical copy."""
        parts = {_prefix(number): self.slices[key].content.arrays() for number, key in enumerate(self._keys)}
        return named(parts) | self.names()

    def freeze(self, pool: str) -> dict[str, FrozenPool]:
        """Freeze the content of each slice, by the prefix of its arrays."""
        return {_prefix(number): self.slices[key].content.freeze(pool) for number, key in enumerate(self._keys)}

    def names(self) -> Arrays:
        """Arrays with the value of each slice, and the outcomes beyond the limit of values."""
        dimensions = list(self.beyond)
        values = pack([key.value for key in self._keys])
        return named(
            {
                _NAMES: {
                    "bytes": values.bytes.copy(),
                    "start": values.start.copy(),
                    "dimension": np.array([dimensions.index(key.dimension) for key in self._keys], np.int64),
                    "beyond": np.array(list(self.beyond.values()), np.int64),
                }
            }
        )

    @property
    def _keys(self) -> list[SliceKey]:
        """The slices in their canonical order: by dimension, then by their first outcomes in the log."""
        return sorted(self.slices, key=lambda key: key.dimension)

    def take_changes(self) -> dict[SliceKey, NDArray[np.int32]]:
        """For each slice the ids of the agents whose values changed since the last call."""
        return {key: made.changes.take() for key, made in self.slices.items()}

    def mark(self, changes: Mapping[SliceKey, NDArray[np.int32]]) -> None:
        """Mark agents that `take_changes` returned as changed again."""
        for key, ids in changes.items():
            self.slices[key].changes.mark(ids)

    def mark_all(self) -> None:
        """Mark all agents of all slices as changed."""
        for made in self.slices.values():
            made.changes.mark_all()

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""
        return sum(sum(made.content.memory().values()) + made.changes.nbytes for made in self.slices.values())


def slice_generation(kind: Kind, generation: Generation, dimension: str) -> Generation:
    """How the slices of a dimension are folded. Edits and the dedupe window are the pool's, and seasons begin without ratings.

    Args:
        kind: Kind of the pool.
        generation: A generation of the pool.
        dimension: Key of the tag; the generation has slices by it.
    """
    methods = generation.fold.slices[dimension]
    online = {name: parameters for name, parameters in generation.fold.methods(kind).items() if name in methods}
    fold = replace(generation.fold, online=online, slices={}, history=0, dedupe_window=1, features=())
    return Generation(pool=generation.pool, number=generation.number, start=generation.start, time=generation.time, fold=fold)


def _in_order(number: NDArray[np.int64]) -> Iterator[int]:
    """The numbers from 0 on in `number`, in the order of their first occurrences."""
    found, first = np.unique(number, return_index=True)
    yield from (int(found[i]) for i in np.argsort(first) if found[i] >= 0)


def _prefix(number: int) -> str:
    return f"slice{number}"

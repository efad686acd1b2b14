"""Names of the boards of slices: METHOD~DIMENSION~HASH, with a hash of the slice's value.

The name is the one identity of a board: the key of the store, the folder of its result files, and the job that solves it have it. Names of
methods and keys of tags contain no `~`, and values can contain anything, so names have a hash. A slice's live boards are live boards of
its pool: they are written, committed and retired together with the pool's own.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.tag_keys import MAX_TAG_BYTES

_MARK: Final = "~"
_HASH_BYTES: Final = 8
ACTIVITY: Final = "outcomes"
"""Name of the sorted set with each agent's number of outcomes. It is published like the boards of online methods."""


class SliceValue(msgspec.Struct, frozen=True, kw_only=True):
    """One slice.

    Attributes:
        value: Value of the tag.
        outcomes: Number of outcomes counted.
        agents: Number of agents.
    """

    value: str
    outcomes: int
    agents: int


class SliceDimension(msgspec.Struct, frozen=True, kw_only=True):
    """The slices of a pool by one tag.

    Attributes:
        methods: Online methods of the slices.
        values: The slices, in the order of their first outcomes in the log.
        most: Largest number of slices of the dimension.
        beyond: Number of outcomes whose value is beyond `most`, so that it has no slice.
    """

    methods: list[str]
    values: list[SliceValue]
    most: int
    beyond: int = 0

    def has(self, value: str) -> bool:
        """Whether there is a slice of this value."""
        return any(known.value == value for known in self.values)


class SliceName(NamedTuple):
    """A slice, which queries write as DIMENSION:VALUE."""

    dimension: str
    value: str

    @classmethod
    def parsed(cls, text: str) -> "SliceName":
        """The slice of a text. Raises `InputError` for another form."""
        dimension, colon, value = text.partition(":")
        if not (dimension and colon and 1 <= len(value.encode(errors="replace")) <= MAX_TAG_BYTES):
            raise InputError("slice", text[:100], "must be the key of a tag, a colon and a value, such as language:English")
        return cls(dimension, value)

    def board(self, method: str) -> str:
        """Name of the slice's board of a method."""
        return f"{method}{_MARK}{self.dimension}{_MARK}{_hash(self.value)}"

    def __str__(self) -> str:
        """The slice as queries write it."""
        return f"{self.dimension}:{self.value}"


def method_of(board: str) -> str:
    """Method of a board: the name itself, unless it is the board of a slice."""
    return board.partition(_MARK)[0]


def part_of(board: str) -> str:
    """What the name of a board adds to its method: nothing, or the slice. Boards of one slice have equal parts."""
    return board.removeprefix(method_of(board))


def dimension_of(board: str) -> str | None:
    """The tag of the slice of a board; None if the board is the pool's own."""
    return board.split(_MARK)[1] if is_sliced(board) else None


def is_sliced(board: str) -> bool:
    """Whether a board is that of a slice."""
    return _MARK in board


def slice_text(part: str | None) -> str:
    """A slice as queries write it, checked; empty for None, which is all outcomes. Raises `InputError`."""
    return "" if part is None else str(SliceName.parsed(part))


def board_name(method: str, part: str) -> str:
    """Name of a board. part: The slice as queries write it; empty for all outcomes. Raises `InputError`."""
    return SliceName.parsed(part).board(method) if part else method


def activity_of(board: str) -> str:
    """Name of the board with the numbers of outcomes that belong to the agents of a board."""
    return ACTIVITY + part_of(board)


def slice_of(slices: Mapping[str, SliceDimension], board: str) -> SliceName | None:
    """The slice of a board; None if the board is the pool's own, or no slice has it. slices: those of the pool's head."""
    method, *rest = board.split(_MARK)
    if len(rest) != 2 or (found := slices.get(rest[0])) is None or method not in (*found.methods, ACTIVITY):
        return None
    value = next((known.value for known in found.values if _hash(known.value) == rest[1]), None)
    return None if value is None else SliceName(rest[0], value)


def slice_boards(slices: Mapping[str, SliceDimension]) -> Iterator[str]:
    """Yield the names of what the store keeps as live boards of slices. slices: those of the pool's head."""
    for dimension, found in slices.items():
        for known in found.values:
            yield from (SliceName(dimension, known.value).board(method) for method in (*found.methods, ACTIVITY))


@lru_cache(maxsize=1 << 12)
def _hash(value: str) -> str:
    return blake2b(value.encode(errors="replace"), digest_size=_HASH_BYTES).hexdigest()

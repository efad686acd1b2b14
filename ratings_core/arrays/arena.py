"""Arenas: many texts in a single byte array, which kernels read instead of Python strings."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel

_SEPARATOR: Final = "\n"


@dataclass(frozen=True, slots=True)
class Arena:
    """n consecutive texts in UTF-8.

    bytes: uint8 (total,); start: int64 (n+1,), text i is bytes[start[i]:start[i+1]]. Raises `InputError` unless `start` ascends from 0 to
    the number of bytes. UTF-8 is checked only on decoding.
    """

    bytes: NDArray[np.uint8]
    start: NDArray[np.int64]

    def __post_init__(self) -> None:
        _check_column("bytes", self.bytes, np.uint8)
        _check_column("start", self.start, np.int64)
        start, total = self.start, len(self.bytes)
        if not len(start) or start[0] != 0 or start[-1] != total or (start[1:] < start[:-1]).any():
            raise InputError("start", start, f"must rise from 0 to {total}, the number of bytes")

    def __len__(self) -> int:
        return len(self.start) - 1

    def take(self, indices: NDArray[np.int64]) -> "Arena":
        """The texts at `indices` (k,), in that order. Raises `InputError` for an index outside 0 to n-1."""
        indices = np.asarray(indices, np.int64)
        if indices.size and not (indices.min() >= 0 and indices.max() < len(self)):
            raise InputError("indices", indices, f"must be from 0 to {len(self) - 1}")
        start = np.zeros(len(indices) + 1, np.int64)
        np.cumsum(self.start[indices + 1] - self.start[indices], out=start[1:])
        data = np.empty(start[-1], np.uint8)
        _gather(self.bytes, self.start, indices, start, data)
        return Arena(data, start)

    @classmethod
    def joined(cls, arenas: "Sequence[Arena]") -> "Arena":
        """The texts of all arenas, in order."""
        texts = np.concatenate([np.zeros(0, np.uint8), *(arena.bytes for arena in arenas)])
        return cls(texts, join_starts([arena.start for arena in arenas]))

    def check(self) -> None:
        """Raises `InputError` if a text is not UTF-8."""
        if not self.bytes.tobytes().isascii():
            self.names()

    def pieces(self) -> "list[builtins.bytes]":
        """The bytes of each text, which need not be UTF-8."""
        blob = self.bytes.tobytes()
        return [blob[a:b] for a, b in pairwise(self.start.tolist())]

    def names(self) -> list[str]:
        """The texts as strings. Raises `InputError` if a text is not UTF-8."""
        blob, cuts = self.bytes.tobytes(), self.start.tolist()
        spans = pairwise(cuts)
        if blob.isascii():
            text = blob.decode("ascii")
            return [text[a:b] for a, b in spans]
        return [_decode(blob[a:b], i) for i, (a, b) in enumerate(spans)]


def join_starts(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Concatenate the groups of several arrays of starts.

    Args:
        starts: int64 (n_i+1,) each, ascending from 0; group k of part i has the items from starts[i][k] up to starts[i][k+1].

    Returns:
        int64 (n+1,), n the sum of all n_i: the starts of all groups after their items were concatenated.
    """
    first = accumulate([int(start[-1]) for start in starts], initial=0)
    return np.concatenate([np.zeros(1, np.int64), *(start[1:] + shift for start, shift in zip(starts, first, strict=False))])


def pack(names: Sequence[str]) -> Arena:
    """Convert `names` to an `Arena`, in order. Raises `InputError` for values that are not text or have lone surrogates."""
    if isinstance(names, str):
        raise InputError("names", names, "must be a sequence of names, not one name")
    _check_several(names)
    if not len(names):
        return Arena(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    try:
        joined = np.frombuffer(_SEPARATOR.join(names).encode(), np.uint8)
    except (TypeError, UnicodeEncodeError) as error:
        raise _blame(names) from error
    separates = joined == ord(_SEPARATOR)
    cuts = np.flatnonzero(separates)
    if len(cuts) != len(names) - 1:  # a name contains the separator
        return _pack_each(names)
    start = np.empty(len(names) + 1, np.int64)
    start[0], start[-1] = 0, len(joined) - len(cuts)
    start[1:-1] = cuts - np.arange(len(cuts))
    return Arena(joined[~separates], start)


def _check_several(names: Any) -> None:
    if not isinstance(names, Sequence | np.ndarray) or (isinstance(names, np.ndarray) and not names.ndim):
        raise InputError("names", names, "must be a sequence of texts")


def _pack_each(names: Sequence[str]) -> Arena:
    encoded = [name.encode() for name in names]
    start = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(item) for item in encoded], out=start[1:])
    return Arena(np.frombuffer(bytearray().join(encoded), np.uint8), start)


def _blame(names: Sequence[Any]) -> InputError:
    for i, name in enumerate(names):
        if not isinstance(name, str):
            return InputError(f"names[{i}]", name, "must be text")
        if any("\ud800" <= character <= "\udfff" for character in name):
            return InputError(f"names[{i}]", name, "must have a UTF-8 form (no lone surrogates)")
    return InputError("names", type(names).__name__, "must be a sequence of texts")


def _decode(item: bytes, i: int) -> str:
    try:
        return item.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"bytes of text {i}", item, "must be UTF-8") from error


def _check_column(name: str, column: Any, dtype: type[np.generic]) -> None:
    if not isinstance(column, np.ndarray) or column.dtype != dtype or column.ndim != 1:
        raise InputError(name, column, f"must be a one-dimensional array of {np.dtype(dtype).name}")


@kernel
def _gather(
    data: NDArray[np.uint8], start: NDArray[np.int64], indices: NDArray[np.int64], out_start: NDArray[np.int64], out: NDArray[np.uint8]
) -> None:
    for i in range(len(indices)):
        source, target = start[indices[i]], out_start[i]
        for k in range(out_start[i + 1] - target):
            out[target + k] = data[source + k]

"""Dictionary-encoded texts: a text that occurs repeatedly is stored, hashed and looked up only once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel


@dataclass(frozen=True, slots=True)
class Coded:
    """n texts; text i is entry code[i] of `texts`.

    code: int32 (n,). `texts` may contain equal entries and entries without a code. Raises `InputError` for a code without an entry.
    """

    texts: Arena
    code: NDArray[np.int32]

    def __post_init__(self) -> None:
        code = self.code
        if code.dtype != np.int32 or code.ndim != 1 or (code.size and not (code.min() >= 0 and code.max() < len(self.texts))):
            raise InputError("code", code, f"must be int32 of shape (n,), from 0 to {len(self.texts) - 1}")

    def __len__(self) -> int:
        return len(self.code)

    @classmethod
    def of(cls, texts: Arena) -> "Coded":
        """Coded texts with each entry of `texts` once, in order."""
        return cls(texts, np.arange(len(texts), dtype=np.int32))

    @classmethod
    def joined(cls, parts: "Sequence[Coded]") -> "Coded":
        """The texts of all parts, in order. parts: one or more."""
        first = np.cumsum([0, *(len(part.texts) for part in parts)], dtype=np.int32)
        code = np.concatenate([part.code + first[i] for i, part in enumerate(parts)])
        return cls(Arena.joined([part.texts for part in parts]), code)

    def take(self, indices: NDArray[np.int64]) -> "Coded":
        """The texts at `indices` (k,), in that order."""
        return Coded(self.texts, self.code[indices])

    def used(self) -> "Coded":
        """The same texts, with only the used entries, in order of their first occurrence."""
        order, code = np.empty(len(self.texts), np.int32), np.empty(len(self), np.int32)
        count, in_order = _first_uses(self.code, np.full(len(self.texts), -1, np.int32), order, code)
        if in_order and count == len(self.texts):
            return self
        return Coded(self.texts.take(order[:count].astype(np.int64)), code)

    def arena(self) -> Arena:
        """The n texts as an arena, with repetitions."""
        return self.texts.take(self.code.astype(np.int64))

    def names(self) -> list[str]:
        """The n texts as strings."""
        return self.arena().names()


@kernel
def _first_uses(
    code: NDArray[np.int32], place: NDArray[np.int32], order: NDArray[np.int32], renumbered: NDArray[np.int32]
) -> tuple[int, bool]:
    """Renumber entries by their first use. place: -1 for each entry; order and renumbered receive the result.

    Returns:
        The number of used entries, and whether all kept their numbers.
    """
    count, in_order = np.int32(0), True
    for i in range(len(code)):
        text = code[i]
        if place[text] < 0:
            place[text], order[count] = count, text
            in_order &= text == count
            count += 1
        renumbered[i] = place[text]
    return int(count), bool(in_order)

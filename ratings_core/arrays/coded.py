"""Texts as numbers of texts: one that occurs often is held, hashed and looked up once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.errors import InputError


@dataclass(frozen=True, slots=True)
class Coded:
    """n texts, text i being number code[i] of `texts`.

    code: int32 (n,). `texts` may hold equal ones, and ones to which no code points. Raises `InputError` for a code without a text.
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
        """Each of `texts` once, in order."""
        return cls(texts, np.arange(len(texts), dtype=np.int32))

    @classmethod
    def joined(cls, parts: "Sequence[Coded]") -> "Coded":
        """The texts of several, one after another. parts: one or more."""
        first = np.cumsum([0, *(len(part.texts) for part in parts)], dtype=np.int32)
        code = np.concatenate([part.code + first[i] for i, part in enumerate(parts)])
        return cls(Arena.joined([part.texts for part in parts]), code)

    def take(self, indices: NDArray[np.int64]) -> "Coded":
        """The texts at `indices` (k,), in that order."""
        return Coded(self.texts, self.code[indices])

    def arena(self) -> Arena:
        """The texts one after another."""
        return self.texts.take(self.code.astype(np.int64))

    def names(self) -> list[str]:
        """The texts as strings."""
        return self.arena().names()

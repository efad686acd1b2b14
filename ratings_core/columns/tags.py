"""Tags of outcomes as a column: each distinct set of tags once, and a code for each outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.hashing import hash128, mix64
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.records.tags import canonical_text

NO_TAGS: Final = -1
"""Code of an outcome without tags."""


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags of n outcomes, at least one of which can have tags.

    texts: canonical texts (`ratings_core.records.tags`) of sets of tags; a text can occur twice. code: int32 (n,), index into `texts`, or
    -1 for an outcome without tags. Raises `InputError` for a code without a text.
    """

    texts: Arena
    code: NDArray[np.int32]

    def __post_init__(self) -> None:
        code = self.code
        if code.dtype != np.int32 or code.ndim != 1 or (code.size and not (code.min() >= NO_TAGS and code.max() < len(self.texts))):
            raise InputError("code", code, f"must be int32 of shape (n,), from {NO_TAGS} to {len(self.texts) - 1}")

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> "Tags | None":
        """Tags of outcomes from their canonical texts; empty or None for no tags. Returns None if no outcome has tags."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text))}
        if not numbers:
            return None
        return cls(pack(list(numbers)), np.array([numbers[text] if text else NO_TAGS for text in texts], np.int32))

    @classmethod
    def of_json(cls, texts: Sequence[bytes], code: NDArray[np.int32]) -> "tuple[Tags | None, NDArray[np.bool_]]":
        """Tags of n outcomes from JSON texts in any spelling.

        Args:
            texts: JSON texts, also invalid ones.
            code: int32 (n,), index into `texts`, or -1 for an outcome without tags.

        Returns:
            The tags, None if no outcome has valid tags; and whether the text of each outcome is invalid, bool (n,).
        """
        canonical = [canonical_text(text) for text in texts]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(text for text in canonical if text))}
        new = np.array([*(NO_TAGS if not text else numbers[text] for text in canonical), NO_TAGS], np.int32)
        broken = np.array([*(text is None for text in canonical), False], np.bool_)[code]
        return (cls(pack(list(numbers)), new[code]) if numbers else None), broken

    @classmethod
    def joined(cls, parts: "Sequence[tuple[Tags | None, int]]") -> "Tags | None":
        """Concatenate columns. parts: the tags of each part, and its number of outcomes. Returns None if no part has tags."""
        if all(tags is None for tags, _ in parts):
            return None
        texts, codes, first = list[Arena](), list[NDArray[np.int32]](), 0
        for tags, outcomes in parts:
            if tags is None:
                codes.append(np.full(outcomes, NO_TAGS, np.int32))
                continue
            codes.append(np.where(tags.code < 0, np.int32(NO_TAGS), tags.code + np.int32(first)))
            texts.append(tags.texts)
            first += len(tags.texts)
        return cls(Arena.joined(texts), np.concatenate(codes))

    def __len__(self) -> int:
        return len(self.code)

    def take(self, indices: NDArray[np.int64]) -> "Tags | None":
        """The tags of the outcomes at `indices` (k,), in that order. Returns None if none of them has tags."""
        code = self.code[indices]
        return Tags(self.texts, code) if (code >= 0).any() else None

    def names(self) -> list[str]:
        """The canonical text of each outcome; empty for an outcome without tags."""
        texts = self.texts.names()
        return [texts[code] if code >= 0 else "" for code in self.code.tolist()]

    def mixed_into(self, hashes: NDArray[np.uint64]) -> None:
        """Change the hash of each outcome that has tags, in place, so that it also depends on the tags. hashes: uint64 (n,)."""
        _mix(hashes, hash128(self.texts.bytes, self.texts.start)[:, 0].copy(), self.code)


@kernel
def _mix(hashes: NDArray[np.uint64], texts: NDArray[np.uint64], code: NDArray[np.int32]) -> None:
    for i in range(len(hashes)):
        if code[i] >= 0:
            hashes[i] = mix64(mix64(hashes[i]) + texts[code[i]])

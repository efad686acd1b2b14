"""Incremental transitive closure of a directed graph, as bits: 64 agents per machine word.

A new arc a -> b changes the rows of all agents that reach a. A second, transposed table lists these agents without a search. Adding an arc
takes O((1 + p + s) m / 64), for p agents that newly reach b and s agents that a newly reaches, or O(1) if a reached b before. Because each
of the m**2 pairs becomes reachable at most once, k arcs take O((k + m**2) m / 64).
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import kernel
from ratings_core.voting.ties import Mask

Bits: TypeAlias = NDArray[np.uint64]
_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class Reachability:
    """The transitive closure of the arcs added so far, of m agents.

    ahead: uint64 (m, words), bit b of row a is set if a reaches b. behind: uint64 (m, words), its transpose.
    """

    ahead: Bits
    behind: Bits

    @classmethod
    def none(cls, m: int) -> "Reachability":
        """The closure of m agents without arcs."""
        words = -(-m // _WORD)
        return cls(np.zeros((m, words), np.uint64), np.zeros((m, words), np.uint64))

    def copy(self) -> "Reachability":
        """An independent copy."""
        return Reachability(self.ahead.copy(), self.behind.copy())

    def mask(self) -> Mask:
        """The closure as a matrix, bool (m, m): [a, b] is true if a reaches b."""
        m = len(self.ahead)
        little_endian = self.ahead.astype("<u8").view(np.uint8)
        return np.unpackbits(little_endian, axis=1, bitorder="little")[:, :m].astype(np.bool_)


@kernel
def reaches(ahead: Bits, a: int, b: int) -> bool:
    """Whether a reaches b."""
    return bool((ahead[a, b >> 6] >> np.uint64(b & 63)) & np.uint64(1))


@kernel
def join(ahead: Bits, behind: Bits, a: int, b: int) -> None:
    """Add the arc a -> b: a, and all agents that reach a, now reach b and all agents that b reaches."""
    if reaches(ahead, a, b):
        return
    reached_before = ahead[a].copy()
    _spread(ahead, a, behind[a], behind[b], b)
    _spread(behind, b, ahead[b], reached_before, a)


@kernel
def _spread(table: Bits, own: int, others: Bits, done: Bits, new: int) -> None:
    """Add the row of `new`, and `new` itself, to the rows of `own` and `others`; rows in `done` already contain them."""
    gained, last = table[new], np.uint64(1) << np.uint64(new & 63)
    for word in range(len(others)):
        rows = others[word]
        if word == own >> 6:
            rows |= np.uint64(1) << np.uint64(own & 63)
        rows &= ~done[word]
        place = word << 6
        while rows:
            if rows & np.uint64(1):
                row = table[place]
                for i in range(len(gained)):
                    row[i] |= gained[i]
                row[new >> 6] |= last
            rows >>= np.uint64(1)
            place += 1

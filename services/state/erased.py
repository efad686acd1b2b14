"""Erased names of one generation, replaced by their tokens before anything else is folded.

An erased name never gets an id, so a name that the pool knows is not erased: only new names are hashed, each one once in a call.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.records.roster import UNKNOWN, Roster
from services.control.erasures import ErasedName, NameMatcher
from services.wire.columns import GameColumns, ScoreColumns


class ErasedNames:
    """Replaces names of outcomes. erased: names of a generation and their tokens."""

    def __init__(self, erased: Sequence[ErasedName]) -> None:
        self._matcher = NameMatcher(erased)

    def __bool__(self) -> bool:
        return bool(self._matcher)

    def replaced(self, columns: GameColumns | ScoreColumns, known: Roster) -> GameColumns | ScoreColumns:
        """`columns` with tokens in place of erased names. known: names of the pool's agents, none of which is erased."""
        new = np.flatnonzero(known.lookup_coded(columns.names) == UNKNOWN)
        scratch = Roster()
        ids = scratch.intern_coded(columns.names.take(new))
        tokens = list(map(self._matcher.token, scratch.names()))
        found = np.array([token is not None for token in tokens], np.bool_)
        if not found.any():
            return columns
        erased = new[found[ids]]
        targets = pack([token for token in tokens if token is not None])
        at = (np.cumsum(found) - 1)[ids[found[ids]]]
        return columns.renamed(substituted(columns.names, erased, targets, at))


def substituted(names: Coded, places: NDArray[np.int64], others: Arena, at: NDArray[np.int64]) -> Coded:
    """`names` with the texts at `places` (k,) replaced by those of `others` at `at` (k,)."""
    texts, code = names.texts, names.code.copy()
    both = Arena(np.concatenate([texts.bytes, others.bytes]), np.concatenate([texts.start, len(texts.bytes) + others.start[1:]]))
    code[places] = len(texts) + at
    return Coded(both, code)

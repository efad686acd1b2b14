"""Edits of a generation: erased names and aliases are replaced; retracted outcomes and banned agents are left out.

The edit of an outcome depends only on the outcome and the generation, so the division of the stream into batches does not matter (law 1).
An outcome that is left out does not enter the dedupe window and is not counted as a duplicate. A retraction names an id and leaves out
every outcome with this id, also later ones; so a corrected outcome needs another id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.records.roster import UNKNOWN, Roster
from services.control.erasures import NameMatcher
from services.control.records import Generation

LEFT_OUT: Final = ("retracted", "banned", "merged")
"""Reasons to leave out an outcome: `retracted`; `banned`, a game with a banned agent, or scores of banned agents only; `merged`, a game
in which an alias or an erasure gave two agents the same name."""


@dataclass(frozen=True, slots=True)
class Retracted:
    """Ids of outcomes that are retracted below a horizon.

    Attributes:
        ids: uint64 (n, 2), distinct 128-bit hashes in ascending order.
        events: Number of retractions that named them; several retractions can name the same id.
    """

    ids: NDArray[np.uint64]
    events: int = 0

    @classmethod
    def of(cls, ids: Sequence[NDArray[np.uint64]]) -> "Retracted":
        """The ids that retractions name. ids: arrays of hashes, uint64 (n, 2), of all retractions of a pool below a horizon."""
        return NONE.with_more(np.concatenate([NONE.ids, *ids]))

    def with_more(self, ids: NDArray[np.uint64]) -> "Retracted":
        """The union of these ids and `ids` (n, 2), each of which is named by one more retraction."""
        return Retracted(np.unique(np.concatenate([self.ids, ids]), axis=0), self.events + len(ids))

    def among(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of `ids` (n, 2) are retracted: bool (n,)."""
        retracted = np.zeros(len(ids), np.bool_)
        if len(self.ids):
            at = np.minimum(np.searchsorted(self.ids[:, 0], ids[:, 0]), len(self.ids) - 1)
            same = np.flatnonzero(self.ids[at, 0] == ids[:, 0])  # equal in the first 64 bits, so almost always equal
            ends = np.searchsorted(self.ids[:, 0], ids[same, 0], "right")
            for i, end in zip(same.tolist(), ends.tolist(), strict=True):
                retracted[i] = ids[i, 1] in self.ids[at[i] : end, 1]
        return retracted


NONE: Final = Retracted(np.zeros((0, 2), np.uint64))


class Edits:
    """Applies the edits of one generation.

    Attributes:
        left_out: int64 (3,), outcomes left out so far for each reason in `LEFT_OUT`. Every occurrence in the log counts, duplicates too.
    """

    def __init__(self, generation: Generation, retracted: Retracted) -> None:
        self.retracted = retracted
        self.left_out = np.zeros(len(LEFT_OUT), np.int64)
        self._erased = NameMatcher(generation.erased)
        self._tokens, self._aliases, self._bans = Roster(), Roster(), Roster()
        self._tokens.intern(sorted({name.token for name in generation.erased}))
        self._aliases.intern(list(generation.aliases))
        self._bans.intern(generation.bans)
        self._targets = pack(list(generation.aliases.values()))

    def apply(self, columns: Games | TaskScores, known: Roster) -> tuple[Games | TaskScores, NDArray[np.bool_]]:
        """Apply the edits to n outcomes.

        Args:
            columns: The outcomes.
            known: Names of the pool's agents.

        Returns:
            The outcomes to fold, and bool (n,): which of the given outcomes they are.
        """
        if self._erased:
            columns = _without_erased(columns, self._erased, known)
        reasons = [self.retracted.among(columns.id_hash)]
        tokens = self._tokens.lookup_coded(columns.names) != UNKNOWN  # also tokens that the archive wrote in place of erased names
        columns, renamed = self._renamed(columns)
        banned = self._bans.lookup_coded(columns.names) != UNKNOWN
        if isinstance(columns, Games):
            outcome = _outcome_of(columns.agent_start[columns.side_start])
            reasons += [_any(banned, outcome, len(columns)), _merged(columns, renamed | tokens, outcome)]
        else:
            columns, emptied = _without(columns, banned)
            reasons += [emptied]
        kept = np.ones(len(columns), np.bool_)
        for i, reason in enumerate(reasons):
            self.left_out[i] += np.count_nonzero(reason & kept)
            kept &= ~reason
        return columns.take(kept), kept

    @property
    def unmatched(self) -> int:
        """Number of retracted ids that no outcome has had so far. Too low by one for each duplicate of a retracted outcome."""
        return max(0, len(self.retracted.ids) - int(self.left_out[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: retracted uint64 (n, 2), retractions int64 (1,), left_out int64 (3,)."""
        events = np.array([self.retracted.events], np.int64)
        return {"retracted": self.retracted.ids.copy(), "retractions": events, "left_out": self.left_out.copy()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], generation: Generation) -> "Edits":
        """Rebuild the edits of `generation` from the result of `arrays`. Raises `InputError` for invalid arrays."""
        ids, events, left_out = (arrays.get(name) for name in ("retracted", "retractions", "left_out"))
        if ids is None or events is None or left_out is None or ids.shape != (len(ids), 2) or len(left_out) != len(LEFT_OUT):
            raise InputError("arrays", sorted(arrays), "must be the edits of a generation")
        edits = cls(generation, Retracted(np.array(ids), int(events[0])))
        edits.left_out = np.array(left_out)
        return edits

    def _renamed(self, columns: Games | TaskScores) -> tuple[Games | TaskScores, NDArray[np.bool_]]:
        """Replace aliases by the agents that they count for. The second result flags the replaced names."""
        alias = self._aliases.lookup_coded(columns.names)
        renamed = alias != UNKNOWN
        if not renamed.any():
            return columns, renamed
        places = np.flatnonzero(renamed)
        return replace(columns, names=substituted(columns.names, places, self._targets, alias[places].astype(np.int64))), renamed


def _outcome_of(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the outcome of each agent. Outcome i has the agents from start[i] up to start[i+1]."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _any(flags: NDArray[np.bool_], outcome: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Which of n outcomes have a flagged agent: bool (n,). outcome: index of the outcome of each agent."""
    flagged = np.zeros(n, np.bool_)
    flagged[outcome[flags]] = True
    return flagged


def _merged(games: Games, renamed: NDArray[np.bool_], outcome: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which games name an agent twice: bool (n,). renamed: agents whose name may be the result of an alias or an erasure."""
    if not renamed.any():
        return np.zeros(len(games), np.bool_)
    agent = Roster().intern_coded(games.names)
    order = np.lexsort((agent, outcome))
    twice = (agent[order][1:] == agent[order][:-1]) & (outcome[order][1:] == outcome[order][:-1])
    return _any(np.append(False, twice), outcome[order], len(games))


def _without(scores: TaskScores, banned: NDArray[np.bool_]) -> tuple[TaskScores, NDArray[np.bool_]]:
    """Remove banned agents from scores. The second result flags the outcomes that have no agent left."""
    if not banned.any():
        return scores, np.zeros(len(scores), np.bool_)
    outcome = _outcome_of(scores.start)[~banned]
    start = np.zeros(len(scores) + 1, np.int64)
    np.cumsum(np.bincount(outcome, minlength=len(scores)), out=start[1:])
    names = scores.names.take(np.flatnonzero(~banned))
    return replace(scores, names=names, score=scores.score[~banned], start=start), np.diff(start) == 0


def _without_erased(columns: Games | TaskScores, erased: NameMatcher, known: Roster) -> Games | TaskScores:
    """Copy of `columns` with tokens instead of erased names. known: names of the pool's agents.

    An erased name never gets an id, so a name that the pool knows is not erased. Therefore only new names are hashed, each once a call.
    """
    new = np.flatnonzero(known.lookup_coded(columns.names) == UNKNOWN)
    scratch = Roster()
    ids = scratch.intern_coded(columns.names.take(new))
    tokens = list(map(erased.token, scratch.names()))
    is_erased = np.array([token is not None for token in tokens], np.bool_)
    if not is_erased.any():
        return columns
    places = new[is_erased[ids]]
    targets = pack([token for token in tokens if token is not None])
    at = (np.cumsum(is_erased) - 1)[ids[is_erased[ids]]]
    return columns.renamed(substituted(columns.names, places, targets, at))


def substituted(names: Coded, places: NDArray[np.int64], others: Arena, at: NDArray[np.int64]) -> Coded:
    """Copy of `names` in which the text at `places[i]` is replaced by `others[at[i]]`. places, at: (k,)."""
    texts, code = names.texts, names.code.copy()
    both = Arena(np.concatenate([texts.bytes, others.bytes]), np.concatenate([texts.start, len(texts.bytes) + others.start[1:]]))
    code[places] = len(texts) + at
    return Coded(both, code)

"""Outcomes as flat columns, with names as codes: the form in which outcomes are read, counted and folded, wherever they come from.

Names stay bytes (`Coded`) until a roster gives them ids. So outcomes can be dropped before they add names to the roster.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, join_starts
from ratings_core.arrays.coded import Coded
from ratings_core.arrays.hashing import hash128, hash_slice, mix64
from ratings_core.columns.tags import Tags
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.records.outcomes import NO_TASK, WEIGHT_ONE, OutcomeBatch, ScoreBatch

_SEED: Final = np.uint64(0)
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_UNTASKED: Final = np.uint64(0x2545F4914F6CDD1D)
NOT_USED: Final = 0
"""Hash of a text in `Coded.texts` that no name uses."""
_UNHASHED: Final = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Games:
    """n games in log order.

    Attributes:
        names: Agents of all sides, in order; a name can repeat.
        side_start: int64 (n+1,), as in `OutcomeBatch`.
        place: int32 (sides,), as in `OutcomeBatch`.
        agent_start: int64 (sides+1,), as in `OutcomeBatch`.
        weight: int64 (n,), in units of 2**-20.
        time: float64 (n,), seconds since 1970.
        tasks: Task of each game that has one.
        task_of: int64 (n,), index into `tasks`, or -1.
        meta: n texts, the JSON `meta` of each game; empty if it has none.
        id_hash: uint64 (n, 2), hash of the id.
        body_hash: uint64 (n,), hash of sides, places, task, weight and tags. It does not cover id, time and meta, so a retry with a new
            time stamp has the same body.
        tags: Tags of the games; None if no game has tags.
    """

    names: Coded
    side_start: NDArray[np.int64]
    place: NDArray[np.int32]
    agent_start: NDArray[np.int64]
    weight: NDArray[np.int64]
    time: NDArray[np.float64]
    tasks: Arena
    task_of: NDArray[np.int64]
    meta: Arena
    id_hash: NDArray[np.uint64]
    body_hash: NDArray[np.uint64]
    tags: Tags | None = None

    @classmethod
    def hashed(
        cls,
        *,
        ids: Arena,
        names: Coded,
        side_start: NDArray[np.int64],
        place: NDArray[np.int32],
        agent_start: NDArray[np.int64],
        weight: NDArray[np.float64],
        time: NDArray[np.float64],
        tasks: Arena,
        task_of: NDArray[np.int64],
        meta: Arena | None = None,
        tags: Tags | None = None,
        name_hash: NDArray[np.uint64] | None = None,
    ) -> "Games":
        """Make columns and compute their hashes. The arguments are as in the class, apart from these:

        ids: n outcome ids; weight: float64 (n,), as in the outcomes; meta: None if no game has `meta`; name_hash: the result of
        `name_hashes(names)`, computed if None.
        """
        meta = Arena(np.zeros(0, np.uint8), np.zeros(len(weight) + 1, np.int64)) if meta is None else meta
        id_hash, units = hash128(ids.bytes, ids.start), _units(weight)
        unhashed = cls(names, side_start, place, agent_start, units, time, tasks, task_of, meta, id_hash, _UNHASHED, tags)
        return unhashed.renamed(names, name_hash)

    def renamed(self, names: Coded, name_hash: NDArray[np.uint64] | None = None) -> "Games":
        """The same games with other names, with the body hashes of games sent with these names.

        Args:
            names: The new names, one for each of the present names.
            name_hash: The result of `name_hashes(names)`; computed if None.
        """
        body = np.empty(len(self), np.uint64)
        tasks, sides = self.tasks, (self.side_start, self.place, self.agent_start)
        hashes = name_hashes(names) if name_hash is None else name_hash
        _hash_games(names.code, hashes, *sides, self.weight, tasks.bytes, tasks.start, self.task_of, body)
        if self.tags is not None:
            self.tags.mixed_into(body)
        return replace(self, names=names, body_hash=body)

    @classmethod
    def joined(cls, parts: "Sequence[Games]") -> "Games":
        """Concatenate one or more columns."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            names=Coded.joined([part.names for part in parts]),
            side_start=join_starts([part.side_start for part in parts]),
            place=np.concatenate([part.place for part in parts]),
            agent_start=join_starts([part.agent_start for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
            time=np.concatenate([part.time for part in parts]),
            tasks=Arena.joined([part.tasks for part in parts]),
            task_of=numbered(np.concatenate([part.task_of >= 0 for part in parts])),
            meta=Arena.joined([part.meta for part in parts]),
            id_hash=np.concatenate([part.id_hash for part in parts]),
            body_hash=np.concatenate([part.body_hash for part in parts]),
            tags=Tags.joined([(part.tags, len(part)) for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, mask: NDArray[np.bool_]) -> "Games":
        """The games where `mask` (n,) is true, in order."""
        return self if mask.all() else self.reordered(np.flatnonzero(mask))

    def reordered(self, order: NDArray[np.int64]) -> "Games":
        """Some games in any order. order: int64 (k,), index of the game at each position."""
        sizes = np.diff(self.side_start)[order]
        sides = _positions(self.side_start[order], sizes)
        members = np.diff(self.agent_start)[sides]
        has = self.task_of[order] >= 0
        return Games(
            names=self.names.take(_positions(self.agent_start[sides], members)),
            side_start=starts_of(sizes),
            place=self.place[sides],
            agent_start=starts_of(members),
            weight=self.weight[order],
            time=self.time[order],
            tasks=self.tasks.take(self.task_of[order][has]),
            task_of=numbered(has),
            meta=self.meta.take(order),
            id_hash=self.id_hash[order],
            body_hash=self.body_hash[order],
            tags=None if self.tags is None else self.tags.take(order),
        )

    def batch(self, agent_ids: NDArray[np.int32], task_ids: NDArray[np.int32]) -> OutcomeBatch:
        """The games with roster ids.

        Args:
            agent_ids: Id of each of `names`.
            task_ids: Id of each of `tasks`; -1 for a task that the pool does not keep.
        """
        task = np.full(len(self), NO_TASK, np.int32)
        task[self.task_of >= 0] = task_ids
        return OutcomeBatch(
            side_start=self.side_start,
            place=self.place,
            agent_start=self.agent_start,
            agent=agent_ids,
            weight=self.weight,
            time=self.time,
            task=task,
            key=self.id_hash,
        )


@dataclass(frozen=True, slots=True)
class TaskScores:
    """n outcomes with scores, in log order.

    Attributes:
        names: Agents of all scores, in order; a name can repeat.
        start: int64 (n+1,); outcome i has the scores from start[i] up to start[i+1].
        score: float64 (scores,).
        tasks: n task names.
        weight, time, id_hash: As in `Games`.
        body_hash: uint64 (n,), hash of the task, the weight, the scores and the tags. It does not depend on the order of the scores.
        tags: As in `Games`.
    """

    names: Coded
    start: NDArray[np.int64]
    score: NDArray[np.float64]
    tasks: Arena
    weight: NDArray[np.int64]
    time: NDArray[np.float64]
    id_hash: NDArray[np.uint64]
    body_hash: NDArray[np.uint64]
    tags: Tags | None = None

    @classmethod
    def hashed(
        cls,
        *,
        ids: Arena,
        names: Coded,
        start: NDArray[np.int64],
        score: NDArray[np.float64],
        tasks: Arena,
        weight: NDArray[np.float64],
        time: NDArray[np.float64],
        tags: Tags | None = None,
    ) -> "TaskScores":
        """Make columns and compute their hashes. The arguments are as in the class, apart from these:

        ids: n outcome ids; weight: float64 (n,), as in the outcomes.
        """
        id_hash, score = hash128(ids.bytes, ids.start), score + 0.0  # turns -0.0 into 0.0, because equal scores must have equal hashes
        return cls(names, start, score, tasks, _units(weight), time, id_hash, _UNHASHED, tags).renamed(names)

    def renamed(self, names: Coded) -> "TaskScores":
        """The same outcomes with other names, with the body hashes of outcomes sent with these names.

        Args:
            names: The new names, one for each of the present names.
        """
        body, bits = np.empty(len(self), np.uint64), self.score.view(np.uint64)
        hashes = name_hashes(names)
        _hash_scores(names.code, hashes, self.start, bits, self.weight, self.tasks.bytes, self.tasks.start, body)
        if self.tags is not None:
            self.tags.mixed_into(body)
        return replace(self, names=names, body_hash=body)

    @classmethod
    def joined(cls, parts: "Sequence[TaskScores]") -> "TaskScores":
        """Concatenate one or more columns."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            names=Coded.joined([part.names for part in parts]),
            start=join_starts([part.start for part in parts]),
            score=np.concatenate([part.score for part in parts]),
            tasks=Arena.joined([part.tasks for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
            time=np.concatenate([part.time for part in parts]),
            id_hash=np.concatenate([part.id_hash for part in parts]),
            body_hash=np.concatenate([part.body_hash for part in parts]),
            tags=Tags.joined([(part.tags, len(part)) for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, mask: NDArray[np.bool_]) -> "TaskScores":
        """The outcomes where `mask` (n,) is true, in order."""
        return self if mask.all() else self.reordered(np.flatnonzero(mask))

    def reordered(self, order: NDArray[np.int64]) -> "TaskScores":
        """Some outcomes in any order. order: int64 (k,), index of the outcome at each position."""
        sizes = np.diff(self.start)[order]
        scores = _positions(self.start[order], sizes)
        return TaskScores(
            names=self.names.take(scores),
            start=starts_of(sizes),
            score=self.score[scores],
            tasks=self.tasks.take(order),
            weight=self.weight[order],
            time=self.time[order],
            id_hash=self.id_hash[order],
            body_hash=self.body_hash[order],
            tags=None if self.tags is None else self.tags.take(order),
        )

    def batch(self, agent_ids: NDArray[np.int32], task_ids: NDArray[np.int32]) -> ScoreBatch:
        """The outcomes with roster ids. agent_ids: id of each of `names`; task_ids: id of each of `tasks`."""
        return ScoreBatch(start=self.start, agent=agent_ids, score=self.score, task=task_ids, weight=self.weight, time=self.time)


def name_hashes(names: Coded) -> NDArray[np.uint64]:
    """Hash of each text in `names.texts`, uint64 (texts,), the input of `body_hash`. A text that no name uses gets `NOT_USED`."""
    return _hash_names(names.texts.bytes, names.texts.start, names.code)


def _units(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(weight * WEIGHT_ONE).astype(np.int64)


def starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Starts of groups with these sizes (n,), int64 (n+1,)."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _positions(begin: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of groups in a flat array, one after the other. begin: first position of each group."""
    starts = starts_of(sizes)
    return np.arange(starts[-1]) + np.repeat(begin - starts[:-1], sizes)


def numbered(has: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each of n outcomes the number of its task among the outcomes that have one, or -1: int64 (n,)."""
    return np.where(has, np.cumsum(has) - 1, NO_TASK).astype(np.int64)


@inlined
def _chain(h: np.uint64, x: np.uint64) -> np.uint64:
    return np.uint64(mix64(h * _STEP + x))


@kernel
def _hash_names(names: NDArray[np.uint8], start: NDArray[np.int64], name: NDArray[np.int32]) -> NDArray[np.uint64]:
    """See `name_hashes`. Hashing before the loop over outcomes, and in order of the texts, is faster than calls within that loop."""
    hashes, used = np.full(len(start) - 1, NOT_USED, np.uint64), np.zeros(len(start) - 1, np.bool_)
    for k in range(len(name)):
        used[name[k]] = True
    for text in range(len(hashes)):
        if used[text]:
            hashes[text] = hash_slice(names, start[text], start[text + 1], _SEED)[0]
    return hashes


@kernel
def _hash_games(
    name: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    side_start: NDArray[np.int64],
    place: NDArray[np.int32],
    agent_start: NDArray[np.int64],
    weight: NDArray[np.int64],
    tasks: NDArray[np.uint8],
    task_start: NDArray[np.int64],
    task_of: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:
    for i in range(len(out)):
        k = task_of[i]
        h = _chain(_SEED, np.uint64(weight[i]))
        h = _chain(h, _UNTASKED if k < 0 else hash_slice(tasks, task_start[k], task_start[k + 1], _SEED)[0])
        for s in range(side_start[i], side_start[i + 1]):
            h = _chain(h, np.uint64(place[s]))
            h = _chain(h, np.uint64(agent_start[s + 1] - agent_start[s]))
            for a in range(agent_start[s], agent_start[s + 1]):
                h = _chain(h, hashes[name[a]])
        out[i] = h


@kernel
def _hash_scores(
    name: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    start: NDArray[np.int64],
    score_bits: NDArray[np.uint64],
    weight: NDArray[np.int64],
    tasks: NDArray[np.uint8],
    task_start: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:
    for i in range(len(out)):
        h = _chain(_SEED, np.uint64(weight[i]))
        h = _chain(h, hash_slice(tasks, task_start[i], task_start[i + 1], _SEED)[0])
        total = np.uint64(0)
        for a in range(start[i], start[i + 1]):
            total += _chain(hashes[name[a]], score_bits[a])
        out[i] = _chain(h, total)

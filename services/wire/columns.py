"""Outcomes and retractions of a pool as columns, and the conversion of decoded events, which makes no numpy call for each of them."""

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.arrays.hashing import hash128
from ratings_core.columns.outcomes import Games, TaskScores, numbered, starts_of
from ratings_core.columns.tags import Tags
from ratings_core.records.outcomes import NO_TASK
from ratings_core.records.tags import canonical_tags
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent


@dataclass(frozen=True, slots=True)
class Retractions:
    """n retractions.

    Attributes:
        id_hash: uint64 (n, 2), 128-bit hashes of the retracted ids. They equal the `id_hash` of the retracted outcomes.
        time: float64 (n,), seconds since 1970.
    """

    id_hash: NDArray[np.uint64]
    time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.time)

    def take(self, mask: NDArray[np.bool_]) -> "Retractions":
        """The retractions of `mask`, bool (n,)."""
        return Retractions(self.id_hash[mask], self.time[mask])


Outcomes: TypeAlias = Games | TaskScores | Retractions
"""Entries of one pool and one kind."""


def columns_of(events: Sequence[Event]) -> Outcomes:
    """Columns of one or more decoded events of one type. The events are not checked again."""
    return _OF[type(events[0])](events)


def by_kind(events: Sequence[Event]) -> Iterator[tuple[NDArray[np.int64], Outcomes]]:
    """Yield the columns of decoded events of one pool by type, each with the indices of its events. Their order stays within a type.

    The order between types has no effect on a fold: a pool folds one of them, refuses another, and retractions only wait.
    """
    kinds = list(map(type, events))
    for kind in dict.fromkeys(kinds):
        at = [i for i, event_kind in enumerate(kinds) if event_kind is kind]
        yield np.array(at, np.int64), columns_of(events if len(at) == len(events) else [events[i] for i in at])


def columns_of_games(events: Sequence[GameEvent]) -> Games:
    """Columns of decoded events. The events are not checked again."""
    sides_of = [event.sides for event in events]
    sides = list(chain.from_iterable(sides_of))
    agents_of = [side.agents for side in sides]
    tasks, task_of = _tasks([event.task for event in events])
    return Games.hashed(
        ids=pack([event.id for event in events]),
        names=Coded.of(pack(list(chain.from_iterable(agents_of)))),
        side_start=starts_of(_sizes(sides_of)),
        place=np.fromiter([side.place for side in sides], np.int32, len(sides)),
        agent_start=starts_of(_sizes(agents_of)),
        weight=np.fromiter([event.weight for event in events], np.float64, len(events)),
        time=_times(events),
        tasks=tasks,
        task_of=task_of,
        meta=_metas(events),
        tags=_tags(events),
    )


def columns_of_scores(events: Sequence[ScoreEvent]) -> TaskScores:
    """Columns of decoded events. The events are not checked again."""
    return TaskScores.hashed(
        ids=pack([event.id for event in events]),
        names=Coded.of(pack(list(chain.from_iterable([event.scores for event in events])))),
        start=starts_of(_sizes([event.scores for event in events])),
        score=np.array(list(chain.from_iterable([event.scores.values() for event in events])), np.float64),
        tasks=pack([event.task for event in events]),
        weight=np.fromiter([event.weight for event in events], np.float64, len(events)),
        time=_times(events),
        tags=_tags(events),
    )


def columns_of_retractions(events: Sequence[RetractEvent]) -> Retractions:
    """Columns of decoded events. The events are not checked again."""
    ids = pack([event.retracts for event in events])
    return Retractions(hash128(ids.bytes, ids.start), _times(events))


_OF: Final[dict[type[Event], Callable[[Any], Outcomes]]] = {
    GameEvent: columns_of_games,
    ScoreEvent: columns_of_scores,
    RetractEvent: columns_of_retractions,
}


def _times(events: Sequence[GameEvent] | Sequence[ScoreEvent] | Sequence[RetractEvent]) -> NDArray[np.float64]:
    return np.fromiter([event.time for event in events], np.float64, len(events))


def _sizes(groups: Sequence[Sized]) -> NDArray[np.int64]:
    return np.fromiter(map(len, groups), np.int64, len(groups))


def _tasks(tasks: Sequence[str | None]) -> tuple[Arena, NDArray[np.int64]]:
    named = [task for task in tasks if task is not None]
    if not named:
        return pack(named), np.full(len(tasks), NO_TASK, np.int64)
    has = np.array([task is not None for task in tasks], np.bool_)
    return pack(named), numbered(has)


def _tags(events: Sequence[GameEvent] | Sequence[ScoreEvent]) -> Tags | None:
    if all(event.tags is UNSET for event in events):
        return None
    return Tags.of([None if event.tags is UNSET else canonical_tags(event.tags) for event in events])


def _metas(events: Sequence[GameEvent]) -> Arena:
    texts = [b"" if event.meta is UNSET else bytes(event.meta) for event in events]
    return Arena(np.frombuffer(bytearray().join(texts), np.uint8), starts_of(_sizes(texts)))

"""Copies a pool's changes for publication: the changed rows of each board, and the pool's head."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.online import Prequential, Reading
from ratings_core.records.shapes import SINGLES
from services.boards.evidence import few_outcomes
from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.boards.store.protocol import ACTIVITY, Building, LiveBoard, LiveForecasts, PoolHead, ShapeForecasts
from services.runtime.settings import PROVISIONAL, Provisional
from services.shard.partition import Partition
from services.state.content import PoolContent
from services.state.pool import Changes, PoolState
from services.wire.refusals import conflict_letters

log = logging.getLogger("equirank.publish")


class UnfiniteRating(Exception):  # noqa: N818 - names the fact
    """Ratings or deviations of a method are not finite. ids: Their agents."""

    def __init__(self, method: str, ids: NDArray[np.int32]) -> None:
        self.method, self.ids = method, ids
        super().__init__(f"{len(ids)} ratings of {method} are not finite")


@dataclass(slots=True)
class Track:
    """What the store contains of one generation of a pool.

    recovered: position of the checkpoint from which the state was restored. known: whether the store need not be asked before a write.
    visible: published position; boards are written only after the fold has reached it. unhidden: whether a hidden pool is published
    because readers do not see its later generation, which cannot be built again. checked_at: time of the last update that was
    written or left the store unchanged, by the timer. shown_stop: `stopped` of the head in the store; empty until this shard has written
    the head.
    """

    generation: int
    recovered: int
    known: bool = False
    visible: int = 0
    unhidden: bool = False
    checked_at: float = float("-inf")
    shown_stop: str | None = ""


@dataclass(frozen=True, slots=True)
class Update:
    """Changes of one pool.

    changes: agents in `boards`. head_only: whether only the head changes; its `stopped` gives the reason. broken: whether the pool is
    broken, so that `head` describes an empty board. unbuilt: whether the pool is intact, and hidden behind a generation that cannot be
    built again.
    """

    state: PoolState
    track: Track
    epoch: int
    head: PoolHead
    changes: Changes
    boards: Mapping[str, LiveBoard]
    head_only: bool = False
    broken: bool = False
    unbuilt: bool = False

    @property
    def ids(self) -> NDArray[np.int32]:
        """Agents of the pool in `boards`."""
        return self.changes.ids


def update_of(
    state: PoolState, track: Track, epoch: int, partition: Partition, at: float, limits: Provisional = PROVISIONAL
) -> Update | None:
    """Take the changes of a pool since the last update.

    A pool with a rating or deviation that is not finite is stopped instead, and the result is None.

    Args:
        state: State of the pool.
        track: What the store contains of the pool.
        epoch: Epoch under which the shard owns the partition.
        partition: Partition of the pool.
        at: Time of publication, seconds since 1970.
        limits: The least evidence for a rank.
    """
    changes = state.take_changes()
    try:
        boards = boards_of(state, changes.ids, limits) | slice_boards_of(state, changes, limits)
    except UnfiniteRating as error:
        _stop_unfinite(state, error.method, error.ids, partition.position)
        return None
    return Update(state, track, epoch, head_of(state, partition, at, limits), changes, boards)


def boards_of(state: PoolState, ids: NDArray[np.int32], limits: Provisional = PROVISIONAL) -> dict[str, LiveBoard]:
    """Copy the rows of some agents on each live board. Raises `UnfiniteRating`."""
    names = state.content.agents.names(ids)
    total, activity = len(state.content.agents), state.content.ratings.activity
    boards: dict[str, LiveBoard] = {}
    for method in state.content.ratings.online:
        rated = state.rated(method)
        shown, count = (ids, total) if rated is None else (ids[rated[ids]], int(rated.sum()))
        reading = state.content.ratings.read(method, shown)
        if not (finite := _finite(reading)).all():
            raise UnfiniteRating(method, shown[~finite])
        own = names if rated is None else state.content.agents.names(shown)
        boards[method] = _board(own, reading, count, few_outcomes(activity[shown], limits))
    boards[ACTIVITY] = LiveBoard(names, activity[ids].astype(np.float64).tolist(), total=total)
    return boards


def slice_boards_of(state: PoolState, changes: Changes, limits: Provisional = PROVISIONAL) -> dict[str, LiveBoard]:
    """Copy the rows of some agents on each live board of the pool's slices. Raises `UnfiniteRating`."""
    boards: dict[str, LiveBoard] = {}
    if state.slices is None:
        return boards
    for key, ids in changes.slices.items():
        content, name = state.slices.slices[key].content, SliceName(*key)
        names, total, played = content.agents.names(ids), len(content.agents), content.ratings.activity[ids]
        for method in content.ratings.online:
            reading = content.ratings.read(method, ids)
            if not (finite := _finite(reading)).all():
                raise UnfiniteRating(method, state.content.agents.lookup(content.agents.names(ids[~finite])))
            boards[name.board(method)] = _board(names, reading, total, few_outcomes(played, limits))
        boards[name.board(ACTIVITY)] = LiveBoard(names, played.astype(np.float64).tolist(), total=total)
    return boards


def slices_of(state: PoolState) -> dict[str, SliceDimension]:
    """The pool's slices, for its head."""
    if (slices := state.slices) is None:
        return {}
    values: dict[str, list[SliceValue]] = {dimension: [] for dimension in slices.beyond}
    for (dimension, value), made in slices.slices.items():
        content = made.content
        values[dimension].append(SliceValue(value=value, outcomes=content.counts["outcomes"], agents=len(content.agents)))
    most = state.generation.fold.slice_values
    return {
        dimension: SliceDimension(methods=slices.methods(dimension), values=values[dimension], most=most, beyond=beyond)
        for dimension, beyond in slices.beyond.items()
    }


def _finite(reading: Reading) -> NDArray[np.bool_]:
    """Whether the rating and the deviation of each agent are finite. Shape (n,)."""
    ratings = np.isfinite(reading.rating)
    return ratings if reading.deviation is None else ratings & np.isfinite(reading.deviation)


def _board(names: Sequence[str], reading: Reading, total: int, provisional: NDArray[np.bool_]) -> LiveBoard:
    beliefs = [] if reading.beliefs is None else list(reading.beliefs.each())
    return LiveBoard(names, reading.rating.tolist(), beliefs, total, provisional.tolist())


def _stop_unfinite(state: PoolState, method: str, ids: NDArray[np.int32], position: int) -> None:
    """Stop one pool because its ratings or deviations are not finite: the store rejects such values, and they have no order (law 6)."""
    pool = state.generation.pool
    why = f"the {method} rating of {state.content.agents.names(ids[:1])[0]!r} is no finite number; change the method's settings"
    log.error("pool stopped: %s", why, extra={"pool": pool, "position": position})
    state.stop(f"{why} by `equirank pools settings {pool}`", position, broken=True)


def head_of(state: PoolState, partition: Partition, at: float, limits: Provisional = PROVISIONAL) -> PoolHead:
    """Return the head of a pool. at: time of publication, seconds since 1970. limits: the least evidence for a rank."""
    counts, position = state.content.counts, state.folded_to(partition.position)
    return PoolHead(
        pool=state.generation.pool,
        kind=state.kind,
        label=state.created.label,
        partition=partition.number,
        generation=state.generation.number,
        position=position,
        published_at=at,
        pool_time=state.content.clock.time,
        outcomes=counts["outcomes"],
        agents=len(state.content.agents),
        tasks=len(state.content.tasks),
        duplicates=counts["duplicates"],
        conflicts=counts["conflicts"],
        retractions=counts["retractions"],
        dead_letters=counts["refused"] + conflict_letters(counts["conflicts"]),
        online=list(state.content.ratings.online),
        prequential={name: sums.figures() for name, sums in state.content.ratings.prequential.items() if sums.pairs},
        stopped=state.stopped or partition.readers.stopped,
        pending=state.retractions.waiting,
        left_out=0 if state.content.edits is None else int(state.content.edits.left_out.sum()),
        unmatched=state.retractions.unmatched,
        building=_building(state, partition),
        beliefs=state.content.ratings.beliefs,
        forecasts_by_shape=live_forecasts(state.content),
        record=record_before(position, partition),
        season=state.generation.season,
        slices=slices_of(state),
        provisional_outcomes=limits.outcomes,
        season_generation=1 if state.generation.opening is None else state.generation.opening.first,
    )


def live_forecasts(content: PoolContent) -> dict[str, LiveForecasts]:
    """Online method -> what its forecasts need."""
    ratings, only_duels = content.ratings, content.has_only_duels
    return {
        name: LiveForecasts(model=rater.forecasts, shapes=_by_shape(ratings.prequential[name], only_duels=only_duels))
        for name, rater in ratings.raters.items()
    }


def _by_shape(sums: Prequential, *, only_duels: bool) -> dict[str, ShapeForecasts] | None:
    """Forecasts by shape of games; None if the pool does not tell shapes apart, and has had other games than duels."""
    if sums.shapes is not None:
        records = sums.by_shape
    elif only_duels:
        records = {str(SINGLES): sums}
    else:
        return None
    return {shape: ShapeForecasts(scale=one.scale, figures=one.figures(), classes=one.classes) for shape, one in records.items()}


def record_before(position: int, partition: Partition) -> str | None:
    """Return the SHA-256 of the record before `position` if that is the last folded record; else None."""
    return partition.last[1] if partition.last is not None and partition.last[0] + 1 == position else None


def _building(state: PoolState, partition: Partition) -> Building | None:
    """Return the progress of the pool's newest build, running or failed; None without one."""
    numbers = [number for pool, number in partition.builds if pool == state.generation.pool]
    if not numbers:
        return None
    build = partition.builds[state.generation.pool, max(numbers)]
    return Building(generation=max(numbers), progress=round(build.progress(partition.position), 4), failed=build.failed)

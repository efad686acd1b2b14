"""Contents of pools at past positions, folded on request from log and archive.

The content of a generation at a position never changes. So the last contents are kept, and a later position is folded from the nearest of
them or of the checkpoints.
"""

from collections.abc import Callable
from math import inf
from threading import Event, Lock
from typing import Final, NamedTuple

import msgspec

from ratings_core.arrays.digest import digest
from ratings_core.errors import MissingExtraError
from services.boards.past_contents import NotFolded, PastContent, StillFolding, When
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.slice_entries import slice_entries, with_digests
from services.control import seasons
from services.control.erasures import ErasedName
from services.control.generations import erasing, lacks_erasures
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.log.protocol import Log, LogError
from services.shard.generations.build import Build
from services.shard.generations.refold import Folded, fold_to
from services.shard.generations.season_end import SeasonEnds, SeasonNotFolded
from services.shard.recovery import WrongLog
from services.state.pool import PoolState

MOST_OUTCOMES: Final = 4_000_000
"""Largest number of outcomes that one request of the API folds: some seconds of processor time. The next request continues."""
_KEPT_BYTES: Final = 128 << 20
"""Bytes of kept contents. The last used one is kept whatever its size, so that a repeated request does not fold again."""


class _Of(NamedTuple):
    """What a content is of, apart from its position: a generation, with the erasures that it applies."""

    pool: str
    generation: int
    erased: tuple[ErasedName, ...]


class _Kept(NamedTuple):
    """A kept content. Its position is behind the last record of the pool, or that of a checkpoint that was written by its time.

    read: The pool has no record from there to before this position.
    """

    of: _Of
    content: PastContent
    read: int

    def at(self, position: int, until: float) -> PastContent:
        """The content at `position`, which is at most `read`; or by the time `until`, after which the log may have reached `position`."""
        entry = self.content.entry
        if until != inf or entry.position == position:
            return self.content
        return self.content._replace(entry=msgspec.structs.replace(entry, position=position))


class PastStates:
    """Folds pools up to past positions, one at a time. Thread-safe.

    Args:
        log_: The log, with its archive.
        control: Returns the present state of the control log.
        checkpoints: Checkpoints to start from. Nothing is written.
        most: Largest number of outcomes that one call folds; None for no limit.
    """

    def __init__(
        self, log_: Log, control: Callable[[], ControlState], checkpoints: CheckpointStore, most: int | None = MOST_OUTCOMES
    ) -> None:  # fmt: skip
        self._log, self._control, self._checkpoints, self._most = log_, control, checkpoints, most
        self._lock, self._ended = Lock(), Event()
        self._kept: list[_Kept] = []
        """The last used one is last."""

    def content(self, head: PoolHead, when: When, generation: int | None = None) -> PastContent:
        """The content of a pool at a past position or time. See `services.boards.past_contents.PastContents`."""
        if self._log.archived is None:
            raise NotFolded("other positions need an archive (EQUIRANK_ARCHIVE)")
        control = self._control()
        position = head.position if when.position is None else min(when.position, head.position)
        made = _chosen(control, head.pool, None if when.position is None else position, when.time or 0.0, generation)
        until = inf if when.time is None else when.time
        try:
            if position > (log_end := self._log.outcomes.end(head.partition)):
                raise NotFolded(f"the log ends at {log_end}, before the pool's position {position}")
            with self._lock:
                return self._content(control, made, head.partition, position, until)
        except (SeasonNotFolded, WrongLog, MissingExtraError) as error:
            raise NotFolded(str(error)) from error
        except LogError as error:
            if error.retriable:
                raise
            raise NotFolded(str(error)) from error

    def stop(self) -> None:
        """End the fold under way, and refuse further ones, because the process ends."""
        self._ended.set()

    def _content(self, control: ControlState, made: Generation, partition: int, end: int, until: float) -> PastContent:
        """The content of a generation before offset `end`, of records that the log took by `until`. Raises as `content`."""
        of = _Of(made.pool, made.number, erasing(control, made).erased)
        kept = self._nearest(of, end, until)
        if kept is not None and kept.read >= end:
            self._keep(kept)
            return kept.at(end, until)
        build, begun = self._begun(control, made, partition, end, until, kept)
        if build.state is not None and build.state.content.history is not None:
            build.state.content.history = None  # no board needs the ratings of each outcome, and tracing them takes time
        limit = _Limit(build, self._most, self._ended)
        folded = fold_to(build, self._log, control, partition, end, until, limit)
        last = folded.last or begun
        if build.failed is not None or build.state is None:
            raise NotFolded(f"generation {made.number} cannot be folded to position {end}: {build.failed}")
        if until < made.time and last.position == made.start and _begins_later(control, made):  # when the log reached its start is unknown
            raise NotFolded(f"generation {made.number} counts outcomes from position {made.start} on, and none that the log took by then")
        kept = _Kept(of, _content_of(build.state, last.position, last.time), build.position)
        self._keep(kept)
        if limit.reached and build.position < end:
            raise StillFolding(made.pool, build.position, end)
        found = kept.at(build.position, until)
        return found if folded.next_taken is None else found._replace(next_taken=folded.next_taken)

    def _begun(
        self, control: ControlState, made: Generation, partition: int, end: int, until: float, kept: _Kept | None
    ) -> tuple[Build, Folded]:  # fmt: skip
        """A build at the nearest known position, and the position and time of its content. kept: The nearest of the kept contents."""
        ends = SeasonEnds(self._log, control, self._checkpoints, writes=False)
        beyond = -1 if kept is None else kept.read
        # Checkpoints contain the names of erasures that the generation does not apply.
        found = None if lacks_erasures(control, made) else ends.restored(made, partition, end, until, beyond=beyond)
        if found is not None:
            return found[0], Folded(found[0].position, found[1])
        if kept is None:
            return ends.at_start(made, partition), Folded(made.start, min(made.time, until))
        entry = kept.content.entry
        state = PoolState.restore(control.pools[made.pool], erasing(control, made), kept.content.arrays, entry.position)
        return Build.restored(state, kept.read), Folded(entry.position, kept.content.time)

    def _nearest(self, of: _Of, end: int, until: float) -> _Kept | None:
        """The kept content that was read furthest, of those that are not beyond the limits."""
        known = [one for one in self._kept if one.of == of and one.content.entry.position <= end and one.content.time <= until]
        return max(known, key=lambda one: one.read, default=None)

    def _keep(self, kept: _Kept) -> None:
        """Keep a content as the last used one, in place of one of its position, and drop those that were not used for longest."""
        place = kept.of, kept.content.entry.position
        self._kept = [one for one in self._kept if (one.of, one.content.entry.position) != place] + [kept]
        while len(self._kept) > 1 and sum(one.content.nbytes for one in self._kept) > _KEPT_BYTES:
            del self._kept[0]


class _Limit:
    """Ends a fold after a number of outcomes.

    Attributes:
        reached: Whether it did.
    """

    def __init__(self, build: Build, most: int | None, ended: Event) -> None:
        self._most, self._ended, self._begun = most, ended, _counted(build)
        self.reached = False

    def __call__(self, build: Build) -> bool:
        """Whether the fold goes on. Raises `LogError` if the process ends."""
        if self._ended.is_set():
            raise LogError("the process ends: send the request again", retriable=True)
        self.reached = self._most is not None and _counted(build) - self._begun >= self._most
        return not self.reached


def _begins_later(control: ControlState, made: Generation) -> bool:
    """Whether a generation leaves out outcomes before its start. The pool's first generation starts at its first record."""
    return made.opening is None and any(other.start < made.start for other in control.generations[made.pool].values())


def _counted(build: Build) -> int:
    """Number of outcomes and retractions that a build has folded."""
    return 0 if build.state is None else sum(build.state.content.counts.values())


def _content_of(state: PoolState, position: int, time: float) -> PastContent:
    arrays = state.arrays()
    for array in arrays.values():
        array.flags.writeable = False  # several readers share them
    entry = PoolEntry(
        pool=state.generation.pool,
        kind=state.kind,
        generation=state.generation.number,
        position=position,
        outcomes=state.content.counts["outcomes"],
        object="",
        sha256="",
        bytes=0,
        digest=digest(arrays),
        slices=with_digests(slice_entries(state.slices), arrays),
    )
    return PastContent(entry, time, arrays)


def _chosen(control: ControlState, pool: str, position: int | None, time: float, number: int | None) -> Generation:
    """The generation whose content is folded. Raises `NotFolded`.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        position: Log offset up to which outcomes are counted; None to go by `time`.
        time: Seconds since 1970.
        number: Number of the generation; None for the one by which readers now see the moment.
    """
    made = seasons.generation_at(control, pool, position, time) if number is None else control.generations.get(pool, {}).get(number)
    if made is None or made.number > control.served(pool):
        raise NotFolded(
            "no generation that readers saw counts outcomes up to there" if number is None else f"readers saw no generation {number}"
        )
    if position is not None and position < made.start:
        raise NotFolded(f"generation {made.number} counts outcomes from position {made.start} on")
    if made.fold_version != FOLD_VERSION:
        why = f"was folded by version {made.fold_version}, and this release folds by version {FOLD_VERSION}"
        raise NotFolded(f"generation {made.number} {why}; `generation` chooses another one")
    return made

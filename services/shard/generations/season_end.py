"""The final state of a season, from which the next season begins.

It is read from the season's files. If they do not have it yet, the season's last generation is folded up to the season's end, from its
newest checkpoint before the end or from its start, and the state is written to the files. All ways give the same bits (law 1).
"""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from math import inf

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import RatingsError
from services.boards.season_files import SeasonEnd, SeasonFiles, tokenized
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.checkpoints.slice_entries import slice_entries
from services.control import generations
from services.control.erasures import NameMatcher
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.log.protocol import Log
from services.runtime.deadlines import start
from services.shard.generations.build import Build
from services.shard.generations.refold import fold_to
from services.shard.partition import Partition
from services.shard.recovery import retracted, served
from services.state.opening import FINAL_ARRAYS, FinalState
from services.state.pool import PoolState

log = logging.getLogger("equirank.generations")


class SeasonNotFolded(Exception):  # noqa: N818 - names the fact
    """The season before cannot be folded up to its end."""


class SeasonEnds:
    """Final states of ended seasons, for the generations of the seasons after them.

    Args:
        log_: The outcome log, with its archive if there is one.
        control: State of the control log.
        checkpoints: Checkpoints to start from, and beside which the files of seasons are; None: only the log is read, and nothing is
            written. `verify` compares in this way.
        writes: Whether a final state that had to be folded is written to the files of its season.
    """

    def __init__(self, log_: Log, control: ControlState, checkpoints: CheckpointStore | None, *, writes: bool = True) -> None:
        self._log, self._control, self._checkpoints, self._writes = log_, control, checkpoints, writes
        self._files = None if checkpoints is None else SeasonFiles(checkpoints, log_.outcomes.identity)
        self._known: dict[str, tuple[int, FinalState]] = {}
        """Pool -> generation and final state of the season that was folded last. The next season of a chain begins with it."""

    def before(self, made: Generation, partition: int) -> FinalState | None:
        """Final state of the season before that of a generation; None for a generation without an opening.

        Raises:
            SeasonNotFolded: The season before cannot be folded to its end, or the control log lacks its generation.
            LogError: The log cannot be read, or lost records of the season before.
            OSError: The files cannot be read or written.
        """
        if made.opening is None:
            return None
        last = self._control.generations.get(made.pool, {}).get(made.opening.generation)
        if last is None:
            raise SeasonNotFolded(f"the control log has no generation {made.opening.generation} of pool {made.pool}")
        if (known := self._known.get(last.pool)) is not None and known[0] == last.number:
            return known[1]
        kept = self._kept(last)
        return self._state_of(last, self.folded(made, partition)) if kept is None else kept

    def folded(self, made: Generation, partition: int) -> Arrays:
        """Fold the season before that of `made` to its end, and write its final state. Arguments, result and errors are as in `before`."""
        opening = made.opening
        if opening is None:
            raise SeasonNotFolded(f"generation {made.number} of pool {made.pool} begins no season")
        last = self._control.generations[made.pool][opening.generation]
        kept = self.restored(last, partition, opening.position)
        build = self.at_start(last, partition) if kept is None else kept[0]
        fold_to(build, self._log, self._control, partition, opening.position)
        if build.failed is not None or build.state is None or build.state.stopped is not None:
            raise SeasonNotFolded(f"season {last.season} cannot be folded to its end at {opening.position}: {build.failed}")
        arrays = tokenized(build.state.arrays(), NameMatcher(self._control.erasures.names(made.pool)))
        if self._files is not None and self._writes:
            self._files.write_end(self._end_of(build.state, last, made), arrays)
        self._known[last.pool] = last.number, self._state_of(last, arrays)
        return arrays

    def _state_of(self, last: Generation, arrays: Arrays) -> FinalState:
        return FinalState.of(self._control.pools[last.pool].kind, last, arrays)

    def _kept(self, last: Generation) -> FinalState | None:
        """The final state in the files of the season of `last`; None if it is not there, damaged, or of another form."""
        end = None if self._files is None else self._files.end(last.pool, last.season)
        if self._files is None or end is None or end.entry.generation != last.number:
            return None
        try:
            return self._state_of(last, self._files.arrays(end, FINAL_ARRAYS))
        except (BadObject, RatingsError, KeyError, ValueError) as error:  # another release may have written other arrays
            log.warning("the final state of season %s is folded again: %s", last.season, error, extra={"pool": last.pool})
            return None

    def restored(
        self, made: Generation, partition: int, end: int, until: float = inf, *, beyond: int = -1
    ) -> tuple[Build, float] | None:  # fmt: skip
        """A build of a generation from its newest checkpoint at or before a position, to be folded on.

        Args:
            made: The generation.
            partition: Number of the partition.
            end: Largest position of the checkpoint.
            until: Latest time of the checkpoint, in seconds since 1970.
            beyond: The checkpoint has a higher position than this one.

        Returns:
            The build and the time of the checkpoint; None if no such checkpoint can be read.

        Raises:
            OSError: The checkpoints cannot be read.
        """
        for entry, written_at in self._entries(made, partition):
            if beyond < entry.position <= end and written_at <= until and entry.stopped is None and self._checkpoints is not None:
                try:
                    arrays = self._checkpoints.read_pool(entry)
                    state = PoolState.restore(self._control.pools[made.pool], made, arrays, entry.position)
                    return Build.restored(state, entry.position), written_at
                except (BadObject, RatingsError, KeyError, ValueError):
                    continue
        return None

    def at_start(self, made: Generation, partition: int) -> Build:
        """A build of a generation at its start, with its retractions and all erasures of the pool. Raises as `before`."""
        # The archive may have tokens for names that `made` does not erase. It has none while a checkpoint with the names is kept.
        erasing = generations.erasing(self._control, made)
        retractions = retracted(made, self._log, partition, self._control)
        state = PoolState(self._control.pools[made.pool], erasing, retractions, self.before(erasing, partition))
        return Build.restored(state, made.start)

    def _entries(self, made: Generation, partition: int) -> Iterator[tuple[PoolEntry, float]]:
        """Entries of a generation in the checkpoints of this release and this log, newest first, each with the time of its checkpoint."""
        if self._checkpoints is None:
            return
        for entry, manifest in self._checkpoints.kept_entries(partition, made.pool, made.number):
            if manifest.fold_version == FOLD_VERSION and manifest.log_identity == self._log.outcomes.identity:
                yield entry, manifest.written_at

    def _end_of(self, state: PoolState, last: Generation, made: Generation) -> SeasonEnd:
        position = 0 if made.opening is None else made.opening.position
        entry = PoolEntry(
            pool=last.pool,
            kind=state.kind,
            generation=last.number,
            position=position,
            outcomes=state.content.counts["outcomes"],
            object="",
            sha256="",
            bytes=0,
            digest="",
            slices=slice_entries(state.slices),
        )
        return SeasonEnd(season=last.season, entry=entry, ended_at=made.time, log=self._log.outcomes.identity)


class AwaitedEnds:
    """Computes final states on threads, so that the fold goes on. Called by the folding thread."""

    def __init__(self, ends: Callable[[], SeasonEnds], partition: int) -> None:
        """ends: makes the reader of final states, from the present state of the control log."""
        self._ends, self._partition = ends, partition
        self._running: dict[tuple[str, int], Future[FinalState | None]] = {}

    def take(self, made: Generation) -> "Future[FinalState | None] | None":
        """The ended computation for a generation; None while it runs. The first call begins it, and a later call begins a new one."""
        key = made.pool, made.number
        for other in [other for other in self._running if other[0] == made.pool and other != key]:
            del self._running[other]
        if key not in self._running:
            ends = self._ends()
            self._running[key] = start(lambda: ends.before(made, self._partition), "season")
        return self._running.pop(key) if self._running[key].done() else None


def begin_seasons(partition: Partition, log_: Log, control: ControlState, checkpoints: CheckpointStore) -> None:
    """Add the pools that are in no checkpoint and whose generation begins with the final state of another season.

    Raises `LogError`, `OSError`. A pool whose season before cannot be folded is added as a stopped one.
    """
    ends = SeasonEnds(log_, control, checkpoints)
    for made in served(partition.number, log_.outcomes, control):
        if made.pool in partition.pools or made.opening is None or made.fold_version != FOLD_VERSION:
            continue
        retractions = retracted(made, log_, partition.number, control)
        try:
            state = PoolState(control.pools[made.pool], made, retractions, ends.before(made, partition.number))
        except SeasonNotFolded as error:
            state = PoolState(control.pools[made.pool], made, retractions)
            state.stop(str(error), made.start)
        partition.pools[made.pool] = state

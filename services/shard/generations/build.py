"""A generation under construction: a second state of a pool, folded from the log alongside the serving state. Pure, like `Partition`.

A build reads the log from the generation's start to fold its outcomes. If the serving state does not know all retractions below the
horizon, the build first reads the same records for these retractions. Records of other pools are recognized by their bytes and not decoded.
A build that has caught up with its partition folds the same records as the partition until it becomes the serving state.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.control.lifecycles import GENERATION_LIFECYCLE, GenerationEvent
from services.control.records import Generation, PoolCreated
from services.log.protocol import Records
from services.log.records import count_below
from services.shard.batch import Batch
from services.shard.generations.archived_pool import ArchivedPool
from services.shard.share import Share
from services.state.edits import NONE, Retracted
from services.state.opening import FinalState
from services.state.pool import PoolState, without_conflicts
from services.wire.columns import Retractions

_RETRACTS: Final = b"retracts"


class Build:
    """The build of one generation: it collects the retractions below the horizon if needed, then folds records from the start.

    retracted: retractions below the horizon; None if they must be read from the log. final: final state of the season before, for a
    generation with an opening.
    status: state of its lifecycle. position: first offset not yet read. state: the folded state; None while retractions are collected, and
    after a failure. failed: why the build failed; None unless it did. archived: its reader of the archive, which `archive_of` opens; None
    after the reading for retractions and after a failure. Its thread then ends with the part that it reads.
    """

    def __init__(
        self, created: PoolCreated, generation: Generation, retracted: Retracted | None = None, final: FinalState | None = None
    ) -> None:  # fmt: skip
        self.created, self.generation, self.position = created, generation, generation.start
        self.status = GENERATION_LIFECYCLE.start
        self.state: PoolState | None = None
        self.failed: str | None = None
        self.archived: ArchivedPool | None = None
        self._collected: list[NDArray[np.uint64]] = []
        self._final = final
        self._scan = max(0, generation.retraction_horizon - generation.start) if retracted is None else 0
        if not self._scan:
            self._begin(NONE if retracted is None else retracted)

    @classmethod
    def restored(cls, state: PoolState, position: int) -> "Build":
        """Create the build from the state that a checkpoint contains at `position`."""
        build = cls(state.created, state.generation, NONE)
        build.state, build.position = state, position
        if state.stopped is not None:
            build.fail(state.stopped)
        return build

    @property
    def key(self) -> tuple[str, int]:
        """Pool and number of the generation."""
        return self.generation.pool, self.generation.number

    def progress(self, position: int) -> float:
        """Return the fraction of records already read, from 0 to 1, if the partition is at `position`."""
        length = self._scan + max(0, position - self.generation.start)
        done = self.position - self.generation.start + (0 if self.state is None else self._scan)
        return min(1.0, done / length) if length else 1.0

    def behind(self, position: int) -> bool:
        """Whether the build must read more of the log to reach `position`, the position of its partition. False after a failure."""
        return self.failed is None and (self.state is None or self.position < position)

    def concerned(self, records: Records) -> Records:
        """Return the unread records that may contain what the build needs: entries of its pool, or first only its retractions."""
        fresh = records[count_below(records, self.position) :]
        return fresh.that_may_hold(self.generation.pool, b"" if self.state is not None else _RETRACTS)

    def fold(self, batch: Batch) -> None:
        """Fold the pool's entries that were not read yet, in order; before the horizon is reached, only collect its retractions.

        Refused outcomes become dead letters of `batch`. Conflicts do not, because the serving state wrote theirs when it folded the
        records. If the fold raises, only this build fails (law 6).
        """
        made = self.generation
        for share in batch.shares.get(made.pool, ()):
            fresh = share.since(self.position)
            if self.state is None:
                self._collected += _retracted([fresh], made.retraction_horizon)
            elif len(fresh):
                try:
                    refused = self.state.fold(fresh.outcomes)
                    self.state.note(fresh.outcomes, fresh.offset)
                except Exception as error:  # noqa: BLE001 - after any error, the pool continues with its serving state
                    self.fail(f"{type(error).__name__} at or after offset {self.position}: {error}")
                    return
                for i, reason, path, rule in without_conflicts(refused):
                    batch.refuse(fresh, i, reason, path, rule, made.number)

    def reached(self, position: int) -> None:
        """Note that all records below `position` were read.

        When the first reading reaches the horizon, the build starts to fold from the generation's start, with the collected retractions.
        """
        self.position = max(self.position, position)
        if self.state is None and self.failed is None and self.position >= self.generation.retraction_horizon:
            self._begin(Retracted.of(self._collected))

    def fail(self, why: str) -> None:
        """Stop the build for the reason `why`, and release its memory."""
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.FAIL)
        self.failed, self.state, self.archived, self._collected = why, None, None, []

    def switch(self, position: int) -> PoolState:
        """Return the state, which serves from now on. Raises `ValueError` if it is behind `position`, the partition's position."""
        if self.state is None or self.behind(position) or not self.state.opened:
            msg = f"generation {self.generation.number} of pool {self.generation.pool} has not caught up"
            raise ValueError(msg)
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.SWITCH)
        self.state.mark_all()
        return self.state

    def _begin(self, retracted: Retracted) -> None:
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.BEGIN)
        self.position, self.archived, self._collected = self.generation.start, None, []
        self.state, self._final = PoolState(self.created, self.generation, retracted, self._final), None
        if self.state.stopped is not None:
            self.fail(self.state.stopped)


def retracted_below(horizon: int, name: str, records: Records) -> list[NDArray[np.uint64]]:
    """Return the retractions of pool `name` in those `records` whose offset is below `horizon`: hashes of ids, uint64 (n, 2) each."""
    return list(_retracted(Batch(0, records.that_may_hold(name, _RETRACTS)).shares.get(name, ()), horizon))


def _retracted(shares: Iterable[Share], horizon: int) -> Iterator[NDArray[np.uint64]]:
    for share in shares:
        if isinstance(share.outcomes, Retractions):
            yield share.outcomes.id_hash[share.offset < horizon]

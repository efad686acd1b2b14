"""A generation under construction: one more state of a pool, folded from the log beside the one that serves. Pure as a partition is.

The log is read from the generation's start for its outcomes; before that once more, for retractions below the horizon, where the state
that serves cannot tell them. Records of other pools are recognized by their bytes and not decoded. What has caught up with its partition is
folded along with it, until it takes over.
"""

import re
from collections.abc import Sequence
from typing import Final

from services.archive.records import ArchivedRecords
from services.control.lifecycles import GENERATION_LIFECYCLE, GenerationEvent
from services.control.records import Generation, PoolCreated
from services.log.protocol import Record
from services.shard.batch import Batch
from services.shard.share import count_below
from services.state.edits import NONE, Retracted
from services.state.pool import Outcomes, PoolState, Refused
from services.wire.events import RetractEvent

_ESCAPE: Final = b"\\u00"
_ESCAPED: Final = re.compile(rb"\\u00[2-7]")
"""JSON may spell the characters of names so, too."""
_RETRACTS: Final = b"retracts"


class Build:
    """fold(generation, records from its start up to `position`), once it is known what was retracted below its horizon.

    retracted: that, where it is known; else the log is read for it first.
    status: where it is in its lifecycle. position: first offset not yet read. state: None while retractions are looked for, and after a
    failure. failed: why it ended.
    """

    def __init__(self, created: PoolCreated, generation: Generation, retracted: Retracted | None = None) -> None:
        self.created, self.generation, self.position = created, generation, generation.start
        self.status = GENERATION_LIFECYCLE.start
        self.state: PoolState | None = None
        self.failed: str | None = None
        self._found: list[RetractEvent] = []
        self._scan = max(0, generation.retraction_horizon - generation.start) if retracted is None else 0
        if not self._scan:
            self._begin(NONE if retracted is None else retracted)

    @classmethod
    def restored(cls, state: PoolState, position: int) -> "Build":
        """The build whose state a checkpoint holds as of `position`."""
        build = cls(state.created, state.generation, NONE)
        build.state, build.position = state, position
        if state.stopped is not None:
            build.fail(state.stopped)
        return build

    @property
    def key(self) -> tuple[str, int]:
        """Its pool and number."""
        return self.generation.pool, self.generation.number

    def progress(self, position: int) -> float:
        """Part of the reading that is done, from 0 to 1, when the partition is at `position`."""
        length = self._scan + max(0, position - self.generation.start)
        done = self.position - self.generation.start + (0 if self.state is None else self._scan)
        return min(1.0, done / length) if length else 1.0

    def behind(self, position: int) -> bool:
        """Whether it must read more of the log to be where its partition is."""
        return self.failed is None and (self.state is None or self.position < position)

    def concerned(self, records: Sequence[Record]) -> Sequence[Record]:
        """Those of `records` that may hold what it looks for: outcomes of its pool, or retractions first."""
        fresh = records[count_below(records, self.position) :]
        return _that_may_hold(fresh, self.generation.pool, b"" if self.state is not None else _RETRACTS)

    def scan(self, retractions: Sequence[RetractEvent]) -> None:
        """Take in what the pool's records below the horizon retract, in any order."""
        self._found += retractions

    def fold(self, wanted: Outcomes) -> list[Refused]:
        """Fold the pool's outcomes in order. Whatever they break ends this build alone (law 6)."""
        if self.state is None:
            return []
        try:
            return self.state.fold(wanted)
        except Exception as error:  # noqa: BLE001 - whatever it is, the pool goes on as it was
            self.fail(f"{type(error).__name__} at or after offset {self.position}: {error}")
            return []

    def reached(self, position: int) -> None:
        """Everything below `position` was read. At the horizon it begins again, from the generation's start, with what was retracted."""
        self.position = max(self.position, position)
        if self.state is None and self.failed is None and self.position >= self.generation.retraction_horizon:
            self._begin(Retracted.of(self._found))

    def fail(self, why: str) -> None:
        """Go no further, and give the memory back."""
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.FAIL)
        self.failed, self.state, self._found = why, None, []

    def switch(self, position: int) -> PoolState:
        """The state that readers see from now on. Raises `ValueError` where it is behind `position`, that of the partition."""
        if self.state is None or self.behind(position):
            msg = f"generation {self.generation.number} of pool {self.generation.pool} has not caught up"
            raise ValueError(msg)
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.SWITCH)
        self.state.changes.mark_all()
        return self.state

    def _begin(self, retracted: Retracted) -> None:
        self.status = GENERATION_LIFECYCLE.after(self.status, GenerationEvent.BEGIN)
        self.position, self._found = self.generation.start, []
        self.state = PoolState(self.created, self.generation, retracted)
        if self.state.stopped is not None:
            self.fail(self.state.stopped)


def retracted_below(horizon: int, name: str, records: Sequence[Record]) -> list[RetractEvent]:
    """Retractions of a pool among `records` below `horizon`."""
    shares = Batch(0, _that_may_hold(records, name, _RETRACTS)).shares.get(name, ())
    return [event for share in shares for offset, event in share.retractions() if offset < horizon]


def _that_may_hold(records: Sequence[Record], pool: str, field: bytes) -> Sequence[Record]:
    """Records that may hold both words, as they are or (in JSON) escaped. First all are asked at once, as every record comes by here."""
    if isinstance(records, ArchivedRecords):
        return records.of(pool)
    name = pool.encode()
    together = b"\n".join([record.value for record in records])
    if _ESCAPE not in together:
        if field and field not in together:
            return []
        return [record for record in records if name in record.value and field in record.value] if name in together else []
    return [
        record
        for record in records
        if (name in (value := record.value) and field in value) or (_ESCAPE in value and _ESCAPED.search(value) is not None)
    ]

"""Evidence of what a shard was folding when it died, and the partition that is isolated for it.

A record can end the process that folds it, for example by the memory it takes. The next shard would fold it again and end too, and
all its partitions with it. So a shard that takes a partition over notes in the control log what it is about to fold, until it has
folded all that was in the log when it started. After a death the noted records are folded one at a time, each noted. A record at which
shards died twice isolates its partition: it stops there, the others go on, and an operator decides.

The first death of a shard that ran for long leaves no note. A record that ends every process therefore ends at most four of them.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from services.archive.records import ArchivedRecords
from services.control.log import ControlLog
from services.control.records import Attempt, ControlState
from services.log.protocol import LogError, Record
from services.shard.slices import slices

log = logging.getLogger("equirank.shard")

DEATHS: Final = 2
"""Of shards at one record, after which it is not tried again."""


class Isolated(Exception):  # noqa: N818 - names the fact
    """Shards died at one record of a partition."""

    def __init__(self, partition: int, offset: int) -> None:
        what = f"{DEATHS} shards died while they folded the record at offset {offset}"
        again = f"give shards more memory and run `equirank partitions retry {partition}`"
        super().__init__(f"{what}; {again}, or skip it with `equirank partitions skip {partition} --offset {offset}`")


def isolated_at(partition: int, control: ControlState) -> int | None:
    """The offset at which a partition is isolated, as its last shard wrote; None where it is not."""
    attempt = control.partitions.attempts.get(partition)
    if attempt is None or attempt.deaths < DEATHS or control.partitions.skips(partition, attempt.begin):
        return None
    return attempt.begin


class Attempts:
    """Notes what is folded of one partition, under one epoch, as long as that is of use. Driven by the folding thread.

    until: the log's end when the shard started, up to which it takes notes; 0 for none.
    isolated: offset of the record that is not to be folded; blocked: whether it came.
    """

    def __init__(self, partition: int, epoch: int, until: int, control: ControlLog, clock: Callable[[], float] = time.time) -> None:
        self._partition, self._epoch, self._until, self._control, self._clock = partition, epoch, until, control, clock
        self.isolated: int | None = None
        self.blocked = self._noted = False
        self._suspected, self._deaths = (0, 0), 0

    def look_back(self, position: int) -> None:
        """Learn from the control log whether a shard died while it folded records that are still to fold. position: of the partition."""
        known = self._control.known().partitions
        found = known.attempts.get(self._partition)
        if found is not None and found.end > position and not known.skips(self._partition, found.begin):
            self._suspect(found)

    def parts(self, records: Sequence[Record]) -> Iterator[Sequence[Record]]:
        """`records` in runs to fold one after the other, up to the isolated one."""
        for part in slices(records):
            if isinstance(part, ArchivedRecords) or part[0].offset >= max(self._until, self._suspected[1]):
                yield part  # what is archived was folded: a checkpoint covers it
            else:
                yield from self._noting(part)
            if self.blocked:
                return

    def settle(self, position: int, *, idle: bool) -> None:
        """Nothing is being folded: withdraw the note where no more are taken, or nothing follows for now. position: folded up to."""
        if self._noted and (idle or position >= max(self._until, self._suspected[1])):
            self._noted = False
            self._append(Attempt(partition=self._partition, epoch=self._epoch, time=self._clock()))

    def resume(self, until: int) -> None:
        """An operator decided: fold the isolated record again, or go on without it. until: the log's end."""
        self.isolated, self.blocked, self._suspected = None, False, (0, 0)
        self._until, self._noted = until, True

    def is_decided(self, control: ControlState) -> bool:
        """Whether the control log has an operator's word on the isolated record."""
        return self.isolated is not None and isolated_at(self._partition, control) is None

    def _suspect(self, found: Attempt) -> None:
        self._suspected = found.begin, found.end
        self._deaths = min(found.deaths + 1, DEATHS)
        log.warning(
            "a shard died while it folded offsets %d to %d: these records are now folded one at a time",
            found.begin,
            found.end - 1,
            extra={"partition": self._partition},
        )
        if found.end - found.begin == 1 and self._deaths == DEATHS:
            self.isolated = found.begin
            if found.deaths < DEATHS:
                self._note(found.begin, found.end, DEATHS)
            self._noted = False  # it stays until an operator decides

    def _noting(self, part: Sequence[Record]) -> Iterator[Sequence[Record]]:
        """A run that may hold what ended another shard. What comes before is not noted, as that would replace the evidence."""
        begin, end = self._suspected
        if before := [record for record in part if record.offset < begin]:
            yield before
        for record in part[len(before) :]:
            if record.offset >= end:
                break
            if record.offset == self.isolated:
                self.blocked = True
                return
            self._note(record.offset, record.offset + 1, self._deaths if end - begin == 1 else 0)
            yield [record]
        if after := [record for record in part[len(before) :] if record.offset >= end]:
            self._note(after[0].offset, after[-1].offset + 1, 0)
            yield after

    def _note(self, begin: int, end: int, deaths: int) -> None:
        self._noted = True
        attempt = Attempt(partition=self._partition, epoch=self._epoch, begin=begin, end=end, deaths=deaths, time=self._clock())
        self._append(attempt)

    def _append(self, attempt: Attempt) -> None:
        """Write a note. Folding goes on without one where the log takes none: evidence is of less use than progress."""
        try:
            self._control.append(attempt)
        except LogError as error:
            log.warning(
                "the offsets about to be folded cannot be recorded in the control log: %s", error, extra={"partition": self._partition}
            )
            self._until = 0

"""Notes in the control log which records a shard is about to fold, and isolates a partition if shards die at one record.

A record can end the process that folds it, for example by the memory it takes. The next shard would fold the record again and end too,
which stops all its partitions. A shard that takes over a partition therefore notes in the control log which records it is about to fold.
It stops taking notes once it has folded all records that were in the log at its start. After a death, the next shard folds the noted
records one at a time, with a note for each. A record at which shards died twice isolates its partition: the partition stops before that
record until an operator decides, and other partitions continue.

A shard that has stopped taking notes leaves no note when it dies. A record that ends every process therefore ends at most four processes.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from services.control.log import ControlLog
from services.control.records import Attempt, ControlState
from services.log.protocol import LogError, Records
from services.log.records import count_below
from services.shard.slices import slices

log = logging.getLogger("equirank.shard")

DEATHS: Final = 2
"""Number of deaths of shards at one record after which the record is not folded again."""


class Isolated(Exception):  # noqa: N818 - names the fact
    """Shards died while they folded one record, so its partition stops before that record."""

    def __init__(self, partition: int, offset: int) -> None:
        what = f"{DEATHS} shards died while they folded the record at offset {offset}"
        again = f"give shards more memory and run `equirank partitions retry {partition}`"
        super().__init__(f"{what}; {again}, or skip it with `equirank partitions skip {partition} --offset {offset}`")


def isolated_at(partition: int, control: ControlState) -> int | None:
    """Return the offset at which the control log isolates a partition; None if the partition is not isolated."""
    attempt = control.partitions.attempts.get(partition)
    if attempt is None or attempt.deaths < DEATHS or control.partitions.skips(partition, attempt.begin):
        return None
    return attempt.begin


class Attempts:
    """Notes the records to fold of one partition under one epoch. Called by the folding thread.

    until: end of the log when the shard started; records below it are noted. 0: no notes.
    isolated: offset of the record that must not be folded.
    """

    def __init__(self, partition: int, epoch: int, until: int, control: ControlLog, clock: Callable[[], float] = time.time) -> None:
        self._partition, self._epoch, self._until, self._control, self._clock = partition, epoch, until, control, clock
        self.isolated: int | None = None
        self._noted = False
        self._suspected, self._deaths = (0, 0), 0

    def look_back(self, position: int) -> None:
        """Read from the control log whether a shard died while it folded records at or after `position`, the partition's position."""
        known = self._control.known().partitions
        found = known.attempts.get(self._partition)
        if found is not None and found.end > position and not known.skips(self._partition, found.begin):
            self._suspect(found)

    def parts(self, records: Records) -> Iterator[Records]:
        """Split `records` into runs to fold one after the other. Raises `Isolated` at the isolated record."""
        for part in slices(records):
            if part.archived or part.offset[0] >= max(self._until, self._suspected[1]):
                yield part  # archived records need no note: they were folded before, and a checkpoint covers them
            else:
                yield from self._noting(part)

    def settle(self, position: int, *, idle: bool) -> None:
        """Withdraw the note after folding, if no more notes are needed or no more records wait.

        Args:
            position: Offset up to which the partition was folded.
            idle: Whether no more records wait.
        """
        if self._noted and (idle or position >= max(self._until, self._suspected[1])):
            self._noted = False
            self._append(Attempt(partition=self._partition, epoch=self._epoch, time=self._clock()))

    def resume(self, until: int, position: int, control: ControlState) -> None:
        """Note records again after an operator's decision. A record that is still ahead stays isolated, unless the decision is on it.

        Args:
            until: End of the log as last read. It may be below the isolated record.
            position: Offset at which the partition continues.
            control: State of the control log.
        """
        if self.isolated is not None and position <= self.isolated and not self.is_decided(control):
            return
        self._until, self._noted = until if self.isolated is None else max(until, self.isolated + 1), True
        self.isolated, self._suspected = None, (0, 0)

    def is_decided(self, control: ControlState) -> bool:
        """Whether the control log contains an operator's decision on the isolated record."""
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
            self._noted = False  # keeps `settle` from withdrawing the note, which stays until an operator decides

    def _noting(self, part: Records) -> Iterator[Records]:
        """Split a run that may contain the record that ended another shard. Only the suspected records and later ones are noted.

        A note for the records before them would replace the note that names the suspected records.
        """
        begin, end = self._suspected
        first, after = count_below(part, begin), max(count_below(part, begin), count_below(part, end))
        if first:
            yield part[:first]
        for at, offset in enumerate(part.offset[first:after].tolist(), first):
            if offset == self.isolated:
                raise Isolated(self._partition, offset)
            self._note(offset, offset + 1, self._deaths if end - begin == 1 else 0)
            yield part[at : at + 1]
        if after < len(part):
            self._note(int(part.offset[after]), int(part.offset[-1]) + 1, 0)
            yield part[after:]

    def _note(self, begin: int, end: int, deaths: int) -> None:
        self._noted = True
        attempt = Attempt(partition=self._partition, epoch=self._epoch, begin=begin, end=end, deaths=deaths, time=self._clock())
        self._append(attempt)

    def _append(self, attempt: Attempt) -> None:
        """Write a note to the control log. If this fails, folding continues without notes, because progress matters more."""
        try:
            self._control.append(attempt)
        except LogError as error:
            log.warning(
                "the offsets about to be folded cannot be recorded in the control log: %s", error, extra={"partition": self._partition}
            )
            self._until = 0

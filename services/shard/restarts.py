"""Counts restarts in the control log, and isolates a partition if shards die at one record.

A record can end the process that folds it, for example by the memory it takes. The next shard would fold the record again and end too,
which stops all its partitions. Each partition therefore has one restart counter: the position at which a shard begins to fold the records
that were in the log at its start, and how many shards in a row began there. The counter is 0 again once all of these records are folded.
Until then, each death raises it, and the next shard folds more carefully:

1. The first shard writes the counter once.
2. The second shard moves the counter to the first record of each call before it folds the call, and sets it to 0 after each poll. Until
   then it only folds: boards are published and checkpoints written after the poll, when no record is blamed for them. No generation is
   built before all counted records are folded, so that the stream goes on between deaths that a build causes.
3. The third shard folds the records of the call at which the second one died one at a time, and moves the counter with them.
4. The fourth shard begins with the record at which the third one died, alone.

If the fourth shard dies at the same record, the partition is isolated: it stops before that record until an operator decides, and
other partitions continue. A shard that has folded what was in the log at its start writes nothing, and its death is not counted.
Neither is the end of a shard by an error of a log: it sets the counter back to what it found. So does a partition that stops, for example
because its dead letters may not be written: it folds nothing until it continues. So a record that ends every process ends at most five.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, ControlState, Restarts
from services.log.protocol import LogError, Records
from services.log.records import count_below
from services.shard.slices import BATCH_RECORDS, slices

log = logging.getLogger("equirank.shard")

_ONCE: Final = 1
_CALLS: Final = 2
"""Counts under which the counter is written once, and before each call. Under higher counts, records are folded one at a time."""


class Isolated(Exception):  # noqa: N818 - names the fact
    """Shards died while they folded one record, so its partition stops before that record."""

    def __init__(self, partition: int, offset: int) -> None:
        what = f"{MOST_RESTARTS - _CALLS} shards died while they folded the record at offset {offset}"
        remedy = f"give shards more memory and run `equirank partitions retry {partition}`"
        super().__init__(f"{what}; {remedy}, or skip it with `equirank partitions skip {partition} --offset {offset}`")


def isolated_at(partition: int, control: ControlState) -> int | None:
    """Return the offset at which the control log isolates a partition; None if the partition is not isolated."""
    counter = control.partitions.restarts.get(partition)
    if counter is None or counter.count <= MOST_RESTARTS or control.partitions.skips(partition, counter.position):
        return None
    return counter.position


class RestartCounter:
    """The restart counter of one partition under one epoch. Called by the folding thread.

    isolated_offset: offset of the record that must not be folded; None without one.
    """

    def __init__(self, partition: int, epoch: int, control: ControlLog, clock: Callable[[], float] = time.time) -> None:
        self._partition, self._epoch, self._control, self._clock = partition, epoch, control, clock
        self.isolated_offset: int | None = None
        self._begin = self._until = 0
        """Records from the first to before the second offset are counted."""
        self._count, self._alone = _ONCE, 0
        """The count that is written, and the number of records that are still folded one at a time."""
        self._before = 0, 0
        """Position and count that the deaths before this shard left in the control log."""
        self._counting = False
        """Whether the counter in the control log is above 0 because of this shard."""

    @property
    def blames(self) -> bool:
        """Whether the counter is at the records of the last call, so that a death now would be counted for them."""
        return self._counting and self._count > _ONCE

    def careful(self, position: int) -> bool:
        """Whether earlier shards died before everything was folded that is counted, and a partition at `position` has not folded it yet."""
        return self._count > _ONCE and position < self._until

    def begin(self, position: int, end: int) -> None:
        """Read the counter from the control log, and count from now on: after a takeover, and after an operator's decision.

        Args:
            position: Position of the partition.
            end: End of its log as last read. Records below it are counted.
        """
        self._begin, self._until, self._count, self._alone = position, end, _ONCE, 0
        self._counting, self.isolated_offset = False, None
        self._before = position, 0
        known = self._control.known().partitions
        counter = known.restarts.get(self._partition)
        if counter is None or not counter.count or known.skips(self._partition, counter.position):
            return
        if counter.count == _ONCE and counter.epoch == self._epoch:
            return  # written by this shard, which has not died
        self._before = counter.position, counter.count
        if counter.count == _ONCE or counter.position < position:  # the cause can be any record from here on, or all there were folded
            self._count = _CALLS
            return
        self._begin, self._until, self._count = counter.position, max(end, counter.position + 1), counter.count + 1
        self._alone = BATCH_RECORDS if counter.count == _CALLS else 1
        if counter.count < MOST_RESTARTS:
            what = f"{counter.count} shards died before they folded the records from offset {counter.position} on"
            log.warning("%s: these are now folded one at a time", what, extra={"partition": self._partition})
            return
        self.isolated_offset = counter.position
        if counter.count == MOST_RESTARTS:
            self._write(counter.position, self._count)

    def calls(self, records: Records) -> Iterator[Records]:
        """Split `records` into calls to fold one after the other. Raises `Isolated` at the isolated record."""
        for part in slices(records):
            if part.archived or part.offset[0] >= self._until:
                yield part  # archived records were folded before, and a checkpoint covers them
                continue
            start = count_below(part, self._begin)
            if start:
                yield part[:start]  # the counter stays at the record at which shards died
            while start < len(part):
                self._move_to(int(part.offset[start]))
                end = start + 1 if self._alone else len(part)
                yield part[start:end]
                self._count_down()
                start = end

    def settle(self, position: int) -> None:
        """Set the counter to 0 after a poll if it moved, or if the counted records are folded. Else another partition's record could end
        the shard, and a folded record would be blamed.

        position: offset up to which the partition was folded.
        """
        if self._counting and (position >= self._until or self._count > _ONCE):
            self._counting = not self._write(position, 0)  # else tried again after the next poll

    def withdraw(self) -> None:
        """Set the counter back to what the shard found, because the shard ends by an error of a log, or the partition stops. A death from
        now on counts for no record of this partition.
        """
        if self._counting:
            position, count = self._before
            self._counting = not self._write(position, count)

    def _move_to(self, offset: int) -> None:
        """Write the counter before the records from `offset` on are folded. Raises `Isolated`."""
        if self.isolated_offset is not None:
            raise Isolated(self._partition, self.isolated_offset)
        if self._count > _ONCE or not self._counting:
            self._counting = True
            self._write(offset, self._count)

    def _count_down(self) -> None:
        """Count down the records to fold one at a time. After the last one, the records of a call are folded together."""
        if self._alone:
            self._alone -= 1
            self._count = self._count if self._alone else _CALLS

    def _write(self, position: int, count: int) -> bool:
        """Write the counter to the control log. Returns whether it was written.

        If it was not, folding continues without counting, because progress matters more. An isolated record is never folded.
        """
        try:
            self._control.append(Restarts(partition=self._partition, epoch=self._epoch, position=position, count=count, time=self._clock()))
        except LogError as error:
            log.warning("the restart counter cannot be written to the control log: %s", error, extra={"partition": self._partition})
            if self.isolated_offset is None:
                self._until = 0
            return False
        return True

"""Writes ratings to the topic. Runs on a thread of the shard, never on the folding thread.

A partition is claimed, which fences the writer of the previous owner, before the control log is asked whether another shard took the
partition over. So no owner that was superseded writes: either it asks after that takeover and ends, or the next owner's claim fences it.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain, islice
from traceback import format_exception
from typing import Final, NamedTuple

from ratings_core.records.roster import Roster
from services.boards.rating_records import KeyedRecord, RatingsHead
from services.control.log import ControlLog
from services.log.protocol import FencedTopic, FencedWriter, LogError, Topic, TopicReplaced
from services.runtime.logging import LogThrottle
from services.shard.publishing.writing import Provenance
from services.shard.ratings_topic.contents import BoardContents, TopicContents, read_contents
from services.shard.ratings_topic.copying import RatingsUpdate
from services.shard.ratings_topic.solved import SolvedCopies

log = logging.getLogger("equirank.ratings")

TRANSACTION_RECORDS: Final = 5000
"""Most records of one write. Readers of the topic wait for the end of a write."""
_AWAITS: Final = "ratings cannot be written to their topic, trying again: %s"
_DEFECT: Final = "ratings cannot be written to their topic because of a defect, trying again: %s"


class WriteEnd(Enum):
    """The result for a partition. SUPERSEDED: another shard took the partition over."""

    WRITTEN = auto()
    FAILED = auto()
    SUPERSEDED = auto()


@dataclass(frozen=True, slots=True)
class PartitionPart:
    """What is written to one partition.

    contents: what the partition contains; None if it has to be read first, then nothing is written. pools: pools whose solved boards are
    compared with the topic.
    """

    partition: int
    epoch: int
    contents: TopicContents | None
    updates: Sequence[RatingsUpdate] = ()
    pools: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PartResult:
    """Result for one part.

    contents: of the partition; None if they could not be read, or if the topic was replaced. records: Number of records written.
    """

    part: PartitionPart
    end: WriteEnd
    contents: TopicContents | None = None
    records: int = 0


class _NewestRows(NamedTuple):
    """The newest rows of a pool, whose records are looked for in the log."""

    pool: str
    partition: int
    generation: int
    position: int
    record: str | None

    @classmethod
    def of(cls, head: RatingsHead) -> "_NewestRows":
        return cls(head.pool, head.partition, head.generation, head.newest.position, head.newest.record)


@dataclass(slots=True)
class _Tally:
    records: int = 0


@dataclass(slots=True)
class TopicWriter:
    """Claims, reads and writes partitions of the topic.

    Attributes:
        topic: The ratings topic.
        outcomes: The outcome log.
        control: The control log.
        solved: Copies solved boards.
    """

    topic: FencedTopic
    outcomes: Topic
    control: ControlLog
    solved: SolvedCopies
    _writers: dict[int, FencedWriter] = field(default_factory=dict)
    _identities: dict[int, str] = field(default_factory=dict)
    _failures: dict[int, int] = field(default_factory=dict)
    _troubles: defaultdict[int, LogThrottle] = field(default_factory=lambda: defaultdict(LogThrottle))

    def write(self, parts: Sequence[PartitionPart]) -> list[PartResult]:
        """Write parts. Returns a result for each. After a retriable failure, the remaining parts fail without a try.

        Partitions that failed come last, the latest failure at the end, so that one without a leader does not keep the others waiting.
        """
        results, down = list[PartResult](), False
        for part in sorted(parts, key=lambda part: self._failures.get(part.partition, 0)):
            if down:
                results.append(PartResult(part, WriteEnd.FAILED, part.contents))
                continue
            try:
                results.append(self._write_part(part))
            except LogError as error:
                down = error.retriable
                results.append(self._failed(part, error))
            except Exception as error:  # noqa: BLE001 - law 6: whatever happens here, the fold goes on
                self._troubles[part.partition].warn(log, _DEFECT, "".join(format_exception(error)), partition=part.partition)
                results.append(self._failed(part, error))
            else:
                self._failures.pop(part.partition, None)
                self._troubles[part.partition].over(_AWAITS)
                self._troubles[part.partition].over(_DEFECT)
        return results

    def close(self) -> None:
        """Close the connections."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
        self.control.close()

    def _failed(self, part: PartitionPart, error: Exception) -> PartResult:
        if (writer := self._writers.pop(part.partition, None)) is not None:
            writer.close()
        self._failures[part.partition] = max(self._failures.values(), default=0) + 1
        self._troubles[part.partition].warn(log, _AWAITS, error, partition=part.partition)
        return PartResult(part, WriteEnd.FAILED, None if isinstance(error, TopicReplaced) else part.contents)

    def _write_part(self, part: PartitionPart) -> PartResult:
        writer = self._writers.get(part.partition) or self._claim(part)
        if writer is None:
            return PartResult(part, WriteEnd.SUPERSEDED)
        if part.contents is None:
            return PartResult(part, WriteEnd.WRITTEN, self._read(part.partition))
        if (read := self._identities[part.partition]) != self.topic.identity:
            raise TopicReplaced(self.topic.name, read, self.topic.identity)
        written = _Tally()
        for update in part.updates:
            _note_names(part.contents[update.head.pool][None], update.state.content.agents)
        _write_all(writer, chain.from_iterable(update.records() for update in part.updates), written)
        for update in part.updates:
            part.contents[update.head.pool][None].finish(update.head, update.state.content.agents)
        for records, finish in self.solved.changed(part.pools, part.contents, part.epoch):
            _write_all(writer, records, written)
            finish()
        return PartResult(part, WriteEnd.WRITTEN, part.contents, written.records)

    def _claim(self, part: PartitionPart) -> FencedWriter | None:
        """Claim a partition. Returns None if another shard took it over."""
        writer = self.topic.fenced_writer(part.partition)
        try:
            writer.claim()
            if self.control.refresh().partitions.epochs.get(part.partition, part.epoch) > part.epoch:
                writer.close()
                return None
        except BaseException:
            writer.close()
            raise
        self._writers[part.partition] = writer
        return writer

    def _read(self, partition: int) -> TopicContents:
        """Read a partition. Heads of states that the log does not have, or that include skipped records, are left out."""
        contents = read_contents(self.topic, partition)
        self._identities[partition] = self.topic.identity
        online = [(board, _NewestRows.of(board.head)) for held in contents.values() if isinstance((board := held[None]).head, RatingsHead)]
        judge = Provenance(self.outcomes, self.control, lambda: [rows for _, rows in online])
        for board, rows in online:
            if not judge.was_folded_from_the_log(rows) or judge.has_skips(partition, rows.position):
                board.head = None
        return contents


def _note_names(board: BoardContents, names: Roster) -> None:
    """Note agents whose rows are written next. The roster itself is kept, because only the folding thread may use it while it grows."""
    if all(roster is not names for roster in board.names):
        board.names.append(names)


def _write_all(writer: FencedWriter, records: Iterable[KeyedRecord], written: _Tally) -> None:
    for part in _parts(iter(records)):
        writer.write(part)
        written.records += len(part)


def _parts(records: Iterator[KeyedRecord]) -> Iterator[list[KeyedRecord]]:
    while part := list(islice(records, TRANSACTION_RECORDS)):
        yield part

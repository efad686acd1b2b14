"""Interface of the log: partitioned, append-only and replayable. Two backends implement it with the same laws.

Tests check these laws against every backend:

1. `append` returns only after the records are durable. It returns one offset for each record, strictly increasing in the given order.
   A failed append may have written some of the records; the producer retries, and ids make duplicates harmless.
2. A readable record stays readable at the same offset with the same bytes until the topic forgets it, by its retention or by
   `Drops.drop`. Exception: Kafka compacts the control topic by key, so a record may be removed once a later one has the same key.
   Therefore every control record has a key, on every backend.
3. A reader yields the records of each partition in offset order, each once, from the given position.
4. Offsets are never reused. They are dense on SQLite and can have gaps on Kafka, so differences of offsets are not counts of records.
5. `begin <= offset of every readable record < end`. Reading below `begin` raises `OffsetLost` and never skips records.
6. Several processes may append and read concurrently.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from services.wire.reading import Reading

CUT: Final = (
    "records that were folded are gone from its end: restore them, or remove the partition's checkpoints that reach further than the log, "
    "and start again"
)
"""Advice to the operator for a log that lost its last records."""
OTHER: Final = (
    "point EQUIRANK_DATA, EQUIRANK_KAFKA or EQUIRANK_CHECKPOINTS at those that belong together; where the old log is gone for good, begin "
    "anew with another EQUIRANK_TOPIC_PREFIX and EQUIRANK_CHECKPOINTS, and replay the outcomes"
)
"""Advice to the operator if the log is not the one that was folded."""


class Record(NamedTuple):
    """One record of a partition. time: when the log took it, seconds since 1970."""

    offset: int
    value: bytes
    time: float
    key: bytes | None = None


Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Ranges of offsets, each from its first number to before its second."""


class Records(Protocol):
    """Records of a partition, by rising offset: bytes from the topic, or columns from the archive."""

    archived: bool
    """Whether the archive gave the records, because the topic forgot them. Their bytes can differ from those of the log. A reader of the
    archive limits how many come together."""

    @property
    def offset(self) -> NDArray[np.int64]:
        """Offset of each record: int64 (n,)."""

    @property
    def time(self) -> NDArray[np.float64]:
        """When the log took each record, seconds since 1970: float64 (n,)."""

    @property
    def nbytes(self) -> int:
        """Bytes of the values, or of the columns."""

    def outcomes(self) -> "Reading":
        """Decode the records into columns."""

    def that_may_hold(self, pool: str, field: bytes = b"") -> "Records":
        """Return the records that may have entries of a pool. field: a key that its entries must have; it may be ignored."""

    def without(self, ranges: Ranges) -> "Records":
        """Return the records whose offsets are outside of all `ranges`."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Record]: ...
    @overload
    def __getitem__(self, index: int, /) -> Record: ...
    @overload
    def __getitem__(self, index: slice, /) -> "Records": ...


class LogError(Exception):
    """An operation of the log failed. retriable: whether the same call can succeed later."""

    def __init__(self, message: str, *, retriable: bool) -> None:
        self.retriable = retriable
        super().__init__(message)


class RecordTooLarge(LogError):  # noqa: N818 - names the fact, as the operator reads it
    """The topic takes no record as large as one of the append. Trying again does not help."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retriable=False)


class Retention(NamedTuple):
    """The limits after which a topic forgets its oldest records.

    Attributes:
        seconds: Maximal age of a record; None for no limit.
        size: Maximal bytes of a partition; None for no limit. If both limits are None, the retention is unknown.
    """

    seconds: float | None = None
    size: int | None = None

    @property
    def unknown(self) -> bool:
        """Whether the retention is unknown, because the user may not read the topic's settings."""
        return self == Retention()

    def __str__(self) -> str:
        """Text for operators, such as `86400 s or 1000000 bytes of a partition`."""
        parts = [f"{self.seconds:g} s"] if self.seconds is not None else []
        return " or ".join([*parts, *([f"{self.size} bytes of a partition"] if self.size is not None else [])]) or "an unknown time"


class OffsetLost(LogError):  # noqa: N818 - names the fact, as the operator reads it
    """The requested offset is not in the log. The partition must stop, because continuing would skip records.

    Attributes:
        forgotten: True if the log begins after the offset. False if the log ends before it, for example because a leader without all
            records was elected, or an older copy of the log was restored.
    """

    def __init__(self, topic: str, partition: int, offset: int, begin: int, end: int) -> None:
        self.topic, self.partition, self.offset, self.begin, self.end = topic, partition, offset, begin, end
        self.forgotten = offset < begin
        why = f"{topic}[{partition}] has no offset {offset}: the log holds {begin} to {end}"
        super().__init__(f"{why}; restore a checkpoint at or after its beginning" if self.forgotten else f"{why}; {CUT}", retriable=False)


def forgotten(topic: "Topic", partition: int, needed: int, pool: str = "POOL") -> str:
    """Message for a fold that cannot start because the records from offset `needed` on are forgotten. Raises `LogError`."""
    return (
        f"{topic.name}[{partition}] begins at {topic.begin(partition)}, after {needed}, and no archive has the records between: set "
        f"EQUIRANK_ARCHIVE to the archive that has them, or start a season with `equirank pools settings {pool} --set start=now`; with "
        "EQUIRANK_ARCHIVE set, records are kept from now on"
    )


class BatchDamaged(LogError):  # noqa: N818
    """The records from `begin` to before `end` cannot be read. The partition must stop until an operator decides to skip them.

    Attributes:
        base: First offset of the damaged batch. Its records before `begin` were read.
    """

    def __init__(self, topic: str, partition: int, begin: int, end: int, why: str, base: int | None = None) -> None:
        self.topic, self.partition, self.begin, self.end = topic, partition, begin, end
        self.base = begin if base is None else base
        what = f"{topic}[{partition}] has a damaged batch at offsets {begin} to {end - 1}: {why}"
        remedy = f"restore the log, or skip it with `equirank partitions skip {partition} --offset {begin}`"
        super().__init__(f"{what}; {remedy}", retriable=False)


class TopicReplaced(LogError):  # noqa: N818
    """The opened topic was replaced by another one with the same name. Records of the new topic do not continue the old one.

    Attributes:
        opened: Identity of the opened topic.
        found: Identity of the present topic.
    """

    def __init__(self, topic: str, opened: str, found: str) -> None:
        self.topic, self.opened, self.found = topic, opened, found
        super().__init__(
            f"topic {topic} was replaced: the folded records are from log {opened}, this is log {found}; {OTHER}", retriable=False
        )


class Reader(Protocol):
    """Reads fixed partitions from given positions. A reader must not be shared between threads."""

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        """The next records by partition, about `max_records` at most; empty after `timeout` seconds without new records."""

    def position(self, partition: int) -> int:
        """The next offset to read.

        It is after the last record returned, and after offsets without a record, such as aborted transactions and transaction markers. At
        the log's end it equals `Topic.end`, even if the last offsets have no record.
        """

    def close(self) -> None:
        """Close the connections of the reader."""


class Topic(Protocol):
    """A named log with `partitions` partitions. Threads of a process can share it.

    Delivery: appends write at least once (a retried append can write a record twice); reads deliver each record exactly once.
    Unit of parallelism: the partition. Not guaranteed: order between partitions.
    """

    name: str
    partitions: int
    identity: str
    """Name of this log: another cluster, a recreated topic or another file has another identity."""

    def append(self, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        """Append records, each a key and a value, to one partition. Returns their offsets. Raises `LogError`."""

    def reader(self, positions: Mapping[int, int]) -> Reader:
        """Open a reader. positions: first offset to read, by partition."""

    def begin(self, partition: int) -> int:
        """First readable offset of a partition."""

    def end(self, partition: int) -> int:
        """Offset after the last one that a reader can read now."""


@runtime_checkable
class CommitsPositions(Protocol):
    """Optional ability of a topic: it publishes the folded positions for tools that monitor lag. Recovery never reads them."""

    def commit(self, positions: Mapping[int, int]) -> None:
        """Publish the position of each partition, the next offset to fold. Raises `LogError`."""


@runtime_checkable
class Forgets(Protocol):
    """Optional ability of a topic: it drops old records by its retention."""

    retention: Retention | None
    """None if the topic keeps all records."""


@runtime_checkable
class Grows(Protocol):
    """Optional ability of a topic: it can get further partitions."""

    unread: int
    """Number of partitions added since the topic was opened, as far as is known. No shard reads them."""


@runtime_checkable
class Drops(Protocol):
    """Optional ability of a topic: it drops old records on demand."""

    def drop(self, partition: int, before: int, seconds: float) -> bool:
        """Drop the records below offset `before`. Appends can run concurrently. The log's end keeps its offset.

        Args:
            partition: Number of the partition.
            before: First offset to keep.
            seconds: Approximate time limit.

        Returns:
            Whether the work is complete. If not, call again to continue.

        Raises:
            LogError: The records dropped until then stay dropped.
        """


@runtime_checkable
class Rewrites(Protocol):
    """Optional ability of a topic: it replaces the values of records in place, which an erasure needs."""

    def rewrite(self, partition: int, change: Callable[[Record], bytes]) -> int:
        """Replace the value of each record of a partition by the result of `change`. Offsets, times and keys stay the same.

        Afterwards the topic's files contain no bytes of replaced values, or of records dropped earlier.

        Args:
            partition: Number of the partition.
            change: Returns the new value of a record, or its present value.

        Returns:
            Number of replaced values.

        Raises:
            LogError: The rewrite is incomplete; a later call completes it.
        """


class FencedWriter(Protocol):
    """The only writer of one partition of a topic: a later claim of the partition, by any process, fences it. Not thread-safe."""

    def claim(self) -> None:
        """Fence all earlier writers of the partition. Their unfinished writes are undone.

        Afterwards the partition has no unfinished write, and no earlier writer changes it any more. If the topic was replaced by another
        one with its name, the writer continues on that one. Raises `LogError`.
        """

    def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write records, each a key and a value, as one step: readers see all of them or none. The value None removes a key.

        Readers see them a moment after the call returned. A later claim waits until they do.

        Raises:
            LogError: The records may have been written nevertheless, or a later claim fenced this writer. Claim again before the next
                write.
            TopicReplaced: The topic is another one than at the claim, so it lacks earlier records.
        """

    def close(self) -> None:
        """Close the connections. An unfinished write is undone by the next claim."""


class FencedTopic(Protocol):
    """A topic that is compacted by key, and of which each partition has one writer at a time.

    identity: see `Topic.identity`. A claim after the topic was replaced changes it.
    """

    name: str
    partitions: int
    identity: str

    def fenced_writer(self, partition: int) -> FencedWriter:
        """A writer of a partition. It has to `claim` the partition before it writes."""

    def reader(self, positions: Mapping[int, int]) -> Reader:
        """See `Topic.reader`. The value of a removed key is empty."""

    def begin(self, partition: int) -> int:
        """See `Topic.begin`."""

    def end(self, partition: int) -> int:
        """See `Topic.end`."""


class PoolRecords(NamedTuple):
    """The records of a pool from the end of the previous ones to before offset `end`. The last ones are empty."""

    records: Records
    end: int


class ArchivedTopic(Topic, Protocol):
    """A topic together with its archive, as one topic that begins where the archive begins."""

    def archived_to(self, partition: int) -> int | None:
        """First offset that is not archived; None if the partition has no archive yet. Raises `LogError`."""

    def archive(self, partition: int, position: int) -> Any:
        """Reader of a partition's archive; None if the archive does not include the offset `position`. Raises `LogError`."""

    def archive_first(self) -> "ArchivedTopic":
        """The same topic, whose readers read from the archive what it holds, also if the topic holds it too.

        If the archive is a copy of the topic, its readers read the topic.
        """

    def passes_over(self, error: Exception, partition: int, offset: int) -> bool:
        """Whether a reader that failed in the archive continues in the topic.

        It does if the archive is a copy, and the topic has dropped no record of the partition. Then the error is logged.

        Args:
            error: The failure.
            partition: Number of the partition.
            offset: First offset that the reader has not read.
        """

    def parts_of(self, pool: str, partition: int, begin: int, *, retractions: bool = False, skipped: Ranges = ()) -> Iterator[PoolRecords]:
        """Yield the archived records of a pool from offset `begin` on. Yields nothing if the archive does not include the offset `begin`.

        Args:
            pool: Name of the pool.
            partition: Number of its partition.
            begin: First offset to read.
            retractions: Read only retractions.
            skipped: Ranges of offsets of the partition to omit, because an operator skipped them.

        Raises:
            LogError: The archive cannot be read.
        """


@dataclass
class Log:
    """The topics of an installation, on one backend.

    Attributes:
        outcomes: Topic of the outcomes. It can forget old records.
        control: Topic of pools, generations and decisions; compacted by key if the backend supports it.
        dead_letters: Topic of the entries for refused records.
        close: Closes the connections of this process, except those of open readers. On SQLite, a topic opens a new connection when used.
        weaknesses: Settings with which the loss of one machine can lose acknowledged records, each with a remedy.
        archived: The outcomes as far back as the archive has them; None without an archive.
        ratings: Topic of ratings, for other systems; None if it is switched off.
    """

    outcomes: Topic
    control: Topic
    dead_letters: Topic
    close: Callable[[], None]
    weaknesses: Sequence[str] = ()
    archived: ArchivedTopic | None = None
    ratings: FencedTopic | None = None

    @property
    def history(self) -> Topic:
        """The outcomes from the archive and the topic, for folds from the start of a pool. Archived records may have other bytes."""
        return self.archived or self.outcomes

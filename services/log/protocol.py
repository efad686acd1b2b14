"""The log that Equirank trusts: partitioned, append-only, replayable. Two backends, one table of laws.

Laws, held by tests against every backend:

1. `append` returns only when the records are durable, with one offset for each, strictly increasing in the order given;
   a failed append may have been written in part (the producer retries; ids make that harmless).
2. A record that was readable stays readable at the same offset with the same bytes, until the topic forgets it: by its retention, or
   because `Drops.drop` was called. (The control topic is compacted by key on Kafka: there a record may go once a later one has its key.
   Hence every control record has a key, on every backend.)
3. A reader yields each partition's records in offset order, each once, from the position it was given.
4. Offsets are never reused. They are dense on SQLite and may have holes on Kafka, so nobody computes with them.
5. `begin <= position of every readable record < end`; reading below `begin` raises `OffsetLost`, never skips.
6. Several processes may append and read at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

CUT: Final = (
    "records that were folded are gone from its end: restore them, or remove the partition's checkpoints that reach further than the log, "
    "and start again"
)
"""What to do about a log that lost its end."""
OTHER: Final = (
    "point EQUIRANK_DATA, EQUIRANK_KAFKA or EQUIRANK_CHECKPOINTS at those that belong together; where the old log is gone for good, begin "
    "anew with another EQUIRANK_TOPIC_PREFIX and EQUIRANK_CHECKPOINTS, and replay the outcomes"
)
"""What to do about another log than the one that was folded."""


class Record(NamedTuple):
    """One record of a partition. time: when the log took it, seconds since 1970."""

    offset: int
    value: bytes
    time: float
    key: bytes | None = None


class LogError(Exception):
    """The log could not do what was asked. retriable: whether trying again later can help."""

    def __init__(self, message: str, *, retriable: bool) -> None:
        self.retriable = retriable
        super().__init__(message)


class Retention(NamedTuple):
    """After what a topic forgets records. seconds: their age; size: bytes of a partition; None: not for that reason, both: not known."""

    seconds: float | None = None
    size: int | None = None

    @property
    def unknown(self) -> bool:
        """Whether nobody may look it up."""
        return self == Retention()

    def __str__(self) -> str:
        """As an operator reads it."""
        parts = [f"{self.seconds:g} s"] if self.seconds is not None else []
        return " or ".join([*parts, *([f"{self.size} bytes of a partition"] if self.size is not None else [])]) or "an unknown time"


class OffsetLost(LogError):  # noqa: N818 - names the fact, as the operator reads it
    """The position asked for is no longer in the log (or was never): the partition must stop, not skip.

    forgotten: the log begins after it; else its end was cut off, as by a leader without all records or by an older copy of the log.
    """

    def __init__(self, topic: str, partition: int, offset: int, begin: int, end: int) -> None:
        self.topic, self.partition, self.offset, self.begin, self.end = topic, partition, offset, begin, end
        self.forgotten = offset < begin
        why = f"{topic}[{partition}] has no offset {offset}: the log holds {begin} to {end}"
        super().__init__(f"{why}; restore a checkpoint at or after its beginning" if self.forgotten else f"{why}; {CUT}", retriable=False)


def forgotten(topic: "Topic", partition: int, needed: int, pool: str = "POOL") -> str:
    """Why a fold that needs the records from offset `needed` on cannot start, and what to do. Raises `LogError`."""
    return (
        f"{topic.name}[{partition}] begins at {topic.begin(partition)}, after {needed}, and no archive holds the records between: begin a "
        f"season with `equirank pools settings {pool} --start now`; with EQUIRANK_ARCHIVE set, records are kept from now on"
    )


class BatchDamaged(LogError):  # noqa: N818
    """The records from `begin` to before `end` cannot be read: the partition must stop, not skip, until an operator says otherwise.

    base: first offset of the batch; its records before `begin` were read.
    """

    def __init__(self, topic: str, partition: int, begin: int, end: int, why: str, base: int | None = None) -> None:
        self.topic, self.partition, self.begin, self.end = topic, partition, begin, end
        self.base = begin if base is None else base
        what = f"{topic}[{partition}] has a damaged batch at offsets {begin} to {end - 1}: {why}"
        remedy = f"restore the log, or go on without it by `equirank partitions skip {partition} --offset {begin}`"
        super().__init__(f"{what}; {remedy}", retriable=False)


class TopicReplaced(LogError):  # noqa: N818
    """Another topic took the place of the one that was opened: nothing of it may count as what followed.

    opened, found: their identities.
    """

    def __init__(self, topic: str, opened: str, found: str) -> None:
        self.topic, self.opened, self.found = topic, opened, found
        super().__init__(f"topic {topic} was made anew: what was folded is of log {opened}, this is {found}; {OTHER}", retriable=False)


class Reader(Protocol):
    """Reads the partitions it was opened with, from given positions. Not shared between threads."""

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Sequence[Record]]:
        """Up to about `max_records` next records by partition; empty after `timeout` seconds without any."""

    def position(self, partition: int) -> int:
        """The next offset it will read: one past the last record given, and past whatever it found to hold no record (aborted
        transactions and the marks that end them). At the log's end it equals `Topic.end`, which no record's own offset has to.
        """

    def close(self) -> None:
        """Give its connections back."""


class Topic(Protocol):
    """One named log of `partitions` partitions. Safe to share between threads of a process.

    Delivery: at least once into the log (a retried append may double), exactly once out of it.
    Unit of parallelism: the partition. Not guaranteed: order between partitions.
    """

    name: str
    partitions: int
    identity: str
    """Names this very log: another cluster, a recreated topic or another file has another identity."""

    def append(self, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        """Write (key, value) records to one partition; their offsets. Raises `LogError`."""

    def reader(self, positions: Mapping[int, int]) -> Reader:
        """A reader of the partitions named, each from its position (the first offset to read)."""

    def begin(self, partition: int) -> int:
        """First offset that can be read."""

    def end(self, partition: int) -> int:
        """One past the last offset that a reader would see now."""


@runtime_checkable
class CommitsPositions(Protocol):
    """What a topic may also do: publish how far it was folded, for tools that watch lag. Recovery never reads it back."""

    def commit(self, positions: Mapping[int, int]) -> None:
        """Tell the position of each partition (the next offset to fold). Raises `LogError`."""


@runtime_checkable
class Forgets(Protocol):
    """What a topic may also do: drop old records."""

    retention: Retention | None
    """None: it never does."""


@runtime_checkable
class Grows(Protocol):
    """What a topic may also do: get further partitions."""

    unread: int
    """How many were added since it was opened, as far as is known: nothing reads them."""


@runtime_checkable
class Drops(Protocol):
    """What a topic may also do: drop old records on demand."""

    def drop(self, partition: int, before: int, seconds: float) -> bool:
        """Drop the records below offset `before`, beside appends, for at most about `seconds`. Returns whether nothing is left to do.

        The end keeps its offset. Raises `LogError`; what was dropped by then stays dropped.
        """


@runtime_checkable
class Rewrites(Protocol):
    """What a topic may also do: replace values where they are, as an erasure asks for."""

    def rewrite(self, partition: int, change: Callable[[Record], bytes]) -> int:
        """Replace the value of each record of a partition by what `change` returns; how many differ. Offsets, times and keys stay.

        Nothing of what was replaced, or dropped before, is left in the topic's files. Raises `LogError`; then a later call goes on.
        """


@dataclass
class Log:
    """The three topics of an installation, on one backend.

    Attributes:
        outcomes: What is appended to and followed; it may forget old records.
        control: Pools, generations, decisions; compacted by key where the backend can.
        dead_letters: Index entries of what could not be folded.
        close: Closes the connections of this process, except those of open readers. On SQLite, topics open theirs again when used.
        weaknesses: Settings under which acknowledged records are lost together with one machine, each with what to set.
        archived: The outcomes as far back as the archive holds them; None without an archive.
    """

    outcomes: Topic
    control: Topic
    dead_letters: Topic
    close: Callable[[], None]
    weaknesses: Sequence[str] = ()
    archived: Topic | None = None

    @property
    def history(self) -> Topic:
        """The outcomes as far back as anything holds them: what is folded from a beginning reads it. Its records may have other bytes."""
        return self.archived or self.outcomes

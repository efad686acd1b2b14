"""Whether folding goes on: the heartbeats that shards write for their partitions, and the status that readers compute from them.

Shards write one heartbeat per partition into the store about once a second. Readers never send requests to a shard (law 7): they compare
the age of heartbeats with a limit. Each age is a difference of two readings of the same clock, so clocks of different machines are never
compared.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from services.control.lifecycles import PartitionStatus

Status: TypeAlias = Literal["fresh", "lagging", "stopped", "silent", "unknown"]
"""Status of folding, from best to worst. `lagging`: records wait too long. `stopped`: a partition is not folded, for one of
the reasons of `PartitionStatus`. `silent`: for too long no shard has reported a partition, or no report says that the log could be read.
`unknown`: the store cannot be read."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """A shard's report about one partition.

    Attributes:
        partition: Number of the partition.
        epoch: Epoch of the partition's owner.
        shard: NAME/HOST/PROCESS of the owner.
        position: First log offset not yet folded.
        lag: Number of records not yet folded.
        lag_seconds: Upper bound of the time that the first of these records has waited.
        idle_seconds: Seconds since the folding thread last read the partition's end from the log.
        stopped: Whether the partition stopped.
        status: Whether the partition runs, and the kind of reason for which it stopped. None in reports of earlier releases.
        reason: Why the partition stopped, with what to do; None while it runs, and in reports of earlier releases.
        ratings_lag_seconds: Seconds since the ratings topic lacks rows that are on the partition's boards; None without this topic.
    """

    partition: int
    epoch: int
    shard: str
    position: int
    lag: int
    lag_seconds: float
    idle_seconds: float
    stopped: bool
    status: PartitionStatus | None = None
    reason: str | None = None
    ratings_lag_seconds: float | None = None


class Heard(NamedTuple):
    """A heartbeat read from the store. age: seconds since the store received it, by the store's clock."""

    heartbeat: Heartbeat
    age: float

    @property
    def idle_seconds(self) -> float:
        """Seconds since the partition's folding was last known to go on."""
        return self.heartbeat.idle_seconds + self.age

    @property
    def lag_seconds(self) -> float:
        """Upper bound of the time that the partition's first unfolded record has waited; 0 if no record waits."""
        return self.heartbeat.lag_seconds + self.age if self.heartbeat.lag else 0.0

    @property
    def ratings_lag_seconds(self) -> float | None:
        """Seconds since the ratings topic lacks rows of the partition; None without this topic."""
        lag = self.heartbeat.ratings_lag_seconds
        return lag + self.age if lag else lag


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether outcomes are being folded, for one partition or for all.

    Attributes:
        status: The worst status of the partitions. `fresh`: every partition is folded in time. `lagging`: records wait too long.
            `stopped`: a partition stopped, and `says` gives the kind of reason. `silent`: a partition has no recent report. `unknown`: the
            store does not answer.
        partitions: Number of partitions checked.
        shards: Number of processes that report at least one of them in time.
        lag_records: Number of records that are not yet folded.
        lag_seconds: Upper bound of the time that the first of these records has waited, in seconds.
        idle_seconds: Seconds since the least recently active partition was known to be folded; None if a partition was never reported.
        limit_seconds: The setting `EQUIRANK_FRESH_SECONDS`.
        silent: Partitions without a recent report.
        stopped: Partitions that stopped.
        lagging: Partitions whose records wait too long.
        says: The status in words.
        ratings_lag_seconds: Longest time since which the ratings topic lacks rows that are on live boards, in seconds; None without this
            topic. It does not change the status.
    """

    status: Status
    partitions: int
    shards: int
    lag_records: int
    lag_seconds: float
    idle_seconds: float | None
    limit_seconds: float
    silent: list[int]
    stopped: list[int]
    lagging: list[int]
    says: str = ""
    ratings_lag_seconds: float | None = None

    @property
    def fresh(self) -> bool:
        """Whether every partition folds within the limit."""
        return self.status == "fresh"


def freshness(partitions: Iterable[int], heard: Mapping[int, Heard], limit: float) -> Freshness:
    """Compute from the newest heartbeats whether folding goes on.

    Args:
        partitions: Numbers of the partitions that must be folded.
        heard: Partition -> its newest heartbeat, for partitions that have one.
        limit: Largest age of a report, and longest wait of a record, in seconds.

    Returns:
        The status of all partitions together, which is that of the worst partition.
    """
    wanted = list(partitions)
    states = {number: _status(heard.get(number), limit) for number in wanted}
    known = [heard[number] for number in wanted if number in heard]
    concluded = Freshness(
        status=max(states.values(), key=_WORSE.index, default="fresh"),
        partitions=len(wanted),
        shards=len({report.heartbeat.shard for report in known if report.idle_seconds <= limit}),
        lag_records=sum(report.heartbeat.lag for report in known),
        lag_seconds=round(max((report.lag_seconds for report in known), default=0.0), 3),
        idle_seconds=round(max(report.idle_seconds for report in known), 3) if wanted and len(known) == len(wanted) else None,
        limit_seconds=limit,
        silent=[number for number, status in states.items() if status == "silent"],
        stopped=[number for number, status in states.items() if status == "stopped"],
        lagging=[number for number, status in states.items() if status == "lagging"],
        ratings_lag_seconds=max((round(lag, 3) for report in known if (lag := report.ratings_lag_seconds) is not None), default=None),
    )
    kinds = {number: heard[number].heartbeat.status for number in concluded.stopped}
    return msgspec.structs.replace(concluded, says=_words(concluded, kinds))


def unknown(partitions: Iterable[int], limit: float) -> Freshness:
    """The freshness while the store cannot be read: status `unknown`."""
    nothing = freshness(partitions, {}, limit)
    words = "The state of folding is unknown: the store does not answer."
    return msgspec.structs.replace(nothing, status="unknown", silent=[], says=words)


def _words(freshness: Freshness, kinds: Mapping[int, PartitionStatus | None]) -> str:
    """The status in words. kinds: kind of reason by stopped partition."""
    match freshness.status:
        case "lagging":
            return f"Folding is behind: {freshness.lag_records:,} records wait, the first for {duration(freshness.lag_seconds)}."
        case "stopped":
            different = sorted(set(kinds.values()), key=lambda kind: kind or "")
            why = "; ".join(_stop([number for number in freshness.stopped if kinds[number] == kind], kind) for kind in different)
            return f"Folding of {why}. `equirank partitions list` shows what to do."
        case "silent" if freshness.idle_seconds is None:
            return f"No shard has reported {_numbers(freshness.silent)} yet: the engine is starting, or does not run."
        case "silent":
            return f"Folding has not moved for {duration(freshness.idle_seconds)}: no shard reports {_numbers(freshness.silent)}."
    return "Outcomes are being folded."


def _stop(partitions: list[int], kind: PartitionStatus | None) -> str:
    reason = _REASONS.get(kind)
    return f"{_numbers(partitions)} stopped{f': {reason}' if reason else ''}"


def _numbers(partitions: list[int]) -> str:
    more = f" and {len(partitions) - _SHOWN} more" if len(partitions) > _SHOWN else ""
    return f"{'partition' if len(partitions) == 1 else 'partitions'} {', '.join(map(str, partitions[:_SHOWN]))}{more}"


def duration(seconds: float | None) -> str:
    """A duration as text: in seconds below 2 minutes, in minutes below 2 hours, otherwise in hours."""
    seconds = seconds or 0.0
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


_SHOWN = 5
_REASONS: Final[Mapping[PartitionStatus | None, str]] = {
    PartitionStatus.RECORDS_LOST: "the log lost records that were not folded",
    PartitionStatus.DAMAGED: "a batch of the log is damaged",
    PartitionStatus.ISOLATED: "shards died while they folded one record",
    PartitionStatus.LOG_REPLACED: "the log was replaced by another one",
    PartitionStatus.UNREADABLE: "the log is another one, lost its end, or cannot be read",
    PartitionStatus.ARCHIVE_UNREADABLE: "the archive cannot be read",
    PartitionStatus.OFFLINE: "no broker answers",
    PartitionStatus.LETTERS_REFUSED: "the log refuses dead letters",
}
"""Kind of reason -> its words in `Freshness.says`."""
_WORSE: tuple[Status, ...] = ("fresh", "lagging", "stopped", "silent", "unknown")


def _status(heard: Heard | None, limit: float) -> Status:
    if heard is None or heard.idle_seconds > limit:
        return "silent"
    if heard.heartbeat.stopped:
        return "stopped"
    return "lagging" if heard.lag_seconds > limit else "fresh"

"""What readers conclude from heartbeats."""

import msgspec
import pytest

from services.boards.folding import Heard, Heartbeat, freshness, unknown
from services.control.lifecycles import PartitionStatus


def heard(partition: int, age: float = 0.5, idle: float = 0.5, *, lag: int = 0, waits: float = 0.0, stopped: bool = False) -> Heard:
    beat = Heartbeat(
        partition=partition, epoch=7, shard=f"shard-{partition % 2}/11", position=90, lag=lag, lag_seconds=waits, idle_seconds=idle,
        stopped=stopped,
    )  # fmt: skip
    return Heard(beat, age)


def test_all_partitions_reported_in_time_are_fresh() -> None:
    found = freshness(range(3), {number: heard(number, lag=number, waits=1.0) for number in range(3)}, 30.0)
    assert found.fresh
    assert (found.shards, found.partitions, found.lag_records, found.lag_seconds, found.idle_seconds) == (2, 3, 3, 1.5, 1.0)


@pytest.mark.parametrize(
    ("of_the_second", "status"),
    [
        (heard(1, age=29.0), "fresh"),
        (heard(1, age=31.0), "silent"),
        (heard(1, idle=31.0), "silent"),
        (heard(1, age=16.0, idle=16.0), "silent"),
        (None, "silent"),
        (heard(1, stopped=True), "stopped"),
        (heard(1, lag=5, waits=31.0), "lagging"),
        (heard(1, age=20.0, lag=5, waits=15.0), "lagging"),
        (heard(1, lag=0, waits=31.0), "fresh"),
    ],
)
def test_one_partition_decides_for_all(of_the_second: Heard | None, status: str) -> None:
    every = {0: heard(0), 1: of_the_second, 2: heard(2)}
    found = freshness(range(3), {number: one for number, one in every.items() if one is not None}, 30.0)
    assert found.status == status
    assert {name: getattr(found, name) for name in ("silent", "stopped", "lagging")} == {
        name: [1] if name == status else [] for name in ("silent", "stopped", "lagging")
    }
    assert freshness([0, 2], {number: one for number, one in every.items() if one is not None}, 30.0).fresh


def test_since_when_goes_by_the_partition_that_is_least_recent() -> None:
    assert freshness(range(2), {0: heard(0), 1: heard(1, age=93.0)}, 30.0).idle_seconds == 93.5
    assert freshness(range(2), {0: heard(0)}, 30.0).idle_seconds is None, "one was never reported"


def test_the_worst_of_several_is_the_status() -> None:
    assert freshness(range(3), {0: heard(0, stopped=True), 1: heard(1, age=99.0), 2: heard(2, lag=1, waits=99.0)}, 30.0).status == "silent"


def test_a_store_that_cannot_be_read_says_nothing_of_any_partition() -> None:
    found = unknown(range(3), 30.0)
    assert (found.status, found.fresh, found.silent, found.idle_seconds) == ("unknown", False, [], None)


STOPS = [status for status in PartitionStatus if status is not PartitionStatus.RUNNING]


def stopped(partition: int, status: PartitionStatus | None) -> Heard:
    one = heard(partition, stopped=True)
    return one._replace(heartbeat=msgspec.structs.replace(one.heartbeat, status=status))


def test_each_kind_of_stop_has_its_own_words() -> None:
    said = {status: freshness([3], {3: stopped(3, status)}, 30.0).says for status in STOPS}
    assert len(set(said.values())) == len(STOPS)
    for text in said.values():
        assert text.startswith("Folding of partition 3 stopped: ")
        assert text.endswith(". `equirank partitions list` shows what to do.")
    assert "a batch of the log is damaged" in said[PartitionStatus.DAMAGED]
    assert "shards died while they folded one record" in said[PartitionStatus.ISOLATED]
    assert [status for status, text in said.items() if "record" in text] == [PartitionStatus.RECORDS_LOST, PartitionStatus.ISOLATED]


def test_partitions_that_stopped_for_the_same_kind_of_reason_are_named_together() -> None:
    every = {0: stopped(0, PartitionStatus.OFFLINE), 1: stopped(1, PartitionStatus.DAMAGED), 2: stopped(2, PartitionStatus.OFFLINE)}
    assert freshness(range(3), every, 30.0).says == (
        "Folding of partition 1 stopped: a batch of the log is damaged; partitions 0, 2 stopped: no broker answers. "
        "`equirank partitions list` shows what to do."
    )


def test_a_report_of_an_earlier_release_says_that_the_partition_stopped_without_a_reason() -> None:
    assert freshness([0], {0: stopped(0, None)}, 30.0).says == (
        "Folding of partition 0 stopped. `equirank partitions list` shows what to do."
    )


def test_the_lag_of_the_ratings_topic_is_that_of_its_last_partition_and_no_status() -> None:
    behind = {number: heard(number) for number in range(3)}
    for number, lag in ((0, 0.0), (1, 70.0), (2, None)):
        beat = msgspec.structs.replace(behind[number].heartbeat, ratings_lag_seconds=lag)
        behind[number] = behind[number]._replace(heartbeat=beat)
    found = freshness(range(3), behind, 30.0)
    assert (found.status, found.ratings_lag_seconds) == ("fresh", 70.5)
    assert freshness([0, 2], behind, 30.0).ratings_lag_seconds == 0.0
    assert freshness(range(3), {number: heard(number) for number in range(3)}, 30.0).ratings_lag_seconds is None

"""Appends are exactly once: zombies lose, races have one winner, lost answers do no harm, and planted bugs are found."""

from collections.abc import Callable
from typing import Any

import pytest
from deltalake import CommitProperties

from ratings_core.errors import InputError
from services.archive import writer as module
from services.archive.encode import rows
from services.archive.reader import ArchiveDamagedError, open_reader
from services.archive.table import OtherLogError
from services.archive.writer import ArchiveMovedError, open_writer
from tests.support.archive import LOG, append, check, contents, fill, mixed, race

RECORDS = mixed(7, 120)


def test_what_is_appended_is_read_back_bit_for_bit(url: str, small_segments: None) -> None:
    writer = fill(url, RECORDS, 17)
    assert check(url, RECORDS) == writer.position == RECORDS[-1].offset + 1
    reader = open_reader(url, 0)
    assert reader.rows == writer.rows > 256  # more than one segment
    middle = RECORDS[60].offset
    parts = [*reader.read(0, middle), *reader.read(middle)]
    assert sum(map(len, parts)) == reader.rows
    assert {pool for part in reader.read(pool="games", columns=["pool"]) for pool in part["pool"].to_pylist()} == {"games"}


def test_a_reopened_writer_continues_the_numbers_of_rows(url: str, small_segments: None) -> None:
    while append(open_writer(url, 0, LOG), RECORDS, 31):
        pass
    whole = fill(url + "-whole", RECORDS, 1000)
    assert check(url, RECORDS)
    assert open_writer(url, 0, LOG).rows == whole.rows
    assert contents(url).equals(contents(url + "-whole"))


def test_a_superseded_writer_appends_nothing(url: str) -> None:
    zombie, successor = open_writer(url, 0, LOG), open_writer(url, 0, LOG)
    append(successor, RECORDS, 10)
    with pytest.raises(ArchiveMovedError, match="continue from") as refused:
        append(zombie, RECORDS, 25)
    assert refused.value.position == successor.position
    with pytest.raises(ArchiveMovedError):  # also when it tries again
        append(zombie, RECORDS, 5)
    append(successor, RECORDS, 10)
    assert check(url, RECORDS) == successor.position


def test_of_two_writers_exactly_one_wins(url: str) -> None:
    assert [race(url, RECORDS) for _ in range(8)] == [["lost", "won"]] * 8
    check(url, RECORDS)


def without_version(**given: Any) -> CommitProperties:
    given.pop("app_transactions")
    return CommitProperties(**given)


@pytest.mark.parametrize(("name", "planted"), [("CommitProperties", without_version)])
def test_a_commit_without_its_transaction_version_is_found(
    url: str, monkeypatch: pytest.MonkeyPatch, name: str, planted: Callable[..., Any]
) -> None:
    zombie, successor = open_writer(url, 0, LOG), open_writer(url, 0, LOG)
    append(successor, RECORDS, 10)
    monkeypatch.setattr(module, name, planted)
    append(zombie, RECORDS, 10)
    with pytest.raises(ArchiveDamagedError, match="each of the rows"):
        check(url, RECORDS)
    with pytest.raises(ArchiveDamagedError, match="each of the rows"):  # without reading rows
        open_writer(url, 0, LOG)


def test_a_commit_on_a_snapshot_whose_version_was_not_compared_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """delta-rs compares ids of concurrent commits only: on a new snapshot an old version is accepted."""
    zombie, successor = open_writer(url, 0, LOG), open_writer(url, 0, LOG)
    append(successor, RECORDS, 10)
    zombie._table.update_incremental()
    monkeypatch.setattr(module, "position_of", lambda table: zombie.position)
    append(zombie, RECORDS, 10)
    with pytest.raises(ArchiveDamagedError):
        check(url, RECORDS)


def test_an_append_whose_answer_was_lost_is_not_repeated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, commit = open_writer(url, 0, LOG), module.write_deltalake

    def lost(*args: Any, **named: Any) -> None:
        commit(*args, **named)
        raise OSError("connection reset")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_deltalake", lost)
        with pytest.raises(OSError, match="reset"):
            append(writer, RECORDS, 10)
    with pytest.raises(ArchiveMovedError):  # the old object does not know whether it was written, and does not try
        append(writer, RECORDS, 10)
    fill(url, RECORDS, 40)
    assert check(url, RECORDS) == RECORDS[-1].offset + 1


def test_a_position_may_lie_above_the_last_row(url: str) -> None:
    writer = open_writer(url, 0, LOG)
    writer.append(rows(RECORDS[:5]), 0, RECORDS[5].offset)
    assert writer.position == open_reader(url, 0).position == RECORDS[5].offset


@pytest.mark.parametrize(
    ("part", "begin", "end", "rule"),
    [
        (slice(0, 0), 0, 9, "one row or more"),
        (slice(0, 5), RECORDS[0].offset + 1, 10_000, "must have offsets from"),
        (slice(0, 5), 0, RECORDS[4].offset, "must have offsets from"),
    ],
)
def test_rows_outside_of_the_batch_are_refused(url: str, part: slice, begin: int, end: int, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        open_writer(url, 0, LOG).append(rows(RECORDS[part]), begin, end)


def test_rows_in_another_order_are_refused(url: str) -> None:
    table = rows(RECORDS[:5])
    with pytest.raises(InputError, match="must rise"):
        open_writer(url, 0, LOG).append(table.take([1, 0, *range(2, len(table))]), 0, 10_000)


def test_the_archive_of_another_log_is_refused(url: str) -> None:
    fill(url, RECORDS[:5], 5)
    with pytest.raises(OtherLogError, match="belongs to log log-1"):
        open_writer(url, 0, "log-2")

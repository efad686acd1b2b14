"""What the embedded log does when its file is not as it should be, is full, locked, replaced or forked."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.log.protocol import Log, LogError, OffsetLost
from services.log.sqlite.file import CHECKPOINT_PAGES, PAGE_BYTES, WAL_KEPT_BYTES
from services.log.sqlite.log import open_sqlite_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    log = open_sqlite_log(path, 2, busy_timeout=0.2)
    yield log
    log.close()


def refusal(path: Path, partitions: int = 2) -> LogError:
    with pytest.raises(LogError) as caught:
        open_sqlite_log(path, partitions)
    return caught.value


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"these are not the records you are looking for" * 100)
    error = refusal(path)
    assert "not a SQLite database" in str(error)
    assert str(path) in str(error)
    assert not error.retriable


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    run(path, "CREATE TABLE theirs (x)")
    before = path.read_bytes()
    error = refusal(path)
    assert "not a log of Equirank's" in str(error)
    assert not error.retriable
    assert path.read_bytes() == before


def test_another_schema_version_is_refused(path: Path, log: Log) -> None:
    run(path, "PRAGMA user_version = 99")
    assert "schema version 99" in str(refusal(path))


def test_a_damaged_file_says_so(path: Path, log: Log) -> None:
    log.outcomes.append(0, [(None, b"x" * 3000)] * 100)
    log.close()
    with path.open("r+b") as file:
        file.seek(PAGE_BYTES)
        file.write(os.urandom(40 * PAGE_BYTES))
    error = refusal(path)
    assert "damaged" in str(error)
    assert not error.retriable


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nowhere" / "log")
    assert "does not exist" in str(error)
    assert not error.retriable


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert not refusal(tmp_path / "log").retriable


def test_a_new_log_is_durable_with_the_folder_that_was_made_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, synced, fsync = tmp_path / "data", set[int](), os.fsync
    folder.mkdir()
    monkeypatch.setattr(os, "fsync", lambda file: (synced.add(os.fstat(file).st_ino), fsync(file)))
    open_sqlite_log(folder / "log.sqlite", 1).close()
    assert {folder.stat().st_ino, tmp_path.stat().st_ino} <= synced


def test_a_path_that_cannot_be_followed_for_a_while_is_a_retriable_error(path: Path, log: Log) -> None:
    log.outcomes.append(0, [(None, b"x")])
    aside = path.rename(path.with_name("aside"))
    with closing(log.outcomes.reader({0: 0})) as reader:
        path.symlink_to(path.name)
        with pytest.raises(LogError, match="symbolic links") as caught:
            reader.poll(0.0, 10)
        path.unlink()
        aside.rename(path)
        assert caught.value.retriable
        assert len(reader.poll(0.0, 10)[0]) == 1


def test_an_empty_file_becomes_a_log(path: Path) -> None:
    path.touch()
    log = open_sqlite_log(path, 1)
    assert log.outcomes.append(0, [(None, b"x")]) == [0]
    log.close()


def test_wal_full_sync_pages_and_overwriting_are_as_promised(path: Path, log: Log) -> None:
    connection = log.outcomes._shared.process()._writer.get()
    names = ("journal_mode", "synchronous", "page_size", "secure_delete")
    answers = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    assert answers == {"journal_mode": "wal", "synchronous": 2, "page_size": PAGE_BYTES, "secure_delete": 1}


def test_offsets_are_dense_from_zero(log: Log) -> None:
    assert log.outcomes.append(0, [(None, b"x")] * 3) == [0, 1, 2]
    assert log.outcomes.append(1, [(None, b"x")]) == [0]
    assert log.outcomes.append(0, [(None, b"x")]) == [3]


def test_a_locked_log_fails_retriably_and_writes_nothing(path: Path, log: Log) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogError, match="another process") as caught:
            log.outcomes.append(0, [(None, b"x")])
        assert caught.value.retriable
        other.execute("ROLLBACK")
    assert log.outcomes.append(0, [(None, b"x")]) == [0]


def test_a_full_disk_fails_retriably_and_recovers(log: Log) -> None:
    log.outcomes.append(0, [(None, b"first")])
    connection = log.outcomes._shared.process()._writer.get()
    # SQLite's own limit gives the same error as a disk without room.
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(LogError, match="disk is full") as caught:
        log.outcomes.append(0, [(None, b"x" * 100_000), (None, b"y")])
    assert caught.value.retriable
    assert log.outcomes.end(0) == 1
    connection.execute("PRAGMA max_page_count = 1000000")
    assert log.outcomes.append(0, [(None, b"x" * 100_000), (None, b"y")]) == [1, 2]


def test_a_replaced_file_is_another_log(path: Path, log: Log) -> None:
    log.outcomes.append(0, [(None, b"x")])
    reader = log.outcomes.reader({0: 1})
    assert reader.poll(0.0, 1) == {}
    for file in path.parent.iterdir():
        file.unlink()
    for call in (lambda: log.outcomes.append(0, [(None, b"y")]), lambda: log.outcomes.end(0), lambda: reader.poll(1.0, 1)):
        with pytest.raises(LogError, match="removed or replaced") as caught:
            call()
        assert not caught.value.retriable
    other = open_sqlite_log(path, 2)
    assert other.outcomes.identity != log.outcomes.identity
    with pytest.raises(LogError, match="removed or replaced"):
        log.outcomes.append(0, [(None, b"y")])
    reader.close()
    other.close()


def test_a_hole_stops_the_reader(path: Path, log: Log) -> None:
    log.outcomes.append(0, [(None, b"%d" % index) for index in range(10)])
    run(path, 'DELETE FROM outcomes_0 WHERE "offset" = 5')
    reader = log.outcomes.reader({0: 3})
    with pytest.raises(OffsetLost):
        reader.poll(0.0, 100)
    reader.close()


def test_removed_records_move_the_beginning_and_no_offset_comes_twice(path: Path, log: Log) -> None:
    log.outcomes.append(0, [(None, b"x")] * 4)
    run(path, "DELETE FROM outcomes_0", 'UPDATE heads SET "begin" = 4 WHERE topic = \'outcomes\' AND "partition" = 0')
    assert (log.outcomes.begin(0), log.outcomes.end(0)) == (4, 4)
    assert log.outcomes.append(0, [(None, b"y")]) == [4]
    reader = log.outcomes.reader({0: 3})
    with pytest.raises(OffsetLost) as caught:
        reader.poll(0.0, 10)
    assert (caught.value.begin, caught.value.end) == (4, 5)
    reader.close()


def test_the_write_ahead_log_stays_bounded_beside_a_reader(path: Path, log: Log) -> None:
    reader = log.outcomes.reader({0: 0})
    largest = 0
    for _ in range(60):
        log.outcomes.append(0, [(None, b"x" * 2000)] * 100)
        assert len(reader.poll(0.0, 100)[0]) == 100
        largest = max(largest, path.with_name(path.name + "-wal").stat().st_size)
    reader.close()
    assert path.stat().st_size > 4 * 1024 * 1024
    assert largest < max(WAL_KEPT_BYTES, 3 * CHECKPOINT_PAGES * PAGE_BYTES)


def test_a_poll_is_bounded_in_bytes_too(log: Log) -> None:
    for _ in range(5):
        log.outcomes.append(0, [(None, b"x" * 1_000_000)] * 20)
    reader = log.outcomes.reader({0: 0})
    sizes = [sum(len(record.value) for record in reader.poll(0.0, 1000).get(0, [])) for _ in range(2)]
    assert all(32_000_000 < size < 100_000_000 for size in sizes)
    reader.close()


def test_a_busy_partition_does_not_starve_the_others(log: Log) -> None:
    log.outcomes.append(0, [(None, b"x")] * 1000)
    log.outcomes.append(1, [(None, b"y")])
    reader = log.outcomes.reader({0: 0, 1: 0})
    assert list(reader.poll(0.0, 10)) == [0]
    assert list(reader.poll(0.0, 10)) == [1, 0]
    reader.close()


def test_a_fork_has_its_own_connections(log: Log) -> None:
    log.outcomes.append(0, [(None, b"parent")])
    assert log.outcomes.end(0) == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if log.outcomes.append(0, [(None, b"child")]) == [1] and log.outcomes.end(0) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert log.outcomes.append(0, [(None, b"parent")]) == [2]
    assert log.outcomes.end(0) == 3


def test_several_may_make_the_same_file(path: Path) -> None:
    barrier = threading.Barrier(6)
    identities: list[str] = []

    def make() -> None:
        barrier.wait()
        log = open_sqlite_log(path, 3)
        identities.append(log.outcomes.identity)
        log.outcomes.append(2, [(None, b"x")])
        log.close()

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(identities) == 6
    assert len(set(identities)) == 1

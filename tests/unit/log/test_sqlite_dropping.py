"""Dropping old records of the embedded log: in short steps, beside appends, whole after a crash; the file shrinks."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.log.protocol import Log, LogError, OffsetLost
from services.log.sqlite import dropping
from services.log.sqlite.log import open_sqlite_log
from tests.support.appenders import kill_after, start
from tests.support.log_laws import read
from tests.support.waiting import until

FOREVER = 1e6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    log = open_sqlite_log(path, 2)
    yield log
    log.close()


def fill(log: Log, partition: int, count: int, size: int = 100) -> None:
    log.outcomes.append(partition, [(None, b"%06d" % i + b"x" * size) for i in range(count)])


def heads(log: Log) -> list[tuple[int, int]]:
    return [(log.outcomes.begin(partition), log.outcomes.end(partition)) for partition in (0, 1)]


@pytest.mark.parametrize(("before", "begin"), [(0, 0), (1, 1), (2500, 2500), (5000, 5000), (9000, 5000)])
def test_records_below_an_offset_go_and_all_others_stay(log: Log, before: int, begin: int) -> None:
    fill(log, 0, 5000)
    fill(log, 1, 10)
    expected = read(log.outcomes, {0: 0, 1: 0}, 5010, 1000)
    assert log.outcomes.drop(0, before, FOREVER)
    assert heads(log) == [(begin, 5000), (0, 10)]
    found = read(log.outcomes, {0: begin, 1: 0}, 5010 - begin, 1000)
    assert found.get(0, []) == expected[0][begin:]
    assert found[1] == expected[1]
    assert log.outcomes.append(0, [(None, b"next")]) == [5000], "an offset is never used twice"
    if begin:
        with pytest.raises(OffsetLost) as lost, closing(log.outcomes.reader({0: begin - 1})) as reader:
            reader.poll(0.0, 10)
        assert lost.value.forgotten


def test_a_step_is_bounded_by_records_and_by_bytes(log: Log, path: Path) -> None:
    fill(log, 0, 2500)
    fill(log, 1, 12, 1 << 20)
    begins: dict[int, list[int]] = {0: [], 1: []}
    transact = log.outcomes._shared.process().transact  # type: ignore[attr-defined]

    def noted(partition: int) -> Callable[[dropping.Work[bool]], bool]:
        def noting(work: dropping.Work[bool]) -> bool:
            more = bool(transact(work))
            begins[partition].append(log.outcomes.begin(partition))
            return more

        return noting

    for partition in begins:
        assert dropping.drop(noted(partition), "outcomes", partition, 2500, FOREVER)
    assert begins[0][:3] == [1000, 2000, 2500]
    assert begins[1][:4] == [3, 6, 9, 12]


def test_the_file_shrinks(log: Log, path: Path) -> None:
    fill(log, 0, 40, 1 << 20)
    fill(log, 1, 100)
    assert log.outcomes.drop(0, 40, FOREVER)
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert path.stat().st_size < 10 << 20
    assert len(read(log.outcomes, {1: 0}, 100, 100)[1]) == 100


def test_a_file_of_an_earlier_release_takes_its_free_pages_again(log: Log, path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = DELETE")
        file.execute("PRAGMA auto_vacuum = NONE")
        file.execute("VACUUM")
        file.execute("PRAGMA journal_mode = WAL")
    for _ in range(5):
        fill(log, 0, 10, 1 << 20)
        assert log.outcomes.drop(0, log.outcomes.end(0), FOREVER)
    assert path.stat().st_size < 30 << 20


def test_it_ends_in_time_and_goes_on_later(log: Log) -> None:
    fill(log, 0, 5000)
    assert not log.outcomes.drop(0, 5000, 0.0)
    assert heads(log)[0] == (0, 5000)
    assert log.outcomes.drop(0, 5000, FOREVER)
    assert heads(log)[0] == (5000, 5000)


def test_appends_of_other_processes_go_on_beside_it(log: Log, path: Path) -> None:
    fill(log, 0, 20_000)
    other = start(path, "a")
    dropped = threading.Thread(target=log.outcomes.drop, args=(0, 20_000, FOREVER))
    dropped.start()
    lines = kill_after(other, 30)
    dropped.join()
    begin, end = heads(log)[0]
    assert (begin, len(lines) >= 30) == (20_000, True)
    assert [record.offset for record in read(log.outcomes, {0: begin}, end - begin, 1000)[0]] == list(range(begin, end))


def test_a_killed_process_leaves_whole_records(log: Log, path: Path) -> None:
    fill(log, 0, 30_000)
    root = Path(__file__).resolve().parents[3]
    code = f"from pathlib import Path; from services.log.sqlite.log import open_sqlite_log as o; o(Path({str(path)!r}), 2).outcomes"
    process = subprocess.Popen([sys.executable, "-c", f"{code}.drop(0, 30_000, {FOREVER})"], cwd=root, env={"PYTHONPATH": str(root)})
    until(lambda: log.outcomes.begin(0) or process.poll() is not None, "it has dropped some")
    process.kill()
    process.wait()
    begin, end = heads(log)[0]
    assert begin % dropping.STEP_RECORDS == 0
    records = read(log.outcomes, {0: begin}, end - begin, 1000).get(0, [])
    assert [record.offset for record in records] == list(range(begin, 30_000))


def test_a_failed_step_drops_nothing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(log, 0, 10)
    cut = dropping._cut

    def broken(*arguments: object) -> int:
        cut(*arguments)  # type: ignore[arg-type]
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(dropping, "_cut", broken)
    with pytest.raises(LogError):
        log.outcomes.drop(0, 5, FOREVER)
    monkeypatch.undo()
    assert heads(log)[0] == (0, 10)
    assert len(read(log.outcomes, {0: 0}, 10, 10)[0]) == 10

"""Several processes append to one file, and are killed in the middle: what was acknowledged is there, and offsets are dense."""

from pathlib import Path

from services.log.sqlite.log import open_sqlite_log
from tests.support.appenders import kill_after, start
from tests.support.log_laws import read


def test_killed_appenders_lose_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = open_sqlite_log(path, 2)
    workers = {name: start(path, name) for name in ("a", "b", "c")}
    acknowledged = {name: kill_after(process, lines) for (name, process), lines in zip(workers.items(), (40, 80, 120), strict=True)}
    ends = {partition: log.outcomes.end(partition) for partition in (0, 1)}
    found = read(log.outcomes, {0: 0, 1: 0}, sum(ends.values()), 1000)
    for partition, records in found.items():
        assert [record.offset for record in records] == list(range(ends[partition]))
    for name, lines in acknowledged.items():
        assert lines
        for line in lines:
            partition, number, *offsets = map(int, line.split())
            written = [found[partition][offset] for offset in offsets]
            assert [record.value for record in written] == [f"{name}:{number}:{item}".encode() for item in range(1 + number % 5)]
            assert {record.key for record in written} == {name.encode()}
    # Nothing is half-written: each append is there whole, whether acknowledged or not.
    for records in found.values():
        for record in records:
            name, number, item = record.value.decode().split(":")
            assert records[record.offset - int(item)].value.decode() == f"{name}:{number}:0"
            assert records[record.offset - int(item) + int(number) % 5].value.decode() == f"{name}:{number}:{int(number) % 5}"
    log.close()


def test_a_reader_follows_another_process(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = open_sqlite_log(path, 2)
    worker = start(path, "w")
    found = read(log.outcomes, {0: 0, 1: 0}, 200, 50)
    kill_after(worker, 1)
    assert sum(map(len, found.values())) >= 200
    log.close()

"""Compaction runs beside appends and readers and changes no row; bytes that an outcome takes."""

import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from services.archive.compaction import compact
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.archive.writer import open_writer
from services.log.protocol import Record
from tests.support.archive import LOG, append, check, contents, fill, mixed

RECORDS = mixed(11, 120)


def rows_files(url: str) -> set[Path]:
    return set(Path(unquote(urlparse(table_uri(url, 0)).path)).rglob("*.parquet"))


def test_compaction_merges_files_and_changes_no_row(url: str, small_segments: None) -> None:
    fill(url, RECORDS, 10)
    before = open_reader(url, 0)
    files = len(DeltaTable(table_uri(url, 0)).file_uris())
    assert compact(url, 0, open_files=2) >= 2
    assert len(DeltaTable(table_uri(url, 0)).file_uris()) < files
    check(url, RECORDS)
    assert sum(map(len, before.read())) == before.rows  # a reader of the snapshot before goes on
    assert compact(url, 0, open_files=2) == 0


def test_smaller_tables_have_the_same_rows(url: str) -> None:
    fill(url, RECORDS, 10)
    parts = list(open_reader(url, 0).read(most=128))
    assert max(map(len, parts)) == 128
    assert pa.concat_tables(parts).combine_chunks().equals(contents(url))


def test_the_newest_segment_waits_for_more_files(url: str) -> None:
    fill(url, RECORDS, 30)
    assert compact(url, 0, open_files=9) == 0


def test_files_that_no_snapshot_needs_are_removed(url: str) -> None:
    fill(url, RECORDS, 30)
    files = rows_files(url)
    compact(url, 0, open_files=2, keep=timedelta(0))
    assert len(rows_files(url)) == len(files) - 3
    assert rows_files(url).isdisjoint(files)
    check(url, RECORDS)


def test_appends_and_compactions_run_at_once(url: str, small_segments: None) -> None:
    open_writer(url, 0, LOG)
    done, merged = Event(), list[int]()

    def run() -> None:
        while True:
            ends = done.is_set()
            merged.append(compact(url, 0, open_files=2))
            if ends:
                return

    thread = Thread(target=run)
    thread.start()
    try:
        writer = open_writer(url, 0, LOG)
        while append(writer, RECORDS, 4):
            pass
    finally:
        done.set()
        thread.join()
    assert sum(merged)
    check(url, RECORDS)


def test_a_writer_goes_on_after_a_compaction_that_it_has_not_seen(url: str) -> None:
    writer = open_writer(url, 0, LOG)
    for _ in range(3):
        append(writer, RECORDS, 10)
    assert compact(url, 0, open_files=2) == 1
    append(writer, RECORDS, 10)
    check(url, RECORDS)


@pytest.mark.parametrize(
    ("name", "make_id", "most"),
    [("random", lambda number: secrets.token_urlsafe(12), 24.0), ("sequential", lambda number: f"game-{number:011d}", 12.0)],
)
def test_an_outcome_takes_few_bytes(url: str, name: str, make_id: Callable[[int], str], most: float) -> None:
    """Duels of 1,000 agents with 16-byte names and 16-byte ids, each a record, one outcome a millisecond or so."""
    n = 30_000
    writer = open_writer(url, 0, LOG)
    records = [_duel(number, make_id(number)) for number in range(n)]
    append(writer, records, n)
    folder = Path(urlparse(url).path)
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet")) / n
    print(f"{name} ids: {size:.2f} bytes an outcome")  # noqa: T201
    assert size <= most


def _duel(number: int, identity: str) -> Record:
    first, second = (number * 7919) % 1000, (number * 104729 + 1 + number // 1000) % 1000
    sides = [{"agents": [f"agent-{first:010d}"], "place": 1}, {"agents": [f"agent.{second:010d}"], "place": 1 + number % 3 // 2}]
    time = 1.7e9 + number * 7 % 100_000 / 1000
    event = {"v": 1, "id": identity, "pool": "p", "time": time, "sides": sides}
    return Record(number, json.dumps(event).encode(), 1.7e9 + number / 1000)

"""`verify` compares the rows of an archive that is a copy with those that the records of the log give."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from services.admin import verify_archive as verifying
from services.admin.verify import Finding
from services.admin.verify_archive import verify_archive
from services.archive.erasure import erase_rows
from services.archive.follow import follow
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.control.erasures import ErasureRequest, erased_name
from services.control.records import encode
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from tests.support.archive import mixed

VALUES = [record.value for record in mixed(3, 400)]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """A log of one partition, 350 of whose 400 records are archived. Each window has some records only."""
    monkeypatch.setattr(verifying, "WRITING_SECONDS", 0.0)
    monkeypatch.setattr(verifying, "_WINDOW_BYTES", 1000)
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        for start in range(0, len(VALUES), 10):
            log.outcomes.append(0, [(None, value) for value in VALUES[start : start + 10]])
        follow(log.outcomes, {}, archive(tmp_path), 0, 350)
        yield log


def archive(folder: Path) -> str:
    return str(folder / "archive")


def findings(log: Log, folder: Path) -> list[Finding]:
    return list(verify_archive(archive(folder), log, is_copy=True))


def change(folder: Path, changed: Callable[[pa.Table], Any]) -> None:
    """Write the archive again with other rows."""
    table = DeltaTable(table_uri(archive(folder), 0))
    write_deltalake(table, changed(table.to_pyarrow_table().sort_by("row")), mode="overwrite")


def with_value(name: str, row: int, value: object) -> Callable[[pa.Table], Any]:
    """Changes a value of one row."""

    def changed(rows: pa.Table) -> Any:
        values = rows[name].to_pylist()
        assert values[row] != value
        values[row] = value
        return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), pa.array(values, rows.schema.field(name).type))

    return changed


def test_all_kinds_of_rows_are_compared(log: Log, tmp_path: Path) -> None:
    read, compared = findings(log, tmp_path)
    assert (read.what, read.position, read.difference) == ("archive", 350, None)
    rows = len(DeltaTable(table_uri(archive(tmp_path), 0)).to_pyarrow_table())
    assert (compared.what, compared.position, compared.difference) == (f"{rows} archived rows against the log", 350, None)


@pytest.mark.parametrize(
    ("name", "row", "value"), [("id", 0, "another"), ("weight", 111, 7.5), ("agents", 200, ["eve", "mallory"]), ("time", -1, 1.25)]
)
def test_a_value_that_the_log_does_not_have_is_found(log: Log, tmp_path: Path, name: str, row: int, value: object) -> None:
    change(tmp_path, with_value(name, row, value))
    offset = DeltaTable(table_uri(archive(tmp_path), 0)).to_pyarrow_table().sort_by("row")["offset"].to_pylist()[row]
    read, compared = findings(log, tmp_path)
    assert read.difference is None, "each row is there once"
    assert str(compared.difference).startswith(f"its row of offset {offset}, item ")
    assert f" in {name}; the log has all its rows: stop `equirank up`, remove " in str(compared.difference)


def test_a_row_without_a_record_and_a_record_without_a_row_are_found(log: Log, tmp_path: Path) -> None:
    change(tmp_path, lambda rows: rows.slice(0, len(rows) - 1))
    assert str(findings(log, tmp_path)[1].difference).startswith("it lacks the row of offset 349")
    with closing(open_sqlite_log(tmp_path / "shorter.sqlite", 1)) as other:
        other.outcomes.append(0, [(None, value) for value in VALUES[:340]])
        found = verifying._compare_rows(0, open_reader(archive(tmp_path), 0), other)
    assert found == (0, "it holds records below offset 350, and the log ends at 340")


def test_erased_names_are_no_difference_before_and_after_they_are_replaced(log: Log, tmp_path: Path) -> None:
    pool, agents = next(
        (row["pool"], row["agents"])
        for row in DeltaTable(table_uri(archive(tmp_path), 0)).to_pyarrow_table().to_pylist()
        if row["agents"] and row["pool"]
    )
    request = ErasureRequest(pool=pool, name=erased_name(agents[0], ()), by="ann", time=1.0)
    log.control.append(0, [encode(request)])
    assert [found.difference for found in findings(log, tmp_path)] == [None, None]
    assert erase_rows(archive(tmp_path), 0, log.outcomes.identity, [request])
    assert [found.difference for found in findings(log, tmp_path)] == [None, None]


def test_what_is_being_written_is_read_again(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = DeltaTable(table_uri(archive(tmp_path), 0)).to_pyarrow_table().sort_by("row")
    change(tmp_path, with_value("id", 5, "half written"))
    monkeypatch.setattr(time, "sleep", lambda _: change(tmp_path, lambda _: kept))
    assert [found.difference for found in findings(log, tmp_path)] == [None, None]

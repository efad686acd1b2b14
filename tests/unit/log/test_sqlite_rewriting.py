"""Values replaced where they are: offsets, times and keys stay, and no file of the log holds what was replaced or dropped before."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from services.log.protocol import LogError, Record, Rewrites
from services.log.reading import read_range
from services.log.sqlite import rewriting
from services.log.sqlite.log import open_sqlite_log

NAME, TOKEN = b"alice with a name longer than its token", b"erased-0123456789abcdef"


def change(record: Record) -> bytes:
    return record.value.replace(NAME, TOKEN)


def held(path: Path) -> bool:
    return any(NAME in file.read_bytes() for file in path.parent.glob("log.sqlite*"))


def leave_traces(path: Path) -> None:
    """Drop records as SQLite does by default: their pages stay as they are. Some builds of it overwrite them."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA secure_delete = OFF").fetchall()
        other.execute("DELETE FROM outcomes_1")
        other.commit()


def test_nothing_of_a_replaced_value_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "STEP_RECORDS", 7)
    path = tmp_path / "log.sqlite"
    with closing(open_sqlite_log(path, 2)) as log:
        for size in (10, 3000, 40_000):  # within a page, most of one, several
            log.dead_letters.append(0, [(b"key %d" % i, b"x" * size + (NAME if i % 3 else b"bob")) for i in range(20)])
        log.outcomes.append(1, [(None, NAME * 5000) for _ in range(50)])
        leave_traces(path)
        before = list(read_range(log.dead_letters, 0, 0, 60))
        assert held(path)
        assert isinstance(log.dead_letters, Rewrites)
        assert log.dead_letters.rewrite(0, change) == 39
        assert log.dead_letters.rewrite(0, change) == 0
        after = list(read_range(log.dead_letters, 0, 0, 60))
        assert after == [record._replace(value=change(record)) for record in before]
        assert not held(path)
        assert log.dead_letters.append(0, [(None, b"more")]) == [60]


def test_a_reader_that_still_needs_the_old_pages_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with closing(open_sqlite_log(path, 1, busy_timeout=0.05)) as log:
        log.dead_letters.append(0, [(None, NAME)])
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM dead_letters_0").fetchall()
            with pytest.raises(LogError, match="cannot be emptied") as refused:
                log.dead_letters.rewrite(0, change)  # type: ignore[attr-defined]  # not all topics do
        assert refused.value.retriable
        log.dead_letters.rewrite(0, change)  # type: ignore[attr-defined]  # as above
        assert not held(path)

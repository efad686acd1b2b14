"""Copy the SQLite log in one snapshot, check a copy, and read its contents."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from ratings_core.errors import InputError
from services.control.details_records import KEY_PREFIX
from services.control.records import ControlState, decode
from services.log.partition import partition_of
from services.log.sqlite.file import APPLICATION_ID, SCHEMA_VERSION, sqlite_errors


class LogCopy(NamedTuple):
    """Outcome log of a copy.

    Attributes:
        identity: Log identity.
        heads: Partition -> its first offset, and the offset after its last record.
        erasures: Partition -> number of erasure requests for its pools.
    """

    identity: str
    heads: Mapping[int, tuple[int, int]]
    erasures: Mapping[int, int]


def copy_log(source: Path, target: Path) -> None:
    """Copy a log file to `target` in one snapshot. Other processes may write during the copy. Raises `LogError`."""
    with _reading(source) as reading, closing(sqlite3.connect(target)) as writing:
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode = DELETE")  # a single file; opening it as a log enables WAL again


def read_copy(path: Path) -> LogCopy:
    """Read identity, offsets and erasures of a copy. Raises `InputError` for control records of another release, and `LogError`."""
    with _reading(path) as connection:
        identity = connection.execute("SELECT identity FROM log").fetchone()[0]
        heads = connection.execute('SELECT "partition", "begin", "end" FROM heads WHERE topic = \'outcomes\'').fetchall()
        query = 'SELECT "offset", value FROM control_0 WHERE substr(key, 1, ?) <> ? ORDER BY "offset"'  # without details of agents
        control = connection.execute(query, (len(KEY_PREFIX), KEY_PREFIX.encode())).fetchall()
    erased = Counter(partition_of(request.pool, len(heads)) for request in _control(path, control).erasures.requests)
    return LogCopy(f"sqlite:{identity}:outcomes", {number: (begin, end) for number, begin, end in heads}, erased)


def _control(path: Path, records: Sequence[tuple[int, bytes]]) -> ControlState:
    state = ControlState()
    try:
        for offset, value in records:
            state.apply(offset, decode(value))
    except msgspec.DecodeError as error:
        raise InputError("source", str(path), f"has control records of another release ({error}): use the release that wrote it") from error
    return state


def partitions_of(path: Path) -> int:
    """Number of partitions of the outcome log, as stored in the file. Raises `LogError`."""
    with _reading(path) as connection:
        return int(connection.execute("SELECT partitions FROM log").fetchone()[0])


def outcomes_of(path: Path) -> int:
    """Check a copy, and count the records of its outcome log.

    Raises `InputError` for a damaged file, a file of another program or another schema version, and `LogError`.
    """
    with _reading(path) as connection:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise InputError("source", str(path), "must be a log of Equirank's")
        if (version := connection.execute("PRAGMA user_version").fetchone()[0]) != SCHEMA_VERSION:
            rule = f"must have schema version {SCHEMA_VERSION}, not {version}: use the release that wrote it"
            raise InputError("source", str(path), rule)
        if (said := connection.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
            raise InputError("source", str(path), f"is damaged: {said}")
        query = 'SELECT coalesce(sum("end" - "begin"), 0) FROM heads WHERE topic = \'outcomes\''
        return int(connection.execute(query).fetchone()[0])


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with sqlite_errors(path), closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
        yield connection

"""Sends outcome files to the log, resumable after an interruption.

Delivery: at least once. Outcome ids are hashes of the rows, so outcomes that are sent again are dropped as duplicates, if their ids are
still in the dedupe window.
"""

import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO, Final

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource
from ratings_core.front.load import BadRows, judged
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.imports import journal
from services.imports.journal import Journal
from services.imports.sent_files import Sent, SentFile
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import Event
from services.wire.pools import Kind, check_pool_name

_CHUNK_BYTES: Final = 8 << 20
"""Size of the records of one append, after which the journal is written: one wait for the log for some 80,000 rows."""
JOURNALS: Final = "replay"
"""Folder of the journals in the data folder."""
_HEAD: Final = struct.Struct("<II")
"""Before each record in the temporary file: its length in bytes, and the number of its outcomes."""

Tell = Callable[[int, int | None], None]
"""Callback for progress: (outcomes read, None) while the file is checked, then (outcomes in the log, outcomes of the file)."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Result of the replay of one file.

    Attributes:
        path: Path of the file.
        counts: Counts of the file's rows.
        sent: Number of outcomes sent now.
        before: Number of outcomes that an earlier replay had sent.
        position: Log offset in the pool's partition below which all of these outcomes are.
    """

    path: Path
    counts: RowCounts
    sent: int
    before: int
    position: int


@dataclass(frozen=True, slots=True)
class Sending:
    """What is sent of a file.

    Attributes:
        pool: Name of the pool.
        options: How files are read.
        at: Time of all outcomes in seconds since 1970; None for the times of the rows.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.
        again: Whether to send outcomes that an earlier replay sent.
        by_time: Whether games are sent in the order of their times. All of a file are then held in memory.
    """

    pool: str
    options: ReadOptions = PLAIN
    at: float | None = None
    bad_rows: BadRows = "refuse"
    again: bool = False
    by_time: bool = False


def replay_file(settings: Settings, log: Log, path: Path, sending: Sending, *, tell: Tell = lambda *_: None) -> Replayed:
    """Send the outcomes of one file to the log. The pool is created if it does not exist.

    The file is read once: its records wait in a temporary file until all rows are checked. Nothing is sent of a file with a bad row, unless
    bad rows are skipped. Outcomes of the wire schema are refused one by one.

    Args:
        settings: Settings of the installation.
        log: The logs.
        path: Path of the file.
        sending: What is sent, and to which pool.
        tell: Called while the file is checked, and after each acknowledged chunk.

    Raises:
        InputError: Before anything is sent: the file is not of its kind, has bad rows or changes while it is read, or the pool is of
            another kind.
        LogError: The log does not accept the outcomes.
    """
    pool = sending.pool
    check_pool_name(pool)
    with FileSource(path) as source, tempfile.TemporaryFile() as spool:
        reading = FileReading(source, sending.options)
        stamp, file = source.stamp, SentFile(reading, pool, now=time.time(), time=sending.at, by_time=sending.by_time)
        total, content = _spool(file, spool, tell), source.content_hash()
        if source.stamp != stamp:
            raise InputError("file", str(path), "must not change while it is read; start again")
        if reading.kind is not FileKind.OUTCOMES:
            judged(file.counts, path.name, sending.bad_rows)
        note = Journal.of(settings.data / JOURNALS, log.outcomes.identity, pool, *_key(reading.kind, sending, content))
        noted = None if sending.again else note.read()
        sent = before = min(noted.sent, total) if noted else 0
        position = noted.position if noted else 0
        if total:
            _ensure_pool(settings, log, pool, file.pool_kind)
        for chunk, end in _chunks(spool, before):
            position = _append(log, pool, [entry.record for entry in chunk])
            sent = end
            note.write(journal.Progress(sent, total, position))
            tell(sent, total)
    return Replayed(path, file.counts, total - before, before, position)


def _spool(file: SentFile, spool: BinaryIO, tell: Tell) -> int:
    """Write all records of a file to a temporary file. Returns the number of their outcomes."""
    total = 0
    for record, outcomes in file.records():
        spool.write(_HEAD.pack(len(record), outcomes))
        spool.write(record)
        total += outcomes
        tell(total, None)
    spool.seek(0)
    return total


def _chunks(spool: BinaryIO, before: int) -> Iterator[tuple[list[Sent], int]]:
    """The records after the first `before` outcomes, in chunks, each with the number of outcomes up to its end.

    A record that holds such outcomes and others is sent whole.
    """
    done, size, chunk = 0, 0, list[Sent]()
    while head := spool.read(_HEAD.size):
        length, outcomes = _HEAD.unpack(head)
        record = spool.read(length)
        done += outcomes
        if done > before:
            chunk.append(Sent(record, outcomes))
            size += length
        if size >= _CHUNK_BYTES:
            yield chunk, done
            size, chunk = 0, []
    if chunk:
        yield chunk, done


def append_outcomes(log: Log, pool: str, outcomes: Sequence[Event]) -> int:
    """Append outcomes of one pool to the log, and wait for the acknowledgement. Returns the log offset after them."""
    return _append(log, pool, events.encode_records(outcomes))


def _append(log: Log, pool: str, records: Sequence[bytes]) -> int:
    keyed = [(pool.encode(), record) for record in records]
    return log.outcomes.append(partition_of(pool, log.outcomes.partitions), keyed)[-1] + 1


def _key(kind: FileKind, sending: Sending, content: str) -> list[str]:
    """The key of a file's journal: everything that determines what is sent.

    Only fields that are set take part, so that a new field leaves the journals of earlier releases valid. With `bad_rows="refuse"`, a file
    with bad rows is not sent, so this field makes no difference.
    """
    given = [(option.name, getattr(sending.options, option.name), getattr(PLAIN, option.name)) for option in fields(PLAIN)]
    options = [f"{name}={_text(value)}" for name, value, default in given if value != default]
    return [kind, *options, f"at={sending.at}", f"by_time={sending.by_time}", content]


def _text(value: object) -> str:
    return repr(sorted(value.items())) if isinstance(value, Mapping) else repr(value)


def _ensure_pool(settings: Settings, log: Log, pool: str, kind: Kind | None) -> None:
    with closing(ControlLog(log.control)) as control:
        standing = control.refresh().pools.get(pool)
        if standing is None and kind is None:
            raise InputError("pool", pool, "must exist, as the file holds retractions only")
        if standing is None and kind is not None:
            standing = control.create_pool(
                PoolCreated(pool=pool, kind=kind, time=time.time(), fold=default_fold(settings)), settings.max_pools
            )
    if standing is not None and kind not in (standing.kind, None):
        raise InputError("pool", pool, f"must be a pool of {kind}, as the file's outcomes are; it is one of {standing.kind}")

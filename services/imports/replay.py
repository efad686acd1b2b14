"""Sends outcome files to the log, resumable after an interruption.

Delivery: at least once. Outcome ids are hashes of the rows, so outcomes that are sent again are dropped as duplicates, if their ids are
still in the dedupe window.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final

from ratings_core.errors import InputError
from ratings_core.formats import FileKind
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.imports import journal
from services.imports.files import Account, FileOptions, OutcomeFile, check_rules
from services.imports.journal import Journal
from services.imports.sources import Source
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import Event
from services.wire.pools import Kind, check_pool_name

_CHUNK: Final = 5_000
"""Largest number of outcomes in one append, after which the journal is written."""
JOURNALS: Final = "replay"
"""Folder of the journals in the data folder."""

Tell = Callable[[int, int | None], None]
"""Callback for progress: (outcomes found, None) while the file is checked, then (outcomes in the log, outcomes of the file)."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Result of the replay of one file.

    Attributes:
        path: Path of the file.
        account: Counts of the file's rows.
        sent: Number of outcomes sent now.
        before: Number of outcomes that an earlier replay had sent.
        position: Log offset in the pool's partition below which all of these outcomes are.
    """

    path: Path
    account: Account
    sent: int
    before: int
    position: int


def replay_file(
    settings: Settings,
    log: Log,
    path: Path,
    pool: str,
    options: FileOptions | None = None,
    *,
    again: bool = False,
    tell: Tell = lambda *_: None,
) -> Replayed:
    """Send the outcomes of one file to the log. The pool is created if it does not exist.

    Args:
        settings: Settings of the installation.
        log: The logs.
        path: Path of the file.
        pool: Name of the pool.
        options: How the file is read; None for the defaults.
        again: Whether to send outcomes that an earlier replay sent.
        tell: Called while the file is checked, and after each acknowledged chunk.

    Raises:
        InputError: Before anything is sent: the file is not of its kind, or the pool is of another kind. Later: the file changed.
        LogError: The log does not accept the outcomes.
    """
    check_pool_name(pool)
    options = options or FileOptions()
    with Source(path) as source:
        file = OutcomeFile(source, pool, now=time.time(), options=options)
        check_rules(file.kind, options.rules)
        stamp, account = source.stamp, Account()
        total = _count(file, account, tell)
        note = Journal.of(settings.data / JOURNALS, log.outcomes.identity, pool, *_key(file.kind, options, source))
        noted = None if again else note.read()
        sent = before = min(noted.sent, total) if noted else 0
        position = noted.position if noted else 0
        if total:
            _ensure_pool(settings, log, pool, account.pool_kind)
        for chunk in _chunks(file, before, total, sound=not account.refused):
            if source.stamp != stamp:
                raise InputError("file", str(path), "must not change while it is replayed; start again")
            position = append_outcomes(log, pool, chunk)
            sent += len(chunk)
            note.write(journal.Progress(sent, total, position))
            tell(sent, total)
    return Replayed(path, account, total - before, before, position)


def _count(file: OutcomeFile, account: Account, tell: Tell) -> int:
    """Read and check the complete file. Returns the number of outcomes that readers of the log accept."""
    total = 0
    for batch in file.accepted(account):
        total += len(batch)
        tell(total, None)
    return total


def _chunks(file: OutcomeFile, start: int, end: int, *, sound: bool) -> Iterator[list[Event]]:
    """Read the file again, and yield the outcomes from `start` to `end` in chunks. sound: Whether all outcomes of the file are accepted."""
    if start < end:
        batches = ([row.event for row in batch] for batch in file.batches(Account())) if sound else file.accepted(Account())
        accepted = islice(chain.from_iterable(batches), start, end)
        while chunk := list(islice(accepted, _CHUNK)):
            yield chunk


def append_outcomes(log: Log, pool: str, outcomes: Sequence[Event]) -> int:
    """Append outcomes of one pool to the log, and wait for the acknowledgement. Returns the log offset after them."""
    records = [(pool.encode(), record) for record in events.encode_records(outcomes)]
    return log.outcomes.append(partition_of(pool, log.outcomes.partitions), records)[-1] + 1


def _key(kind: FileKind, options: FileOptions, source: Source) -> list[str]:
    """The key of a file's journal: everything that determines what is sent. Default options add nothing, so older journals stay valid."""
    table = [] if options.columns is None else [str(options.columns)]
    table += [] if options.delimiter == "," else [options.delimiter]
    table += [feature.text for feature in options.rules.features]
    table += [] if options.rules.task is None else ["task", options.rules.task]
    return [kind, options.unplayed, str(options.time), source.content_hash(), *table]


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

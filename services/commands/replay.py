"""`equirank replay`: outcome files into the log, resumable, and a wait until readers see them.

Delivery: at least once into the log; ids are hashes of the rows, so outcomes sent again are duplicates and change nothing.
"""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ratings_core.errors import InputError
from ratings_core.formats import FileKind
from ratings_core.formats.results import Unplayed
from ratings_core.formats.times import seconds
from services import events
from services.commands import journal
from services.commands.journal import Journal
from services.commands.options import Columns, Delimiter, file_options
from services.connect import open_log, open_store
from services.control import ControlLog
from services.events import Event, Reason
from services.files import Account, FileOptions, OutcomeFile, Refused
from services.log.partition import partition_of
from services.log.protocol import Log
from services.pools import FoldSettings, Kind, PoolCreated, check_pool_name
from services.settings import Settings
from services.sources import Source
from services.store.protocol import PoolHead, StoreError, StoreReader

_CHUNK: Final = 5_000
"""Outcomes between two notes in the journal."""
_STUCK_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1
_JOURNALS: Final = "replay"
_GC_THRESHOLD: Final = 100_000
"""Outcomes hold no cycles: the collector's default walks them over and over, for a third of the time."""
_SHOWN: Final = 5

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one file. sent: outcomes appended now; before: those an earlier replay had sent; position: the pool's partition
    holds all of them below it; rows, skipped, refused and first as in `Account`.
    """

    path: Path
    rows: int
    sent: int
    before: int
    skipped: Mapping[str, int]
    refused: Mapping[Reason, int]
    first: Sequence[Refused]
    partition: int
    position: int


class ReplayedKind(StrEnum):
    """Kinds of files that hold outcomes; margins and profiles hold what was counted of them."""

    SCORES = "scores"
    BATTLES = "battles"
    RESULTS = "results"
    PGN = "pgn"
    CONTESTS = "contests"
    OUTCOMES = "outcomes"


def replay(
    files: Annotated[list[Path], typer.Argument(help="Results, battles, chess games, contests, scores or outcomes, sent in this order.")],
    pool: Annotated[str, typer.Option(help="Pool they go to; created where there is none.")],
    kind: Annotated[ReplayedKind | None, typer.Option("--kind", "--input", help="Kind of the files, where its guess is wrong.")] = None,
    unplayed: Annotated[Unplayed, typer.Option(help="Results without scores: leave out (and count) or refuse the file.")] = "skip",
    at: Annotated[str | None, typer.Option("--time", help="Time of all outcomes: a date, an ISO time or seconds since 1970.")] = None,
    column: Columns = None,
    delimiter: Delimiter = ",",
    again: Annotated[bool, typer.Option("--again", help="Send files that were sent before; their outcomes are duplicates.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until readers see the outcomes.")] = True,
    data: Annotated[Path | None, typer.Option(help="Data folder (EQUIRANK_DATA).")] = None,
) -> None:
    """Put files of outcomes into the log of the installation; what was sent before is not sent again.

    A file is read twice, a row at a time: once to check and count it, once to send it. So it may be larger than memory, and a row that
    refuses the file sends nothing of it. Outcomes of the wire schema are refused one by one: the others are sent, and the status is 1.
    """
    gc.set_threshold(_GC_THRESHOLD)
    settings = Settings(data=data) if data else Settings()
    options = file_options(FileKind(kind) if kind else None, unplayed, column, delimiter, None if at is None else seconds(at, 1, "--time"))
    console = Console(soft_wrap=True)
    log = open_log(settings)
    try:
        done = [_shown(settings, log, path, pool, options, again, console) for path in files]
        identity = log.outcomes.identity
    finally:
        log.close()
    if wait and done:
        _wait(settings, identity, pool, max(done, key=lambda one: one.position), console)
    if any(one.refused for one in done):
        raise typer.Exit(1)


def replay_file(
    settings: Settings,
    log: Log,
    path: Path,
    pool: str,
    options: FileOptions | None = None,
    *,
    again: bool = False,
    checked: Callable[[int], None] | None = None,
    tell: Tell | None = None,
) -> Replayed:
    """Send one file. checked: called with outcomes found, while the file is checked; tell: called with (outcomes in the log, outcomes
    of the file) after each acknowledged chunk.

    Raises `InputError` before anything is sent where the file is not of its kind or the pool is of another one, and `LogError`.
    """
    check_pool_name(pool)
    options = options or FileOptions()
    with Source(path) as source:
        file = OutcomeFile(source, pool, now=time.time(), options=options)
        stamp, account = source.stamp, Account()
        total = _count(file, account, checked)
        partition = partition_of(pool, log.outcomes.partitions)
        note = Journal.of(settings.data / _JOURNALS, log.outcomes.identity, pool, *_key(file.kind, options, source))
        noted = None if again else note.read()
        sent = before = min(noted.sent, total) if noted else 0
        position = noted.position if noted else 0
        if total:
            _ensure_pool(settings, log, pool, account.pool_kind)
        for chunk in _chunks(file, before, total, sound=not account.refused):
            if source.stamp != stamp:
                raise InputError("file", str(path), "must not change while it is replayed; start again")
            position = _append(log, partition, pool, chunk)
            sent += len(chunk)
            note.write(journal.Progress(sent, total, position))
            if tell is not None:
                tell(sent, total)
    return Replayed(path, account.rows, total - before, before, account.skipped, account.refused, account.first, partition, position)


def _count(file: OutcomeFile, account: Account, checked: Callable[[int], None] | None) -> int:
    """Outcomes of the file that the log's readers will take; reads and checks all of it."""
    total = 0
    for batch in file.accepted(account):
        total += len(batch)
        if checked is not None:
            checked(total)
    return total


def _chunks(file: OutcomeFile, start: int, end: int, *, sound: bool) -> Iterator[list[Event]]:
    """The outcomes from `start` to `end`, read a second time where there are any to send. sound: all of them were accepted."""
    if start < end:
        accepted = islice(_again(file, sound), start, end)
        while chunk := list(islice(accepted, _CHUNK)):
            yield chunk


def _again(file: OutcomeFile, sound: bool) -> Iterator[Event]:
    if sound:
        return (event for batch in file.batches(Account()) for _, event in batch)
    return chain.from_iterable(file.accepted(Account()))


def _append(log: Log, partition: int, pool: str, chunk: Sequence[Event]) -> int:
    """The position after `chunk` once the log acknowledged it."""
    offsets = log.outcomes.append(partition, [(pool.encode(), record) for record in events.encode_records(chunk)])
    return offsets[-1] + 1


def _key(kind: FileKind, options: FileOptions, source: Source) -> list[str]:
    """All that decides what a file's replay sends. Reading a table as usual adds nothing, so that older journals stay good."""
    table = [] if options.columns is None else [str(options.columns)]
    table += [] if options.delimiter == "," else [options.delimiter]
    return [kind, options.unplayed, str(options.time), source.content_hash(), *table]


def _ensure_pool(settings: Settings, log: Log, pool: str, kind: Kind | None) -> None:
    control = ControlLog(log.control)
    try:
        standing = control.refresh().pools.get(pool)
        if standing is None and kind is None:
            raise InputError("pool", pool, "must exist, as the file holds retractions only")
        if standing is None and kind is not None:
            fold = FoldSettings(max_agents=settings.max_agents, max_tasks=settings.max_tasks)
            standing = control.create_pool(PoolCreated(pool=pool, kind=kind, time=time.time(), fold=fold), settings.max_pools)
    finally:
        control.close()
    if standing is not None and kind not in (standing.kind, None):
        raise InputError("pool", pool, f"must be a pool of {kind}, as the file's outcomes are; it is one of {standing.kind}")


# what people see


def _shown(settings: Settings, log: Log, path: Path, pool: str, options: FileOptions, again: bool, console: Console) -> Replayed:
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(f"{path.name}: checking", total=None)
        done = replay_file(
            settings,
            log,
            path,
            pool,
            options,
            again=again,
            checked=lambda found: bar.update(task, completed=found),
            tell=lambda sent, total: bar.update(task, description=path.name, completed=sent, total=total),
        )
        bar.update(task, description=path.name, completed=done.before + done.sent, total=done.before + done.sent)
    for line in report(done):
        console.print(line, highlight=False, markup=False)
    return done


def report(done: Replayed) -> list[str]:
    """Where every row of the file went, in lines for people."""
    lines = [f"{done.path.name}: {done.rows} rows, {done.sent} outcomes sent, {done.before} sent before"]
    lines += [f"  {count} rows left out: {why}" for why, count in sorted(done.skipped.items())]
    lines += [f"  {count} refused: {reason}" for reason, count in sorted(done.refused.items())]
    lines += [f"    line {one.line}: {one.path} {one.rule}" for one in done.first[:_SHOWN]]
    return lines


def _wait(settings: Settings, identity: str, pool: str, last: Replayed, console: Console) -> None:
    """identity: of the log that was written to; what the store still shows of another one is not waited for."""
    if not last.position:
        return
    try:
        store = open_store(settings, identity)
        store.ping()
    except StoreError:
        console.print("the engine does not run here: the outcomes are in the log, it will fold them when it starts", highlight=False)
        return
    with console.status("waiting until readers see them"):
        head = await_position(store, pool, last.position)
    console.print(f"{pool}: {head.outcomes} outcomes of {head.agents} agents, {head.duplicates} duplicates dropped", highlight=False)


def await_position(
    store: StoreReader, pool: str, position: int, stuck_seconds: float = _STUCK_SECONDS, clock: Callable[[], float] = time.monotonic
) -> PoolHead:
    """The pool's head once it has reached `position`.

    Raises `TimeoutError` when it did not move for `stuck_seconds`, `InputError` when the pool is stopped.
    """
    seen, moved = -1, clock()
    while True:
        head = store.head(pool)
        if head is not None and head.position >= position:
            return head
        if head is not None and head.stopped is not None:
            raise InputError("pool", pool, f"must not be stopped; it is, at position {head.position}: {head.stopped}")
        if head is not None and head.position > seen:
            seen, moved = head.position, clock()
        if clock() - moved > stuck_seconds:
            msg = f"pool {pool} stands at position {max(seen, 0)} for {stuck_seconds:g} s and should reach {position}: does the engine run?"
            raise TimeoutError(msg)
        time.sleep(_LOOK_SECONDS)

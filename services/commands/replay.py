"""`equirank replay`: outcome files into the log, resumable, and a wait until readers see them.

Delivery: at least once into the log; ids are hashes of the rows, so outcomes sent again are duplicates and change nothing.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ratings_core.errors import InputError
from ratings_core.formats import FileKind
from ratings_core.formats.results import Unplayed, seconds
from services import events
from services.commands import journal
from services.commands.journal import Journal
from services.connect import open_log, open_store
from services.control import ControlLog
from services.events import Event
from services.files import EventFile, Refused, read_events
from services.log.partition import partition_of
from services.log.protocol import Log
from services.pools import FoldSettings, Kind, PoolCreated, check_pool_name
from services.settings import Settings
from services.store.protocol import PoolHead, StoreError, StoreReader

_CHUNK: Final = 5_000
"""Outcomes between two notes in the journal."""
_STUCK_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1
_JOURNALS: Final = "replay"
_SHOWN: Final = 5

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one file. sent: outcomes appended now; before: those an earlier replay had sent; position: the pool's partition
    holds all of them below it; the rest is as in `EventFile`.
    """

    path: Path
    rows: int
    sent: int
    before: int
    unplayed: int
    refused: tuple[Refused, ...]
    partition: int
    position: int


def replay(
    files: Annotated[list[Path], typer.Argument(help="Results, battles, scores or outcomes, sent in this order.")],
    pool: Annotated[str, typer.Option(help="Pool they go to; created where there is none.")],
    kind: Annotated[FileKind | None, typer.Option(help="Kind of the files, where its guess is wrong.")] = None,
    unplayed: Annotated[Unplayed, typer.Option(help="Results without scores: leave out (and count) or refuse the file.")] = "skip",
    at: Annotated[str | None, typer.Option("--time", help="Time of all outcomes: a date, an ISO time or seconds since 1970.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Send files that were sent before; their outcomes are duplicates.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until readers see the outcomes.")] = True,
    data: Annotated[Path | None, typer.Option(help="Data folder (EQUIRANK_DATA).")] = None,
) -> None:
    """Put files of outcomes into the log of the installation; what was sent before is not sent again."""
    settings = Settings(data=data) if data else Settings()
    moment = None if at is None else seconds(at, 1, "--time")
    console = Console(soft_wrap=True)
    log = open_log(settings)
    try:
        done = [_shown(settings, log, path, pool, kind, unplayed, moment, again, console) for path in files]
    finally:
        log.close()
    if wait and done:
        _wait(settings, pool, max(done, key=lambda one: one.position), console)


def replay_file(
    settings: Settings,
    log: Log,
    path: Path,
    pool: str,
    *,
    kind: FileKind | None = None,
    unplayed: Unplayed = "skip",
    moment: float | None = None,
    again: bool = False,
    tell: Tell | None = None,
) -> Replayed:
    """Send one file. tell: called with (outcomes in the log, outcomes of the file) after each acknowledged chunk.

    Raises `InputError` before anything is sent where the file is not of its kind or the pool is of another one, and `LogError`.
    """
    check_pool_name(pool)
    file = read_events(path, pool, now=time.time(), kind=kind, unplayed=unplayed, time=moment)
    accepted, refused = _checked(file)
    partition = partition_of(pool, log.outcomes.partitions)
    note = Journal.of(settings.data / _JOURNALS, log.outcomes.identity, pool, file.kind, unplayed, str(moment), _content(path))
    noted = None if again else note.read()
    before = min(noted.sent, len(accepted)) if noted else 0
    position = noted.position if noted else 0
    if accepted:
        _ensure_pool(settings, log, pool, file.pool_kind)
    for sent, position in _send(log, pool, partition, accepted, before):
        note.write(journal.Progress(sent, len(accepted), position))
        if tell is not None:
            tell(sent, len(accepted))
    return Replayed(path, file.rows, len(accepted) - before, before, file.unplayed, (*file.refused, *refused), partition, position)


def _send(log: Log, pool: str, partition: int, accepted: Sequence[Event], start: int) -> Iterator[tuple[int, int]]:
    """(outcomes sent, position after them) after each chunk that the log acknowledged."""
    for first in range(start, len(accepted), _CHUNK):
        chunk = accepted[first : first + _CHUNK]
        offsets = log.outcomes.append(partition, [(pool.encode(), record) for record in events.encode_records(chunk)])
        yield first + len(chunk), offsets[-1] + 1


def _checked(file: EventFile) -> tuple[list[Event], list[Refused]]:
    """What the log's readers will take of a file's events, judged by the decoder that they use."""
    accepted: list[Event] = []
    refused: list[Refused] = []
    for first in range(0, len(file.events), _CHUNK):
        chunk = file.events[first : first + _CHUNK]
        found = events.decode([events.encode([event]) for event in chunk])
        accepted += found.events
        refused += [Refused(file.lines[first + one.record], one.reason, one.path, one.rule) for one in found.refusals]
    return accepted, refused


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


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# what people see


def _shown(
    settings: Settings,
    log: Log,
    path: Path,
    pool: str,
    kind: FileKind | None,
    unplayed: Unplayed,
    moment: float | None,
    again: bool,
    console: Console,
) -> Replayed:
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(path.name, total=None)
        done = replay_file(
            settings,
            log,
            path,
            pool,
            kind=kind,
            unplayed=unplayed,
            moment=moment,
            again=again,
            tell=lambda sent, total: bar.update(task, completed=sent, total=total),
        )
        bar.update(task, completed=done.before + done.sent, total=done.before + done.sent)
    for line in report(done):
        console.print(line, highlight=False, markup=False)
    return done


def report(done: Replayed) -> list[str]:
    """Where every row of the file went, in lines for people."""
    lines = [f"{done.path.name}: {done.rows} rows, {done.sent} outcomes sent, {done.before} sent before"]
    if done.unplayed:
        lines.append(f"  {done.unplayed} rows left out: no result (unplayed)")
    for reason, count in sorted(Counter(one.reason for one in done.refused).items()):
        lines.append(f"  {count} refused: {reason}")
    lines += [f"    line {one.line}: {one.path} {one.rule}" for one in done.refused[:_SHOWN]]
    return lines


def _wait(settings: Settings, pool: str, last: Replayed, console: Console) -> None:
    if not last.position:
        return
    try:
        store = open_store(settings)
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

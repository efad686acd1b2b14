"""`equirank replay`: send outcome files to the log, resumable, and wait until readers see them.

Delivery: at least once into the log. Ids are hashes of the rows, so outcomes that are sent again are duplicates and change nothing.
"""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ratings_core.formats import FileKind, RowRules
from ratings_core.formats.features import Feature
from ratings_core.formats.results import Unplayed
from ratings_core.records.times import seconds
from services.backends import open_log
from services.boards.store.protocol import PoolHead
from services.boards.waiting import await_position
from services.cli.installation import Data, reached, settings_of
from services.cli.options import Columns, Delimiter, file_options
from services.imports.files import FileOptions
from services.imports.replay import Replayed, replay_file
from services.log.protocol import Log
from services.runtime.memory import set_up_memory
from services.runtime.settings import Settings

_SHOWN: Final = 5


ReplayedKind: TypeAlias = Literal["scores", "battles", "results", "pgn", "contests", "outcomes"]
"""Kinds of files that hold outcomes. Files of margins and profiles hold only counts."""


def replay(
    files: Annotated[
        list[Path], typer.Argument(help="Files of results, battles, chess games, contests, scores or outcomes, in this order.")
    ],
    pool: Annotated[str, typer.Option(help="Pool of the outcomes. It is created if it does not exist.")],
    kind: Annotated[ReplayedKind | None, typer.Option("--kind", "--input", help="Kind of the files. By default it is detected.")] = None,
    unplayed: Annotated[Unplayed, typer.Option(help="Results without scores: skip and count them, or refuse the file.")] = "skip",
    at: Annotated[str | None, typer.Option("--time", help="Time of all outcomes: a date, an ISO time or seconds since 1970.")] = None,
    column: Columns = None,
    delimiter: Delimiter = ",",
    feature: Annotated[
        list[str] | None,
        typer.Option(help="Feature of results or battles to send in `meta`: COLUMN, A:B or A~B. A pool keeps it by this name."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Send files again that were sent before. Their outcomes are duplicates.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until readers see the outcomes.")] = True,
    data: Data = None,
) -> None:
    """Send files of outcomes to the log of the installation. Outcomes that were sent before are not sent again.

    Each file is read twice, row by row: first to check and count it, then to send it. So a file can be larger than memory, and a file that
    is refused because of a row sends nothing. In files of the wire schema, outcomes are refused individually: all others are sent, and the
    exit status is 1.
    """
    set_up_memory()
    settings = settings_of(data)
    rules = RowRules(features=tuple(Feature.parsed(text) for text in feature or []))
    of_all = None if at is None else seconds(at, "--time")
    options = file_options(FileKind(kind) if kind else None, unplayed, column, delimiter, of_all, rules)
    console = Console(soft_wrap=True)
    with closing(open_log(settings)) as log:
        done = [_shown(settings, log, path, pool, options, again, console) for path in files]
        identity = log.outcomes.identity
    if wait and done:
        _wait(settings, identity, pool, max(done, key=lambda one: one.position), console)
    if any(one.account.refused for one in done):
        raise typer.Exit(1)


# what people see


def _shown(settings: Settings, log: Log, path: Path, pool: str, options: FileOptions, again: bool, console: Console) -> Replayed:
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(f"{path.name}: checking", total=None)

        def tell(count: int, total: int | None) -> None:
            bar.update(task, description=None if total is None else path.name, completed=count, total=total)

        done = replay_file(settings, log, path, pool, options, again=again, tell=tell)
        bar.update(task, description=path.name, completed=done.before + done.sent, total=done.before + done.sent)
    for line in report(done):
        console.print(line, highlight=False, markup=False)
    return done


def report(done: Replayed) -> list[str]:
    """Lines for people about the rows of a file: sent, sent before, left out or refused."""
    lines = [f"{done.path.name}: {done.account.rows} rows, {done.sent} outcomes sent, {done.before} sent before"]
    lines += [f"  {count} rows left out: {why}" for why, count in sorted(done.account.skipped.items())]
    lines += [f"  {count} refused: {reason}" for reason, count in sorted(done.account.refused.items())]
    lines += [f"    line {one.line}: {one.path} {one.rule}" for one in done.account.first[:_SHOWN]]
    return lines


def _wait(settings: Settings, identity: str, pool: str, last: Replayed, console: Console) -> None:
    """Wait until readers see the sent outcomes. identity: Identity of the log; boards of other logs in the store are ignored."""
    if not last.position:
        return
    with reached(settings, identity) as store:
        if store is None:
            console.print("the engine is not running: the outcomes are in the log, and it will fold them when it starts", highlight=False)
            return
        with console.status("waiting until readers see the outcomes"):
            head = await_position(store.live, pool, last.position)
    console.print(standing(head), highlight=False)


def standing(head: PoolHead) -> str:
    """Sentence on what a pool counts and drops. It names conflicts if there are any, because such outcomes do not count."""
    counted = f"{head.pool}: {head.outcomes} outcomes of {head.agents} agents, {head.duplicates} duplicates dropped"
    return f"{counted}, {head.conflicts} ids repeated with other content, which does not count" if head.conflicts else counted

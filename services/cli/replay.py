"""`equirank replay`: send outcome files to the log, resumable, and wait until readers see them.

Delivery: at least once into the log. Ids are hashes of the rows, so outcomes that are sent again are duplicates and change nothing.
"""

import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.front.load import described
from ratings_core.records.times import seconds
from ratings_core.words import counted
from services.backends import open_log
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.waiting import await_position
from services.cli.installation import Data, reached, settings_of
from services.cli.options import (
    BadRowsOption,
    Columns,
    DecimalOption,
    Delimiter,
    Features,
    Sort,
    Tags,
    TimeFormat,
    Trim,
    UnplayedOption,
    Values,
    Where,
    read_options,
)
from services.imports.replay import Replayed, Sending, replay_file
from services.log.protocol import Log
from services.runtime.memory import set_up_memory
from services.runtime.settings import Settings

_SHOWN: Final = 5
_BECAME: Final = {
    "outcomes": "new",
    "duplicates": "already counted",
    "conflicts": "repeat a counted id with another content and do not count",
    "refused": "refused (`equirank dead-letters list` says why)",
    "left_out": "left out by retractions, bans or aliases",
    "retractions": "retractions",
}
"""Counter of a pool -> what became of the outcomes that it counts. Each outcome is in one of them."""

ReplayedKind: TypeAlias = Literal["games", "pgn", "contests", "scores", "outcomes"]
"""Kinds of files that hold outcomes. Files of margins and profiles hold only counts."""


def replay(
    files: Annotated[list[Path], typer.Argument(help="Files of games, chess games, contests, scores or outcomes, in this order.")],
    pool: Annotated[str, typer.Option(help="Pool of the outcomes. It is created if it does not exist.")],
    kind: Annotated[ReplayedKind | None, typer.Option("--kind", "--input", help="Kind of the files. By default it is detected.")] = None,
    unplayed: UnplayedOption = "skip",
    at: Annotated[str | None, typer.Option("--time", help="Time of all outcomes: a date, an ISO time or seconds since 1970.")] = None,
    column: Columns = None,
    value: Values = None,
    delimiter: Delimiter = None,
    bad_rows: BadRowsOption = "refuse",
    trim: Trim = False,
    where: Where = None,
    time_format: TimeFormat = None,
    decimal: DecimalOption = None,
    sort: Sort = False,
    feature: Features = None,
    tag: Tags = None,
    again: Annotated[bool, typer.Option("--again", help="Send files again that were sent before. Their outcomes are duplicates.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until readers see the outcomes.")] = True,
    data: Data = None,
) -> None:
    """Send files of outcomes to the log of the installation. Outcomes that were sent before are not sent again.

    A file with a bad row sends nothing, unless --bad-rows skip leaves these rows out. The files after it are sent, and the exit status is
    1. In files of the wire schema, outcomes are refused individually: all others are sent, and the exit status is 1. --feature sends the
    features in `meta`; a pool keeps them by their names.
    """
    set_up_memory()
    settings = settings_of(data)
    options = read_options(
        FileKind(kind) if kind else None, unplayed=unplayed, columns=column, values=value, delimiter=delimiter, trim=trim, where=where,
        features=feature, tags=tag, time_format=time_format, decimal=decimal,
    )  # fmt: skip
    sending = Sending(pool, options, None if at is None else seconds(at, "--time"), bad_rows, again=again, by_time=sort)
    console = Console(soft_wrap=True)
    with closing(open_log(settings)) as log:
        identity = log.outcomes.identity
        before = _head(settings, identity, pool) if wait else None
        done = [_send_and_report(settings, log, path, sending, console) for path in files]
    sent = [replayed for replayed in done if replayed is not None]
    if wait and sent:
        head = _wait(settings, identity, pool, max(replayed.position for replayed in sent), console)
        if head is not None:
            console.print(standing(head, sum(replayed.sent for replayed in sent), before), highlight=False, markup=False)
    if len(sent) < len(done) or any(replayed.counts.bad and bad_rows == "refuse" for replayed in sent):
        raise typer.Exit(1)


# what people see


def _send_and_report(settings: Settings, log: Log, path: Path, sending: Sending, console: Console) -> Replayed | None:
    """Send a file and print what became of its rows. Returns None, and prints why, if the file is refused."""
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(f"{path.name}: checking", total=None)

        def tell(count: int, total: int | None) -> None:
            bar.update(task, description=None if total is None else path.name, completed=count, total=total)

        try:
            done = replay_file(settings, log, path, sending, tell=tell)
        except InputError as error:
            text = " ".join(str(error).split())
            sys.stderr.write(f"equirank: {'' if text.startswith(path.name) else f'{path.name}: '}{text}\n")
            return None
        bar.update(task, description=path.name, completed=done.before + done.sent, total=done.before + done.sent)
    for line in report(done):
        console.print(line, highlight=False, markup=False)
    return done


def report(done: Replayed) -> list[str]:
    """Lines for people about the rows of a file: sent, sent by an earlier replay, left out or refused."""
    counts = done.counts
    lines = [f"{done.path.name}: {counted(counts.rows, 'row')}, {_sent(done)}"]
    lines += [f"  rows left out: {count}, {why}" for why, count in sorted(counts.left_out.items())]
    lines += [f"  column {column}: {use}" for column, use in counts.remarks.items()]
    lines += [f"  {counts.bad} bad rows"] if counts.bad else []
    lines += [f"    {described(error)}" for error in counts.first[:_SHOWN]]
    return lines


def _sent(done: Replayed) -> str:
    if done.before and not done.sent:
        return f"nothing sent: an earlier replay of this file sent its {counted(done.before, 'outcome')} (--again sends them again)"
    earlier = f", {done.before} others were sent by an earlier replay of this file" if done.before else ""
    return f"{counted(done.sent, 'outcome')} sent{earlier}"


def _head(settings: Settings, identity: str, pool: str) -> PoolHead | None:
    """The head of a pool in the store. None without a head or without an answer, because outcomes are sent without a store, too."""
    with suppress(StoreError), reached(settings, identity) as store:
        return None if store is None else store.live.head(pool)
    return None


def _wait(settings: Settings, identity: str, pool: str, position: int, console: Console) -> PoolHead | None:
    """Wait until readers see the outcomes below `position`, and return the head. None, with a line that says why, without an engine.

    identity: Identity of the log; boards of other logs in the store are ignored.
    """
    if not position:
        return None
    with reached(settings, identity) as store:
        if store is None:
            console.print("the engine is not running: the outcomes are in the log, and it will fold them when it starts", highlight=False)
            return None
        with console.status("waiting until readers see the outcomes"):
            return await_position(store.live, pool, position)


def standing(head: PoolHead, sent: int, before: PoolHead | None) -> str:
    """Sentence on what became of the outcomes that were sent, and on what the pool counts now.

    If others sent outcomes at the same time, or a new generation began to serve, what became of these ones is not known. Then the numbers
    are those of the pool.

    Args:
        head: Head of the pool after the outcomes.
        sent: Number of outcomes that were sent.
        before: Head of the pool before the first of them; None if the pool had none.
    """
    numbers = {name: getattr(head, name) - (0 if before is None else getattr(before, name)) for name in _BECAME}
    exact = (before is None or before.generation == head.generation) and sum(numbers.values()) == sent
    if not exact:
        numbers = {name: getattr(head, name) for name in _BECAME if name != "outcomes"}
    parts = ", ".join(f"{number} {_BECAME[name]}" for name, number in numbers.items() if number or (name == "outcomes" and sent))
    now = f"{counted(head.outcomes, 'outcome')} of {counted(head.agents, 'agent')}"
    if exact:
        return f"{head.pool}: {f'{parts}; ' if parts else ''}the pool counts {now}"
    return f"{head.pool} counts {now}{f'; since its generation began: {parts}' if parts else ''}"

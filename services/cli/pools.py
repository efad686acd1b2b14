"""`equirank pools`: list pools, and show or change how a pool is folded."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
import typer
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ratings_core.errors import InputError
from ratings_core.words import counted
from services.admin import bans
from services.admin.log_coverage import check_wish, placed_wish
from services.backends import open_store
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import PoolHead, StoreError
from services.cli import confirm
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import Data, reached, settings_of
from services.cli.logs import opened
from services.cli.pool_settings import KEYS, PoolSettings, changed, difference, edits, present, rows
from services.cli.top import Format
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, GenerationRequest, LeadingMethod
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.registry.choice import leading_of
from services.wire.pools import Kind

pools = typer.Typer(help="List pools, and show or change how they are folded.", no_args_is_help=True, add_completion=False)

Pool: TypeAlias = Annotated[str, typer.Argument(help="Name of the pool.")]
Agents: TypeAlias = Annotated[list[str], typer.Argument(help="Names of agents.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask, also if a change of bans looks like a mistake.")]
_Wait = Annotated[bool, typer.Option(help="Wait until readers see the new generation.")]
_MOST_ROWS: Final = 20
_LOOK_SECONDS: Final = 0.2
_STUCK_SECONDS: Final = 60.0


@pools.command("list")
def list_(data: Data = None) -> None:
    """List all pools with the generation that readers see and the generation under construction."""
    settings, console = settings_of(data), Console(soft_wrap=True)
    with opened(settings) as (log, control):
        state = control.refresh()
        heads = _heads(settings, log.outcomes.identity, console)
    numbers_of = [whole(name, right=True) for name in ("generation", "outcomes", "left out")]
    table = FittedTable(folded("pool"), whole("kind"), *numbers_of, folded("state"), least=("left out", "kind"))
    for pool, created in sorted(state.pools.items()):
        head, waiting = (heads or {}).get(pool), state.wish(pool)
        numbers = ("-", "-", "-") if head is None else (str(head.generation), str(head.outcomes), str(head.left_out))
        if heads is None:
            status = "unknown" if waiting is None else "new settings wait for the engine"
        else:
            status = _state(head, None if waiting is None else waiting[1])
        table.add_row(pool, str(created.kind), *numbers, status)
    console.print(table)


@pools.command("settings")
def settings_(
    pool: Pool,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="key=value, such as per_task=true, online.elo.k=20, start=now or bans=@FILE.csv. Empty: the default. Repeatable."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="JSON or TOML file with the keys to change. --format json prints one with all keys.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check and show what would change.")] = False,
    yes: Yes = False,
    wait: _Wait = True,
    data: Data = None,
    format: Annotated[Format, typer.Option(help="Output format of the settings: table, or json for --file.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Show or change how a pool is folded. A change folds the pool again from the log, then all its live boards switch at once.

    Each solved board follows with its next solve. A change of leading_method, the method that pages show first, folds nothing.

    The changes are shown first. On a terminal, they wait for a confirmation; elsewhere they are applied at once.
    """
    if assignments or file is not None:
        _edit(pool, data, lambda now, kind: changed(now, kind, file, assignments or []), dry_run=dry_run, yes=yes, wait=wait)
        return
    with opened(settings_of(data)) as (_, control):
        shown, kind = _present(control, pool), control.known().pools[pool].kind
    if format == "json":
        typer.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
    else:
        _show(pool, kind, shown)


@pools.command("ban")
def ban(pool: Pool, agents: Agents, yes: Yes = False, wait: _Wait = True, data: Data = None) -> None:
    """Ban agents in addition to the banned ones: their games no longer count, and their scores are left out."""
    _edit(pool, data, lambda now, _: replace(now, bans=tuple(sorted(bans.changed(now.bans, agents, ())))), yes=yes, wait=wait)


@pools.command("unban")
def unban(pool: Pool, agents: Agents, yes: Yes = False, wait: _Wait = True, data: Data = None) -> None:
    """End bans of agents: their games count again."""
    _edit(pool, data, lambda now, _: replace(now, bans=tuple(bans.changed(now.bans, (), agents))), unban=agents, yes=yes, wait=wait)


@pools.command("resume")
def resume(pool: Pool, wait: _Wait = True, data: Data = None) -> None:
    """Fold a stopped pool again with its settings. First retract the outcomes at which it stops."""
    settings = settings_of(data)
    with opened(settings) as (log, control):
        ask(settings, log, control, generations.wish(control.standing(pool), time=time.time()), wait=wait)


# from changed settings to a wish


def _present(control: ControlLog, pool: str) -> PoolSettings:
    """The settings of a pool by the newest control log."""
    standing = control.standing(pool)
    state = control.known()
    return present(standing, state.pools[pool].kind, state.leading.get(pool, ""))


def _edit(
    pool: str,
    data: Path | None,
    change: Callable[[PoolSettings, Kind], PoolSettings],
    *,
    unban: Sequence[str] = (),
    dry_run: bool = False,
    yes: bool,
    wait: bool,
) -> None:
    """Show what a change of a pool's settings changes, and request a generation with it, if it needs one.

    unban: Agents whose bans end on purpose.
    """
    settings, console = settings_of(data), Console(soft_wrap=True)
    with opened(settings) as (log, control):
        standing_, before = control.standing(pool), _present(control, pool)
        after = change(before, control.known().pools[pool].kind)
        if after == before:
            console.print(f"nothing changes: {pool} has these settings", highlight=False)
            return
        new = edits(standing_.fold, before, after)
        leading = _leading(control, pool, before, after, new.get("fold", standing_.fold))
        wanted = _checked_wish(log, control, generations.wish(standing_, time=time.time(), **new)) if new else None
        for line in difference(before, after):
            console.print(line, highlight=False, markup=False)
        doubtful = "" if wanted is None else _doubts(settings, log.outcomes.identity, standing_, wanted, unban)
        if dry_run or not (wanted is None or _confirmed(console, wanted, doubtful, yes=yes)):
            console.print("nothing was changed", highlight=False)
            raise typer.Exit(0 if dry_run else 1)
        if _present(control, pool) != before:
            raise InputError("pool", pool, "must have the settings that were shown, but they changed meanwhile: repeat the command")
        if leading is not None:
            control.append(leading)
        if wanted is not None:
            ask(settings, log, control, wanted, wait=wait)


def _leading(control: ControlLog, pool: str, before: PoolSettings, after: PoolSettings, fold: FoldSettings) -> LeadingMethod | None:
    """The record of the method that pages show first; None if it stays. Raises `InputError` if the pool does not have the method."""
    if after.leading_method == before.leading_method:
        return None
    return leading_of(control.known(), pool, after.leading_method, time.time(), fold)


def _checked_wish(log: Log, control: ControlLog, wanted: GenerationRequest) -> GenerationRequest:
    """The request. Raises `InputError` if its generation could not run."""
    state = control.refresh()
    generations.check(state.pools[wanted.pool].kind, wanted.fold, wanted.initial, wanted.aliases, wanted.bans)
    check_wish(wanted, state, log.history)
    return wanted


def _doubts(
    settings: Settings, identity: str, standing: Generation | GenerationRequest, wanted: GenerationRequest, unban: Sequence[str]
) -> str:
    """Describe changes of bans that are probably a mistake; an empty text if there are none."""
    if wanted.bans == standing.bans:
        return ""
    with reached(settings, identity) as store:
        return " and ".join(bans.doubts(None if store is None else store.live, standing.pool, standing.bans, wanted.bans, unban))


def _confirmed(console: Console, wanted: GenerationRequest, doubtful: str, *, yes: bool) -> bool:
    """Whether a change is confirmed. Without a terminal, only a doubtful change needs --yes; `InputError` is raised if it is missing."""
    if doubtful and not yes:
        if not confirm.on_terminal():
            raise InputError("bans", list(wanted.bans), f"must be confirmed with --yes, because {doubtful} (nothing was changed)")
        console.print(f"this may be a mistake: {doubtful}", highlight=False, markup=False)
    return confirm.confirmed(f"Fold {wanted.pool} again with these settings?", yes=yes)


# what people see


def _show(pool: str, kind: Kind, settings: PoolSettings) -> None:
    table = FittedTable(folded("setting"), folded("value"), title=f"{pool} ({kind.value})")
    for key in KEYS:
        values = rows(settings, key)
        if len(values) > _MOST_ROWS:
            values = {key: f"{len(values)} entries (all of them: --format json)"}
        for path, value in values.items():
            table.add_row(path, value)
    Console().print(table)


def ask(settings: Settings, log: Log, control: ControlLog, wanted: GenerationRequest, *, wait: bool, begins_season: bool = False) -> None:
    """Request a generation, and report its progress until it serves readers. begins_season: as of `ControlLog.want`."""
    wanted = placed_wish(wanted, control.refresh(), log.history)
    wish, console = control.want(wanted, begins_season=begins_season), Console(soft_wrap=True)
    with reached(settings, log.outcomes.identity) as store:
        if store is None:
            console.print("the engine is not running: it will fold the pool with these settings when it starts", highlight=False)
        else:
            end = log.outcomes.end(partition_of(wanted.pool, log.outcomes.partitions))
            _follow(console, control, store.live, wanted.pool, wish, end, wait=wait)


def _follow(console: Console, control: ControlLog, boards: LiveBoards, pool: str, wish: int, end: int, *, wait: bool) -> None:
    """Report the progress of a request. end: end of the log of the pool's partition. A later start is not waited for."""
    if control.refresh().newest(pool) is None:
        console.print(f"{pool} has no outcomes yet: the settings apply from its first outcome on", highlight=False)
        return
    waiting, before = control.refresh().wish(pool), boards.head(pool)
    if waiting is not None and before is not None and not generations.is_reached(waiting[1], end):
        begins = waiting[1].start
        console.print(f"{pool} is at position {before.position}: the settings apply from position {begins} on", highlight=False)
        return
    if not wait:
        console.print(f"{pool} is being folded again; `equirank pools list` shows the progress", highlight=False)
        return
    with Progress(TextColumn("{task.description}"), BarColumn(), console=console) as bar:
        task = bar.add_task(f"{pool} is being folded again", total=1.0)
        head = await_generation(control, boards, pool, wish, lambda part: bar.update(task, completed=part))
        bar.update(task, completed=1.0)
    console.print(served(head, before), highlight=False)


def served(head: PoolHead, before: PoolHead | None) -> str:
    """Sentence on what a new generation counts. before: Head of the pool before the request; None if the store had none."""
    if before is not None and before.season != head.season:
        seasons = f"final boards of ended seasons: `equirank seasons list {head.pool}`"
        return f"{head.pool}: season {head.season} began, and generation {head.generation} serves; {seasons}"
    line = f"{head.pool}: generation {head.generation} serves and counts {counted(head.outcomes, 'outcome')}"
    if before is not None:
        more = head.outcomes - before.outcomes
        line += f", {more} more than before" if more > 0 else f", {-more} fewer than before" if more < 0 else ", as many as before"
    if head.left_out:  # counts each sending, so that the number of bans or retractions does not explain it
        line += f"; left out by retractions, bans or aliases: {head.left_out}, where an outcome counts as often as it was sent"
    return line


def await_generation(
    control: ControlLog,
    boards: LiveBoards,
    pool: str,
    wish: int,
    tell: Callable[[float], None],
    clock: Callable[[], float] = time.monotonic,
) -> PoolHead:
    """Wait until readers see a generation that fulfils a request, and return the pool's head.

    Args:
        control: The control log.
        boards: The live boards in the store.
        pool: Name of the pool.
        wish: Offset of the request in the control log.
        tell: Called with the progress of the build, from 0 to 1.
        clock: Timer in seconds.

    Raises:
        InputError: The generation cannot be folded, or its season was withdrawn.
        TimeoutError: Neither the progress nor the head changed for a minute. A running shard writes the head every few seconds, also
            during a long build.
    """
    moved, seen = clock(), (-1, -1.0, 0.0)
    while True:
        head, made = boards.head(pool), control.refresh().generations.get(pool, {})
        fulfilling = [number for number, generation in made.items() if generation.wanted >= wish]
        if head is not None and head.generation in fulfilling:
            return head
        if not fulfilling and control.known().wish(pool) is None:  # a withdrawal keeps the changes of settings that it finds
            raise InputError("pool", pool, "must begin the season, but its request was withdrawn")
        building = head.building if head is not None else None
        if building is not None and building.generation in fulfilling and building.failed is not None:
            raise InputError(
                "pool", pool, f"must be foldable with these settings, but folding failed ({building.failed}); the previous settings stay"
            )
        progress = (len(made), building.progress if building is not None else -1.0, head.published_at if head is not None else 0.0)
        tell(max(0.0, progress[1]))
        if progress != seen:
            seen, moved = progress, clock()
        if clock() - moved > _STUCK_SECONDS:
            msg = f"no progress of pool {pool} for {_STUCK_SECONDS:g} s: check that the engine runs; the request stays in the log"
            raise TimeoutError(msg)
        time.sleep(_LOOK_SECONDS)


def _heads(settings: Settings, identity: str, console: Console) -> dict[str, PoolHead] | None:
    """Pool -> its head in the store. If the store does not answer, prints the reason and returns None."""
    try:
        with closing(open_store(settings, identity)) as store:
            return {head.pool: head for head in store.live.pools()}
    except StoreError as error:
        console.print(f"only names and kinds are shown, because the store does not answer: {error}", highlight=False, markup=False)
        return None


def _state(head: PoolHead | None, wished: GenerationRequest | None) -> str:
    if head is None:
        return "no outcomes yet" if wished is None else "new settings wait for its first outcome"
    if head.building is not None and head.building.failed is not None:
        return f"generation {head.building.generation} failed: {head.building.failed}"
    if head.building is not None:
        return f"generation {head.building.generation} is at {head.building.progress:.0%}"
    if head.stopped is not None:
        return f"stopped at {head.position}: {head.stopped}"
    if head.pending:
        return f"{head.pending} retractions wait"
    if wished is not None and not generations.is_reached(wished, head.position):
        return f"new settings wait for position {wished.start}; the pool is at {head.position}"
    if wished is not None:
        return "new settings wait for the engine"
    counts = (
        ("ids were repeated with other content, which does not count", head.conflicts),
        ("retracted ids have no outcome", head.unmatched),
    )
    return "; ".join(["live", *(f"{what}: {count}" for what, count in counts if count)])

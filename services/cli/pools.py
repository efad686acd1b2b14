"""`equirank pools`: list pools, and show or change how a pool is folded."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column, Table
from rich.text import Text

from ratings_core.errors import InputError
from services.admin import bans
from services.admin.log_coverage import check_wish
from services.backends import open_store
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import PoolHead, StoreError
from services.cli.edits import read_aliases, read_bans, read_initial
from services.cli.installation import Data, reached, settings_of
from services.cli.logs import opened
from services.cli.top import Format
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, GenerationRequest, Start
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire.pools import Kind

pools = typer.Typer(help="List pools, and show or change how they are folded.", no_args_is_help=True, add_completion=False)

_Wait = Annotated[bool, typer.Option(help="Wait until readers see the new generation.")]
_LOOK_SECONDS: Final = 0.2
_STUCK_SECONDS: Final = 60.0


class Edit(StrEnum):
    """Lists that a pool may have in addition to its settings."""

    ALIASES = "aliases"
    BANS = "bans"
    INITIAL = "initial"


@pools.command("list")
def list_(data: Data = None) -> None:
    """List all pools with the generation that readers see and the generation under construction."""
    settings, console = settings_of(data), Console(soft_wrap=True)
    with opened(settings) as (log, control):
        state = control.refresh()
        heads = _heads(settings, log.outcomes.identity, console)
    table = Table(Column("pool", overflow="fold"), "kind", "generation", "outcomes", "left out", "state")
    for pool, created in sorted(state.pools.items()):
        head, waiting = (heads or {}).get(pool), state.wish(pool)
        numbers = ("-", "-", "-") if head is None else (str(head.generation), str(head.outcomes), str(head.left_out))
        if heads is None:
            told = "unknown" if waiting is None else "new settings wait for the engine"
        else:
            told = _state(head, None if waiting is None else waiting[1])
        table.add_row(pool, str(created.kind), *numbers, Text(told))
    console.print(table)


@pools.command("settings")
def settings_(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    method: Annotated[list[str] | None, typer.Option(help="An online method, in place of the present ones. Repeatable.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="Parameter of an online method, such as elo.k=20. Repeatable.")] = None,
    per_task: Annotated[bool | None, typer.Option(help="Keep pair tallies per task, too.")] = None,
    clustered: Annotated[
        bool | None, typer.Option(help="Keep pair tallies of random groups of games, for intervals of multi-sided games.")
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A number in the `meta` of games to keep as a feature, or first-side. Repeatable. An empty value: no features."),
    ] = None,
    feature_window: Annotated[
        int | None, typer.Option(min=1, help="Largest number of games whose features are kept; the newest ones.")
    ] = None,
    bucket_seconds: Annotated[int | None, typer.Option(min=0, help="Width of a time bucket in seconds; 0 for a single bucket.")] = None,
    buckets_kept: Annotated[int | None, typer.Option(min=0, help="Number of newest buckets to keep; 0 for all.")] = None,
    dedupe_window: Annotated[int | None, typer.Option(min=1, help="Number of outcome ids remembered to find duplicates.")] = None,
    max_agents: Annotated[int | None, typer.Option(min=2, help="Largest number of agents.")] = None,
    max_tasks: Annotated[int | None, typer.Option(min=1, help="Largest number of tasks.")] = None,
    aliases: Annotated[
        Path | None, typer.Option(help="CSV file with columns alias,agent: outcomes of the alias count for the agent.")
    ] = None,
    bans_file: Annotated[
        Path | None, typer.Option("--bans", help="CSV file with column agent: all agents whose games do not count.")
    ] = None,
    ban: Annotated[list[str] | None, typer.Option(help="An agent whose games no longer count. Repeatable.")] = None,
    unban: Annotated[list[str] | None, typer.Option(help="An agent whose games count again. Repeatable.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm changes of bans that look like a mistake and are refused otherwise.")] = False,
    initial: Annotated[Path | None, typer.Option(help="CSV file with columns agent,elo,...: initial ratings.")] = None,
    clear: Annotated[list[Edit] | None, typer.Option(help="Remove all aliases, bans or initial ratings. Repeatable.")] = None,
    start: Annotated[
        str | None, typer.Option(help="Start: same (keep), now (new season), or a log position; waits until it is reached.")
    ] = None,
    wait: _Wait = True,
    data: Data = None,
    format: Annotated[Format, typer.Option(help="Output format of the settings: table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Show or change how a pool is folded. A change folds the pool again from the log, then all its boards switch at once."""
    settings = settings_of(data)
    given = {
        "per_task": per_task,
        "clustered": clustered,
        "features": None if feature is None else tuple(name for name in feature if name),
        "feature_window": feature_window,
        "bucket_seconds": bucket_seconds,
        "buckets_kept": buckets_kept,
        "dedupe_window": dedupe_window,
        "max_agents": max_agents,
        "max_tasks": max_tasks,
    }
    limits = {name: value for name, value in given.items() if value is not None}
    edits = _edits(aliases, bans_file, initial, clear or [])
    with opened(settings) as (log, control):
        standing_ = control.standing(pool)
        kind = control.refresh().pools[pool].kind
        if not (method or param or limits or edits or ban or unban or start is not None):
            _show(standing_, kind, format)
            return
        fold = _fold(standing_.fold, kind, limits, method, param or [])
        if ban or unban:
            edits["bans"] = _changed_bans(standing_, edits, ban or [], unban or [])
        if not yes and Edit.BANS not in (clear or []):
            _refuse_doubtful(settings, log.outcomes.identity, standing_, edits.get("bans"), unban or [])
        wanted = generations.wish(standing_, time=time.time(), fold=fold, start=None if start is None else _start(start), **edits)
        _ask(settings, log, control, wanted, wait=wait)


@pools.command("resume")
def resume(pool: Annotated[str, typer.Argument(help="Name of the pool.")], wait: _Wait = True, data: Data = None) -> None:
    """Fold a stopped pool again with its settings. First retract the outcomes at which it stops."""
    settings = settings_of(data)
    with opened(settings) as (log, control):
        _ask(settings, log, control, generations.wish(control.standing(pool), time=time.time()), wait=wait)


# from options to a wish


def _fold(
    standing: FoldSettings,
    kind: Kind,
    limits: Mapping[str, int | bool | tuple[str, ...]],
    methods: Sequence[str] | None,
    parameters: Sequence[str],
) -> FoldSettings:
    online = standing.methods(kind)
    if methods is not None:
        online = {name: online.get(name, {}) for name in methods}
    for text in parameters:
        method, name, value = _parameter(text)
        if method not in online:
            raise InputError(
                "--param", text, f"must name an online method of the pool ({', '.join(online) or 'none'}): add a method with --method"
            )
        online = {**online, method: {**online[method], name: value}}
    given: dict[str, Any] = {name: value or None if name.startswith("bucket") else value for name, value in limits.items()}
    if methods is not None or parameters:
        given["online"] = online
    return msgspec.structs.replace(standing, **given)


def _parameter(text: str) -> tuple[str, str, float]:
    key, _, value = text.partition("=")
    method, _, name = key.partition(".")
    try:
        found = float(value)
    except ValueError:
        name = ""
    if not name:
        raise InputError("--param", text, "must be METHOD.PARAMETER=NUMBER, such as elo.k=20")
    return method, name, found


def _edits(aliases: Path | None, bans_file: Path | None, initial: Path | None, clear: Sequence[Edit]) -> dict[str, Any]:
    readers: dict[Edit, tuple[Path | None, Callable[[Path], Any]]] = {
        Edit.ALIASES: (aliases, read_aliases),
        Edit.BANS: (bans_file, read_bans),
        Edit.INITIAL: (initial, read_initial),
    }
    found: dict[str, Any] = {edit.value: [] if edit is Edit.BANS else {} for edit in clear}
    for edit, (path, read) in readers.items():
        if path is not None and edit.value in found:
            raise InputError("--clear", edit.value, f"must not come with --{edit.value}")
        if path is not None:
            found[edit.value] = read(path)
    return found


def _changed_bans(
    standing: Generation | GenerationRequest, edits: Mapping[str, Any], ban: Sequence[str], unban: Sequence[str]
) -> list[str]:
    if "bans" in edits:
        raise InputError("--ban", ", ".join([*ban, *unban]), "must not come with --bans or --clear bans, which replace the whole list")
    return bans.changed(standing.bans, ban, unban)


def _refuse_doubtful(
    settings: Settings, identity: str, standing: Generation | GenerationRequest, wanted: Sequence[str] | None, unban: Sequence[str]
) -> None:
    """Raise `InputError` for changes of bans that are probably a mistake."""
    if wanted is None:
        return
    with reached(settings, identity) as store:
        found = bans.doubts(None if store is None else store.live, standing.pool, standing.bans, wanted, unban)
    if found:
        raise InputError("bans", list(wanted), f"must be confirmed with --yes, because {' and '.join(found)} (nothing was changed)")


def _start(text: str) -> Start:
    if text in ("same", "now"):
        return text  # type: ignore[return-value]  # one of the two
    if text.isascii() and text.isdigit():
        return int(text)
    raise InputError("--start", text, "must be same, now or a position of the pool's partition")


# what people see


def _show(standing: Generation | GenerationRequest, kind: Kind, shape: Format) -> None:
    if shape == "json":
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(standing), indent=2).decode() + "\n")
        return
    table = Table("setting", "value", title=Text(f"{standing.pool} ({kind.value})"), title_justify="left")
    for method, parameters in standing.fold.methods(kind).items():
        given = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
        table.add_row(f"method {method}", Text(given or "default parameters"))
    limits = msgspec.structs.asdict(standing.fold)
    del limits["online"]
    limits["features"] = ", ".join(standing.fold.features) or None
    told = {name: "none" if value is None else str(value) for name, value in limits.items()}
    told |= {"start": str(standing.start), "aliases": str(len(standing.aliases)), "bans": ", ".join(standing.bans) or "none"}
    told["initial"] = ", ".join(f"{len(ratings)} agents by {method}" for method, ratings in standing.initial.items()) or "none"
    for name, value in told.items():
        table.add_row(name, Text(value))
    Console().print(table)


def _ask(settings: Settings, log: Log, control: ControlLog, wanted: GenerationRequest, *, wait: bool) -> None:
    """Request a generation, and report its progress until it serves readers."""
    check_wish(wanted, control.refresh(), log.history)
    wish, console = control.want(wanted), Console(soft_wrap=True)
    with reached(settings, log.outcomes.identity) as store:
        if store is None:
            console.print("the engine is not running: it will fold the pool with these settings when it starts", highlight=False)
        else:
            _follow(console, control, store.live, wanted.pool, wish, wait=wait)


def _follow(console: Console, control: ControlLog, boards: LiveBoards, pool: str, wish: int, *, wait: bool) -> None:
    if control.refresh().newest(pool) is None:
        console.print(f"{pool} has no outcomes yet: the settings apply from its first outcome on", highlight=False)
        return
    waiting, head = control.refresh().wish(pool), boards.head(pool)
    if waiting is not None and head is not None and not generations.is_reached(waiting[1], head.position):
        begins = waiting[1].start
        console.print(f"{pool} is at position {head.position}: the settings apply from position {begins} on", highlight=False)
        return
    if not wait:
        console.print(f"{pool} is being folded again; `equirank pools list` shows the progress", highlight=False)
        return
    with Progress(TextColumn("{task.description}"), BarColumn(), console=console) as bar:
        task = bar.add_task(f"{pool} is being folded again", total=1.0)
        head = await_generation(control, boards, pool, wish, lambda part: bar.update(task, completed=part))
        bar.update(task, completed=1.0)
    outcomes = "1 outcome" if head.outcomes == 1 else f"{head.outcomes} outcomes"
    console.print(f"{pool}: generation {head.generation} serves, {outcomes}, {head.left_out} left out", highlight=False)


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
        InputError: The generation cannot be folded.
        TimeoutError: Neither the progress nor the head changed for a minute. A running shard writes the head every few seconds, also
            during a long build.
    """
    moved, seen = clock(), (-1, -1.0, 0.0)
    while True:
        head, made = boards.head(pool), control.refresh().generations.get(pool, {})
        fulfilling = [number for number, one in made.items() if one.wanted >= wish]
        if head is not None and head.generation in fulfilling:
            return head
        building = head.building if head is not None else None
        if building is not None and building.generation in fulfilling and building.failed is not None:
            raise InputError(
                "pool", pool, f"must be foldable with these settings, but folding failed ({building.failed}); the previous settings stay"
            )
        stands = (len(made), building.progress if building is not None else -1.0, head.published_at if head is not None else 0.0)
        tell(max(0.0, stands[1]))
        if stands != seen:
            seen, moved = stands, clock()
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
    found = (
        ("ids were repeated with other content, which does not count", head.conflicts),
        ("retracted ids have no outcome", head.unmatched),
    )
    return "; ".join(["live", *(f"{what}: {count}" for what, count in found if count)])

"""`equirank top`: the best agents of a board, for people or for programs."""

import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError, SolverError
from ratings_core.front.remarks import remarks
from ratings_core.methods.names import ONLINE
from ratings_core.records.times import seconds
from services.backends import open_store
from services.boards.folding import freshness
from services.boards.history import Difference, Moved
from services.boards.reading import Board, changes, methods_of
from services.boards.reading import board as read_board
from services.boards.result import PENDING, Intervals
from services.boards.slice_boards import SliceName, board_name, slice_text
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.cli.cells import interval_line, ranked_table, roster_line, shower
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import head_of, settings_of
from services.cli.positions import position_option
from services.log.protocol import LogError
from services.runtime.settings import Provisional, Settings
from services.solve.planning.jobs import JobStatus
from services.wire.pools import Kind

if TYPE_CHECKING:
    from services.boards.past import NotKept, PastBoards, PastRows
    from services.solve.past_solves import PastSolves

LIVE: Final = tuple(ONLINE)
"""Names that live boards can have."""
_WITHOUT_RESULT: Final = {JobStatus.NOT_APPLICABLE.value: "not applicable", PENDING: "pending"}
"""Statuses of a board without a result for which no solve failed, as the title says them."""
Format: TypeAlias = Literal["table", "json"]
"""Form of the printed answer."""


def top(
    pool: Annotated[str, typer.Option(help="Name of the pool.")],
    method: Annotated[str, typer.Option(help="Online method (elo, sco, ...) or solved method (maximal_lottery, ...).")] = "elo",
    count: Annotated[int, typer.Option(min=1, max=1000, help="Largest number of rows, best first.")] = 20,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Show what changed since the previous solve, or of an online method since --against or --since, and why."
        ),
    ] = False,
    against: Annotated[
        int | None,
        position_option("--against", time="--since", help="With --diff: compare with the kept solve, or the live board, at this position."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="With --diff: time of the earlier board, in place of --against: 2026-11-22T06:00:00Z (UTC by default), or seconds since "
            "1970. A solved method is then solved at both moments."
        ),
    ] = None,
    until: Annotated[str | None, typer.Option(help="With --diff: time of the later board. Default: the newest one.")] = None,
    position: Annotated[
        int | None,
        position_option(
            "--position",
            time="--at",
            help="Show the board at this position. Without an archive: the board at the newest kept position that is not after it. Of a "
            "solved method: a kept solve that is not after it, or a solve on request.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="Show the board of all outcomes that the log took by this time: 2026-11-22T06:00:00Z (UTC by default), or seconds since "
            "1970. Without an archive: the newest kept board written by then. Of a solved method: a kept solve of before, or a solve on "
            "request."
        ),
    ] = None,
    generation: Annotated[int | None, typer.Option(min=1, help="With --position or --at: only boards of this generation.")] = None,
    season: Annotated[str | None, typer.Option(help="Show the final board of this ended season.")] = None,
    part: Annotated[str | None, typer.Option("--slice", help="Show the board of a slice of the pool: language:English.")] = None,
    details: Annotated[
        bool,
        typer.Option("--details", help="Show also display name, country, organisation, licence, and games, by log and newest checkpoint."),
    ] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Print the best agents of a board."""
    between = diff and (method in LIVE or since is not None or until is not None)
    past = at is not None or (position is not None and not between)
    _refuse_together(diff=diff, earlier=(against, since, until), past=past, season=season)
    settings = settings_of(data)
    with closing(open_store(settings)) as store:
        answer: Board | Difference | None = None
        if season is not None:
            answer = _final(settings, store, pool, season, method, count, part)
        if between:
            later = PastBoard(pool, method, (position, None if until is None else seconds(until, "--until")), generation, part)
            earlier = against, None if since is None else seconds(since, "--since")
            answer = _changed_between(settings, store, earlier, later, count)
        elif position is not None or at is not None:
            when = position, None if at is None else seconds(at, "--at")
            answer = _past(settings, store, PastBoard(pool, method, when, generation, part), count)
        if answer is None:
            read = partial(changed, against=against) if diff else find
            answer = read(store, pool, method, count, settings, part)
        head, trouble = store.live.head(pool), folding_trouble(settings, store, pool)
        if details and isinstance(answer, Board):
            answer = _with_details(settings, answer, head)
    if format == "json":
        typer.echo(msgspec.json.encode(answer).decode())
        return
    console = Console()
    if isinstance(answer, Difference):
        console.print(Text(_why(answer)), highlight=False, soft_wrap=True)
        if answer.moved or answer.joined or answer.left:
            console.print(_moves(answer))
    else:
        if trouble is not None:
            console.print(Text(trouble), highlight=False, soft_wrap=True, style="bold red")
        console.print(_title(answer, head), highlight=False, soft_wrap=True)
        _print_rows(console, answer, settings)


def _print_rows(console: Console, board: Board, settings: Settings) -> None:
    console.print(ranked_table(board.rows, board.extra, contributions=True))
    if isinstance(board.reason, str):
        console.print(Text(board.reason), highlight=False, soft_wrap=True)
    elif any(row.provisional for row in board.rows):
        console.print(_provisional(board, settings.provisional), highlight=False, soft_wrap=True)
    unrated = board.extra.get("unrated")
    for said in (roster_line(board.extra), *remarks(board.extra, unrated if isinstance(unrated, int) else 0)):
        if said is not None:
            console.print(Text(said), highlight=False, soft_wrap=True)
    if isinstance(board.intervals, Intervals):
        console.print(Text(_intervals(board.intervals, board.position)), highlight=False, soft_wrap=True)


class PastBoard(NamedTuple):
    """A past board. when: Position and time, one of them None. generation: As in `PastRows`. part: Slice; None for all outcomes."""

    pool: str
    method: str
    when: tuple[int | None, float | None]
    generation: int | None
    part: str | None


def _past(settings: Settings, store: RedisStore, asked: PastBoard, count: int) -> Board | None:
    """The first rows of a past board. None if there is no such board.

    Raises `NotKept`, `NoSlice`, and `InputError` if the position has boards of several generations.
    """
    from services.boards.past import NotKept, PastRows  # noqa: PLC0415 - imports kernels, which takes time
    from services.boards.past_contents import When  # noqa: PLC0415

    rows = PastRows(asked.pool, asked.method, When(*asked.when), 0, count, settings.provisional, asked.generation, slice_text(asked.part))
    try:
        with _past_boards(settings, store, asked.method) as boards:
            return boards.board(rows, time.time())
    except NotKept as error:
        if asked.method in LIVE:
            raise
        return _solved_again(settings, store, rows, error)


def _solved_again(settings: Settings, store: RedisStore, rows: "PastRows", not_kept: "NotKept") -> Board:
    """The board of a solve on request, or the nearest kept one where that cannot be done.

    Raises `not_kept` with the reason if there is no such one, and the pool cannot be folded to the position.
    """
    from services.boards.past_contents import NotFolded  # noqa: PLC0415 - imports kernels, which takes time

    with _past_solves(settings, store, rows.pool, board_name(rows.method, rows.part)) as solves:
        try:
            if solves is None:
                raise not_kept
            return solves.board(rows, time.time())
        except (NotFolded, InputError, SolverError) as why:
            if not_kept.nearest is not None:
                return not_kept.nearest
            if isinstance(why, NotFolded):
                raise not_kept.because(str(why)) from why
            raise


@contextmanager
def _past_solves(settings: Settings, store: RedisStore, pool: str, board: str) -> "Iterator[PastSolves | None]":
    """What solves a board's method at past moments. None if the pool has no such board with ratings, or the log cannot be opened here."""
    from services.checkpoints.checkpoint import CheckpointStore  # noqa: PLC0415 - imports kernels, which takes time
    from services.cli.logs import control_state, past_contents  # noqa: PLC0415
    from services.solve.past_solves import PastSolves  # noqa: PLC0415
    from services.solve.why import SOLVES_KEPT, Solves  # noqa: PLC0415

    head, page = store.live.head(pool), store.solved.page(pool, board, 0, 1)
    with past_contents(settings, CheckpointStore(settings.checkpoint_url)) as contents:
        if head is None or page is None or not page[1] or contents is None:
            yield None
        else:
            yield PastSolves(head, page[0], contents, Solves(SOLVES_KEPT), partial(control_state, settings), settings.provisional)


def _changed_between(
    settings: Settings, store: RedisStore, earlier: tuple[int | None, float | None], later: PastBoard, count: int
) -> Difference:
    """The difference between the boards of a method at two moments. earlier: Position or time of the earlier one. Raises as `_past`."""
    from services.boards.past import BoardChange  # noqa: PLC0415 - imports kernels, which takes time
    from services.boards.past_contents import NotFolded, When  # noqa: PLC0415

    if earlier == (None, None):
        what = f"{later.method} is an online method" if later.method in LIVE else "with --until, the method is solved at both moments"
        raise InputError("--against, --since", None, f"must be used: {what}, and every position has a board")
    if None not in earlier or None not in later.when:
        raise InputError("--since, --until", (earlier, later.when), "must be used in place of --against and --position")
    head_of(settings, store.live, later.pool)
    after = None if later.when == (None, None) else When(*later.when)
    wanted = BoardChange(later.pool, later.method, When(*earlier), after, count, later.generation, slice_text(later.part))
    if later.method in LIVE:
        with _past_boards(settings, store, later.method) as boards:
            return boards.changes(wanted, time.time())
    with _past_solves(settings, store, later.pool, board_name(later.method, wanted.part)) as solves:
        if solves is None:
            find(store, later.pool, later.method, 1, settings, later.part)
            raise InputError("--method", later.method, "must have a result, and the log must be readable here")
        try:
            return solves.changes(wanted)
        except NotFolded as why:
            raise InputError("--since", str(wanted.before), f"must be a moment to which the pool can be folded again; {why}") from why


@contextmanager
def _past_boards(settings: Settings, store: RedisStore, method: str) -> "Iterator[PastBoards]":
    """Past boards of the installation. The log is opened for a method with live boards alone.

    Raises `InputError` if a position has boards of several generations.
    """
    from services.boards.past import PastBoards, SeveralGenerations  # noqa: PLC0415 - imports kernels, which takes time
    from services.checkpoints.checkpoint import CheckpointStore  # noqa: PLC0415
    from services.cli.logs import control_state, opened  # noqa: PLC0415
    from services.shard.generations.past_states import PastStates  # noqa: PLC0415

    files = CheckpointStore(settings.checkpoint_url)
    try:
        if method not in LIVE:
            yield PastBoards(store, files, lambda: control_state(settings), settings.solves_kept)
            return
        with opened(settings) as (log, control):
            yield PastBoards(store, files, control.refresh, settings.solves_kept, PastStates(log, control.refresh, files, most=None))
    except SeveralGenerations as error:
        several, options = " and ".join(map(str, error.generations)), " or ".join(f"--generation {number}" for number in error.generations)
        raise InputError("--position", error.position, f"has boards of generations {several}: add {options}") from error


def _with_details(settings: Settings, board: Board, head: PoolHead | None) -> Board:
    """The board with what is known of its agents, hidden ones included. Without a log or a checkpoint here, that part is missing."""
    from services.boards.agent_columns import AgentColumns  # noqa: PLC0415 - imports kernels, which takes time
    from services.boards.agent_index import NoIndex  # noqa: PLC0415
    from services.cli.agent_details import index_of, readable  # noqa: PLC0415

    index = NoIndex("no outcomes", retriable=True) if head is None else index_of(settings, head, board.slice or "")
    return AgentColumns(readable(settings, board.pool), index).board(board, hidden=True)


def _final(settings: Settings, store: RedisStore, pool: str, season: str, method: str, count: int, part: str | None) -> Board:
    """The first rows of a final board of an ended season. Raises `InputError` if there is no such board."""
    from services.boards.season_boards import NoSeason, SeasonBoards  # noqa: PLC0415 - imports kernels, which takes time
    from services.boards.season_files import SeasonFiles  # noqa: PLC0415
    from services.checkpoints.checkpoint import CheckpointStore  # noqa: PLC0415
    from services.cli.logs import control_state  # noqa: PLC0415

    boards = SeasonBoards(SeasonFiles(CheckpointStore(settings.checkpoint_url), store.log), lambda: control_state(settings))
    try:
        read = partial(boards.board, now=time.time(), provisional=settings.provisional, part=slice_text(part))
        return read(pool, season, method, start=0, count=count)
    except NoSeason as error:
        raise InputError("--season", season, f"must be an ended season with this board: {error}") from error


def _refuse_together(*, diff: bool, earlier: tuple[int | str | None, ...], past: bool, season: str | None) -> None:
    """Raise `InputError` for options that exclude each other. earlier: --against, --since and --until."""
    if season is not None and (diff or past):
        raise InputError("--season", season, "must not be used with --diff, --position or --at: a season has one final board a method")
    if diff and past:
        raise InputError(
            "--diff", True, "must not be used with --position or --at: it compares the newest solve; choose the earlier one with --against"
        )
    for name, value in zip(("--against", "--since", "--until"), earlier, strict=True):
        if value is not None and not diff:
            raise InputError(name, value, "must be used with --diff")


def changed(
    store: RedisStore, pool: str, method: str, count: int, settings: Settings, part: str | None = None, against: int | None = None
) -> Difference:
    """The difference from an earlier solve to the newest one. Raises `InputError` without such a board, or without an earlier solve."""
    difference = changes(store.solved, pool, method, against, count, slice_text(part))
    if difference is not None:
        return difference
    find(store, pool, method, 1, settings, part)
    raise InputError("--method", method, "must have been solved at least twice in this season: try again after its next solve")


def find(store: RedisStore, pool: str, method: str, count: int, settings: Settings, part: str | None = None) -> Board:
    """The first rows of a board, or of the slice `part` of it. Raises `InputError` with the existing boards, slices or pools."""
    name = method if part is None else SliceName.parsed(part).board(method)
    first_rows = read_board(store, pool, name, start=0, count=count, now=time.time())
    if first_rows is not None:
        return first_rows
    head = head_of(settings, store.live, pool)
    if part is not None:
        slices, soon = _slices_with(store, head, method), _soon(settings, head, method, part)
        raise InputError("--slice", part, f"must be a slice with the board {method}: {', '.join(slices) or 'this pool has none'}{soon}")
    methods = methods_of(store.solved, head)
    there = ", ".join([*methods.live, *methods.solved])
    raise InputError("--method", method, f"must be a board of this pool ({there}{_soon(settings, head, method, None)})")


def _soon(settings: Settings, head: PoolHead, method: str, part: str | None) -> str:
    """The end of an error about a missing board, if the method was chosen and has no board yet; empty otherwise."""
    from services.cli.logs import control_state  # noqa: PLC0415 - imports kernels, which takes time
    from services.solve.registry.choice import chosen_for  # noqa: PLC0415

    try:
        plan = control_state(settings).plans.get(head.pool)
    except LogError:  # only the store can be read from this machine
        return ""
    if part is None:
        chosen: Collection[str] = chosen_for(plan, Kind(head.kind))
    else:
        chosen = () if plan is None else plan.slices.get(SliceName.parsed(part).dimension, ())
    return f"; {method} was chosen and is not solved yet: try again in some seconds" if method in chosen else ""


def _slices_with(store: RedisStore, head: PoolHead, method: str) -> list[str]:
    """The slices of a pool that have a board of a method."""
    slices = [SliceName(key, one.value) for key, found in head.slices.items() for one in found.values]
    solved = set(store.solved.slice_boards(head.pool))
    return [str(one) for one in slices if method in head.slices[one.dimension].methods or one.board(method) in solved]


def _provisional(board: Board, limits: Provisional) -> str:
    """A line that explains the question mark of provisional agents."""
    return f"? provisional, without a rank: {_lacking(board, limits)}; {board.ranked} of {board.total} agents have ranks"


def _lacking(board: Board, limits: Provisional) -> str:
    """What agents without a rank lack."""
    few = f"fewer than {limits.outcomes} outcomes"
    if board.certificate is None:
        return few
    if any(row.opponents is not None for row in board.rows):
        return f"{few} or {limits.opponents} opponents"
    if any(row.outcomes is not None for row in board.rows):  # of a pool of scores
        return f"{few} and not a score on every task"
    return "too little evidence at that time"  # past solves keep no numbers of outcomes


def _intervals(intervals: Intervals, position: int) -> str:
    """A line about a board's intervals. It states their position if the board is newer. position: Of the board."""
    older = intervals.position not in (None, position)
    return interval_line(intervals) + (f"; computed at position {intervals.position}" if older else "")


def _why(difference: Difference) -> str:
    """A line about a difference: its two positions, numbers of changed agents, causes and changed parameters."""
    before, after = difference.before, difference.after
    positions = f"position {before.position} to {after.position}"
    of_slice = f" · {difference.slice}" if isinstance(difference.slice, str) else ""
    parts = [f"{difference.pool} · {difference.method}{of_slice}: {positions}", f"{difference.outcomes:+} outcomes"]
    causes = ", ".join(difference.because)
    if difference.moved_count or difference.joined_count or difference.left_count:
        parts.append(f"{difference.moved_count} agents moved, {difference.joined_count} joined, {difference.left_count} left")
        parts.append(f"because of: {causes or 'no change of outcomes, settings or version'}")
    else:
        parts.append(f"all ranks and ratings are equal{f', though these differ: {causes}' if causes else ''}")
    parts += [f"{name}: {_value(old)} to {_value(new)}" for name, (old, new) in difference.parameters.items()]
    return " · ".join(parts)


def _value(value: float | str | bool | None) -> str:
    return "its default" if value is None else str(value)


def _moves(difference: Difference) -> FittedTable:
    table = FittedTable(whole("rank", right=True), whole(""), folded("agent"), *(whole(name, right=True) for name in ("rating", "before")))
    shown = shower([*(row.rating for row in difference.moved), *(row.rating for row in (*difference.joined, *difference.left))])
    for moved in difference.moved:
        table.add_row(_rank(moved.rank), _arrow(moved), Text(moved.agent), shown(moved.rating), shown(moved.rating_before))
    for row in difference.joined:
        table.add_row(_rank(row.rank), "new", Text(row.agent), shown(row.rating), "-")
    for row in difference.left:
        table.add_row("-", "left", Text(row.agent), "-", shown(row.rating))
    return table


def _rank(rank: int | None) -> str:
    return "?" if rank is None else str(rank)


def _arrow(moved: Moved) -> str:
    if moved.rank is None:
        return "=" if moved.rank_before is None else "▼"
    if moved.rank_before is None:
        return "▲"
    up = moved.rank_before - moved.rank
    return f"▲{up}" if up > 0 else f"▼{-up}" if up < 0 else "="


def folding_trouble(settings: Settings, store: RedisStore, pool: str) -> str | None:
    """Why the boards of a pool may be outdated; None if its partition is folded in time."""
    head = store.live.head(pool)
    if head is None:
        return None
    folding = freshness([head.partition], store.heartbeats.read(), settings.fresh_seconds)
    return None if folding.fresh else folding.says


def _title(board: Board, head: PoolHead | None) -> Text:
    of_slice = f" · {board.slice}" if isinstance(board.slice, str) else ""
    parts = [f"{board.pool} · {board.method} ({board.source}){of_slice}", f"{board.total} agents", f"position {board.position}"]
    if board.outcomes is not None:  # only solved boards; these may be some seconds older than live boards
        counted = "1 outcome" if board.outcomes == 1 else f"{board.outcomes} outcomes"
        parts.insert(2, counted + _of_all(board, head))
    if board.certificate is not None and board.certificate.value is not None:
        parts.append(f"{board.certificate.kind} {board.certificate.value:.2g}, {board.status}")
    if board.error:
        parts.append(f"{_WITHOUT_RESULT.get(board.status or '', 'newest solve failed')}: {board.error}")
    return Text(" · ".join(parts))


def _of_all(board: Board, head: PoolHead | None) -> str:
    """How many outcomes a solved board lacks. Positions cannot show it, because they also change with other pools of the partition."""
    if head is None or board.outcomes is None or board.source != "solved" or board.generation != head.generation:
        return ""
    newer = (_of_slice(head, board.slice) if isinstance(board.slice, str) else head.outcomes) - board.outcomes
    return " (all that the live boards count)" if newer <= 0 else f" (live boards count {newer} more)"


def _of_slice(head: PoolHead, part: str) -> int:
    """Number of outcomes that the live boards of a slice count."""
    name = SliceName.parsed(part)
    values = head.slices[name.dimension].values if name.dimension in head.slices else ()
    return next((one.outcomes for one in values if one.value == name.value), 0)

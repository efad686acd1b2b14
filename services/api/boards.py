"""Routes of boards. The newest boards come from the store alone; past boards also come from checkpoints."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, TypeVar, cast

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from services.api.answers import Asked, tag_of
from services.api.board_answers import AskedBoard, BoardFormats, OfGeneration, board_body, board_reply, format_of
from services.api.context import Agent, Context, Here, Method, Pool, agent_name, context, reads
from services.api.described import Described, problems
from services.api.directory import Directory
from services.api.missing_boards import why_missing
from services.api.past_boards import past_board, past_boards, past_problems, past_solves
from services.api.polls import sent
from services.api.pool_agents import PoolAgents
from services.api.pools import published, view
from services.api.problems import ApiError, check_slice, find_agents, no_agent, not_there_now, nothing_yet
from services.api.replies import Boards, History, Value, fresh_reply
from services.api.slices import SliceText, board_name, board_text
from services.boards import filtered
from services.boards import reading as boards
from services.boards.agent_columns import AgentColumns
from services.boards.cursors import Cursor, FilterCursor, ReplacedBoard
from services.boards.formats import BoardFormat
from services.boards.history import Difference
from services.boards.insight import insight
from services.boards.past import BoardChange, PastRows
from services.boards.past_contents import When, when_of
from services.boards.reading import Board, Methods
from services.boards.result import PENDING
from services.boards.slice_boards import SliceName, activity_of, dimension_of, is_sliced, method_of, slice_of, slice_text
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.boards.visible_findings import visible_insight
from services.solve.planning.jobs import JobStatus
from services.solve.registry.choice import choices
from services.wire.pools import check_pool_name

ReadT = TypeVar("ReadT")
_WITHOUT_RESULT = {JobStatus.FAILED, JobStatus.NOT_APPLICABLE, PENDING}
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of rows to return.")]
Against: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=0,
        le=2**63 - 1,
        description="Position of the earlier solve. Default: the solve before the newest one. An online method needs it or `since`, and "
        "has a board at every position that the archive reaches.",
        schema_extra={"minimum": 0},
    ),
]
Later: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=0,
        le=2**63 - 1,
        description="Position of the later board. Default: the newest one. A solved method is then solved on request at both positions.",
        schema_extra={"minimum": 0},
    ),
]
Since: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Time of the earlier board, in place of `against`: 2026-11-22T06:00:00Z (UTC by default), or seconds since 1970. A "
        "solved method is then solved on request at both moments."
    ),
]
Until: TypeAlias = Annotated[str | None, QueryParameter(description="Time of the later board, in place of `position`.")]
Summary: TypeAlias = Annotated[int, QueryParameter(ge=0, le=200, description="Number of first rows of each board; 0 for names only.")]


def built(
    store: RedisStore,
    directory: Directory,
    clock: Callable[[], float],
    agents: PoolAgents,
    asked: Asked,
    known: Mapping[str, Board] = MappingProxyType({}),
) -> Value | None:
    """Build the answer of a poll from the store; None if the pool or board does not exist. Raises `StoreError`.

    known: boards for a summary, by method, that are not read again.
    """
    match asked.kind:
        case "boards":
            return _summary(store, directory, clock(), agents, asked, known)
        case "board":
            read: Callable[..., Board | None]
            if asked.selects:
                columns = agents.columns(asked.pool, store.live.head(asked.pool), asked.part)
                read = partial(filtered.page, store, selection(agents, columns, asked), None, asked.rows)
            else:
                read = partial(boards.board, store, asked.pool, asked.method, start=asked.start, count=asked.rows, everyone=asked.everyone)
            board = read(now=clock())
            return None if board is None else agents.compared(agents.columns_of(board, store).board(board), store, clock())
        case "insight":
            found = insight(store.solved, asked.pool, now=clock())
            return visible_insight(found, agents.details(asked.pool))


def selection(agents: PoolAgents, columns: AgentColumns, asked: Asked) -> filtered.Selection:
    """What a request with filters selects. Raises as `AgentColumns.matching`."""
    matching = agents.matching(asked.pool, columns, asked.wanted, asked.part)
    return filtered.Selection(asked.pool, asked.method, asked.filters, matching, asked.everyone, asked.shown)


def _summary(
    store: RedisStore, directory: Directory, now: float, agents: PoolAgents, asked: Asked, known: Mapping[str, Board]
) -> Boards | None:
    head, created = store.live.head(asked.pool), directory.seen().get(asked.pool)
    if head is None and created is None:
        return None
    methods = Methods(live=[], solved=[]) if head is None else boards.methods_of(store.solved, head)
    names = [*methods.live, *methods.solved] if asked.rows else []
    if asked.part:
        part = SliceName.parsed(asked.part)
        found = None if head is None else boards.methods_of_slice(store.solved, head, part)
        if found is None:
            return None
        methods = found
        names = [part.board(method) for method in (*methods.live, *methods.solved)] if asked.rows else []
    unknown = [method for method in names if method not in known]
    read = boards.first_rows(store, head, unknown, count=asked.rows, now=now, everyone=False) if head and unknown else []
    columns = agents.columns(asked.pool, head, asked.part)
    shown = {**known, **{board.name: agents.compared(columns.board(board), store, now) for board in read}}
    counted = agents.last_day(head, now) if head and asked.rows and not asked.part else None
    return Boards(
        pool=view(directory, asked.pool, head, created),
        methods=methods,
        boards=[shown[name] for name in names if name in shown],
        last_day=msgspec.UNSET if counted is None else counted,
    )


async def polled(request: Request, asked: Asked) -> Response[Any]:  # type: ignore[type-arg]
    """Return a cached answer, or 304 if the client has it. If the store does not answer, return the last known answer.

    Raises as `read_or_raise` does.
    """
    here = context(request)
    try:
        answer = await here.answers.get(asked)
    except StoreError:
        answer = None  # read below, which reports the error
    if answer is None:
        return Response(await here.workers.readers.run(partial(_answer_uncached, here, asked)))
    here.polls.remember(request.scope, asked)
    status, headers, body = sent(asked, answer, request.headers.get("if-none-match", ""))
    return Response(body, status_code=status, headers=headers)


@get("/v1/pools/{pool:str}/boards", tags=["boards"], operation_class=Described, responses=problems(404, 422, 503))
async def list_boards(request: Request, pool: Pool, count: Summary = 0, part: SliceText = None) -> Response[Boards]:  # type: ignore[type-arg]
    """List the boards of a pool. With `count`: with the first rows of each board. Answers 304 to If-None-Match if nothing changed.

    `extra` has single values alone; the board itself has all of it. With `slice`: the boards of the slice.
    """
    name = slice_text(part)
    return await polled(request, Asked("boards", check_pool_name(pool), rows=count, part=name))


@get(
    "/v1/pools/{pool:str}/boards/{method:str}",
    tags=["boards"],
    operation_class=BoardFormats,
    dependencies={"asked": Provide(AskedBoard, sync_to_thread=False)},
    responses=problems(401, 403, 404, 406, 409, 410, 414, 422, 429, 501, 503),
)
async def get_board(request: Request, asked: NamedDependency[AskedBoard]) -> Response[Board]:  # type: ignore[type-arg]
    """Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept.

    A position at which boards of several generations are kept needs `generation`; without it, 409 names them. The header Accept or `format`
    selects JSON, CSV, JSON lines, an Arrow stream or Parquet. JSON has 50 rows by default, and `cursor` continues. Of a maximal lottery it
    has only the support, and the number of other agents in `outside`, unless `all=true`. The other formats have all rows, at most 200,000,
    unless `start` or `count` is given. With filters of details or games, ranks are those of the complete board.
    """
    here, form = context(request), format_of(request, asked)
    if asked.hidden:
        here.access.check_key(request, admin=True)
    if form is BoardFormat.JSON and asked.page:
        return await polled(request, asked.asked(asked.rows(form) or 0))
    if (head := await here.workers.readers.run(partial(here.store.live.head, asked.pool))) is not None:
        await here.pool_agents.ready(head, slice_text(asked.part))
    cursor = asked.continued()
    when = When(cursor.position) if cursor is not None and cursor.position is not None else asked.when
    workers = here.workers.readers if asked.rows(form) is not None or asked.agents is not None else here.workers.downloads
    count = asked.rows(form)
    if when is not None:
        workers, read = here.workers.past, partial(_get_past, here, asked, cursor, when, count)
    else:
        everyone = asked.everyone or form is not BoardFormat.JSON
        read = partial(_get_newest, here, asked, cursor, count, everyone=everyone)
    shown = partial(_with_columns, here, asked, head, read, compares=form is BoardFormat.JSON)
    return board_reply(request, asked, form, await workers.run(lambda: board_body(shown(), form)))


def _with_columns(here: Context, asked: AskedBoard, head: PoolHead | None, read: Callable[[], Board], *, compares: bool) -> Board:
    """Read a board, with what it shows of agents. compares: whether rows have the ranks and ratings of a day before."""
    board = read()  # before the columns, so that an agent that was hidden since is left out
    shown = here.pool_agents.columns(asked.pool, head, slice_text(asked.part)).board(board, hidden=asked.hidden)
    return here.pool_agents.compared(shown, here.store, here.clock()) if compares else shown


@get(
    "/v1/pools/{pool:str}/boards/{method:str}/around/{agent:path}",
    tags=["boards"],
    operation_class=Described,
    responses=problems(404, 422, 503),
)
async def get_board_around(
    request: Request,  # type: ignore[type-arg]
    pool: Pool,
    method: Method,
    agent: Agent,
    count: Count = 11,
    part: SliceText = None,
) -> Response[Board]:
    """Return the rows around an agent. Answers 304 to If-None-Match if nothing changed.

    Percent-encode the agent's name, including slashes.
    """
    here = context(request)
    board = await here.workers.readers.run(partial(_around, here, pool, method, agent, count, part))
    return fresh_reply(request, board, tag_of(board))


def _around(here: Context, pool: str, method: str, agent: str, count: int, part: str | None) -> Board:
    """The rows around an agent, with what is known of their agents. Raises `ApiError`."""
    name, board_of = agent_name(agent), board_name(method, part)
    around = partial(boards.around, here.store, pool, board_of, name, count=count, now=here.clock())

    def read() -> Board | None:
        return None if here.pool_agents.details(pool).is_hidden(name) else around()

    board = read()
    if board is None:  # raises if there is no such board; it may have been published since
        text = board_text(method, part)
        read_or_raise(
            here, pool, board_of, text, partial(boards.board, here.store, pool, board_of, start=0, count=1, now=here.clock()), part
        )
        board = read()
    if board is None:
        raise no_agent(pool, name, where=f"board {method}" if part is None else f"board {method} of slice {part}")
    return here.pool_agents.compared(here.pool_agents.columns_of(board, here.store).board(board), here.store, here.clock())


@get("/v1/pools/{pool:str}/boards/{method:str}/history", tags=["boards"], operation_class=Described, responses=problems(404, 422, 503))
@reads
def list_solves(here: Here, pool: Pool, method: Method, part: SliceText = None) -> History:
    """List the kept solves of a method, newest first. Each entry has the data, parameters and quality of its solve."""
    name = board_name(method, part)
    read = partial(here.store.solved.history, pool, name)
    solves = read_or_raise(here, pool, name, f"solved {board_text(method, part)}", lambda: read() or None, part)
    return History(pool=pool, method=method, solves=solves, slice=part or msgspec.UNSET)


@get(
    "/v1/pools/{pool:str}/boards/{method:str}/diff",
    tags=["boards"],
    operation_class=Described,
    responses=problems(404, 409, 410, 422, 503),
)
async def compare_solves(
    here: Here,
    pool: Pool,
    method: Method,
    against: Against = None,
    position: Later = None,
    since: Since = None,
    until: Until = None,
    count: Count = 50,
    part: SliceText = None,
    generation: OfGeneration = None,
) -> Difference:
    """Return what changed from an earlier solve to the newest one of the same season, and why. Solves of two seasons are not compared.

    Of an online method: what changed from the board at `against` to the one at `position`, or from `since` to `until`. Of a solved method
    with `position`, `since` or `until`: the same, by two solves on request, which large pools are refused. Both need an archive for moments
    of which nothing is kept.
    """
    before, after = when_of(against, since, ("against", "since")), when_of(position, until, ("position", "until"))
    head = await here.workers.readers.run(partial(here.store.live.head, check_pool_name(pool)))
    live = head is not None and method in head.online
    if live or after is not None or since is not None:
        if before is None:
            what = f"{method} is an online method" if live else "with position or until, the method is solved at both"
            raise InputError("against, since", None, f"must be sent: {what}, and every position has a board")
        wanted = BoardChange(pool, method, before, after, count, generation, slice_text(part))
        read = partial(_changes_of_live, here, head, wanted) if live else partial(_changes_solved_again, here, wanted)
        return await here.workers.past.run(read)
    if generation is not None:
        raise InputError(
            "generation", generation, "must be sent with position, since or until: else the two solves are kept ones, of any generation"
        )
    return await here.workers.readers.run(partial(_changes_of_solved, here, pool, method, against, count, part))


def _changes_solved_again(here: Context, wanted: BoardChange) -> Difference:
    """The difference between two solves on request. Raises `ApiError`, `InputError`."""
    name = board_name(wanted.method, wanted.part or None)
    read = partial(past_solves, here, wanted.pool, name)
    with past_problems():
        solves = read_or_raise(
            here, wanted.pool, name, f"solved {board_text(wanted.method, wanted.part or None)}", read, wanted.part or None
        )
        found = solves.changes(wanted)
    return here.pool_agents.columns(wanted.pool, solves.head).difference(found)


def _changes_of_live(here: Context, head: PoolHead | None, wanted: BoardChange) -> Difference:
    """The difference between two live boards. Raises `ApiError`, `InputError`."""
    with past_problems():
        found = past_boards(here).changes(wanted, here.clock())
    return here.pool_agents.columns(wanted.pool, head).difference(found)


def _changes_of_solved(here: Context, pool: str, method: str, against: int | None, count: int, part: str | None) -> Difference:
    """The difference between two kept solves. Raises `ApiError`, `InputError`."""
    name = board_name(method, part)
    read = partial(boards.changes, here.store.solved, pool, method, against, count, slice_text(part))
    found = read_or_raise(
        here, pool, name, f"two kept solves of {board_text(method, part).removeprefix('board ')} in this season", read, part
    )
    return here.pool_agents.columns(pool, here.store.live.head(pool)).difference(found)


def _answer_uncached(here: Context, asked: Asked) -> Value:
    """Answer a poll without the cache: of a missing pool or board, or a failed store."""
    if asked.kind == "insight":
        published(here, asked.pool)
        return insight(here.store.solved, asked.pool, now=here.clock())
    read = partial(built, here.store, here.directory, here.clock, here.pool_agents, asked)
    what = f"board {method_of(asked.method)}{' of this slice' if method_of(asked.method) != asked.method else ''}"
    if not asked.method:
        what = f"slice {asked.part} (GET /v1/pools/{asked.pool}/slices lists the slices)" if asked.part else "boards"
    return cast("Value", read_or_raise(here, asked.pool, asked.method, what, read, asked.part or None))


def _get_newest(here: Context, asked: AskedBoard, cursor: Cursor | FilterCursor | None, count: int | None, *, everyone: bool) -> Board:
    """Read the newest board. count: largest number of rows; None for all rows. Raises `ApiError`.

    everyone: as of `services.boards.reading.board`; a cursor has its own choice.
    """
    pool, method, store, now = asked.pool, asked.name, here.store, here.clock()
    read: Callable[[], Board | None]
    if asked.agents is not None:
        names = [check_name(name, "agents") for name in asked.agents]
        read = partial(_rows_of_visible, here, asked, names)
    elif asked.selects:
        read = partial(_get_filtered, here, asked, cursor, count, everyone=everyone)
    elif count is None:
        read = partial(boards.whole, store, pool, method, now=now)
    elif isinstance(cursor, Cursor):
        read = partial(boards.resumed, store, cursor, count=count, now=now)
    else:
        read = partial(boards.board, store, pool, method, start=asked.begin, count=count, now=now, everyone=everyone)
    try:
        return read_or_raise(here, pool, method, board_text(asked.method, asked.part), read, asked.part)
    except boards.WithoutRow as error:
        published(here, pool)  # raises 503 if the store lost the pool in between
        raise ApiError(404, "no such agents", f"{error}: {find_agents(pool)}") from error
    except ReplacedBoard as error:
        raise ApiError(410, "board replaced", str(error)) from error


def _get_filtered(
    here: Context, asked: AskedBoard, cursor: Cursor | FilterCursor | None, count: int | None, *, everyone: bool
) -> Board | None:
    """Read rows that match filters. count, everyone: as of `_get_newest`. Raises `InputError`, `ReplacedBoard`."""
    columns = here.pool_agents.columns(asked.pool, here.store.live.head(asked.pool), slice_text(asked.part))
    selected = selection(here.pool_agents, columns, asked.asked())._replace(everyone=everyone)
    now = here.clock()
    if count is None:
        return filtered.complete(here.store, selected._replace(everyone=True), now=now)
    if not isinstance(cursor, FilterCursor):
        return filtered.page(here.store, selected, None, count, now=now)
    return filtered.page(here.store, selected._replace(everyone=cursor.everyone), cursor, count, now=now)


def _rows_of_visible(here: Context, asked: AskedBoard, names: Sequence[str]) -> Board | None:
    """Read the rows of agents. Raises `WithoutRow` also for a hidden agent, unless hidden ones are asked for."""
    hidden = [] if asked.hidden else [name for name in names if here.pool_agents.details(asked.pool).is_hidden(name)]
    if hidden:
        raise boards.WithoutRow(asked.method, hidden)
    return boards.of_agents(here.store, asked.pool, asked.name, names, now=here.clock())


def _get_past(here: Context, asked: AskedBoard, cursor: Cursor | FilterCursor | None, when: When, count: int | None) -> Board:
    """Read a past board. count: largest number of rows; None for all kept rows. Raises `ApiError`, `InputError`."""
    start, most = asked.begin if cursor is None else cursor.start, boards.MOST_ROWS if count is None else count
    generation, now, part = asked.generation if cursor is None else cursor.generation, here.clock(), slice_text(asked.part)

    def read(start: int, most: int) -> tuple[Board, str]:
        rows = PastRows(asked.pool, asked.method, when, start, most, here.settings.provisional, generation, part)
        board = partial(past_board, here, rows, now)
        page = read_or_raise(here, asked.pool, asked.name, board_text(asked.method, asked.part), board, asked.part)
        return page, boards.past_version(page)

    with past_problems():
        if count is not None and asked.selects:
            return filtered.page_of_file(read, file_selection(here, asked), cursor if isinstance(cursor, FilterCursor) else None, count)
        page, version = read(start, most)
        if count is None and len(page.rows) == most:  # a kept solve may have fewer rows than its total
            boards.check_size(page)
        if count is None and asked.selects:
            return filtered.matching_rows(page, file_selection(here, asked))
        page = boards.continued(page, version, cursor) if isinstance(cursor, Cursor) else boards.with_next(page, version, start)
        return page if len(page.rows) == most else msgspec.structs.replace(page, next=None)  # a kept solve has its best rows alone


def file_selection(here: Context, asked: AskedBoard) -> filtered.Selection:
    """What a request selects of a past or final board. It needs no index of agents, because these boards have no filter by games."""
    return selection(here.pool_agents, AgentColumns(here.pool_agents.details(asked.pool), None), asked.asked())._replace(everyone=True)


def read_or_raise(here: Context, pool: str, method: str, what: str, read: Callable[[], ReadT | None], part: str | None = None) -> ReadT:
    """Return the value that `read` reads from the store.

    Raises `ApiError` 404 if it does not exist, and 503 if the store lost it. It is read again after these checks, because it may have been
    published in between.

    method: the board that `read` needs; empty if it needs none. what: what the pool lacks, for the error. part: the slice of the board.
    """
    value, head = read(), None
    if value is None or (isinstance(value, Boards) and value.pool.head is None):
        known = published(here, pool)
        if method and _lost(here, pool, method, known.head):
            raise not_there_now(f"board {method_of(method)} of pool {pool}{' and this slice' if is_sliced(method) else ''}")
        value, head = read(), known.head
        if value is None and head is None:
            raise nothing_yet(pool)
        if value is None and head is not None:
            check_slice(head, slice_text(part))
    if value is not None:
        return value
    why = f"GET /v1/pools/{pool}/boards lists its boards"
    if method and head is not None:
        why = why_missing(head, here.directory.control.known(), method)
    raise ApiError(404, "not found", f"pool {pool} has no {what}: {why}")


def _lost(here: Context, pool: str, method: str, head: PoolHead | None) -> bool:
    """Whether the store had a solved board before, lacks it or its history now, and the pool or slice is still solved by its method."""
    if not here.store.seen.solved(pool, method):
        return False
    if is_sliced(method) and (head is None or slice_of(head.slices, activity_of(method)) is None):
        return False  # the present generation has no such slice
    shown = here.store.solved.page(pool, method, 0, 1)
    if shown is not None and (shown[0].result.status in _WITHOUT_RESULT or here.store.solved.history(pool, method)):
        return False  # the history is written after the board, and a method without any result has none
    state = here.directory.control.known()
    tag = dimension_of(method)
    return pool in state.pools and any(
        choice.method == method_of(method) and tag in (None, *choice.slices) and choice.chosen is not None and choice.why_not is None
        for choice in choices(state, pool)
    )

"""Routes of seasons: their list, the start of the next one, its withdrawal, and final boards of ended ones."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeAlias

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.di import NamedDependency, Provide
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from services.api.board_answers import (
    After,
    Agents,
    AskedBoard,
    BoardFormats,
    Count,
    Form,
    Shown,
    Start,
    board_body,
    board_reply,
    format_of,
)
from services.api.boards import file_selection
from services.api.bodies import LimitedBody
from services.api.context import Context, Here, Method, Pool, admin_key, context
from services.api.described import Decoded, Described, problems
from services.api.pools import pool_view
from services.api.problems import ApiError, find_agents
from services.api.replies import GenerationWish, SeasonAsked, Seasons
from services.api.slices import SliceText
from services.boards import reading as boards
from services.boards.agent_columns import AgentColumns
from services.boards.cursors import FilterCursor
from services.boards.filtered import matching_rows, page_of_file
from services.boards.formats import BoardFormat
from services.boards.reading import Board, ShownProvisional
from services.boards.season_boards import NoSeason, SeasonBoards
from services.boards.season_files import SeasonFiles
from services.boards.slice_boards import slice_text
from services.checkpoints.checkpoint import CheckpointStore
from services.control.records import SEASON_PATTERN, Generation, GenerationRequest, SeasonStart
from services.control.seasons import NoRequest, SeasonBegan, season_request
from services.wire.pools import check_pool_name

_MAX_BODY: Final = 64 * 1024
_EXAMPLE: Final = Example(value={"name": "2026-winter", "keep": 0.5})
SeasonOf: TypeAlias = Annotated[
    str,
    PathParameter(
        description="Name of an ended season.", schema_extra={"pattern": SEASON_PATTERN}, examples=[Example(value="2026-autumn")]
    ),
]


RequestedSeason: TypeAlias = Annotated[
    str,
    PathParameter(
        description="Name of a requested season.", schema_extra={"pattern": SEASON_PATTERN}, examples=[Example(value="2026-winter")]
    ),
]


class SeasonBody(Decoded[SeasonAsked]):
    """The body of POST /v1/pools/{pool}/seasons."""

    title, hint = "not a season", 'send {"name": "2026-winter", "keep": 0.5}'


@dataclass(frozen=True, slots=True)
class AskedSeasonBoard:
    """The parameters of the route of a final board."""

    pool: Pool
    season: SeasonOf
    method: Method
    start: Start = None
    count: Count = None
    cursor: After = None
    agents: Agents = None
    form: Form = None
    provisional: Shown = ShownProvisional.INCLUDE
    part: SliceText = None

    @property
    def board(self) -> AskedBoard:
        """The same parameters as those of a board. Raises `InputError` for parameters that exclude each other."""
        return AskedBoard(
            self.pool, self.method, self.start, self.count, self.cursor, self.agents, everyone=True, form=self.form,
            provisional=self.provisional, part=self.part,
        )  # fmt: skip


@get("/v1/pools/{pool:str}/seasons", tags=["seasons"], operation_class=Described, responses=problems(404, 422, 503))
async def list_seasons(here: Here, pool: Pool) -> Seasons:
    """List the seasons of a pool, oldest first, with their spans and the names of their final boards."""
    return await here.workers.log.run(partial(_listed, here, check_pool_name(pool)))


@post(
    "/v1/pools/{pool:str}/seasons",
    tags=["seasons"],
    status_code=202,
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_BODY)],
    dto=SeasonBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    response_description="The request is durable in the log.",
)
async def start_season(here: Here, pool: Pool, data: Annotated[SeasonAsked, Body(examples=[_EXAMPLE])]) -> GenerationWish:
    """End the present season and start the next one.

    The final boards of the ended season are kept for ever. Settings, aliases and bans stay. With `keep`, ratings of online methods are
    carried over by a soft reset. Solved methods count the outcomes of the new season alone. Retractions that wait are applied first.
    """
    return await here.workers.log.run(partial(_start, here, check_pool_name(pool), data))


@delete(
    "/v1/pools/{pool:str}/seasons/{season:str}",
    tags=["seasons"],
    status_code=200,
    operation_class=Described,
    guards=[admin_key],
    responses=problems(401, 403, 404, 409, 422, 429, 503),
    response_description="The withdrawal is durable in the log.",
)
async def withdraw_season(here: Here, pool: Pool, season: RequestedSeason) -> Seasons:
    """Withdraw a season that was requested and has not begun, and return the seasons that are left.

    Changed settings that the request holds stay requested, for the present season. The name can be used again.
    """
    return await here.workers.log.run(partial(_withdraw, here, check_pool_name(pool), season))


@get(
    "/v1/pools/{pool:str}/seasons/{season:str}/boards/{method:str}",
    tags=["seasons"],
    operation_class=BoardFormats,
    dependencies={"asked": Provide(AskedSeasonBoard, sync_to_thread=False)},
    responses=problems(404, 406, 410, 414, 422, 501, 503),
)
async def get_season_board(request: Request, asked: NamedDependency[AskedSeasonBoard]) -> Response[Board]:  # type: ignore[type-arg]
    """Return rows of a final board of an ended season, best first, in the formats of a board."""
    here, board = context(request), asked.board
    form = format_of(request, board)
    made = await here.workers.checkpoints.run(lambda: board_body(_with_details(here, asked.season, board, form), form))
    return board_reply(request, board, form, made)


def season_boards(here: Context) -> SeasonBoards:
    """The reader of final boards."""
    files = SeasonFiles(CheckpointStore(here.settings.checkpoint_url), here.store.log)
    return SeasonBoards(files, here.directory.control.refresh)


def _listed(here: Context, pool: str) -> Seasons:
    pool_view(here, pool)  # raises 404 if the pool does not exist
    try:
        return Seasons(pool=pool, seasons=season_boards(here).seasons(pool, here.store.live.head(pool)))
    except OSError as error:
        raise ApiError(503, "files cannot be read", f"the files of seasons cannot be read now: {error}") from error


def _start(here: Context, pool: str, asked: SeasonAsked) -> GenerationWish:
    head = here.store.live.head(pool)
    if head is not None and head.stopped is not None:
        why = f"pool {pool} stopped ({head.stopped}), so its season has no final boards"
        raise ApiError(409, "pool stopped", f"{why}: resume it first, by `equirank pools resume {pool}`")
    season = SeasonStart(name=asked.name, keep=asked.keep)

    def request(standing: Generation | GenerationRequest) -> GenerationRequest:
        return season_request(here.directory.control.known(), standing, season, asked.start, here.clock())

    return GenerationWish(pool=pool, wish=here.directory.want(pool, request, begins_season=True))


def _withdraw(here: Context, pool: str, season: str) -> Seasons:
    pool_view(here, pool)  # raises 404 if the pool does not exist
    try:
        here.directory.control.withdraw_season(pool, season, here.clock())
    except NoRequest as error:
        raise ApiError(404, "not found", f"{error}: GET /v1/pools/{pool}/seasons lists them") from error
    except SeasonBegan as error:
        raise ApiError(409, "season began", str(error)) from error
    return _listed(here, pool)


def _with_details(here: Context, season: str, asked: AskedBoard, form: BoardFormat) -> Board:
    """Read a final board, with details of agents and without hidden ones. Raises as `_board`."""
    board = _board(here, season, asked, form)
    details = here.pool_agents.details(asked.pool)
    if hidden := [name for name in asked.agents or () if details.is_hidden(name)]:
        error = boards.WithoutRow(asked.method, hidden)
        raise ApiError(404, "no such agents", f"{error}: {find_agents(asked.pool)}")
    return AgentColumns(details, None).board(board)


def _board(here: Context, season: str, asked: AskedBoard, form: BoardFormat) -> Board:
    """Read a final board. Raises `ApiError`, `InputError`, `StoreError`."""
    count, cursor = asked.rows(form), asked.continued()
    if cursor is not None and (cursor.source, cursor.version) != ("season", season):
        raise InputError("cursor", asked.cursor, "must be the `next` of an earlier answer for this board")
    agents = None if asked.agents is None else [check_name(name, "agents") for name in asked.agents]
    pool_view(here, asked.pool)  # raises 404 if the pool does not exist
    start, most = asked.begin if cursor is None else cursor.start, boards.MOST_ROWS if count is None else count
    now, provisional = here.clock(), here.settings.provisional
    board = partial(season_boards(here).board, asked.pool, season, asked.method, part=slice_text(asked.part))
    read = partial(board, now=now, provisional=provisional)
    try:
        if count is not None and asked.selects:
            position = cursor if isinstance(cursor, FilterCursor) else None
            rows = file_selection(here, asked)
            return page_of_file(lambda begin, size: (read(start=begin, count=size), season), rows, position, count)
        page = read(start=start, count=most, agents=agents)
    except NoSeason as error:
        raise ApiError(404, "not found", f"{error}: GET /v1/pools/{asked.pool}/seasons lists them") from error
    except boards.WithoutRow as error:
        raise ApiError(404, "no such agents", f"{error}: {find_agents(asked.pool)}") from error
    if count is None and agents is None and len(page.rows) == most:
        boards.check_size(page)
    if count is None and asked.selects:
        return matching_rows(page, file_selection(here, asked))
    return page if count is not None or agents is not None else msgspec.structs.replace(page, next=None)

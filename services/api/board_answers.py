"""The parameters of the route of a board, and its answers in several formats."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, Final, TypeAlias

from litestar import Request, Response
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Schema
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType
from litestar.params import QueryParameter

from ratings_core.errors import InputError, MissingExtraError
from ratings_core.records.times import seconds
from services.api.answers import Asked, tag_of
from services.api.context import Method, Pool
from services.api.described import Described
from services.api.media_types import MEDIA_TYPES, chosen
from services.api.problems import ApiError
from services.api.slices import SliceText, board_name
from services.boards.cursors import Cursor, FilterCursor, cursor_of, filter_cursor_of
from services.boards.formats import BoardFormat, encoded_rows
from services.boards.past_contents import When
from services.boards.reading import Board, ShownProvisional
from services.boards.slice_boards import slice_text
from services.control.details import COUNTRY_PATTERN, MOST_TAGS, AgentFilter, check_country, check_tag_key
from services.wire.pools import check_pool_name

_MOST_AGENTS: Final = 200
_ROWS: Final = 50
Start: TypeAlias = Annotated[int | None, QueryParameter(ge=0, le=2**31 - 1, description="Number of rows to skip. Default: 0.")]
Count: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=1, le=1000, description="Largest number of rows to return. Default: 50 in JSON, all rows in other formats."),
]
After: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="cursor", description="`next` of an earlier answer: return the page after it. Not with `start`, `position`, `at` or `agents`."
    ),
]
Agents: TypeAlias = Annotated[
    list[str] | None,
    QueryParameter(
        max_items=_MOST_AGENTS,
        description="Return only the rows of these agents, in this order: `agents=ann&agents=bob`, at most 200 names and 8,192 bytes.",
    ),
]
All: TypeAlias = Annotated[
    bool,
    QueryParameter(
        name="all",
        description="Return also the agents outside the support of a maximal lottery, whose probability is 0. By default, JSON only counts "
        "them; other formats have them always. A cursor keeps the choice.",
    ),
]
Form: TypeAlias = Annotated[BoardFormat | None, QueryParameter(name="format", description="Format of the answer, in place of Accept.")]
Position: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=0,
        description="Return the board at this position. Without an archive: the board at the newest kept position that is not after it. Of "
        "a solved method: a kept solve that is not after it, or a solve on request.",
        schema_extra={"minimum": 0},
    ),
]
At: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Return the board of all outcomes that the log took by this time: 2026-11-22T06:00:00Z (UTC by default), or seconds "
        "since 1970. Without an archive: the newest kept board written by then. Of a solved method: a kept solve of before, or a solve on "
        "request. Not with `position`."
    ),
]
OfGeneration: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=1,
        description="With a past position or time: only boards of this generation. By default, a board is by the generation that serves "
        "the season of that moment, if it can be made again. Needed if several generations have a kept board at the position.",
        schema_extra={"minimum": 1},
    ),
]
Shown: TypeAlias = Annotated[
    ShownProvisional,
    QueryParameter(
        description="`exclude`: without provisional agents, which follow the settled ones. `only`: provisional agents alone. A filter like "
        "`country`: `filter_place` counts the agents that are shown, and `cursor` continues."
    ),
]
Country: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Return only agents with this country, an ISO 3166-1 alpha-2 code: `country=DE`. Filters go with `cursor`.",
        schema_extra={"pattern": COUNTRY_PATTERN},
    ),
]
Organisation: TypeAlias = Annotated[str | None, QueryParameter(description="Return only agents with this organisation.")]
Tag: TypeAlias = Annotated[
    list[str] | None,
    QueryParameter(max_items=MOST_TAGS, description="Return only agents with this tag: `tag=team:red`. Repeatable; all must match."),
]
MinGames: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=1,
        le=2**31 - 1,
        description="Return only agents with at least this many games, as of the column `games`: in the slice, with `slice`.",
    ),
]
Hidden: TypeAlias = Annotated[bool, QueryParameter(description="Return also hidden agents. Needs an admin key.")]


@dataclass(frozen=True, slots=True)
class AskedBoard:
    """The parameters of the route of a board."""

    pool: Pool
    method: Method
    start: Start = None
    count: Count = None
    cursor: After = None
    agents: Agents = None
    position: Position = None
    at: At = None
    everyone: All = False
    form: Form = None
    generation: OfGeneration = None
    provisional: Shown = ShownProvisional.INCLUDE
    country: Country = None
    organisation: Organisation = None
    tag: Tag = None
    min_games: MinGames = None
    hidden: Hidden = False
    part: SliceText = None

    def __post_init__(self) -> None:
        """Raise `InputError` for parameters that exclude each other."""
        check_pool_name(self.pool)
        past = self.position is not None or self.at is not None
        if self.generation is not None and not past:
            raise InputError("generation", self.generation, "must be sent with position or at")
        if self.cursor is not None and (past or self.start is not None or self.agents is not None):
            raise InputError("cursor", self.cursor[:100], "must not be sent with start, agents, position or at")
        if self.agents is not None and (past or self.start is not None or self.count is not None):
            raise InputError("agents", ", ".join(self.agents[:5]), "must not be sent with start, count, position or at")
        if self.wanted.selects and past:
            rule = "must not be sent with position or at: details and games are those of now"
            raise InputError("country, organisation, tag, min_games", tuple(self.wanted), rule)
        if self.selects and (self.start is not None or self.agents is not None):
            rule = "must not be sent with start or agents: continue by a cursor"
            raise InputError("country, organisation, tag, min_games, provisional", (*self.wanted, self.provisional.value), rule)

    @property
    def name(self) -> str:
        """Name of the board in the store. Raises `InputError`."""
        return board_name(self.method, self.part)

    @property
    def wanted(self) -> AgentFilter:
        """Which agents the rows have. Raises `InputError`."""
        tags = tuple(sorted(map(_tag, self.tag or ())))
        country = None if self.country is None else check_country(self.country)
        return AgentFilter(country, self.organisation, tags, self.min_games, self.hidden)

    @property
    def begin(self) -> int:
        """Index of the first row."""
        return self.start or 0

    @property
    def page(self) -> bool:
        """Whether the answer is a first page of the newest board, or one by `start` and `count`, that everybody may read."""
        return self.cursor is None and self.agents is None and self.when is None and not self.hidden

    def asked(self, rows: int = 0) -> Asked:
        """What an answer has, as it is cached. rows: most rows."""
        part = slice_text(self.part)
        return Asked("board", self.pool, self.name, self.begin, rows, self.everyone, self.wanted, self.provisional, part)

    @property
    def selects(self) -> bool:
        """Whether rows are left out by a filter."""
        return self.asked().selects

    @property
    def when(self) -> When | None:
        """Position or time of a past board; None for the newest board."""
        if self.position is None and self.at is None:
            return None
        return When(self.position, None if self.at is None else seconds(self.at, "at"))

    def rows(self, form: BoardFormat) -> int | None:
        """Largest number of rows; None for all rows."""
        if self.count is not None:
            return self.count
        return _ROWS if form is BoardFormat.JSON or self.start is not None or self.cursor is not None else None

    def continued(self) -> Cursor | FilterCursor | None:
        """The cursor; a `FilterCursor` if and only if the request has filters. Raises `InputError`."""
        if self.cursor is None:
            return None
        if self.selects:
            return filter_cursor_of(self.cursor, self.pool, self.name, self.asked().filters)
        return cursor_of(self.cursor, self.pool, self.name)


def _tag(text: str) -> tuple[str, str]:
    """Key and value of a parameter `tag`. Raises `InputError`."""
    key, colon, value = text.partition(":")
    if not colon:
        raise InputError("tag", text, "must be key:value")
    return check_tag_key(key), value


def format_of(request: Request, asked: AskedBoard) -> BoardFormat:  # type: ignore[type-arg]
    """The format of the answer. Raises `ApiError` 406."""
    return chosen(asked.form, ",".join(request.headers.getall("accept", [])))


def board_body(board: Board, form: BoardFormat) -> tuple[bytes, str, Board]:
    """The body of an answer, its tag, and its board. Raises `ApiError` 501 if a package is missing."""
    try:
        body = encoded_rows(board, form)
    except MissingExtraError as error:
        raise ApiError(501, "not installed", str(error)) from error
    return body, tag_of(board) if form is BoardFormat.JSON else f'"{blake2b(body, digest_size=12).hexdigest()}"', board


def board_reply(request: Request, asked: AskedBoard, form: BoardFormat, made: tuple[bytes, str, Board]) -> Response[Any]:  # type: ignore[type-arg]
    """The response of an answer that is not cached; 304 if the client has it."""
    body, tag, board = made
    headers = {"ETag": f"W/{tag}", "Cache-Control": "no-cache", "Vary": "Accept"}
    if form is not BoardFormat.JSON:  # also with 304: the same rows may be those of a newer board, whose cursor is another one
        headers |= {f"Equirank-{name.title()}": str(getattr(board, name)) for name in ("generation", "position", "total", "ranked")}
        if isinstance(board.next, str):
            headers["Equirank-Next"] = board.next
        if isinstance(board.changed, bool):
            headers["Equirank-Changed"] = str(board.changed).lower()
    if tag in request.headers.get("if-none-match", ""):
        return Response(None, status_code=304, headers=headers)
    if form is not BoardFormat.JSON:
        headers["Content-Disposition"] = f'attachment; filename="{asked.pool}.{asked.method}.{form}"'
    return Response(body, headers=headers, media_type=MEDIA_TYPES[form])


@dataclass
class BoardFormats(Described):
    """The route of a board, whose answer has several media types."""

    def __post_init__(self) -> None:
        """Describe the other media types."""
        super().__post_init__()
        answer = (self.responses or {}).get("200")
        if isinstance(answer, OpenAPIResponse) and answer.content is not None:
            binary = OpenAPIMediaType(Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
            answer.content.update({media: binary for form, media in MEDIA_TYPES.items() if form is not BoardFormat.JSON})

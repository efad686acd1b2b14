"""The route of exports: a pool's outcomes as a stream. An incomplete stream lacks its last chunk."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Schema
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType
from litestar.params import QueryParameter
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from ratings_core.errors import MissingExtraError
from services.admin.export import COLUMNS, Wanted
from services.admin.export_formats import Format
from services.admin.pool_range import pool_range
from services.api.context import Context, Here, Pool, any_key
from services.api.described import Described, problems
from services.api.export_streams import ExportStream
from services.api.problems import ApiError
from services.wire.pools import check_pool_name

_TYPES: Final = {Format.JSONL: "application/x-ndjson", Format.CSV: "text/csv", Format.PARQUET: "application/vnd.apache.parquet"}
_POSITION: Final[dict[str, Any]] = {"ge": 0, "le": 2**63 - 1, "schema_extra": {"minimum": 0, "maximum": 2**63 - 1}}
"""Limits of a position. The framework writes a limit as a double, and leaves out 0 for a parameter that may be absent."""

Begin: TypeAlias = Annotated[int, QueryParameter(name="from", description="First log position.", **_POSITION)]
End: TypeAlias = Annotated[int | None, QueryParameter(name="to", description="Log position to stop before.", **_POSITION)]
Since: TypeAlias = Annotated[
    str | None, QueryParameter(description="Only outcomes since this time: a date, an ISO time or seconds since 1970.")
]
Until: TypeAlias = Annotated[str | None, QueryParameter(description="Only outcomes before this time.")]
Agents: TypeAlias = Annotated[list[str] | None, QueryParameter(description="Only outcomes with this agent. Repeatable.")]
Columns: TypeAlias = Annotated[list[str] | None, QueryParameter(description="Column of the CSV or Parquet output. Repeatable.")]
Form: TypeAlias = Annotated[
    Format, QueryParameter(name="format", description="`jsonl` has outcomes of the wire schema; `equirank replay` reads it.")
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of an export."""

    pool: Pool
    begin: Begin = 0
    end: End = None
    since: Since = None
    until: Until = None
    agent: Agents = None
    column: Columns = None

    def wanted(self) -> Wanted:
        """Convert the parameters to those of `services.admin.export`. Raises `InputError`."""
        asked = pool_range(check_pool_name(self.pool), (self.begin, self.end), self.since, self.until)
        return Wanted(asked, tuple(self.agent or ()), tuple(self.column or COLUMNS))


@dataclass
class _Exports(Described):
    """The route of exports, whose answer has several media types."""

    def __post_init__(self) -> None:
        """Describe the answer."""
        super().__post_init__()
        text = "Outcomes in the order of the log. If the export fails, the server closes the connection before the last chunk."
        binary = OpenAPIMediaType(Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
        self.responses = {**(self.responses or {}), "200": OpenAPIResponse(text, content=dict.fromkeys(_TYPES.values(), binary))}


@get(
    "/v1/pools/{pool:str}/export",
    tags=["pools"],
    operation_class=_Exports,
    guards=[any_key],
    dependencies={"asked": Provide(Asked, sync_to_thread=False)},
    responses=problems(401, 403, 404, 422, 429, 501, 503),
)
async def export_outcomes(here: Here, asked: NamedDependency[Asked], form: Form = Format.JSONL) -> ASGIStreamingResponse:
    """Stream a pool's outcomes and retractions as they were sent. They come from the archive, and newer ones from the log.

    If the installation has keys, a key is required: boards are public, but outcomes are not.
    """
    stream = here.exports.begin(asked.wanted(), form)
    try:
        head = await here.workers.exports.run(stream.next)
    except BaseException as error:
        here.workers.exports.finish(stream.close)
        if isinstance(error, MissingExtraError):
            raise ApiError(501, "not installed", str(error)) from error
        raise
    file = f'attachment; filename="{asked.pool}.{form}"'
    return _Answer(here, stream, _body(here, stream, head), media_type=_TYPES[form], headers={"Content-Disposition": file})


class _Answer(ASGIStreamingResponse):
    """A streaming response that closes its export when it ends, also after an error or a disconnect."""

    def __init__(
        self, here: Context, stream: ExportStream, body: AsyncIterator[bytes], *, media_type: str, headers: dict[str, str]
    ) -> None:
        super().__init__(iterator=body, media_type=media_type, headers=headers)
        self._here, self._export = here, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, then close the export."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._here.workers.exports.finish(self._export.close)


async def _body(here: Context, stream: ExportStream, head: bytes | None) -> AsyncIterator[bytes]:
    """Yield all parts. An error closes the connection before the last chunk, which shows the client that the export is incomplete."""
    while head is not None:
        yield head
        head = await here.workers.exports.run(stream.next)

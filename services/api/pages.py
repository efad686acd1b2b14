"""Routes of the web page and its files. The files are in memory, so the event loop sends them without a worker thread."""

from typing import Any, TypeAlias

from litestar import Request as Asked
from litestar import Response, get
from litestar.params import FromPath

from services.api.problems import ApiError
from services.web.assets import Asset, asset, page, page_of_routes

Request: TypeAlias = Asked[Any, Any, Any]


@get(["/", "/pools/{pool:str}"], include_in_schema=False)
async def get_page(request: Request) -> Response[bytes]:
    """Return the web page. All addresses get the same page, whose script reads the address."""
    return _send(request, page(), "no-cache")


@get("/docs", include_in_schema=False)
async def get_docs(request: Request) -> Response[bytes]:
    """Return the API's description for people. Programs read /openapi.json."""
    state = request.app.state
    if "page_of_routes" not in state:
        state.page_of_routes = page_of_routes(request.app.openapi_schema.to_schema())
    return _send(request, state.page_of_routes, "no-cache")


@get("/static/{digest:str}/{name:str}", include_in_schema=False)
async def get_asset(request: Request, digest: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """Return a file of the page. Its address contains its digest, so clients may cache it without limit."""
    file = asset(name)
    if file is None or file.digest != digest:
        raise ApiError(404, "no such file", "load the page again")
    return _send(request, file, "public, max-age=31536000, immutable")


def _send(request: Request, file: Asset, cache: str) -> Response[bytes]:
    headers = {"ETag": f'"{file.digest}"', "Cache-Control": cache, "Vary": "Accept-Encoding", "Content-Type": file.media_type}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.gzipped, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, headers=headers)

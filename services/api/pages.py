"""Routes of the web page and its files. The files are in memory, so the event loop sends them without a worker thread."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from litestar import Request as Asked
from litestar import Response, get
from litestar.params import FromPath

from services.api.compressed import takes_gzip
from services.api.middleware import policy
from services.api.problems import ApiError
from services.web.assets import Asset, assets, digest, docs_page, page

Request: TypeAlias = Asked[Any, Any, Any]


_ADDRESSES: Final = ["/", "/pools/{pool:str}", "/pools/{pool:str}/agents/{agent:str}", "/copies", "/operations"]
_LONGEST_NAME: Final = 256
_EMBEDDED: Final = ("/pools/",)
"""Pages that other sites may show in a frame. They only read, and have no field for a key."""


@get(_ADDRESSES, include_in_schema=False)
async def get_page(request: Request) -> Response[bytes]:
    """Return the web page. All addresses get the same scripts, which read the address; title and description name pool and agent."""
    names = [unquote(str(request.path_params.get(name, "")))[:_LONGEST_NAME] for name in ("pool", "agent")]
    embedded = request.query_params.get("embed") == "1" and request.url.path.startswith(_EMBEDDED)
    return _send(request, page(*names), "no-cache", {"Content-Security-Policy": policy("*")} if embedded else {})


@get("/docs", include_in_schema=False)
async def get_docs(request: Request) -> Response[bytes]:
    """Return the API's description for people, from which requests can be sent. Programs read /openapi.json."""
    return _send(request, docs_page(), "no-cache", {})


@get("/static/{version:str}/{name:path}", include_in_schema=False)
async def get_asset(request: Request, version: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """Return a file of the pages. Its address contains the digest of all files, so clients may cache it without limit."""
    file = assets().get(name.lstrip("/"))
    if file is None or version != digest():
        raise ApiError(404, "no such file", "load the page again")
    return _send(request, file, "public, max-age=31536000, immutable", {})


def is_read_by_people(request: Request) -> bool:
    """Whether a browser asks for an address outside of the API, to show it."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")


def missing_page(request: Request) -> Response[bytes]:
    """Return the page of an address that does not exist, with status 404."""
    return _send(request, page(), "no-cache", {}, status=404)


def _send(request: Request, file: Asset, cache: str, more: Mapping[str, str], status: int = 200) -> Response[bytes]:
    headers = {"ETag": f'"{file.digest}"', "Cache-Control": cache, "Vary": "Accept-Encoding", "Content-Type": file.media_type, **more}
    if status == 200 and headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers)
    if takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(file.gzipped, status_code=status, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.content, status_code=status, headers=headers)

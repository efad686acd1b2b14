"""Routes of the web page and its files. The files are in memory, so the event loop sends them without a worker thread."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from services.api.problems import ApiError
from services.web import Asset, asset, page, page_of_routes

router = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/pools/{pool}")
async def get_page(request: Request) -> Response:
    """Return the web page. All addresses get the same page, whose script reads the address."""
    return _send(request, page(), "no-cache")


@router.get("/docs")
async def get_docs(request: Request) -> Response:
    """Return the API's description for people. Programs read /openapi.json."""
    state = request.app.state
    if getattr(state, "page_of_routes", None) is None:
        state.page_of_routes = page_of_routes(request.app.openapi())
    return _send(request, state.page_of_routes, "no-cache")


@router.get("/static/{digest}/{name}")
async def get_asset(request: Request, digest: str, name: str) -> Response:
    """Return a file of the page. Its address contains its digest, so clients may cache it without limit."""
    found = asset(name)
    if found is None or found.digest != digest:
        raise ApiError(404, "no such file", "load the page again")
    return _send(request, found, "public, max-age=31536000, immutable")


def _send(request: Request, found: Asset, cache: str) -> Response:
    headers = {"ETag": f'"{found.digest}"', "Cache-Control": cache, "Vary": "Accept-Encoding"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.gzipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.media_type)
    return Response(found.content, headers=headers, media_type=found.media_type)

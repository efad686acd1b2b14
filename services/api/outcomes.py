"""POST /v1/outcomes."""

from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from services.api.context import context
from services.api.intake import MAX_BODY, Accepted
from services.api.problems import ApiError
from services.api.replies import body_of, described, reply

router = APIRouter(tags=["outcomes"])
_OUTCOME: Final = {"type": "object", "description": "One outcome of wire schema v1; `id` and `time` are filled in where absent."}
_BODY: Final = {"oneOf": [_OUTCOME, {"type": "array", "items": _OUTCOME, "minItems": 1, "description": "Outcomes of one pool."}]}


@router.post(
    "/v1/outcomes",
    status_code=202,
    response_model=None,
    openapi_extra=body_of(_BODY),
    responses=described(Accepted, (400, 401, 403, 404, 409, 413, 415, 422, 503), 202, "All are durable in the log."),
)
async def post_outcomes(request: Request) -> Response:
    """Write one outcome, or an array of one pool's outcomes: all of them or none.

    Send ids of your own to make a retry harmless: an id counts once.
    """
    here = context(request)
    here.access.check_write(request.headers)
    body = await read_json(request, MAX_BODY)
    taken = await run_in_threadpool(here.intake.take, body, may_retract=lambda: here.access.check_admin(request.headers))
    return reply(taken, 202)


async def read_json(request: Request, limit: int) -> bytes:
    """The body of a request that says it is JSON. Raises `ApiError` 415 or 413, the latter before reading on."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(415, "not JSON", "send Content-Type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "encoded body", "send the body without Content-Encoding")
    too_large = ApiError(413, "too large", f"a request holds at most {limit} bytes: send several")
    if request.headers.get("content-length", "0").strip().isdigit() and int(request.headers.get("content-length", "0")) > limit:
        raise too_large
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise too_large
    return bytes(body)

"""The route that accepts outcomes: POST /v1/outcomes."""

from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from services.api.bodies import JSON, STREAM
from services.api.context import Here
from services.api.intake import MAX_BODY, Accepted
from services.api.replies import body_of, described, reply
from services.wire import schema

router = APIRouter(tags=["outcomes"])
_BODY, COMPONENTS = schema.request("Wire-")
"""The body for the OpenAPI document: wire schema v1 with optional `id` and `time`, which the API fills in if absent."""
_STREAM: Final = {
    "type": "string",
    "format": "binary",
    "description": "Wire schema v1c: an Arrow IPC stream with uncompressed buffers and one outcome per row (docs/guides/bulk.md).",
}


@router.post(
    "/v1/outcomes",
    status_code=202,
    response_model=None,
    openapi_extra=body_of(_BODY, {STREAM: _STREAM}),
    responses=described(Accepted, (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503), 202, "All outcomes are durable in the log."),
)
async def post_outcomes(request: Request, here: Here) -> Response:
    """Write one outcome, an array, or a stream of outcomes. Either all of them are written or none.

    Send your own ids to make retries safe: an id counts once.
    """
    here.access.check_key(request)
    async with here.bodies.read(request, MAX_BODY, (JSON, STREAM)) as body:
        take = partial(here.intake.take, body, may_retract=lambda: here.access.check_key(request, admin=True))
        return reply(await here.workers.log.run(take), 202)

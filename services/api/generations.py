"""Routes that show a pool's generations and request new ones."""

from functools import partial
from typing import Final

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ratings_core.errors import InputError
from services.admin import bans
from services.api.context import Context, Here
from services.api.pools import pool_view
from services.api.problems import ApiError
from services.api.replies import GenerationAsked, Generations, GenerationWish, body_of, described, reply
from services.control import generations
from services.control.records import Generation, GenerationRequest
from services.wire.pools import check_pool_name
from services.wire.rules import MAX_RECORD_BYTES

router = APIRouter(tags=["pools"])
_REF: Final = {"$ref": "#/components/schemas/GenerationAsked"}


@router.get("/v1/pools/{pool}/generations", response_model=None, responses=described(Generations, (404, 422, 503)))
async def get_generations(here: Here, pool: str) -> Response:
    """Show the generation that readers see, the newest generation, and the waiting request."""
    return await here.workers.log.run(partial(_generations, here, pool))


def _generations(here: Context, pool: str) -> Response:
    pool_view(here, pool)  # raises 404 if the pool does not exist
    state = here.directory.control.refresh()
    _, waiting = state.wish(pool) or (None, None)
    return reply(Generations(pool=pool, serving=state.serving(pool), newest=state.newest(pool), waiting=waiting))


@router.post(
    "/v1/pools/{pool}/generations",
    status_code=202,
    response_model=None,
    openapi_extra=body_of(_REF),
    responses=described(GenerationWish, (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503), 202, "The request is durable in the log."),
)
async def post_generation(request: Request, here: Here, pool: str) -> Response:
    """Change settings, aliases, bans or initial ratings. The pool is folded again from the log, then all its boards switch at once.

    An empty object folds the pool again with its present settings. This resumes a stopped pool: first retract the outcomes at which it
    stops.
    """
    here.access.check_key(request, admin=True)
    async with here.bodies.read(request, MAX_RECORD_BYTES) as body:
        return await here.workers.log.run(partial(_want, here, check_pool_name(pool), body))


def _want(here: Context, pool: str, body: bytes) -> Response:
    try:
        asked = msgspec.json.decode(body, type=GenerationAsked)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(
            422,
            "not a generation",
            f"{error}: send a JSON object with the fields to change, such as fold, initial, aliases, bans and start",
        ) from error
    wish = here.directory.want(pool, lambda standing: _wished(here, standing, asked))
    return reply(GenerationWish(pool=pool, wish=wish), 202)


def _wished(here: Context, standing: Generation | GenerationRequest, asked: GenerationAsked) -> GenerationRequest:
    """Make the request for a generation from `standing` and the changes. Raises `ApiError` 409 for bans that are probably mistakes."""
    wanted = asked.bans
    if asked.ban or asked.unban:
        if wanted is not None:
            raise InputError("bans", len(wanted), "must not be sent with ban or unban: send either the complete list or changes of it")
        wanted = bans.changed(standing.bans, asked.ban, asked.unban)
    found = [] if wanted is None or asked.confirm else bans.doubts(here.store.live, standing.pool, standing.bans, wanted, asked.unban)
    if found:
        raise ApiError(409, "bans to confirm", f"{'; '.join(found)}. Nothing was changed. Send `confirm: true` if this is intended")
    return generations.wish(
        standing, time=here.clock(), fold=asked.fold, initial=asked.initial, aliases=asked.aliases, bans=wanted, start=asked.start
    )

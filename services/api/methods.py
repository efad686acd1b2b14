"""Routes that show and choose the methods by which a pool is solved."""

from functools import partial
from typing import Final

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from services.api.context import Context, Here
from services.api.problems import ApiError, no_pool
from services.api.replies import MethodChoices, MethodsWanted, body_of, described, reply
from services.solve.registry.choice import choices, plan_of
from services.wire.pools import check_pool_name

router = APIRouter(tags=["pools"])
_MAX_BODY: Final = 64 * 1024


@router.get("/v1/pools/{pool}/methods", response_model=None, responses=described(MethodChoices, (404, 422, 503)))
async def get_methods(here: Here, pool: str) -> Response:
    """List all solved methods, each with the parameters that the pool is solved with, or the reason why it does not apply."""
    return await here.workers.log.run(partial(_choices, here, pool))


@router.put(
    "/v1/pools/{pool}/methods",
    response_model=None,
    openapi_extra=body_of({"$ref": "#/components/schemas/MethodsWanted"}),
    responses=described(MethodChoices, (400, 401, 403, 404, 408, 413, 415, 422, 429, 503)),
)
async def put_methods(request: Request, here: Here, pool: str) -> Response:
    """Choose the methods that the pool is solved by, from the next round on. They replace the present ones."""
    here.access.check_key(request, admin=True)
    async with here.bodies.read(request, _MAX_BODY) as body:
        return await here.workers.log.run(partial(_choose, here, pool, body))


def _choose(here: Context, pool: str, body: bytes) -> Response:
    try:
        wanted = msgspec.json.decode(body, type=MethodsWanted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(422, "not methods", f'{error}: send {{"methods": {{"NAME": {{"PARAMETER": value}}}}}}') from error
    control = here.directory.control
    state = control.refresh()
    if check_pool_name(pool) not in state.pools:
        raise no_pool(pool)
    control.append(plan_of(state, pool, wanted.methods, here.clock()))
    return _choices(here, pool)


def _choices(here: Context, pool: str) -> Response:
    state = here.directory.control.refresh()
    if check_pool_name(pool) not in state.pools:
        raise no_pool(pool)
    return reply(MethodChoices(pool=pool, methods=choices(state, pool)))

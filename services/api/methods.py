"""Routes that show and choose the methods by which a pool is solved, and the one that its pages show first."""

from functools import partial
from typing import Annotated, Final

import msgspec
from litestar import get, put
from litestar.openapi.spec import Example
from litestar.params import Body

from services.api.bodies import LimitedBody
from services.api.context import Context, Here, Pool, admin_key
from services.api.described import Decoded, Described, problems
from services.api.pools import pool_view
from services.api.problems import no_pool
from services.api.replies import LeadingWanted, MethodChoices, MethodsWanted, PoolView
from services.solve.registry.choice import choices, leading_of, plan_of
from services.wire.pools import check_pool_name

_MAX_BODY: Final = 64 * 1024
_EXAMPLE: Final = Example(value={"methods": {"bradley_terry": {"prior": 1.0}, "maximal_lottery": {}}})


class MethodsBody(Decoded[MethodsWanted]):
    """The body of PUT /v1/pools/{pool}/methods."""

    title, hint = "not methods", 'send {"methods": {"NAME": {"PARAMETER": value}}}'


class LeadingBody(Decoded[LeadingWanted]):
    """The body of PUT /v1/pools/{pool}/leading_method."""

    title, hint = "not a method", 'send {"method": "NAME"}, or {"method": ""} to let pages choose'


@get("/v1/pools/{pool:str}/methods", tags=["pools"], operation_class=Described, responses=problems(404, 422, 503))
async def list_methods(here: Here, pool: Pool) -> MethodChoices:
    """List all solved methods, each with the parameters that the pool is solved with, or the reason why it does not apply."""
    return await here.workers.log.run(partial(_choices, here, pool))


@put(
    "/v1/pools/{pool:str}/methods",
    tags=["pools"],
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_BODY)],
    dto=MethodsBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
)
async def choose_methods(here: Here, pool: Pool, data: Annotated[MethodsWanted, Body(examples=[_EXAMPLE])]) -> MethodChoices:
    """Choose the methods that the pool is solved by, from the next round on. They replace the present ones."""
    return await here.workers.log.run(partial(_choose, here, pool, data))


@put(
    "/v1/pools/{pool:str}/leading_method",
    tags=["pools"],
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_BODY)],
    dto=LeadingBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
)
async def choose_leading_method(
    here: Here, pool: Pool, data: Annotated[LeadingWanted, Body(examples=[Example(value={"method": "glicko2"})])]
) -> PoolView:
    """Choose the method that the pages of a pool show first. Nothing is folded again."""
    return await here.workers.log.run(partial(_lead, here, pool, data))


def _lead(here: Context, pool: str, wanted: LeadingWanted) -> PoolView:
    control = here.directory.control
    state = control.refresh()
    if check_pool_name(pool) not in state.pools:
        raise no_pool(pool)
    control.append(leading_of(state, pool, wanted.method, here.clock()))
    control.refresh()
    return pool_view(here, pool)


def _choose(here: Context, pool: str, wanted: MethodsWanted) -> MethodChoices:
    control = here.directory.control
    state = control.refresh()
    if check_pool_name(pool) not in state.pools:
        raise no_pool(pool)
    slices = None if isinstance(wanted.slices, msgspec.UnsetType) else wanted.slices
    control.append(plan_of(state, pool, wanted.methods, here.clock(), slices))
    return _choices(here, pool)


def _choices(here: Context, pool: str) -> MethodChoices:
    state = here.directory.control.refresh()
    if check_pool_name(pool) not in state.pools:
        raise no_pool(pool)
    return MethodChoices(pool=pool, methods=choices(state, pool))

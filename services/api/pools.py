"""Routes that list, show and create pools."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Final, TypeAlias

import msgspec
from litestar import Request, Response, get, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from ratings_core.records.names import check_visible_name
from services.api.bodies import LimitedBody
from services.api.context import Context, Here, Pool, admin_key
from services.api.described import Decoded, Described, problems
from services.api.directory import Directory
from services.api.problems import ApiError, no_pool, not_read, not_there_now, starting
from services.api.replies import MOST_LABEL, PoolList, PoolView, PoolWanted, fresh_reply
from services.boards import folding
from services.boards.store.protocol import PoolHead, StoreError
from services.control.generations import check, default_fold
from services.control.records import PoolCreated
from services.log.partition import partition_of
from services.wire.pools import Kind, check_pool_name

_MAX_BODY: Final = 64 * 1024
Start: TypeAlias = Annotated[int, QueryParameter(ge=0, le=2**31 - 1, description="Number of pools to skip.")]
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of pools to return.")]


class PoolBody(Decoded[PoolWanted]):
    """The body of PUT /v1/pools/{pool}."""

    title, hint = "not a pool", "send kind (games or scores), and optionally fold and label"


@get("/v1/pools", tags=["pools"], operation_class=Described, responses=problems(422, 503))
async def list_pools(request: Request, here: Here, start: Start = 0, count: Count = 100) -> Response[PoolList]:  # type: ignore[type-arg]
    """List all pools in the order of their names, including pools without outcomes."""
    read, created = await here.heads.get(), await here.workers.readers.run(here.directory.seen)
    heads = {head.pool: head for head in read.heads}
    names = sorted({*heads, *created})
    views = [view(here.directory, name, _brief(heads.get(name)), created.get(name)) for name in names[start : start + count]]
    stale = msgspec.UNSET if read.stale_seconds is None else read.stale_seconds
    freshness = folding.freshness(range(here.partitions), read.heard, here.settings.fresh_seconds)
    trouble = msgspec.UNSET if freshness.fresh else freshness.says
    return fresh_reply(request, PoolList(total=len(names), pools=views, stale_seconds=stale, trouble=trouble))


def _pool(here: Context, pool: str) -> PoolView:
    known = published(here, pool)
    freshness = folding.freshness([partition_of(pool, here.partitions)], here.store.heartbeats.read(), here.settings.fresh_seconds)
    return msgspec.structs.replace(known, folding=freshness)


def _last_known(here: Context, pool: str) -> PoolView | None:
    """Return the pool from the last list of all pools, marked with its age; None if no list contains it."""
    read = here.heads.last_known()
    head = None if read is None else next((head for head in read.heads if head.pool == pool), None)
    if read is None or read.stale_seconds is None or head is None:
        return None
    known = view(here.directory, pool, head, here.directory.seen().get(pool))
    unknown = folding.unknown([partition_of(pool, here.partitions)], here.settings.fresh_seconds)
    return msgspec.structs.replace(known, folding=unknown, stale_seconds=read.stale_seconds)


@get("/v1/pools/{pool:str}", tags=["pools"], operation_class=Described, responses=problems(404, 422, 503))
async def get_pool(here: Here, pool: Pool) -> PoolView:
    """Show a pool with its newest summary, and whether its partition is being folded."""
    check_pool_name(pool)
    try:
        return await here.workers.readers.run(partial(_pool, here, pool))
    except (StoreError, ApiError) as error:
        unavailable = not isinstance(error, ApiError) or error.status == HTTPStatus.SERVICE_UNAVAILABLE
        if not unavailable or (known := _last_known(here, pool)) is None:
            raise
        return known


@put(
    "/v1/pools/{pool:str}",
    tags=["pools"],
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_BODY)],
    dto=PoolBody,
    return_dto=None,
    responses={
        **problems(401, 403, 408, 409, 413, 415, 422, 429, 503),
        201: ResponseSpec(PoolView, description="The pool was created.", generate_examples=False),
    },
    response_description="The pool existed.",
)
async def create_pool(
    here: Here, pool: Pool, data: Annotated[PoolWanted, Body(examples=[Example(value={"kind": "games", "label": "Blitz chess"})])]
) -> Response[PoolView]:
    """Create a pool. Repeating the same request changes nothing. Another kind, label or fold for an existing pool is refused."""
    return await here.workers.log.run(partial(_create, here, _wanted(here, pool, data)))


def pool_view(here: Context, pool: str) -> PoolView:
    """Return the pool from the store and the control log. Raises `ApiError` 404; 503 if the control log has not been read yet."""
    head = here.store.live.head(check_pool_name(pool))
    created = here.directory.seen().get(pool)
    if head is None and created is None:
        raise no_pool(pool) if here.directory.complete else not_read(pool)
    return view(here.directory, pool, head, created)


def published(here: Context, pool: str) -> PoolView:
    """Return the pool like `pool_view`. Raises `ApiError` 503 if the store lost the pool, or is not filled yet.

    Without a head, the pool was lost if this process has read its head before. A process that is younger than the pool does not know
    until the pool's partition is reported in the store. Otherwise the pool has no outcomes yet.
    """
    known = pool_view(here, pool)
    if known.head is None and here.store.seen.pool(pool):
        raise not_there_now(f"pool {pool}")
    if known.head is None and _awaits_shard(here, pool):
        raise starting(pool)
    return known


def _awaits_shard(here: Context, pool: str) -> bool:
    created = here.directory.seen().get(pool)
    if created is None or created.time >= here.started:
        return False
    return partition_of(pool, here.partitions) not in here.store.heartbeats.read()


def view(directory: Directory, pool: str, head: PoolHead | None, created: PoolCreated | None) -> PoolView:
    """Combine a pool's head from the store and its record from the control log. Either may be missing."""
    kind = head.kind if head is not None else str(created.kind) if created is not None else ""
    label = created.label if created is not None else head.label if head is not None else ""
    return PoolView(pool=pool, kind=kind, label=label, head=head, leading_method=directory.leading_method(pool))


def _brief(head: PoolHead | None) -> PoolHead | None:
    """The head for lists, without what forecasts need: it is three quarters of a head."""
    return head and msgspec.structs.replace(head, forecasts_by_shape={})


def _wanted(here: Context, pool: str, asked: PoolWanted) -> PoolCreated:
    try:
        kind = Kind(asked.kind)
    except ValueError as error:
        raise ApiError(422, PoolBody.title, f"{error}: {PoolBody.hint}") from error
    if len(asked.label) > MOST_LABEL:
        raise ApiError(422, "label too long", f"a label has at most {MOST_LABEL} characters")
    if asked.label:
        check_visible_name(asked.label, "label")
    fold = asked.fold if asked.fold is not None else default_fold(here.settings)
    check(kind, fold.with_defaults(kind))  # raises for settings that a shard cannot fold
    return PoolCreated(pool=check_pool_name(pool), kind=kind, time=here.clock(), fold=fold, label=asked.label)


def _create(here: Context, wanted: PoolCreated) -> Response[PoolView]:
    known = here.directory.find(wanted.pool) is not None
    standing = here.directory.create(wanted, here.settings.max_pools)
    known = known or msgspec.structs.replace(standing, fold=wanted.fold) != wanted  # a concurrent request may have created it
    if standing.label != wanted.label:
        raise ApiError(409, "pool exists", f"pool {wanted.pool} exists with the label {standing.label!r}")
    return Response(view(here.directory, wanted.pool, here.store.live.head(wanted.pool), standing), status_code=200 if known else 201)

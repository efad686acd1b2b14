"""Routes that list, show and create pools."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ratings_core.records.names import check_visible_name
from services.api.context import Context, Here
from services.api.problems import ApiError, no_pool, not_read, not_there_now
from services.api.replies import MOST_LABEL, PoolList, PoolView, PoolWanted, body_of, described, fresh_reply, reply
from services.boards import folding
from services.boards.store.protocol import PoolHead, StoreError
from services.control.generations import check, default_fold
from services.control.records import PoolCreated
from services.log.partition import partition_of
from services.wire.pools import Kind, check_pool_name

router = APIRouter(tags=["pools"])
_MAX_BODY: Final = 64 * 1024


@router.get("/v1/pools", response_model=None, responses=described(PoolList, (422, 503)))
async def get_pools(
    request: Request,
    here: Here,
    start: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List all pools in the order of their names, including pools without outcomes."""
    read, created = await here.heads.get(), await here.workers.readers.run(here.directory.seen)
    heads = {head.pool: head for head in read.heads}
    names = sorted({*heads, *created})
    views = [view(name, heads.get(name), created.get(name)) for name in names[start : start + count]]
    stale = msgspec.UNSET if read.stale_seconds is None else read.stale_seconds
    found = folding.freshness(range(here.partitions), read.heard, here.settings.fresh_seconds)
    trouble = msgspec.UNSET if found.fresh else found.says
    return fresh_reply(request, PoolList(total=len(names), pools=views, stale_seconds=stale, trouble=trouble))


@router.get("/v1/pools/{pool}", response_model=None, responses=described(PoolView, (404, 422, 503)))
async def get_pool(here: Here, pool: str) -> Response:
    """Show a pool with its newest summary, and whether its partition is being folded."""
    check_pool_name(pool)
    try:
        return reply(await here.workers.readers.run(partial(_pool, here, pool)))
    except (StoreError, ApiError) as error:
        unavailable = not isinstance(error, ApiError) or error.status == HTTPStatus.SERVICE_UNAVAILABLE
        if not unavailable or (known := _last_known(here, pool)) is None:
            raise
        return reply(known)


def _pool(here: Context, pool: str) -> PoolView:
    known = published(here, pool)
    found = folding.freshness([partition_of(pool, here.partitions)], here.store.heartbeats.read(), here.settings.fresh_seconds)
    return msgspec.structs.replace(known, folding=found)


def _last_known(here: Context, pool: str) -> PoolView | None:
    """Return the pool from the last list of all pools, marked with its age; None if no list contains it."""
    read = here.heads.last_known()
    head = None if read is None else next((one for one in read.heads if one.pool == pool), None)
    if read is None or read.stale_seconds is None or head is None:
        return None
    known = view(pool, head, here.directory.seen().get(pool))
    unknown = folding.unknown([partition_of(pool, here.partitions)], here.settings.fresh_seconds)
    return msgspec.structs.replace(known, folding=unknown, stale_seconds=read.stale_seconds)


@router.put(
    "/v1/pools/{pool}",
    response_model=None,
    openapi_extra=body_of({"$ref": "#/components/schemas/PoolWanted"}),
    responses={**described(PoolView, (400, 401, 403, 408, 409, 413, 415, 422, 429, 503)), 201: described(PoolView)[200]},
)
async def put_pool(request: Request, here: Here, pool: str) -> Response:
    """Create a pool. Repeating the same request changes nothing. Another kind, label or fold for an existing pool is refused."""
    here.access.check_key(request, admin=True)
    async with here.bodies.read(request, _MAX_BODY) as body:
        wanted = _wanted(here, pool, body)
    return await here.workers.log.run(partial(_create, here, wanted))


def pool_view(here: Context, pool: str) -> PoolView:
    """Return the pool from the store and the control log. Raises `ApiError` 404; 503 if the control log has not been read yet."""
    head = here.store.live.head(check_pool_name(pool))
    created = here.directory.seen().get(pool)
    if head is None and created is None:
        raise no_pool(pool) if here.directory.complete else not_read(pool)
    return view(pool, head, created)


def published(here: Context, pool: str) -> PoolView:
    """Return the pool like `pool_view`. Raises `ApiError` 503 if the store has lost the pool, for example by a restart.

    Without a head, the pool was lost if this process has read its head before. A process that is younger than the pool assumes a loss until
    the pool's partition is reported in the store. Otherwise the pool has no outcomes yet.
    """
    known = pool_view(here, pool)
    if known.head is None and (here.store.seen.pool(pool) or _awaits_shard(here, pool)):
        raise not_there_now(f"pool {pool}")
    return known


def _awaits_shard(here: Context, pool: str) -> bool:
    created = here.directory.seen().get(pool)
    if created is None or created.time >= here.started:
        return False
    return partition_of(pool, here.partitions) not in here.store.heartbeats.read()


def view(pool: str, head: PoolHead | None, created: PoolCreated | None) -> PoolView:
    """Combine a pool's head from the store and its record from the control log. Either may be missing."""
    kind = head.kind if head is not None else str(created.kind) if created is not None else ""
    label = created.label if created is not None else head.label if head is not None else ""
    return PoolView(pool=pool, kind=kind, label=label, head=head)


def _wanted(here: Context, pool: str, body: bytes) -> PoolCreated:
    try:
        asked = msgspec.json.decode(body, type=PoolWanted)
        kind = Kind(asked.kind)
    except (msgspec.DecodeError, ValueError) as error:
        raise ApiError(422, "not a pool", f"{error}: send kind (games or scores), and optionally fold and label") from error
    if len(asked.label) > MOST_LABEL:
        raise ApiError(422, "label too long", f"a label has at most {MOST_LABEL} characters")
    if asked.label:
        check_visible_name(asked.label, "label")
    fold = asked.fold if asked.fold is not None else default_fold(here.settings)
    check(kind, fold)  # raises for settings that a shard cannot fold
    return PoolCreated(pool=check_pool_name(pool), kind=kind, time=here.clock(), fold=fold, label=asked.label)


def _create(here: Context, wanted: PoolCreated) -> Response:
    known = here.directory.find(wanted.pool) is not None
    standing = here.directory.create(wanted, here.settings.max_pools)
    known = known or standing != wanted  # a concurrent request may have created it
    if standing.label != wanted.label:
        raise ApiError(409, "pool exists", f"pool {wanted.pool} exists with the label {standing.label!r}")
    return reply(view(wanted.pool, here.store.live.head(wanted.pool), standing), 200 if known else 201)

"""Routes that show a pool's generations and request new ones."""

from functools import partial
from typing import Annotated, Final

from litestar import get, post
from litestar.openapi.spec import Example
from litestar.params import Body

from ratings_core.errors import InputError
from services.admin import bans
from services.api.bodies import LimitedBody
from services.api.context import Context, Here, Pool, admin_key
from services.api.described import Decoded, Described, problems
from services.api.pools import pool_view
from services.api.problems import ApiError
from services.api.replies import GenerationAsked, Generations, GenerationWish
from services.control import generations
from services.control.records import Generation, GenerationRequest
from services.wire.pools import check_pool_name
from services.wire.rules import MAX_RECORD_BYTES

_EXAMPLE: Final = Example(value={"aliases": {"ann-old": "ann"}, "ban": ["mallory"]})


class GenerationBody(Decoded[GenerationAsked]):
    """The body of POST /v1/pools/{pool}/generations."""

    title, hint = "not a generation", "send a JSON object with the fields to change, such as fold, initial, aliases, bans and start"


@get("/v1/pools/{pool:str}/generations", tags=["pools"], operation_class=Described, responses=problems(404, 422, 503))
async def get_generations(here: Here, pool: Pool) -> Generations:
    """Show the generation that readers see, the newest generation, and the waiting request."""
    return await here.workers.log.run(partial(_generations, here, pool))


@post(
    "/v1/pools/{pool:str}/generations",
    tags=["pools"],
    status_code=202,
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(MAX_RECORD_BYTES)],
    dto=GenerationBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    response_description="The request is durable in the log.",
)
async def request_generation(here: Here, pool: Pool, data: Annotated[GenerationAsked, Body(examples=[_EXAMPLE])]) -> GenerationWish:
    """Change settings, aliases, bans or initial ratings.

    The pool is folded again from the log, then all its live boards switch at once. Each solved board follows with its next solve.
    An empty object folds the pool again with its present settings. This resumes a stopped pool: first retract the outcomes at which it
    stops.
    """
    return await here.workers.log.run(partial(_want, here, check_pool_name(pool), data))


def _generations(here: Context, pool: str) -> Generations:
    pool_view(here, pool)  # raises 404 if the pool does not exist
    state = here.directory.control.refresh()
    _, waiting = state.wish(pool) or (None, None)
    return Generations(pool=pool, serving=state.serving(pool), newest=state.newest(pool), waiting=waiting)


def _want(here: Context, pool: str, asked: GenerationAsked) -> GenerationWish:
    return GenerationWish(pool=pool, wish=here.directory.want(pool, lambda standing: _make_request(here, standing, asked)))


def _make_request(here: Context, standing: Generation | GenerationRequest, asked: GenerationAsked) -> GenerationRequest:
    """Make the request for a generation from `standing` and the changes. Raises `ApiError` 409 for bans that are probably mistakes."""
    wanted = asked.bans
    if asked.ban or asked.unban:
        if wanted is not None:
            raise InputError("bans", len(wanted), "must not be sent with ban or unban: send either the complete list or changes of it")
        wanted = bans.changed(standing.bans, asked.ban, asked.unban)
    doubts = [] if wanted is None or asked.confirm else bans.doubts(here.store.live, standing.pool, standing.bans, wanted, asked.unban)
    if doubts:
        raise ApiError(409, "bans to confirm", f"{'; '.join(doubts)}. Nothing was changed. Send `confirm: true` if this is intended")
    fold = asked.fold
    if fold is not None:  # null stays null, as GET shows it: such a pool keeps its methods
        fold = fold.with_defaults(here.directory.control.known().pools[standing.pool].kind, standing.fold)
    return generations.wish(
        standing, time=here.clock(), fold=fold, initial=asked.initial, aliases=asked.aliases, bans=wanted, start=asked.start
    )

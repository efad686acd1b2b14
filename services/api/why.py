"""The route that explains a rating."""

import math
from functools import partial
from typing import Annotated, TypeAlias

import msgspec
from litestar import get
from litestar.params import QueryParameter

from ratings_core.methods.explained import UnknownAgent
from ratings_core.records.names import check_name
from services.api.agents import traced_index
from services.api.boards import read_or_raise
from services.api.context import Agent, Context, Here, Method, Pool, agent_name
from services.api.described import Described, problems
from services.api.past_boards import past_problems
from services.api.pools import published
from services.api.problems import ApiError, check_slice, find_agents, nothing_yet
from services.api.slices import SliceText, board_name
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.past_contents import when_of
from services.boards.result import SolvedBoard
from services.boards.slice_boards import is_sliced, method_of, slice_text
from services.boards.store.protocol import INSIGHT, PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control.records import ControlState
from services.solve.problems.serving import NoCheckpoint
from services.solve.why import Asked, why
from services.solve.why_answers import Why
from services.solve.why_live import why_live
from services.wire.pools import check_pool_name

Flips: TypeAlias = Annotated[
    bool, QueryParameter(description="Whether to search for the few outcomes without which the rank would change. Takes up to 20 s.")
]
Since: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        name="from",
        ge=0,
        le=2**63 - 1,
        description="Position of the earlier state to compare with. Without an archive: the newest kept checkpoint at or before it.",
        schema_extra={"minimum": 0},
    ),
]
Until: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        name="to",
        ge=0,
        le=2**63 - 1,
        description="Position of the explained state. Default: the newest checkpoint.",
        schema_extra={"minimum": 0},
    ),
]
SinceTime: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="since",
        description="Time of the earlier state, in place of `from`: 2026-11-22T06:00:00Z (UTC by default), or seconds since 1970.",
    ),
]
UntilTime: TypeAlias = Annotated[str | None, QueryParameter(name="until", description="Time of the explained state, in place of `to`.")]
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of terms and of moves to list.")]


@get(
    "/v1/pools/{pool:str}/boards/{method:str}/why/{agent:path}",
    tags=["boards"],
    operation_class=Described,
    responses=problems(404, 410, 422, 501, 503),
)
async def explain_rating(
    here: Here,
    pool: Pool,
    method: Method,
    agent: Agent,
    flips: Flips = False,
    since: Since = None,
    until: Until = None,
    since_time: SinceTime = None,
    until_time: UntilTime = None,
    count: Count = 20,
    part: SliceText = None,
) -> Why:
    """Explain an agent's rating: contributions by opponent and by task, which sum to the rating or balance to 0.

    By an online method, they are the changes by the outcomes of the pool's history. A solved method is solved again on a checkpoint, so
    large pools are refused. With `flips`, for a solved method: few outcomes without which the rank would change, verified by a solve
    without them. With `from` or `since`: what changed since then. A moment before the present season is refused (422). With `slice`: the
    rating in the slice.
    Percent-encode the agent's name, including slashes.
    """
    moments = when_of(since, since_time, ("from", "since")), when_of(until, until_time, ("to", "until"))
    asked = Asked(check_name(agent_name(agent), "agent"), flips, *moments, count)
    head = await here.workers.readers.run(partial(_head, here, check_pool_name(pool)))
    board, text = board_name(method, part), slice_text(part)
    check_slice(head, text)
    index = await traced_index(here, head, text) if method in head.online else None
    here.directory.refresh_soon()
    return await here.workers.explanations.run(partial(_explained, here, head, index, board, asked))


def _head(here: Context, pool: str) -> PoolHead:
    head = published(here, pool).head
    if head is None:
        raise nothing_yet(pool)
    return head


def _explained(here: Context, head: PoolHead, index: AgentIndex | NoIndex | None, method: str, asked: Asked) -> Why:
    """The answer. index: The index of the pool or the slice; None for a solved method. method: Name of the board."""
    files = CheckpointStore(here.settings.checkpoint_url)
    try:
        with past_problems():
            if index is not None:
                found = why_live(files, here.store, head, index, method_of(method), asked, here.past, _control(here, head))
            else:
                found = why(files, head, _solved_board(here, head, method), asked, here.solves, here.past, _control(here, head))
            return msgspec.structs.replace(found, display_names=here.pool_agents.names_of(head.pool, found.named_agents()))
    except UnknownAgent as error:
        raise ApiError(404, "no such agent", f"{error}: {find_agents(head.pool)}") from error
    except (NoCheckpoint, NoIndex) as error:
        seconds = str(math.ceil(here.settings.checkpoint_seconds))
        raise ApiError(503, "no checkpoint yet", f"{error}: wait as Retry-After says", headers={"Retry-After": seconds}) from error


def _control(here: Context, head: PoolHead) -> ControlState:
    """The state of the control log as it was last read, or as it is now if it lacks the generation of the head. Raises `LogError`."""
    known = here.directory.control.known()
    return known if head.generation in known.generations.get(head.pool, {}) else here.directory.control.refresh()


def _solved_board(here: Context, head: PoolHead, method: str) -> SolvedBoard:
    """The published board of a solved method. Raises `ApiError` 404 without one, 503 if the store lost it, and 422 without ratings.

    method: Name of the board.
    """
    if method_of(method) in (*head.stored, INSIGHT):
        raise ApiError(
            422,
            "no ratings of a method",
            f"{method_of(method)} is no board of a method: GET /v1/pools/{head.pool}/boards lists the methods",
        )
    missing = f"solved board {method_of(method)}{' of this slice' if is_sliced(method) else ''}"
    page = read_or_raise(here, head.pool, method, missing, lambda: here.store.solved.page(head.pool, method, 0, 1))
    board = page[0]
    if not page[1]:
        raise ApiError(422, "no ratings", f"{method_of(method)} has no result on pool {head.pool}: {board.error or board.result.status}")
    return board

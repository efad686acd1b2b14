"""Routes of boards and agents. The newest boards come from the store alone; past boards also come from checkpoints."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, TypeAlias, TypeVar

from fastapi import APIRouter, Query
from starlette.responses import Response

from ratings_core.records.times import seconds
from services.api.answers import Asked
from services.api.context import Context, Here, reads
from services.api.directory import Directory
from services.api.pools import published, view
from services.api.problems import ApiError, not_there_now
from services.api.replies import AgentView, Boards, History, Value, described, reply
from services.boards import reading as boards
from services.boards.history import Difference
from services.boards.insight import insight
from services.boards.past import NotKept, PastBoards, PastRows, When
from services.boards.reading import Board, Methods
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.runtime.settings import Provisional
from services.solve.planning.jobs import JobStatus
from services.solve.registry.choice import choices
from services.wire.pools import check_pool_name

router = APIRouter(tags=["boards"])
Found = TypeVar("Found")
_WITHOUT_RESULT = {JobStatus.FAILED, JobStatus.NOT_APPLICABLE}
Start: TypeAlias = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of rows to skip.")]
Count: TypeAlias = Annotated[int, Query(ge=1, le=1000, description="Largest number of rows to return.")]
Against: TypeAlias = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="Position of the earlier solve. Default: the solve before the newest one.")
]
Position: TypeAlias = Annotated[
    int | None, Query(ge=0, description="Return the board at the newest kept position that is not after this one.")
]
At: TypeAlias = Annotated[
    str | None,
    Query(
        description="Return the newest kept board written at or before this time: 2026-11-22T06:00:00Z (UTC by default), or seconds since "
        "1970. Not with `position`."
    ),
]
Summary: TypeAlias = Annotated[int, Query(ge=0, le=200, description="Number of first rows of each board; 0 for names only.")]


def built(
    store: RedisStore,
    directory: Directory,
    provisional: Provisional,
    clock: Callable[[], float],
    asked: Asked,
    known: Mapping[str, Board] = MappingProxyType({}),
) -> Value | None:
    """Build the answer of a poll from the store; None if the pool or board does not exist. Raises `StoreError`.

    known: boards for a summary, by method, that are not read again.
    """
    match asked.kind:
        case "boards":
            return _summary(store, directory, provisional, clock(), asked, known)
        case "board":
            return boards.board(store, asked.pool, asked.method, start=asked.start, count=asked.rows, now=clock(), provisional=provisional)
        case "insight":
            return insight(store.solved, asked.pool, now=clock())


def _summary(
    store: RedisStore, directory: Directory, provisional: Provisional, now: float, asked: Asked, known: Mapping[str, Board]
) -> Boards | None:
    head, created = store.live.head(asked.pool), directory.seen().get(asked.pool)
    if head is None and created is None:
        return None
    methods = Methods(live=[], solved=[]) if head is None else boards.methods_of(store.solved, head)
    names = [*methods.live, *methods.solved] if asked.rows else []
    unknown = [method for method in names if method not in known]
    read = boards.first_rows(store, head, unknown, count=asked.rows, now=now, provisional=provisional) if head and unknown else []
    shown = {**known, **{board.method: board for board in read}}
    return Boards(pool=view(asked.pool, head, created), methods=methods, boards=[shown[name] for name in names if name in shown])


@router.get("/v1/pools/{pool}/boards", response_model=None, responses=described(Boards, (404, 422, 503)))
@reads
def get_boards(here: Here, pool: str, count: Summary = 0) -> Response:
    """List the boards of a pool. With `count`: with the first rows of each board. Answers 304 to If-None-Match if nothing changed."""
    return _built(here, Asked("boards", check_pool_name(pool), rows=count), "boards")


@router.get("/v1/pools/{pool}/boards/{method}", response_model=None, responses=described(Board, (404, 410, 422, 503)))
async def get_board(
    here: Here, pool: str, method: str, start: Start = 0, count: Count = 50, position: Position = None, at: At = None
) -> Response:
    """Return rows of a live or solved board, best first. With `position` or `at`: the board at that time, or 410 if it is not kept."""
    if position is None and at is None:
        asked = Asked("board", check_pool_name(pool), method, start, count)
        return await here.workers.readers.run(partial(_built, here, asked, f"board {method}"))
    when = When(position, None if at is None else seconds(at, "at"))
    return await here.workers.checkpoints.run(partial(_get_past, here, pool, method, when, start, count))


@router.get("/v1/pools/{pool}/boards/{method}/around/{agent:path}", response_model=None, responses=described(Board, (404, 422, 503)))
@reads
def get_around(here: Here, pool: str, method: str, agent: str, count: Count = 11) -> Response:
    """Return the rows around an agent. Percent-encode the agent's name, including slashes."""
    told = here.settings.provisional
    read = partial(boards.around, here.store, pool, method, agent, count=count, now=here.clock(), provisional=told)
    return reply(_found(here, pool, method, f"agent {agent!r} on a board {method}", read))


@router.get("/v1/pools/{pool}/boards/{method}/history", response_model=None, responses=described(History, (404, 422, 503)))
@reads
def get_history(here: Here, pool: str, method: str) -> Response:
    """List the kept solves of a method, newest first. Each entry has the data, parameters and quality of its solve."""
    solves = _found(here, pool, method, f"solved board {method}", lambda: here.store.solved.history(pool, method) or None)
    return reply(History(pool=pool, method=method, solves=solves))


@router.get("/v1/pools/{pool}/boards/{method}/diff", response_model=None, responses=described(Difference, (404, 422, 503)))
@reads
def get_difference(here: Here, pool: str, method: str, against: Against = None, count: Count = 50) -> Response:
    """Return what changed from an earlier solve to the newest one, and why."""
    read = partial(boards.changes, here.store.solved, pool, method, against, count)
    return reply(_found(here, pool, method, f"two kept solves of {method}", read))


@router.get("/v1/pools/{pool}/agents/{agent:path}", response_model=None, responses=described(AgentView, (404, 422, 503)))
@reads
def get_agent(here: Here, pool: str, agent: str) -> Response:
    """Return an agent's row on every board. Percent-encode the agent's name, including slashes."""
    read = partial(boards.agent, here.store, pool, agent, provisional=here.settings.provisional)
    return reply(AgentView(pool=pool, agent=agent, boards=_found(here, pool, "", f"agent {agent!r}", read)))


def _built(here: Context, asked: Asked, what: str) -> Response:
    """Answer a poll that the fast path does not answer: an unusual spelling, a missing pool or board, or a failed store."""
    read = partial(built, here.store, here.directory, here.settings.provisional, here.clock, asked)
    return reply(_found(here, asked.pool, asked.method, what, read))


def _get_past(here: Context, pool: str, method: str, when: When, start: int, count: int) -> Response:
    files, control = CheckpointStore(here.settings.checkpoint_url), here.directory.control.refresh
    rows = PastRows(pool, method, when, start, count, here.settings.provisional)
    try:
        read = partial(PastBoards(here.store, files, control).board, rows, here.clock())
        return reply(_found(here, pool, method, f"board {method}", read))
    except NotKept as error:
        raise ApiError(410, "not kept", str(error)) from error


def _found(here: Context, pool: str, method: str, what: str, read: Callable[[], Found | None]) -> Found:
    """Return what `read` finds in the store.

    Raises `ApiError` 404 if it does not exist, and 503 if the store lost it. It is read again after these checks, because it may have been
    published in between.

    method: the board that `read` needs; empty if it needs none. what: what the pool lacks, for the error.
    """
    value = read()
    if value is None or (isinstance(value, Boards) and value.pool.head is None):
        published(here, pool)
        if method and _lost(here, pool, method):
            raise not_there_now(f"board {method} of pool {pool}")
        value = read()
    if value is not None:
        return value
    soon = "a new pool's boards appear some seconds after its first outcomes"
    raise ApiError(404, "not found", f"pool {pool} has no {what}: GET /v1/pools/{pool}/boards lists its boards (`methods`); {soon}")


def _lost(here: Context, pool: str, method: str) -> bool:
    """Whether the store had a solved board before, lacks it or its history now, and the pool is still solved by its method."""
    if not here.store.seen.solved(pool, method):
        return False
    shown = here.store.solved.page(pool, method, 0, 1)
    if shown is not None and (shown[0].result.status in _WITHOUT_RESULT or here.store.solved.history(pool, method)):
        return False  # the history is written after the board, and a method without any result has none
    state = here.directory.control.known()
    return pool in state.pools and any(
        one.method == method and one.chosen is not None and one.why_not is None for one in choices(state, pool)
    )

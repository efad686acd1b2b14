"""The objects that all routes share. `create_app` creates them once."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Annotated, Final, ParamSpec, TypeAlias, TypeVar, cast
from urllib.parse import unquote

from litestar import Request
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Example
from litestar.params import PathParameter, SkipValidation

from ratings_core.records.names import MAX_NAME_BYTES
from services.admin.traced_slices import TracedSlices
from services.api.agent_indexes import AgentIndexes
from services.api.answers import Answers
from services.api.bodies import Bodies
from services.api.directory import Directory
from services.api.export_streams import Exports
from services.api.feeds import Feeds
from services.api.heads import AllHeads
from services.api.intake import Intake
from services.api.polls import Polls
from services.api.pool_agents import PoolAgents
from services.api.security import Access, Connection
from services.api.workers import Workers
from services.boards.store.keys import METHOD_PATTERN
from services.boards.store.redis import RedisStore
from services.log.protocol import Topic
from services.runtime.metrics import Metrics
from services.runtime.settings import Settings
from services.shard.generations.past_states import PastStates
from services.solve.insight.on_request import INSIGHTS_KEPT, Insights
from services.solve.next_matches import PLANS_KEPT, Plans
from services.solve.why import SOLVES_KEPT, Solves
from services.wire.pools import POOL_PATTERN

P = ParamSpec("P")
Answered = TypeVar("Answered")
WRITERS: Final = 16
"""Number of requests of a process that write to the log at the same time."""
_WRITES: Final = 128
"""Largest number of requests that write or wait to write. More get 503 with Retry-After."""
_WRITE_SECONDS: Final = 15.0
"""Seconds in which the log must store a request. A slower request is answered 503."""
_SEARCH_SECONDS: Final = 15.0
"""Seconds for a search of agents. A search takes milliseconds, but the first one after a start can wait for the compiler."""
EXPORTS: Final = 2
"""Largest number of exports at a time in a process. More are answered 503."""
DOWNLOADS: Final = 2
"""Largest number of complete boards that are read and encoded at a time in a process."""
_DOWNLOAD_SECONDS: Final = 60.0
_READERS: Final = 4
"""Number of threads that read the store. A read is short and holds Python's interpreter lock, so more threads would delay each other and
the event loop."""
_CHECKPOINT_PLACES: Final = 9
"""Requests that read checkpoints or wait for it. One reads at a time, because it loads a complete pool and takes seconds."""
_INDEX_PLACES: Final = 64
"""Pools whose index of agents is loaded or waits for it. A load takes about a second for a million agents."""
_SEARCH_PLACES: Final = 64
"""Requests that search or wait for it. A search takes up to some 10 ms for a million agents, and longer for long names that repeat."""


_EXPORT_SECONDS: Final = 120.0
"""Deadline for each part of an export, which may read some 100,000 rows of the archive first."""


class Threads:
    """Separate threads for each kind of work, so that none waits for another.

    readers: short reads of the store. log: writes to the log. details: changes of details, which wait for each other. probes: health
    checks. exports, downloads: large answers. checkpoints: work that loads a complete pool. past: past boards, some of which are
    folded or solved, so that plans and final boards of seasons do not wait for them. explanations: work that loads a pool and solves it, so
    that past boards do not wait for a search of flips. indexes: loads of indexes of agents. searches: scans of these indexes.
    """

    def __init__(self) -> None:
        self.readers = Workers("the store", threads=_READERS, places=256, seconds=5.0)
        self.log = Workers("the log", threads=WRITERS, places=_WRITES, seconds=_WRITE_SECONDS)
        self.details = Workers("the control log", threads=1, places=_WRITES, seconds=_WRITE_SECONDS)
        self.probes = Workers("the store", threads=2, places=64, seconds=2.0)
        self.exports = Workers("an export", threads=EXPORTS + 1, places=EXPORTS, seconds=_EXPORT_SECONDS)
        self.downloads = Workers("a board", threads=DOWNLOADS, places=4 * DOWNLOADS, seconds=_DOWNLOAD_SECONDS)
        self.checkpoints = Workers("checkpoints", threads=1, places=_CHECKPOINT_PLACES, seconds=60.0)
        self.past = Workers("a past board", threads=1, places=_CHECKPOINT_PLACES, seconds=60.0)
        self.explanations = Workers("an explanation", threads=1, places=_CHECKPOINT_PLACES, seconds=60.0)
        self.indexes = Workers("an index of agents", threads=1, places=_INDEX_PLACES, seconds=60.0)
        self.searches = Workers("a search of agents", threads=2, places=_SEARCH_PLACES, seconds=_SEARCH_SECONDS)


@dataclass(frozen=True, slots=True)
class Context:
    """The shared objects. All are passed in, so that tests can run the application on their objects.

    answers: cached boards and insight. polls: addresses of polls that a route has checked. heads: heads of all pools. exports: exports
    under way. feeds: open streams. agents: indexes of agents. pool_agents: what boards show of agents. past: contents of pools at past
    positions. dead_letters: topic of refused outcomes. traced_slices: indexes of slices with histories, made on request. partitions: number
    of partitions of the outcome log. started: time at which this process began, seconds since 1970. solves, plans, insights: solves,
    recommendations, and insights into slices on request, kept by position.
    """

    settings: Settings
    store: RedisStore
    directory: Directory
    intake: Intake
    access: Access
    metrics: Metrics
    workers: Threads
    bodies: Bodies
    answers: Answers
    polls: Polls
    heads: AllHeads
    exports: Exports
    feeds: Feeds
    agents: AgentIndexes
    pool_agents: PoolAgents
    past: PastStates
    dead_letters: Topic
    traced_slices: TracedSlices
    clock: Callable[[], float] = time.time
    partitions: int = 1
    started: float = 0.0
    solves: Solves = field(default_factory=lambda: Solves(SOLVES_KEPT))
    plans: Plans = field(default_factory=lambda: Plans(PLANS_KEPT))
    insights: Insights = field(default_factory=lambda: Insights(INSIGHTS_KEPT))


def context(connection: Connection) -> Context:
    """Return the context of the application that serves a request."""
    return cast("Context", connection.scope["state"]["context"])


async def here(request: Request) -> Context:  # type: ignore[type-arg]
    """Provide the context to routes, as `here`."""
    return context(request)


Here: TypeAlias = SkipValidation[NamedDependency[Context]]
"""Type of the route parameter `here`, which receives the context."""
Pool: TypeAlias = Annotated[
    str,
    PathParameter(
        description="Name of the pool, `[tenant.]name`.", schema_extra={"pattern": f"^{POOL_PATTERN}$"}, examples=[Example(value="blitz")]
    ),
]
Method: TypeAlias = Annotated[
    str,
    PathParameter(description="Name of the board.", schema_extra={"pattern": f"^{METHOD_PATTERN}$"}, examples=[Example(value="elo")]),
]
Agent: TypeAlias = Annotated[
    str,
    PathParameter(
        description="Name of the agent, percent-encoded.",
        schema_extra={"min_length": 1, "max_length": MAX_NAME_BYTES},
        examples=[Example(value="ann")],
    ),
]
"""Names in paths. Their rules are only described here: the code that uses a name checks it, and its errors say more than a pattern."""


def agent_name(agent: Agent) -> str:
    """Return the name of an agent from the rest of a path, which begins with a slash and is percent-encoded."""
    return unquote(agent.removeprefix("/"))


async def any_key(connection: Connection, _: BaseRouteHandler) -> None:
    """Check the key of a request that writes outcomes or exports them. A guard of routes."""
    context(connection).access.check_key(connection)


async def admin_key(connection: Connection, _: BaseRouteHandler) -> None:
    """Check the key of a request that changes a pool. A guard of routes."""
    context(connection).access.check_key(connection, admin=True)


def reads(route: Callable[P, Answered]) -> Callable[P, Awaitable[Answered]]:
    """Decorate a route that reads the store, so that it runs on a reader thread. The route takes its context as `here`."""

    @wraps(route)
    async def answered(*arguments: P.args, **named: P.kwargs) -> Answered:
        here = cast("Context", named["here"])
        return await here.workers.readers.run(partial(route, *arguments, **named))

    return answered

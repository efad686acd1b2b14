"""A pool's insight for readers, in one form for the API, the page and `equirank insight`."""

import msgspec

from ratings_core.findings.records import Findings
from services.boards.result import PENDING
from services.boards.store.protocol import INSIGHT
from services.boards.store.solved import SolvedBoards


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """The insight into a pool. Before the first successful computation, only `pool`, `status` and `error` have values.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        outcomes: Number of outcomes counted.
        age_seconds: Seconds since the computation.
        seconds: Duration of the computation.
        status: How the computation ended that `findings` are from (`optimal`). Without findings: `pending` before the first computation,
            `failed`, or `not_applicable`.
        error: Why the newest computation failed, or has not been made yet. `findings` is then an earlier result or None.
        findings: The parts of the insight.
        stale_seconds: Present only if the store does not answer: age in seconds of the data shown.
        slice: Slice of the pool, such as `language:English`. Absent for all outcomes.
        hidden_agents: Number of hidden agents that `findings` would name, and that are left out of it.
        display_names: Agent -> its display name, for the agents that `findings` names. Absent if none of them has one.
    """

    pool: str
    generation: int | None = None
    position: int | None = None
    outcomes: int | None = None
    age_seconds: float | None = None
    seconds: float | None = None
    status: str = PENDING
    error: str | None = None
    findings: Findings | None = None
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET
    slice: str | msgspec.UnsetType = msgspec.UNSET
    hidden_agents: int = 0
    display_names: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


def insight(boards: SolvedBoards, pool: str, *, now: float) -> Insight:
    """The newest insight of a pool. now: seconds since 1970. Raises `StoreError`, `InputError`."""
    page = boards.page(pool, INSIGHT, 0, 1)
    if page is None:
        return Insight(pool=pool, error="not computed yet: it is computed some seconds after the pool's first outcomes are folded")
    board = page[0]
    if not board.result.extra:
        return Insight(pool=pool, status=board.result.status, error=board.error)
    return Insight(
        pool=pool,
        generation=board.generation,
        position=board.position,
        outcomes=board.outcomes,
        age_seconds=round(max(0.0, now - board.solved_at), 3),
        seconds=board.result.seconds,
        status=board.result.status,
        error=board.error,
        findings=msgspec.convert(board.result.extra, Findings),
    )

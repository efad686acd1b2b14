"""A pool's insight for readers, in one form for the API, the page and `equirank insight`."""

import msgspec

from services.boards.findings import Findings
from services.boards.store.protocol import INSIGHT
from services.boards.store.solved import SolvedBoards


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """Insight into a pool. findings: None before the first successful computation; then all other fields except `error` are None, too.

    generation, position, outcomes: what was counted; age_seconds: since then; seconds: that it took; error: why the newest try
    failed, where an older result, or none, is shown; stale_seconds: present while the store does not answer: this is what was known
    so long ago.
    """

    pool: str
    generation: int | None = None
    position: int | None = None
    outcomes: int | None = None
    age_seconds: float | None = None
    seconds: float | None = None
    error: str | None = None
    findings: Findings | None = None
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


def insight(boards: SolvedBoards, pool: str, *, now: float) -> Insight:
    """The newest insight of a pool. now: seconds since 1970. Raises `StoreError`, `InputError`."""
    found = boards.page(pool, INSIGHT, 0, 1)
    if found is None:
        return Insight(pool=pool)
    board = found[0]
    if not board.result.extra:
        return Insight(pool=pool, error=board.error)
    return Insight(
        pool=pool,
        generation=board.generation,
        position=board.position,
        outcomes=board.outcomes,
        age_seconds=round(max(0.0, now - board.solved_at), 3),
        seconds=board.result.seconds,
        error=board.error,
        findings=msgspec.convert(board.result.extra, Findings),
    )

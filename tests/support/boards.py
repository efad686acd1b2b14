"""Heads and solved boards, for tests of the store and of its readers."""

from collections.abc import Sequence

from services.boards.result import AgentRow, CertificateRow, SolvedBoard, SolveResult
from services.boards.store.protocol import PoolHead
from services.runtime.settings import PROVISIONAL


class Content:
    """Fake checks of a publisher: all heads were folded from the log, and all epochs are superseded, or none."""

    def __init__(self, superseded: bool = True) -> None:
        self._superseded = superseded
        self.left_out: int | None = None
        """Offset of a record that an operator skipped."""

    def has_skips(self, _partition: int, position: int) -> bool:
        return self.left_out is not None and self.left_out < position

    def was_folded_from_the_log(self, _head: PoolHead) -> bool:
        return True

    def is_superseded(self, _partition: int, _epoch: int) -> bool:
        return self._superseded


def head_of(
    pool: str = "blitz", *, generation: int = 1, position: int = 0, kind: str = "games", label: str = "", **more: object
) -> PoolHead:
    fields: dict[str, object] = {
        "pool": pool,
        "kind": kind,
        "label": label,
        "partition": 0,
        "generation": generation,
        "position": position,
        "published_at": 1000.0,
        "pool_time": 990.0,
        "outcomes": position,
        "agents": 3,
        "tasks": 0,
        "duplicates": 0,
        "conflicts": 0,
        "retractions": 0,
        "dead_letters": 0,
        "online": ["elo", "sco"] if kind == "games" else [],
        "provisional_outcomes": PROVISIONAL.outcomes,
    }
    return PoolHead(**{**fields, **more})


def rows_of(ratings: Sequence[tuple[str, float | None]]) -> list[AgentRow]:
    """Rows in descending order of ratings, with competition ranks (1, 2, 2, 4)."""
    order = sorted(ratings, key=lambda pair: (-(pair[1] or 0.0), pair[0]))
    first: dict[float, int] = {}
    for i, (_, rating) in enumerate(order):
        first.setdefault(rating or 0.0, i + 1)
    return [AgentRow(agent=name, rating=rating, rank=first[rating or 0.0]) for name, rating in order]


def solved_of(
    pool: str = "blitz",
    *,
    method: str = "maximal_lottery",
    generation: int = 1,
    position: int = 0,
    ratings: Sequence[tuple[str, float | None]] = (("rock", 0.5), ("paper", 0.5)),
    error: str | None = None,
) -> SolvedBoard:
    result = SolveResult(
        method=method,
        input="pairs",
        agents=rows_of(ratings),
        certificate=CertificateRow(kind="exploitability", value=1e-12),
        status="optimal",
        seconds=0.25,
        extra={"support": [name for name, rating in ratings if rating]},
    )
    return SolvedBoard(
        pool=pool,
        generation=generation,
        position=position,
        outcomes=position,
        data="0" * 64,
        parameters={},
        solved_at=995.0,
        result=result,
        error=error,
    )

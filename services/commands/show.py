"""Boards as tables for the terminal, however narrow it is."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from services.pools import Kind
from services.solve.methods import defaults
from services.store.protocol import PoolHead, StoreReader

_BEST = 6


def boards(store: StoreReader, pools: Sequence[str]) -> list[Table] | None:
    """One table for each of `pools`, a line a method; None until all have the boards that their kind solves by default."""
    heads = [store.head(pool) for pool in pools]
    tables = [_table(store, head) for head in heads if head is not None]
    return [table for table in tables if table is not None] if len(tables) == len(pools) and all(tables) else None


def _table(store: StoreReader, head: PoolHead) -> Table | None:
    lines = {method: _live(store, head.pool, method) for method in head.online}
    lines |= {method: _solved(store, head.pool, method) for method in store.solved_methods(head.pool)}
    if not lines.keys() >= defaults(Kind(head.kind)).keys():
        return None
    label = f" ({head.label})" if head.label else ""
    table = Table("method", "best", title=Text(f"{head.pool}{label}: {head.outcomes} outcomes, {head.agents} agents"), title_justify="left")
    for method, line in lines.items():
        table.add_row(method, Text(line))
    return table


def _live(store: StoreReader, pool: str, method: str) -> str:
    page = store.live(pool, method, 0, _BEST)
    return _line((row.rank, row.agent, row.rating) for row in page.rows) if page else ""


def _solved(store: StoreReader, pool: str, method: str) -> str:
    found = store.solved(pool, method, 0, _BEST)
    return _line((row.rank, row.agent, row.rating) for row in found[0].result.agents) if found else ""


def _line(rows: Iterable[tuple[int, str, float | None]]) -> str:
    return ", ".join(f"{rank} {agent} {'-' if rating is None else f'{rating:.4g}'}" for rank, agent, rating in rows)

"""Boards as tables for the terminal."""

from rich.table import Table

from services.pools import Kind
from services.solve.methods import defaults
from services.store.protocol import PoolHead, StoreReader

_ROWS = 10


def boards(store: StoreReader) -> list[Table] | None:
    """One table a pool, its methods side by side; None until every pool has the boards that its kind solves by default."""
    tables = [_table(store, head) for head in store.pools()]
    return tables if tables and all(tables) else None  # type: ignore[return-value]  # all() leaves no None


def _table(store: StoreReader, head: PoolHead) -> Table | None:
    columns = {method: _live(store, head.pool, method) for method in head.online}
    columns |= {method: _solved(store, head.pool, method) for method in store.solved_methods(head.pool)}
    if not columns.keys() >= defaults(Kind(head.kind)).keys():
        return None
    label = f" ({head.label})" if head.label else ""
    table = Table(title=f"{head.pool}{label}: {head.outcomes} outcomes, {head.agents} agents", title_justify="left")
    for method in columns:
        table.add_column(method, no_wrap=True)
    for row in range(max(map(len, columns.values()))):
        table.add_row(*(lines[row] if row < len(lines) else "" for lines in columns.values()))
    return table


def _live(store: StoreReader, pool: str, method: str) -> list[str]:
    page = store.live(pool, method, 0, _ROWS)
    return [_line(row.rank, row.agent, row.rating) for row in page.rows] if page else []


def _solved(store: StoreReader, pool: str, method: str) -> list[str]:
    found = store.solved(pool, method, 0, _ROWS)
    return [_line(row.rank, row.agent, row.rating) for row in found[0].result.agents] if found else []


def _line(rank: int, agent: str, rating: float | None) -> str:
    return f"{rank:>3} {agent} {'-' if rating is None else f'{rating:.4g}'}"

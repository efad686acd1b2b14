"""An engine on a cluster of others whose Ray is killed joins the cluster again once it is back, as the same process."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ray.cluster_utils import Cluster

from deploy.local.ports import free_ports
from tests.support.drivers import drivers
from tests.support.installation import until
from tests.support.worker import play


@contextmanager
def cluster(port: int) -> Iterator[Cluster]:
    """A head with room for one shard, whose control service is on `port`. All its processes are killed in the end."""
    head = {"gcs_server_port": port, "resources": {"equirank_shard": 1.0}, "object_store_memory": 80 << 20, "include_dashboard": False}
    one = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield one
    finally:
        one.remove_node(one.head_node, allow_graceful=False)
        one.shutdown()


def test_an_engine_joins_its_cluster_again(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        address = first.enter_context(cluster(port)).address
        one = stack.enter_context(drivers(tmp_path, address))
        one.environment["RAY_gcs_rpc_server_reconnect_timeout_s"] = "25"  # the engine waits ten seconds less
        play(one.log, 0, 100)
        engine = one.start(shards=1)
        one.counted(100)
        owners = one.owners()

        first.close()
        until(lambda: "joins the Ray cluster again" in one.output(), f"the engine has noticed\n{one.output()}")
        play(one.log, 100, 200)
        assert engine.poll() is None

        stack.enter_context(cluster(port))
        one.counted(200)
        assert engine.poll() is None, "the same process has joined again"
        assert set(one.owners().values()).isdisjoint(owners.values())
        one.same()

"""Solves on several Ray nodes: where they run, and what the loss of a node in the middle of them costs."""

import ctypes
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from services.boards.store.redis import RedisStore
from services.solve.worker.tasks import solve_and_publish
from tests.support.solves import BAD, GOOD, POOL, OtherSolve, World

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A head without CPUs, so that every solve is on one of the nodes that a test adds."""
    one = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 100 << 20, "include_dashboard": False})
    yield one
    ray.shutdown()
    one.shutdown()


def stuck_at_first(folder: Path) -> Callable[..., bytes]:
    """`solve_and_publish` that notes its node; the first solve of one method waits until it is lost. A closure: Ray ships it by value."""

    def solve(url: str, entry: bytes, method: str, *others: Any) -> bytes:
        tries = len(list(folder.glob(f"{method}-*")))
        (folder / f"{method}-{tries}").write_text(ray.get_runtime_context().get_node_id())
        while method == BAD and not tries:
            time.sleep(0.05)
        return solve_and_publish(url, entry, method, *others)

    return solve


def noting_threads(notes: Path) -> Callable[..., bytes]:
    """`solve_and_publish` that notes how many threads its libraries of linear algebra take. A closure, so that Ray ships it by value."""

    def solve(*arguments: Any) -> bytes:
        published = solve_and_publish(*arguments)
        for library in {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "openblas" in line}:
            loaded = ctypes.CDLL(library)
            for name in ("scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_"):
                if hasattr(loaded, name):
                    (notes / Path(library).name).write_text(str(getattr(loaded, name)()))
        (notes / "done").touch()
        return published

    return solve


def test_a_solve_on_a_node_that_nobody_configured_takes_one_thread(
    cluster: Cluster, store: RedisStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines tell the workers of their own machine by environment; those of others have Ray's word, which counts a solve's one CPU."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    notes = tmp_path / "notes"
    notes.mkdir()
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    world = World(tmp_path, store, OtherSolve(noting_threads(notes)))
    world.until(world.solved(GOOD, world.play(50)), "solved")
    world.until((notes / "done").exists, "its task, which publishes first, has noted the threads")
    noted = [file.read_text() for file in notes.iterdir() if file.name != "done"]
    assert noted
    assert set(noted) == {"1"}


def test_solves_spread_over_nodes_and_those_of_a_lost_node_begin_again_on_another(
    cluster: Cluster, store: RedisStore, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    nodes = {node.node_id: node for node in (cluster.add_node(num_cpus=1, object_store_memory=100 << 20) for _ in range(2))}
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    world = World(tmp_path, store, OtherSolve(stuck_at_first(notes)))
    position = world.play(50)
    world.until(world.solved(GOOD, position), "the other node solves")
    world.until((notes / f"{BAD}-0").exists, "one solve is in the middle")
    stuck, other = (notes / f"{BAD}-0").read_text(), (notes / f"{GOOD}-0").read_text()
    assert {stuck, other} == set(nodes), "each on a node of its own"
    assert world.board(BAD) is None
    cluster.remove_node(nodes[stuck], allow_graceful=False)
    second = world.play(50)
    world.until(lambda: (board := world.board(BAD)) is not None and board.position in (position, second), "solved elsewhere")
    assert (notes / f"{BAD}-1").read_text() == other
    world.until(world.solved(GOOD, second), "what the other node does goes on")
    world.until(world.solved(BAD, second), "the lost one catches up")
    assert (world.ended(GOOD, "failed"), world.ended(BAD, "failed")) == (0, 0)
    assert set(world.store.solved.methods(POOL)) == {GOOD, BAD}

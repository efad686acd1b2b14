"""Solves on 1, 2 and 4 Ray nodes of this machine: where they run, how long a round takes, and what the loss of a node costs.

`python -m benchmarks.nodes [--quick]`. Every node has one CPU in Ray's books, so a round can go as many times faster as there are
nodes, up to the cores that the machine really has: on 2 physical cores 4 nodes show placement and repair, not more speed. A
round is deviation ratings of different tables of scores, each a Ray task with the runner's options, after a round that warms
workers up. Seconds are wall seconds.
"""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import msgspec
import numpy as np
import ray
from ray.cluster_utils import Cluster

from benchmarks.common import Row, arguments, header, show
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import FoldSettings, Generation, PoolCreated
from services.solve.registry.methods import Solved
from services.solve.worker.tasks import solve_pool
from services.state.pool import PoolState
from services.wire.events import ScoreEvent
from services.wire.pools import Kind
from tests.support.folds import fold_events

METHOD, MEMORY = "deviation", 1 << 30
NODES = (1, 2, 4)


@contextmanager
def nodes(count: int) -> Iterator[tuple[Cluster, list[Any]]]:
    """A cluster whose head has no CPU and `count` nodes of one each; and those nodes."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 100 << 20, "include_dashboard": False})
    try:
        added = [cluster.add_node(num_cpus=1, object_store_memory=100 << 20) for _ in range(count)]
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield cluster, added
    finally:
        ray.shutdown()
        cluster.shutdown()


def pools(folder: Path, count: int, agents: int, tasks: int) -> list[bytes]:
    """Checkpointed pools of scores, as entries of a manifest."""
    checkpoints = CheckpointStore(folder.as_uri())
    return [_pool(checkpoints, f"p{i}", np.random.default_rng(i).beta(0.5, 0.5, size=(tasks, agents))) for i in range(count)]


def _pool(checkpoints: CheckpointStore, pool: str, table: Any) -> bytes:
    made = Generation(pool=pool, number=1, start=0, time=0.0, fold=FoldSettings())
    state = PoolState(PoolCreated(pool=pool, kind=Kind.SCORES, time=0.0), made)
    fold_events(state, [_event(pool, task, row) for task, row in enumerate(table.tolist())])
    name = f"objects/{pool}"
    sha256, size = checkpoints.write_object(name, state.arrays(), {})
    entry = PoolEntry(pool=pool, kind="scores", generation=1, position=0, outcomes=0, object=name, sha256=sha256, bytes=size, digest="")
    return msgspec.json.encode(entry)


def _event(pool: str, task: int, row: Sequence[float]) -> ScoreEvent:
    scores = {f"a{i}": score for i, score in enumerate(row)}
    return ScoreEvent(v=1, id=f"{task}", pool=pool, time=0.0, task=f"t{task}", scores=scores)


def noted(folder: Path) -> Callable[[str, bytes], bytes]:
    """A solve that first notes the node it is on. A closure, so that Ray ships it by value."""
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)

    def solve(url: str, entry: bytes) -> bytes:
        (notes / uuid4().hex).write_text(ray.get_runtime_context().get_node_id())
        return msgspec.json.encode(solve_pool(url, entry, METHOD, {}, MEMORY))

    return solve


def placement(folder: Path) -> Counter[str]:
    """Solves begun by node since the last look."""
    files = list((folder / "notes").iterdir())
    found = Counter(file.read_text() for file in files)
    for file in files:
        file.unlink()
    return found


def round_of(folder: Path, entries: Sequence[bytes], after_third: Callable[[], None] = lambda: None) -> float:
    """Wall seconds until every entry is solved, all by certificate; calls `after_third` when a third is."""
    task = ray.remote(num_cpus=1, max_retries=1)(noted(folder))
    began = time.perf_counter()
    waiting = [task.remote(folder.as_uri(), entry) for entry in entries]
    done, waiting = ray.wait(waiting, num_returns=len(entries) // 3)
    after_third()
    found = [msgspec.json.decode(answer, type=Solved).result for answer in ray.get([*done, *waiting])]
    if any(result.status != "optimal" for result in found):
        raise RuntimeError(f"not optimal: {[result.status for result in found]}")
    return time.perf_counter() - began


def rows(count: int, folder: Path, entries: Sequence[bytes], alone: float | None) -> Iterator[Row]:
    """A round on `count` nodes beside one node, and, of several, one of them lost in the middle beside none."""
    with nodes(count) as (cluster, added):
        round_of(folder, [*entries, *entries])  # workers import what they need, on every node
        placement(folder)
        whole = round_of(folder, entries)
        spread = "/".join(str(n) for n in sorted(placement(folder).values(), reverse=True))
        yield Row(f"a round on {count} node{'s' * (count > 1)}", f"{len(entries)} solves, by node {spread}", whole, "1 node", alone)
        if count > 1:
            lossy = round_of(folder, entries, lambda: cluster.remove_node(added[-1], allow_graceful=False))
            begun = sum(placement(folder).values())
            yield Row("one node lost in the middle", f"{begun - len(entries)} begun again elsewhere", lossy, "no loss", whole)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    options = arguments("solves on several Ray nodes", argv)
    header("Solves on nodes", ["ray"])
    count, agents, tasks = (6, 12, 9) if options.quick else (24, 60, 40)
    alone = None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entries = pools(folder, count, agents, tasks)
        for some in NODES:
            for row in rows(some, folder, entries, alone):
                alone = row.ours if alone is None else alone
                show(row)


if __name__ == "__main__":
    main()

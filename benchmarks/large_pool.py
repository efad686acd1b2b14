"""One pool of 1 M agents and 10 M pairs that met: memory, how long a checkpoint holds folding up, how fast it is recovered.

`python -m benchmarks.large_pool [--quick]`. Goals: <= 250 bytes an agent (names of 16 bytes,
two online methods), <= 64 bytes a met pair, 28 bytes an id of a full dedupe window; folding never held up for more than 0.05 s by
a checkpoint; a shard that was killed serves again and has caught up within 10 s, not one bit different. The pool is drawn, not played: a
checkpoint of it is written, and the log goes on from there.
"""

import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Row, arguments, header, show
from benchmarks.installation import PARTITIONS, Up
from ratings_core.arrays.arena import pack
from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from ratings_core.records.outcomes import WEIGHT_ONE
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated, Takeover
from services.log.partition import partition_of
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.state.pool import PoolState
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events

POOL = "large"
HOME = partition_of(POOL, PARTITIONS)
GOAL_PAUSE, GOAL_RECOVERY = 0.05, 10.0
GOAL_AGENT, GOAL_PAIR, GOAL_ID = 250.0, 64.0, 28.0
PER_BATCH = 500


def created() -> tuple[PoolCreated, Generation]:
    made = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings())
    return made, Generation(pool=POOL, number=1, start=0, time=0.0, fold=made.fold)


def drawn(agents: int, pairs: int, ids: int) -> Arrays:
    """Content of a pool that had so many agents, met pairs and remembered ids."""
    rng, blank = np.random.default_rng(11), PoolState(*created()).arrays()
    names = pack([f"player-{i:09d}" for i in range(agents)])
    first = rng.integers(0, agents - 1, pairs + pairs // 50)
    second = first + 1 + (rng.random(len(first)) * (agents - 1 - first)).astype(np.int64)
    keys = np.unique(first << 32 | second)
    keys = np.sort(rng.permutation(keys)[:pairs])
    places = (np.arange(2 * agents) // 2 << 24) | 2 << 16 | (np.arange(2 * agents) % 2 << 8) | 1
    content = {
        "agents.bytes": names.bytes, "agents.start": names.start,
        "dedupe.ids": rng.integers(0, 2**64, (ids, 2), np.uint64), "dedupe.bodies": rng.integers(0, 2**32, ids, np.uint32),
        "activity": rng.integers(1, 50, agents), "counts": np.array([ids, 0, 0, 0, 0, 0]),
        **_slab("pairs", keys, {name: rng.integers(0, 9, len(keys)) for name in ("wins", "losses", "ties")}),
        **_slab("places", places, {"weight": rng.integers(1, 50, len(places))}),
    }  # fmt: skip
    for name in ("elo", "sco"):
        content |= {f"online.{name}.rating": rng.normal(1500.0, 200.0, agents), f"online.{name}.outcomes": rng.integers(1, 50, agents)}
    return {name: content[name].astype(array.dtype) if name in content else array for name, array in blank.items()}


def _slab(part: str, keys: np.ndarray, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    whole = {"bucket": np.zeros(1), "task": np.full(1, -1), "start": np.array([0, len(keys)]), "key": keys}
    weights = {name: column * WEIGHT_ONE for name, column in columns.items()}
    return {f"{part}.{name}": array for name, array in {**whole, **weights}.items()}


def games(agents: int, count: int, first: int, seed: int) -> list[GameEvent]:
    """Games of agents that the pool knows, one in a hundred of a new one."""
    rng = np.random.default_rng(seed)
    winners, losers = rng.integers(0, agents // 2, count), rng.integers(agents // 2, agents + agents // 100, count)
    return [
        GameEvent(v=1, id=f"later-{first + i}", pool=POOL, time=1.0, sides=[Side([f"player-{a:09d}"], 1), Side([f"player-{b:09d}"], 2)])
        for i, (a, b) in enumerate(zip(winners.tolist(), losers.tolist(), strict=True))
    ]


def memory(state: PoolState, agents: int, pairs: int, ids: int) -> Iterator[Row]:
    """Steady memory by part."""
    content = state.content
    by_agent = content.agents.nbytes + content.ratings.nbytes + agents
    with_places = by_agent + content.tallies.places.nbytes
    yield Row("memory: an agent, without place tallies", f"{agents:,} agents, 2 methods", by_agent / agents, "goal", GOAL_AGENT, "B")
    yield Row("memory: an agent, with place tallies", "2 places each", with_places / agents, "goal", GOAL_AGENT, "B")
    yield Row("memory: a met pair", f"{pairs:,} pairs", content.tallies.pairs.nbytes / pairs, "goal", GOAL_PAIR, "B")
    yield Row("memory: a remembered id", f"{ids:,} ids, full", content.dedupe.nbytes / ids, "goal", GOAL_ID, "B")


class Folding:
    """Folds small batches one after the other, and knows how many CPU seconds of its thread each took."""

    def __init__(self, partition: Partition, agents: int) -> None:
        self._partition, self._agents, self._number = partition, agents, 0
        made = created()
        control = ControlState()
        control.apply(0, made[0])
        control.apply(1, made[1])
        self._directory = FixedDirectory(control)

    def one(self) -> float:
        """CPU seconds of the next batch."""
        value = events.encode(games(self._agents, PER_BATCH, self._number * PER_BATCH, self._number))
        self._number += 1
        began = time.thread_time()
        record = Record(offset=self._partition.position, time=0.0, key=None, value=value)
        if self._partition.fold(TopicRecords([record]), self._directory):
            raise ValueError("the workload must be sound")
        return time.thread_time() - began


def pauses(folder: Path, state: PoolState, agents: int, pairs: int) -> Iterator[Row]:
    """While a checkpoint is taken, as a shard takes it."""
    partition = Partition(0, 1)
    partition.pools[POOL] = state
    folding = Folding(partition, agents)
    alone = [folding.one() for _ in range(420)][20:]
    store = CheckpointStore((folder / "state").as_uri())
    checkpointer = Checkpointer(store, "log", 1, 9, None)
    wanted = digest(state.arrays())
    PoolState.restore(*created(), drawn(1000, 1000, 1000), 0).freeze().arrays()  # kernels are there, as they are after a shard's first
    beside, held = [], 0.0
    while not checkpointer.figures.counts["checkpoints"]:
        began = time.perf_counter()
        checkpointer.step(0.0, 1e9, partition)
        held = max(held, time.perf_counter() - began)
        beside.append(folding.one())
    checkpointer.drain(partition)
    if wanted not in _digests(store):
        raise ValueError("the checkpoint is not of the moment when it began")
    spent = checkpointer.figures.checkpoints.seconds
    print(f"{len(beside)} batches of {PER_BATCH} folded meanwhile, {spent:.1f} s of writing")
    print(f"CPU ms of the longest batches: {_longest(alone)} alone, {_longest(beside)} beside")
    yield Row("longest hold-up of the fold by a checkpoint", f"{agents:,} agents, {pairs:,} pairs", held, "goal", GOAL_PAUSE)
    yield Row("longest batch beside it, CPU", f"{PER_BATCH} outcomes", max(beside), "longest alone", max(alone))


def _longest(spent: Sequence[float]) -> str:
    return ", ".join(f"{seconds * 1e3:.1f}" for seconds in sorted(spent)[:-4:-1])


def _digests(store: CheckpointStore, partition: int = 0) -> set[str]:
    return {entry.digest for name in store.manifests(partition) for entry in store.read_manifest(name).entries}


def prepared(data: Path, content: Arrays) -> None:
    """A data folder whose checkpoint holds the pool, and whose log goes on from there."""
    record = events.encode(games(1000, 1, -1, 0))
    with closing(open_sqlite_log(data / "log.sqlite", PARTITIONS)) as log:
        control = ControlLog(log.control)
        for made in created():
            control.append(made)
        epoch = control.append(Takeover(partition=HOME, owner="benchmark", time=0.0, log=log.outcomes.identity))
        [offset] = log.outcomes.append(HOME, [(POOL.encode(), record)])
        partition = Partition(HOME, PARTITIONS, offset + 1)
        partition.pools[POOL] = PoolState.restore(*created(), content, offset + 1)
        partition.last = offset, hashlib.sha256(record).hexdigest()
        Checkpointer(CheckpointStore((data / "state").as_uri()), log.outcomes.identity, epoch, 3, None).drain(partition)
        control.close()


def shard_of(data: Path) -> int:
    """The process of the shard that works on a data folder."""
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            ours = f"EQUIRANK_DATA={data}".encode() in (folder / "environ").read_bytes().split(b"\0")
            if ours and (folder / "cmdline").read_bytes().startswith(b"ray::ShardActor"):
                return int(folder.name)
    raise RuntimeError("no shard runs")


def recovery(folder: Path, content: Arrays, agents: int, tail: int) -> Iterator[Row]:
    """Through all processes of `equirank up`: its shard is killed, and what comes then is waited for on the board."""
    data, known = folder / "data", int(content["counts"][0])
    data.mkdir()
    prepared(data, content)
    sent = games(agents, tail, 0, 1)
    began = time.perf_counter()
    up = Up(data, POOL)
    try:
        up.wait(known)
        print(f"from nothing running to all {agents:,} agents on the board: {time.perf_counter() - began:.1f} s", flush=True)
        for start in range(0, tail - 1, PER_BATCH):
            up.post(events.encode(sent[start : min(start + PER_BATCH, tail - 1)]))
        up.wait(known + tail - 1)
        began = time.perf_counter()
        os.kill(shard_of(data), signal.SIGKILL)
        up.post(events.encode(sent[-1:]))
        up.wait(known + tail)
        spent = time.perf_counter() - began
    finally:
        up.stop()
    state = PoolState.restore(*created(), content, 0)
    fold_events(state, sent)
    if digest(state.arrays()) not in _digests(CheckpointStore((data / "state").as_uri()), HOME):
        raise ValueError("the state after recovery is another")
    yield Row("recovery: shard killed -> serving, caught up", f"{agents:,} agents, {tail:,} since", spent, "goal", GOAL_RECOVERY)
    print("the state of the last checkpoint is bit for bit that of an offline fold")


def rows(quick: bool) -> None:
    """All of them, printed."""
    scale = 20 if quick else 1
    agents, pairs, ids = 1_000_000 // scale, 10_000_000 // scale, 4_194_304 // (1 if not quick else 16)
    arrays = drawn(agents, pairs, ids)
    state = PoolState.restore(*created(), arrays, 0)
    show(*memory(state, agents, pairs, ids))
    with tempfile.TemporaryDirectory(prefix="bench-large-", dir=Path(__file__).parent) as folder:
        show(*pauses(Path(folder), state, agents, pairs))
        del state
        show(*recovery(Path(folder), arrays, agents, 50_000 // scale))


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("One large pool", ("numpy", "numba", "ray"))
    rows(given.quick)


if __name__ == "__main__":
    main()

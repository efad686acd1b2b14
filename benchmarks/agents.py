"""The index of agents of one API process: time to load it from a checkpoint, its memory, and the time of each question to it.

`python -m benchmarks.agents [--quick]`. Goal: p99 <= 20 ms a search of 1 M agents after the index is loaded. Ratings, which a request reads
from the store afterwards, are measured by `benchmarks.api`. Names are those of a platform (adjective, noun, number), with few outcomes for
most and many for some. Queries are a mix: the beginning of a name, a part of it, its end, a misspelt name, and a text that no name has.
"""

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import quantiles

import numpy as np

from benchmarks.common import Row, arguments, header, show
from ratings_core.arrays.arena import pack
from ratings_core.arrays.frozen import Arrays
from services.boards.agent_index import AgentIndex
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from tests.support.boards import head_of

POOL = "bench"
GOAL_SECONDS = 0.020
GAMES_A_PAIR = 1 << 20
WORDS = ("quick", "Silent", "golden", "arctic", "mighty", "Örtlich", "clever", "Brave", "lucky", "cosmic")
BEASTS = ("fox", "Otter", "falcon", "wolf", "tiger", "Bär", "heron", "viper", "lynx", "raven")


def main(argv: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__ or "", argv)
    agents, questions = (20_000, 200) if chosen.quick else (1_000_000, 1000)
    header("index of agents", ("numpy", "numba"))
    rng = random.Random(0)
    names = [f"{rng.choice(WORDS)}-{rng.choice(BEASTS)}-{i * 7919 % (10 * agents)}" for i in range(agents)]
    with tempfile.TemporaryDirectory() as folder:
        files = CheckpointStore(Path(folder).as_uri())
        write(files, names, 5 * agents)
        AgentIndex.load(files, head_of(POOL))  # compiles the kernels
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        index = AgentIndex.load(files, head_of(POOL))
        loaded = time.perf_counter() - began
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        what = f"{agents:,} agents, {5 * agents:,} pairs"
        print(f"{what}: loaded in {loaded:.2f} s, {index.nbytes / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB more", flush=True)
        for name, ask in kinds(index, names):
            latencies = [timed(ask) for _ in range(questions)]
            cuts = quantiles(latencies, n=100)
            print(f"{name}: p50 {1000 * cuts[49]:.2f} ms, p99 {1000 * cuts[98]:.2f} ms, max {1000 * max(latencies):.1f} ms", flush=True)
            if name != "opponents":
                show(Row(f"index of agents, {name}, p99", what, cuts[98], "goal", GOAL_SECONDS))


def write(files: CheckpointStore, names: Sequence[str], pairs: int, more: Arrays | None = None) -> None:
    """A checkpoint of agents with these names, and of as many pairs. more: further arrays by their names."""
    rng, arena = np.random.default_rng(0), pack(names)
    low, high = np.sort(rng.integers(0, len(names), (2, pairs)), axis=0)
    pair = np.unique((low << 32 | high)[low < high])
    activity = np.bincount(np.concatenate([pair >> 32, pair & 0xFFFFFFFF]), minlength=len(names))
    agent = np.arange(len(names), dtype=np.int64)
    place = np.concatenate([agent[:, None] << 24 | 2 << 16 | 1, agent[:, None] << 24 | 2 << 16 | 1 << 8 | 1], axis=1).ravel()
    one_slab = {"bucket": np.zeros(1, np.int64), "task": np.full(1, -1, np.int32)}
    parts = {
        "agents": {"bytes": arena.bytes, "start": arena.start},
        "pairs": {**one_slab, "start": np.array([0, len(pair)]), "key": pair,
                  **{name: rng.integers(0, 3 * GAMES_A_PAIR, len(pair)) for name in ("wins", "losses", "ties")}},
        "places": {**one_slab, "start": np.array([0, len(place)]), "key": place, "weight": rng.integers(1, 100 * GAMES_A_PAIR, len(place))},
    }  # fmt: skip
    arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
    sha256, size = files.write_object(POOL, {**arrays, "activity": activity.astype(np.int64), **(more or {})}, {})
    entry = PoolEntry(
        pool=POOL, kind="games", generation=1, position=1, outcomes=len(pair), object=POOL, sha256=sha256, bytes=size, digest=""
    )
    manifest = Manifest(
        format=FORMAT, partition=0, position=1, epoch=1, log_identity="log", last_offset=None, last_sha256=None, fold_version=1,
        written_at=0.0, pools=[entry],
    )  # fmt: skip
    files.write_manifest(manifest)


def kinds(index: AgentIndex, names: Sequence[str]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Kinds of questions, each with a function that asks a new one."""
    rng = random.Random(1)

    def name() -> str:
        return rng.choice(names)

    def misspelt() -> str:
        text = name()
        at = rng.randrange(len(text))
        return text[:at] + "x" + text[at + 1 :]

    yield "all agents", lambda: index.search("", None, 20)
    yield "search by a beginning", lambda: index.search(name()[: rng.randint(1, 12)], None, 20)
    yield "search by a part", lambda: index.search(name()[rng.randint(1, 4) :][: rng.randint(2, 8)], None, 20)
    yield "search by an end", lambda: index.search(name()[-5:], None, 20)
    yield "search without a match", lambda: index.search("nobody has this", None, 20)
    yield "nearest names", lambda: index.nearest(misspelt(), 5)
    yield "results of an agent", lambda: index.results(index.find(name()) or 0)
    yield "opponents", lambda: index.opponents(index.find(name()) or 0)


def timed(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

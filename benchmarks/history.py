"""The history of outcomes: what it adds to a fold, its size, and the time of questions to it.

`python -m benchmarks.history [--quick] [--folder FOLDER]`. Goals: at most 10 % more CPU time and memory of a fold; p99 <= 20 ms for a page
of outcomes or a history at 1 M agents and 10 M outcomes. A fold is `Partition.fold` of JSON records, 500 outcomes in each, with the default
methods and their scores, in slices as a shard makes them. With a history, another thread packs and writes all complete segments. Rounds
with and without alternate; a ratio is the median of the rounds, of the CPU seconds of the folding thread and of the process. Questions go
to files as the API reads them, mapped from a local disk. The files hold random outcomes.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

import numpy as np

from benchmarks.agents import timed
from benchmarks.common import Row, header, parser, show
from benchmarks.stream import HOME, PARTITIONS, POOL, games
from ratings_core.online.trace import RatingTrace
from services.boards.outcome_history import OutcomeHistoryReader
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.history_files import HistoryFiles
from services.control.directory import FixedDirectory
from services.control.records import FoldSettings
from services.log.protocol import Record, Records
from services.log.records import TopicRecords
from services.runtime.memory import set_up_memory
from services.shard.checkpointing.history import HistoryWriter
from services.shard.partition import Partition
from services.shard.slices import slices
from services.state.history import SEGMENT_ROWS, TracedOutcomes
from services.wire import events
from tests.support.pools import control_of, pool_of

PER_RECORD = 500
METHODS = ("elo", "sco")
GOAL_MORE = 1.1
GOAL_SECONDS = 0.020


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--folder", type=Path, help="folder for the files (default: a temporary one); 1.5 GB")
    chosen = options.parse_args(argv)
    set_up_memory()
    header("history of outcomes", ("numpy", "numba"))
    outcomes, agents, kept, questions = (20_000, 2_000, 200_000, 200) if chosen.quick else (1_000_000, 1_000_000, 10_000_000, 2000)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for row in fold_rows(CheckpointStore((Path(folder) / "fold").as_uri()), outcomes, chosen.repeats):
            show(row)
        for row in question_rows(CheckpointStore((Path(folder) / "read").as_uri()), agents, kept, questions):
            show(row)


def fold_rows(store: CheckpointStore, outcomes: int, repeats: int) -> Iterator[Row]:
    made = games(outcomes)
    values = [events.encode(made[start : start + PER_RECORD]) for start in range(0, outcomes, PER_RECORD)]
    records = list(slices(TopicRecords([Record(at, value, 0.0) for at, value in enumerate(values)])))
    fold(store, records[:1], FoldSettings(), 0)  # compiles the kernels
    threads, processes, more = list[float](), list[float](), 0.0
    for number in range(1, repeats + 1):
        without, plain = fold(store, records, FoldSettings(history=0), number)
        seconds, partition = fold(store, records, FoldSettings(), number)
        threads.append(seconds[0] / without[0])
        processes.append(seconds[1] / without[1])
        more = sum(partition.pools[POOL].memory().values()) / sum(plain.pools[POOL].memory().values())
        print(f"without {without[1]:.2f} s; with {seconds[0]:.2f} s of the folding thread, {seconds[1]:.2f} s of the process", flush=True)
    size = f"{outcomes:,} duels, default methods"
    yield Row("CPU of the folding thread, with / without", size, median(threads), "goal", GOAL_MORE, "x")
    yield Row("CPU of the process, with / without", size, median(processes), "goal", GOAL_MORE, "x")
    yield Row("memory of the pool, with / without", size, more, "goal", GOAL_MORE, "x")


def fold(store: CheckpointStore, parts: Sequence[Records], settings: FoldSettings, epoch: int) -> tuple[tuple[float, float], Partition]:
    """CPU seconds of the thread and of the process while it folds all records, and the partition."""
    partition, directory = Partition(HOME, PARTITIONS), FixedDirectory(control_of(pool_of(POOL, fold=settings)))
    writer = HistoryWriter(store, epoch)
    partition.on_segment = writer.put
    thread, process = time.thread_time(), time.process_time()
    for part in parts:
        if partition.fold(part, directory):
            raise ValueError("the workload must be sound")
        writer.step(HOME)
    thread = time.thread_time() - thread
    writer.write(HOME)
    writer.close()
    return (thread, time.process_time() - process), partition


def question_rows(store: CheckpointStore, agents: int, outcomes: int, questions: int) -> Iterator[Row]:
    files, began = HistoryFiles(store.blobs), time.perf_counter()
    window = write(store, POOL, agents, outcomes)
    took, held = time.perf_counter() - began, files.files(0)
    size = sum(len(store.blobs.read(file.name)) for file in held)
    what = f"{agents:,} agents, {outcomes:,} outcomes"
    print(f"{what}: {len(held)} files of {size / outcomes:.1f} bytes an outcome, written in {took:.0f} s", flush=True)
    entry = PoolEntry(pool=POOL, kind="games", generation=1, position=1, outcomes=outcomes, object="", sha256="", bytes=0, digest="")
    began = time.perf_counter()
    reader = OutcomeHistoryReader.load(store, 0, entry, window)
    list(reader.segments())
    print(f"all files opened in {time.perf_counter() - began:.2f} s, indexes of {reader.nbytes / 1e6:.0f} MB", flush=True)
    for name, ask in kinds(reader, agents, outcomes):  # more than an agent has, so that each question looks into all files
        cuts = quantiles([timed(ask) for _ in range(questions)], n=100)
        print(f"{name}: p50 {1000 * cuts[49]:.2f} ms, p99 {1000 * cuts[98]:.2f} ms", flush=True)
        yield Row(f"history, {name}, p99", what, cuts[98], "goal", GOAL_SECONDS)


def write(store: CheckpointStore, pool: str, agents: int, outcomes: int) -> TracedOutcomes:
    """Write files with the history of this number of random duels, and return a window with newer ones."""
    files, rng, segment = HistoryFiles(store.blobs), np.random.default_rng(0), SEGMENT_ROWS // 2
    for first in range(0, outcomes, segment):
        files.write(0, pool, 1, duels(rng, agents, first, min(segment, outcomes - first)), 1)
    return duels(rng, agents, outcomes, segment - 1)


def duels(rng: np.random.Generator, agents: int, first: int, count: int) -> TracedOutcomes:
    """Random games of two agents."""
    ids = rng.integers(0, agents, 2 * count, dtype=np.int32)
    ids[1::2] = np.where(ids[1::2] == ids[0::2], (ids[0::2] + 1) % agents, ids[1::2])
    return TracedOutcomes(
        first=first,
        sides=np.full(count, 2, np.uint8),
        weight=np.full(count, 1 << 20, np.int32),
        time=1.7e9 + np.arange(first, first + count),
        members=np.ones(2 * count, np.int32),
        place=rng.integers(1, 3, 2 * count, dtype=np.int32),
        agent=ids,
        traces={method: RatingTrace(rng.random(2 * count), rng.random(2 * count), rng.random(2 * count)) for method in METHODS},
    )


def kinds(reader: OutcomeHistoryReader, agents: int, outcomes: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Kinds of questions, each with a function that asks about a random agent."""
    draw = random.Random(1)

    def page() -> None:
        for at, row in enumerate(reader.newest(agent := draw.randrange(agents), outcomes)):
            row.segment.members(row.values, agent)
            if at == 20:
                break

    yield "the newest 20 outcomes", page
    yield "ratings over all time", lambda: reader.series(draw.randrange(agents), outcomes, METHODS[0])


if __name__ == "__main__":
    main()

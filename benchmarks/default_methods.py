"""What sets of live methods cost a pool of games: CPU time of the fold, and memory.

`python -m benchmarks.default_methods [--quick] [--agents N] [--repeats N]`. The first set is the default of earlier releases. The others
have Glicko-2 in the place of Elo, Glicko-2 in addition (the default), and Weng-Lin in addition. The fold is `Partition.fold` with a
history, in slices as a shard makes them; another thread packs and writes the segments of the history. All agents have played before the
measured outcomes begin, and a second passes from game to game. The sets alternate in one process. A ratio is the median over the rounds
of CPU seconds of the process, divided by those of the first set in the same round.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.common import Row, header, parser, show
from benchmarks.stream import HOME, PARTITIONS, POOL, STREAM_OUTCOMES, event
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.records import FoldSettings
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.runtime.memory import set_up_memory
from services.shard.checkpointing.history import HistoryWriter
from services.shard.partition import Partition
from services.shard.slices import slices
from services.wire import events
from services.wire.events import RECORD_OUTCOMES, GameEvent
from tests.support.pools import control_of, pool_of
from tests.support.streams import packed

SETS: Final = (("elo", "sco"), ("glicko2", "sco"), ("elo", "sco", "glicko2"), ("elo", "sco", "weng_lin"))


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--agents", type=int, help="only a pool of this size (default: 1,000, then 1,000,000)")
    chosen = options.parse_args(argv)
    set_up_memory()
    header("sets of live methods", ("numpy", "numba"))
    outcomes, sizes = (5_000, (1_000,)) if chosen.quick else (200_000, (1_000, 1_000_000))
    for agents in sizes if chosen.agents is None else (chosen.agents,):
        measure(agents, outcomes, chosen.repeats)


def measure(agents: int, outcomes: int, repeats: int) -> None:
    """Print the rows of a pool of so many agents."""
    first, then = games(agents, outcomes)
    played = events.encode_records(first)
    before = _records(played, 0)
    forms = {
        "1 a record": [events.encode([one]) for one in then],
        f"{RECORD_OUTCOMES} a record": events.encode_records(then),
        f"v1c, {STREAM_OUTCOMES} a record": [packed(then[at : at + STREAM_OUTCOMES]) for at in range(0, outcomes, STREAM_OUTCOMES)],
    }
    rounds: dict[str, list[Mapping[tuple[str, ...], float]]] = {form: [] for form in forms}
    memory: dict[tuple[str, ...], Mapping[str, int]] = {}
    for form, values in forms.items():
        records = _records(values, len(played))
        for _ in range(repeats + 1):  # the first round compiles kernels and does not count
            seconds = {}
            for methods in SETS:
                seconds[methods], memory[methods] = fold(methods, before, records, len(first) + outcomes)
            rounds[form].append(seconds)
        _show_times(f"{agents:,} agents, {form}", outcomes, rounds[form][1:])
    for methods in SETS:
        print(f"{agents:,} agents, {', '.join(methods)}: {memory[methods]['ratings'] / agents:.0f} B of ratings an agent", flush=True)


def _show_times(size: str, outcomes: int, rounds: Sequence[Mapping[tuple[str, ...], float]]) -> None:
    for methods in SETS:
        each = median(1e6 * seconds[methods] / outcomes for seconds in rounds)
        ratio = median(seconds[methods] / seconds[SETS[0]] for seconds in rounds)
        show(Row(", ".join(methods), size, each, f"{', '.join(SETS[0])}: {ratio:.3f} of", each / ratio, "us CPU"))


def games(agents: int, outcomes: int) -> tuple[list[GameEvent], list[GameEvent]]:
    """Games in which each agent plays for the first time, and the measured ones between agents drawn evenly."""
    rng = np.random.default_rng(5)
    pairs = rng.permutation(agents).reshape(-1, 2).tolist()
    winner = rng.integers(agents, size=outcomes)
    loser = (winner + rng.integers(1, agents, outcomes)) % agents
    both = [*pairs, *zip(winner.tolist(), loser.tolist(), strict=True)]
    made = [event(i, *pair) for i, pair in enumerate(both)]
    return made[: len(pairs)], made[len(pairs) :]


def fold(
    methods: Sequence[str], before: Sequence[TopicRecords], records: Sequence[TopicRecords], outcomes: int
) -> tuple[float, Mapping[str, int]]:  # fmt: skip
    """CPU seconds of the process for `records`, after `before` was folded, and the bytes of memory of the pool by part.

    outcomes: number of outcomes in both.
    """
    partition = Partition(HOME, PARTITIONS)
    directory = FixedDirectory(control_of(pool_of(POOL, fold=FoldSettings(online={method: {} for method in methods}))))
    with tempfile.TemporaryDirectory() as folder:
        writer = HistoryWriter(CheckpointStore(Path(folder).as_uri()), 1)
        partition.on_segment = writer.put
        _fold(partition, directory, writer, before)
        began = time.process_time()
        _fold(partition, directory, writer, records)
        seconds = time.process_time() - began
        writer.close()
    if partition.pools[POOL].content.counts["outcomes"] != outcomes:
        raise ValueError("an outcome was lost")
    return seconds, partition.pools[POOL].memory()


def _fold(partition: Partition, directory: FixedDirectory, writer: HistoryWriter, records: Sequence[TopicRecords]) -> None:
    for part in records:
        if partition.fold(part, directory):
            raise ValueError("the workload must be sound")
        writer.step(HOME)
    writer.write(HOME)


def _records(values: Sequence[bytes], first: int) -> list[TopicRecords]:
    return list(slices(TopicRecords([Record(first + at, value, 0.0) for at, value in enumerate(values)])))


if __name__ == "__main__":
    main()

"""The archive beside the JSON topics of SQLite and Kafka: write, read, and refold, in outcomes a CPU second; bytes an outcome.

Outcomes are duels of 1,000 agents with 16-byte names and random 16-byte ids, each a record. A refold ends with Elo, SCO, tallies and
dedupe as a new pool has them; archive and topic give the same content, bit for bit. The last line calculates from the measured figures
what the largest public history needs. `benchmarks.archive_live` measures the archive beside live ingest.
"""

import json
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common import Row, header, parser, show
from deploy.local.kafka.broker import Broker, missing
from services.archive.encode import rows
from services.archive.reader import open_reader
from services.archive.records import parts
from services.archive.writer import ArchiveWriter, open_writer
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Drops, Record, Topic
from services.log.sqlite.log import open_sqlite_log
from services.runtime.memory import set_up_memory
from services.shard.batch import Batch
from services.shard.partition import Partition
from services.state.pool import PoolState
from services.wire.pools import Kind

POOL, LOG = "blitz", "benchmark"
GOAL = 1.2e6
HISTORY, CORES = 6_500_000_000, 16
"""Games of the largest public history, about, and the cores that fold it: one pool is folded by one core."""


def outcomes(count: int) -> list[bytes]:
    draw, moment, values = random.Random(1), 1.7e9, []
    for _ in range(count):
        first, second = draw.sample(range(1000), 2)
        moment += draw.random()
        placed = (first, 1), (second, draw.choice((1, 2, 2, 2)))
        sides = [{"agents": [f"agent-{agent:010d}"], "place": place} for agent, place in placed]
        head = {"v": 1, "id": secrets.token_urlsafe(12), "pool": POOL, "time": round(moment, 3)}
        values.append(json.dumps({**head, "sides": sides}).encode())
    return values


def seconds(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def from_topic(topic: Topic) -> Iterator[Sequence[Record]]:
    with closing(topic.reader({0: topic.begin(0)})) as reader:
        while reader.position(0) < topic.end(0):
            yield reader.poll(1.0, 10_000).get(0, [])


def from_archive(url: str) -> Iterator[Sequence[Record]]:
    return parts(open_reader(url, 0), 0)


def read(records: Iterable[Sequence[Record]]) -> list[Batch]:
    return [Batch(0, part) for part in records]


def folded(records: Iterable[Sequence[Record]]) -> PoolState:
    """A new pool, as a shard folds it that has no checkpoint."""
    control, partition = ControlState(), Partition(0, 1)
    control.apply(0, PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0))
    control.apply(1, Generation(pool=POOL, number=1, start=0, time=0.0, fold=FoldSettings()))
    for part in records:
        partition.fold(part, FixedDirectory(control))
    return partition.pools[POOL]


def enlarge(writer: ArchiveWriter, table: pa.Table, times: int) -> None:
    """Append the same duels again and again, each time with other ids."""
    for number in range(times):
        begin = writer.position
        offset = pa.array(np.arange(begin, begin + len(table)))
        ids = pc.binary_join_element_wise(table["id"].cast(pa.string()), str(number), "")
        again = table.set_column(table.schema.get_field_index("offset"), "offset", offset)
        writer.append(again.set_column(table.schema.get_field_index("id"), "id", ids), begin, begin + len(table))


def append(topic: Topic, values: Sequence[bytes]) -> None:
    for start in range(0, len(values), 1000):
        topic.append(0, [(POOL.encode(), value) for value in values[start : start + 1000]])


def kafka_rate(values: Sequence[bytes]) -> float | None:
    """Outcomes a CPU second of this process, from single JSON records of a Kafka topic; None where no broker can be started."""
    if reason := missing():
        print(f"Kafka left out: {reason}")
        return None
    with Broker() as broker, closing(open_kafka_log(Connection(broker.bootstrap), 1, topic_prefix="bench.")) as log:
        append(log.outcomes, values)
        return len(values) / seconds(lambda: folded(from_topic(log.outcomes)), 1)


def history(rate: float, size: float) -> None:
    """What the largest public history needs. rate: outcomes a CPU second of one core; size: bytes an outcome of the archive."""
    hours, terabytes = HISTORY / rate / CORES / 3600, HISTORY * size / 1e12
    print(f"{HISTORY:,} games at these figures: {hours:.2f} hours on {CORES} cores in as many equal pools, {terabytes:.3f} TB of archive")


def main() -> None:
    wanted = parser(__doc__ or "")
    wanted.add_argument("--large", type=int, default=0, help="fold also an archive of so many million duels")
    options = wanted.parse_args()
    n = 20_000 if options.quick else 500_000
    pa.set_cpu_count(1)
    set_up_memory()  # as shards do
    header("The archive and the JSON topic", ["deltalake", "pyarrow"])
    with tempfile.TemporaryDirectory() as folder:
        log = open_sqlite_log(Path(folder) / "log.sqlite", 1)
        values, topic, url, size = outcomes(n), log.outcomes, (Path(folder) / "archive").as_uri(), f"{n:,} duels"
        appended = n / seconds(lambda: append(topic, values), 1)
        records = [record for part in from_topic(topic) for record in part]
        table = rows(records)
        writer = open_writer(url, 0, LOG)
        written = n / seconds(lambda: writer.append(table, 0, records[-1].offset + 1), 1)
        encoded = n / seconds(lambda: rows(records), 1)
        show(Row("encode records as rows", size, encoded, "SQLite append", appended, "outcomes/s"))
        show(Row("append rows", size, written, "SQLite append", appended, "outcomes/s"))
        folded(from_topic(topic)), folded(from_archive(url))  # compiles the kernels
        times = options.repeats
        ours, theirs = (n / seconds(work, times) for work in (lambda: read(from_archive(url)), lambda: read(from_topic(topic))))
        show(Row("read to columns", size, ours, "SQLite read and scan", theirs, "outcomes/s"))
        ours, theirs = (n / seconds(work, times) for work in (lambda: folded(from_archive(url)), lambda: folded(from_topic(topic))))
        show(Row("read and fold", size, ours, "from SQLite", theirs, "outcomes/s"))
        refold, kafka = ours, kafka_rate(values)
        show(Row("read and fold", size, refold, "from Kafka, JSON", kafka, "outcomes/s"))
        ours = stored = sum(path.stat().st_size for path in Path(folder, "archive").rglob("*.parquet")) / n
        log_bytes = sum(path.stat().st_size for path in Path(folder).glob("log.sqlite*")) / n
        show(Row("bytes an outcome", size, ours, "SQLite file", log_bytes, "bytes"))
        mine, other = folded(from_archive(url)).arrays(), folded(from_topic(topic)).arrays()
        assert all(mine[name].tobytes() == value.tobytes() for name, value in other.items())
        assert isinstance(topic, Drops)
        assert topic.drop(0, n - 1, 600.0)
        log.close()
        dropped = ours + sum(path.stat().st_size for path in Path(folder).glob("log.sqlite*")) / n
        show(Row("bytes an outcome with the log", size, dropped, "log keeps everything", ours + log_bytes, "bytes"))
        if options.large:
            enlarge(writer, table, options.large * 1_000_000 // n - 1)
            refold = writer.rows / seconds(lambda: folded(from_archive(url)), times)
            large = f"{writer.rows:,} duels"
            show(Row("read and fold", large, refold, f"from SQLite, {size}", theirs, "outcomes/s"))
            show(Row("read and fold", large, refold, f"from Kafka, JSON, {size}", kafka, "outcomes/s"))
            show(Row("read and fold", large, refold, "goal", GOAL, "outcomes/s"))
        history(refold, stored)


if __name__ == "__main__":
    main()

"""The archive beside the JSON topic of SQLite: write, read, and refold, in outcomes a second of one process's CPU time; bytes an outcome.

Outcomes are duels of 1,000 agents with 16-byte names and random 16-byte ids, each a record. A refold ends with Elo, SCO, tallies and
dedupe as a new pool has them; both give the same content, bit for bit.
"""

import json
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks.common import Row, arguments, header, show
from services.archive import chain, decode
from services.archive.encode import rows
from services.archive.reader import open_reader
from services.archive.writer import open_writer
from services.control.records import FoldSettings, Generation, PoolCreated
from services.log.protocol import Drops, Record, Topic
from services.log.sqlite.log import open_sqlite_log
from services.state.pool import PoolState
from services.wire.columns import GameColumns
from services.wire.pools import Kind
from services.wire.scanning.scan import scan

POOL, LOG = "blitz", "benchmark"
COLUMNS = ("id", "kind", "time", "weight", "task", "agents", "sides", "places")


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


def read_topic(topic: Topic) -> list[Record]:
    reader, records, end = topic.reader({0: topic.begin(0)}), list[Record](), topic.end(0)
    while reader.position(0) < end:
        records += reader.poll(1.0, 10_000).get(0, [])
    reader.close()
    return records


def from_archive(url: str) -> GameColumns:
    return decode.games(pa.concat_tables(open_reader(url, 0).read(pool=POOL, columns=COLUMNS)))


def from_topic(topic: Topic) -> GameColumns:
    return scan([record.value for record in read_topic(topic)]).columns


def folded(columns: GameColumns) -> PoolState:
    made = Generation(pool=POOL, number=1, start=0, time=0.0, fold=FoldSettings())
    state = PoolState(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0), made)
    state.fold(columns)
    return state


def append(topic: Topic, values: Sequence[bytes]) -> None:
    for start in range(0, len(values), 1000):
        topic.append(0, [(POOL.encode(), value) for value in values[start : start + 1000]])


def main() -> None:
    options = arguments(__doc__ or "")
    n = 20_000 if options.quick else 500_000
    header("The archive and the JSON topic", ["deltalake", "pyarrow"])
    with tempfile.TemporaryDirectory() as folder:
        log = open_sqlite_log(Path(folder) / "log.sqlite", 1)
        values, topic, url, size = outcomes(n), log.outcomes, (Path(folder) / "archive").as_uri(), f"{n:,} duels"
        appended = n / seconds(lambda: append(topic, values), 1)
        table = rows(records := read_topic(topic))
        writer = open_writer(url, 0, LOG)
        written = n / seconds(lambda: writer.append(table, 0, records[-1].offset + 1), 1)
        encoded = n / seconds(lambda: rows(records), 1)
        show(Row("encode records as rows", size, encoded, "SQLite append", appended, "outcomes/s"))
        show(Row("append rows", size, written, "SQLite append", appended, "outcomes/s"))
        folded(from_topic(topic)), folded(from_archive(url))  # compiles the kernels
        columns, times = from_archive(url), options.repeats
        ours, theirs = (n / seconds(work, times) for work in (lambda: from_archive(url), lambda: from_topic(topic)))
        show(Row("read to columns", size, ours, "SQLite read and scan", theirs, "outcomes/s"))
        ours, theirs = (n / seconds(work, times) for work in (lambda: folded(from_archive(url)), lambda: folded(from_topic(topic))))
        show(Row("read and fold", size, ours, "from SQLite", theirs, "outcomes/s"))
        show(Row("fold alone", size, n / seconds(lambda: folded(columns), times), "-", None, "outcomes/s"))
        verified = n / seconds(lambda: chain.verify(chain.genesis(LOG, 0), open_reader(url, 0).read()), times)
        show(Row("verify the chain", size, verified, "-", None, "outcomes/s"))
        ours = sum(path.stat().st_size for path in Path(folder, "archive").rglob("*.parquet")) / n
        theirs = sum(path.stat().st_size for path in Path(folder).glob("log.sqlite*")) / n
        show(Row("bytes an outcome", size, ours, "SQLite file", theirs, "bytes"))
        mine, other = folded(columns).arrays(), folded(from_topic(topic)).arrays()
        assert all(mine[name].tobytes() == value.tobytes() for name, value in other.items())
        assert isinstance(topic, Drops)
        assert topic.drop(0, n - 1, 600.0)
        log.close()
        dropped = ours + sum(path.stat().st_size for path in Path(folder).glob("log.sqlite*")) / n
        show(Row("bytes an outcome with the log", size, dropped, "log keeps everything", ours + theirs, "bytes"))


if __name__ == "__main__":
    main()

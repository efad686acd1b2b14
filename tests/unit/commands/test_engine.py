"""The driver's loop without Ray: what dead shards and a checkpoint folder that fails do to it."""

import logging
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import ray

from services.boards.store.protocol import StoreError
from services.cli.engine import _ray_folder
from services.control.lifecycles import PartitionStatus
from services.engine import cluster, engine
from services.engine.archiver import Archiver
from services.engine.engine import Engine
from services.engine.metrics import EngineMetrics
from services.runtime.durations import Durations
from services.runtime.settings import Settings
from services.shard.health import PartitionHealth
from services.solve.scheduler.health import SolveHealth
from services.state.content import COUNTERS
from tests.support.erasures import NoErasures
from tests.support.fake_ray import Answer, FakeRay
from tests.support.health import health_of
from tests.support.task_pool import FakeTaskPool

NO_ARCHIVE = Archiver(Settings(), FakeTaskPool(), 1)


class Actor:
    def __init__(self, stopped: object) -> None:
        self.stop = Answer(stopped)


class Nothing:
    """A runner or control log that has nothing to do."""

    def cancel(self) -> None:
        return

    def health(self, _: float) -> SolveHealth:
        return SolveHealth()

    def step(self, *_: object) -> None:
        raise ConnectionError("the object store does not answer")

    def refresh(self) -> None:
        return


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay({cluster.SHARD: 1.0})
    monkeypatch.setattr(engine, "ray", fake)
    monkeypatch.setattr(cluster, "ray", fake)
    return fake


@pytest.fixture
def driver(fake: FakeRay) -> Engine:
    return Engine(Settings(), EngineMetrics(None))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> float:
    """The time of the engine, which does not pass."""
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    return 1000.0


def test_a_dead_shard_does_not_break_the_stop(driver: Engine, caplog: pytest.LogCaptureFixture) -> None:
    answers = [True, ray.exceptions.RayActorError(), True]
    driver._shards = [engine._Shard(f"shard-{i}", Actor(answer)) for i, answer in enumerate(answers)]
    with caplog.at_level(logging.ERROR):
        driver._stop_shards(Nothing())
    assert "1 shards did not finish" in caplog.text


def test_checkpoints_that_cannot_be_read_are_waited_for(driver: Engine, caplog: pytest.LogCaptureFixture) -> None:
    driver._tick(Nothing(), NO_ARCHIVE, NoErasures(), None, Nothing())
    assert "the object store does not answer" in caplog.text


HOLD = """
import sys
from pathlib import Path
from services.cli.engine import _ray_folder
from services.runtime.settings import Settings
print(_ray_folder(Settings(data=Path(sys.argv[1]))), flush=True)
sys.stdin.read()
"""


def test_an_engine_removes_the_ray_folder_of_a_dead_one_but_not_of_a_living_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    made: list[Path] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as living:
        assert living.stdout is not None
        made.append(Path(living.stdout.readline().strip()))
        made.append(ray_folder_of(tmp_path))
        assert made[0].is_dir(), "its owner lives"
        living.kill()
    (tmp_path / "ray-folder").write_text(str(made[0]))
    made.append(ray_folder_of(tmp_path))
    assert [folder.exists() for folder in made] == [False, True, True]
    for folder in made[1:]:
        folder.rmdir()


def ray_folder_of(data: Path) -> Path:
    folder = _ray_folder(Settings(data=data))
    assert folder is not None
    return folder


@pytest.mark.parametrize(
    ("url", "machines", "shared", "refused"),
    [
        ("file:///tmp/c", 2, False, True),
        ("/tmp/c", 2, False, True),
        ("local:///tmp/c", 2, False, True),
        ("/tmp/c", 2, True, False),
        ("/tmp/c", 1, False, False),
        ("memory://c", 2, False, False),
    ],
)
def test_checkpoints_that_one_machine_sees_are_refused_on_several(
    fake: FakeRay, url: str, machines: int, shared: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [{"NodeManagerHostname": f"m{i % machines}", "Alive": True} for i in range(4)]
    nodes += [{"NodeManagerHostname": "gone", "Alive": False}]
    monkeypatch.setattr(fake, "init", lambda **_: None, raising=False)
    monkeypatch.setattr(fake, "nodes", lambda: nodes, raising=False)
    driver = Engine(Settings(ray="10.0.0.1:6379", checkpoints=url, checkpoints_shared=shared), EngineMetrics(None))
    with pytest.raises(engine.LocalCheckpoints, match="URL that all reach") if refused else nullcontext():
        driver.start()


@pytest.mark.parametrize("why", ["Failed to connect to Ray cluster at 10.0.0.1:6379", "Could not find any running Ray instance. Please"])
def test_a_cluster_that_is_not_there_is_told_with_what_starts_one(fake: FakeRay, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise ConnectionError(why)

    monkeypatch.setattr(fake, "init", init, raising=False)
    driver = Engine(Settings(ray="10.0.0.1:6379", shards=4), EngineMetrics(None))
    with pytest.raises(cluster.NoCluster) as told:
        driver.start()
    assert f"EQUIRANK_RAY=10.0.0.1:6379 ({why.partition('. ')[0]})" in str(told.value)
    assert """ray start --head --resources='{"equirank_shard": 4}'`""" in str(told.value)


def test_a_cluster_without_room_for_shards_is_told_at_the_start_and_while_they_wait(
    fake: FakeRay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fake, "init", lambda **_: None, raising=False)
    monkeypatch.setattr(fake, "nodes", list, raising=False)
    monkeypatch.setattr(fake, "wait", lambda asked, **_: ([], asked))
    driver = Engine(Settings(ray="auto", shards=2), EngineMetrics(None))
    fake.resources = {"CPU": 8.0}
    driver.start()
    driver._ask(engine._Shard("shard-0", SimpleNamespace(health=Answer(None)), asked=Answer(None), asked_at=float("-inf")))
    fake.resources = {cluster.SHARD: 2.0}
    driver._ask(engine._Shard("shard-1", SimpleNamespace(health=Answer(None)), asked=Answer(None), asked_at=float("-inf")))
    start, waits, silent = [record.getMessage() for record in caplog.records]
    assert start.startswith("the Ray cluster has room for 0 of 2 shards")
    assert start in waits
    assert "shard-1" in silent
    assert "room" not in silent


@pytest.mark.parametrize(
    ("waited", "room", "replaced"),
    [(91.0, True, True), (89.0, True, False), (None, True, False), (91.0, False, False)],
    ids=["too long", "not too long", "it has answered", "no node has room"],
)
def test_a_shard_that_does_not_start_is_started_again_and_may_take_twice_as_long(
    driver: Engine, fake: FakeRay, now: float, waited: float | None, room: bool, replaced: bool
) -> None:
    fake.there = False
    fake.resources = {cluster.SHARD: 4.0 if room else 0.0}
    actor = SimpleNamespace(health=Answer(None))
    since = None if waited is None else now - waited
    given: list[float] = []

    def again(patience: float) -> engine._Shard:
        given.append(patience)
        return engine._Shard("shard-0", SimpleNamespace(health=Answer(None)), again, now, patience)

    shard = engine._Shard("shard-0", actor, again, since, asked=Answer(None), asked_at=float("-inf"))
    driver._shards = [shard]
    driver._ask(shard)
    assert (given, fake.killed) == (([180.0], [actor]) if replaced else ([], []))
    assert (driver._shards == [shard]) is not replaced
    assert driver._shards[0].asked is not None, "whoever is there is asked"


def test_a_shard_that_ray_cannot_start_again_is_replaced_though_every_answer_is_an_error(driver: Engine, fake: FakeRay, now: float) -> None:
    error = Answer(ray.exceptions.RayActorError())
    shard = engine._Shard("shard-0", SimpleNamespace(health=error), asked=error)
    driver._shards = [shard]
    driver._ask(shard)
    assert shard.waits_since == now
    assert driver._shards == [shard], "it may take its time"
    shard.waits_since -= 91.0
    other = engine._Shard("shard-0", SimpleNamespace(health=Answer(None)))
    shard.start_replacement = lambda _: other
    driver._ask(shard)
    assert driver._shards == [other]


def test_no_shard_is_replaced_while_nobody_knows_the_nodes(
    driver: Engine, fake: FakeRay, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> dict[str, float]:
        raise ray.exceptions.RaySystemError("the control service does not answer")

    monkeypatch.setattr(fake, "cluster_resources", unknown)
    fake.there = False
    shard = engine._Shard("shard-0", SimpleNamespace(health=Answer(None)), lambda _: pytest.fail("replaced"), now - 91.0)
    driver._shards = [shard]
    driver._ask(shard)
    assert driver._shards == [shard]


def test_a_shard_that_is_another_process_was_started_again() -> None:
    metrics = EngineMetrics(None)
    for pids in ((1, 7), (1, 7), (2, 7), (3, 7)):
        metrics.shards([health_of(f"shard-{i}/machine/{pid}") for i, pid in enumerate(pids)], 2)
    found = {sample.labels["shard"]: sample.value for family in metrics.collect() for sample in family.samples if "restarts" in sample.name}
    assert found == {"shard-0": 2.0, "shard-1": 0.0}


def test_a_partition_is_told_with_its_shard_and_host() -> None:
    metrics, counts = EngineMetrics(None), dict.fromkeys(COUNTERS, 0)
    partition = PartitionHealth(
        partition=3, epoch=1, position=0, lag=0, lag_seconds=0.0, folded_at=None, checkpoint=None, checkpoint_at=None,
        status=PartitionStatus.RUNNING, stopped=None, isolated_offset=None, pools=0, pools_stopped=0, pools_frozen=0, agents=0,
        counts=counts,
    )  # fmt: skip
    metrics.shards([msgspec.structs.replace(health_of("shard-0/machine/1"), partitions=[partition])], 1)
    told = [sample.labels for family in metrics.collect() for sample in family.samples if sample.name == "equirank_partition_owner"]
    assert told == [{"partition": "3", "shard": "shard-0", "host": "machine"}]


class Untidy:
    """A store with a pool that the log lost; it does not answer when that pool is removed."""

    def __init__(self) -> None:
        self.live = self
        self.removed: list[set[str]] = []
        self.registered = 0

    def register(self) -> None:
        self.registered += 1

    def names(self) -> set[str]:
        return {"blitz", "lost"}

    def remove(self, pools: set[str]) -> None:
        self.removed.append(pools)
        raise StoreError("away", retriable=True)


def test_what_no_shard_writes_again_is_removed_once_in_a_while(driver: Engine, caplog: pytest.LogCaptureFixture) -> None:
    store, control = Untidy(), SimpleNamespace(refresh=lambda: SimpleNamespace(pools={"blitz": None, "young": None}))
    for _ in range(3):
        driver._tidy(store, control)
    assert (store.registered, store.removed) == (1, [{"lost"}])
    driver._sweep_at = 0.0
    driver._tidy(store, control)
    assert store.registered == 2
    assert caplog.text.count("away") == 1, "what lasts is not told each time"


def test_a_shard_that_stopped_answering_is_not_counted(driver: Engine) -> None:
    health = health_of("shard-0/machine/1")
    shard = engine._Shard("shard-0", None, asked=Answer((health, False)))
    driver._shards = [shard]
    counted = []
    for answer in ((health, False), ray.exceptions.RayActorError()):
        shard.actor, shard.asked = SimpleNamespace(health=Answer(answer)), Answer(answer)
        driver._tick(Nothing(), NO_ARCHIVE, NoErasures(), None, Nothing())
        values = {family.name: [sample.value for sample in family.samples] for family in driver._metrics.collect()}
        counted.append((values["equirank_shards"], values["equirank_records"]))
    assert counted == [([1.0], [5.0]), ([0.0], [5.0])], "what it counted stays"


def test_shards_take_no_name_from_other_installations_of_a_cluster(driver: Engine, fake: FakeRay) -> None:
    driver._start_shard(0, 8, 3)
    assert "name" not in fake.options_given[0]
    assert fake.options_given[0]["max_restarts"] == -1


@pytest.mark.parametrize(
    ("held", "told", "reads"),
    [
        ((10, 500.0), (10, 500.0), False),
        ((10, 500.0), (20, 505.0), True),
        ((20, 505.0), (10, 500.0), False),
        ((10, 500.0), (10, 505.0), True),
        ((10, 5000.0), (10, 1410.0), True),
    ],
    ids=["the same", "a later one", "told late", "another generation", "another generation by a clock that was put back"],
)
def test_a_manifest_is_read_again_when_its_shard_tells_of_another(
    driver: Engine, held: tuple[int, float], told: tuple[int, float], reads: bool
) -> None:
    read: list[int] = []
    manifest, health = SimpleNamespace(position=held[0], written_at=held[1]), SimpleNamespace(checkpoint=told[0], checkpoint_at=told[1])
    driver._shards = [SimpleNamespace(health=SimpleNamespace(partitions=[health]))]
    health.partition, driver._manifests = 3, {3: manifest}
    driver._read_manifests(SimpleNamespace(newest=read.append))
    assert bool(read) == reads


def test_one_pause_that_is_too_long_is_seen_among_many(driver: Engine) -> None:
    """As an operator sees whether a checkpoint ever held folding up for longer than it is meant to: of all shards together."""
    short, long = Durations(), Durations()
    for seconds in (0.004, 0.02, 0.05):
        short.add(seconds)
    long.add(0.3)
    healths = [msgspec.structs.replace(health_of(f"shard-{i}/1"), pauses={"checkpoint": one}) for i, one in enumerate((short, long))]
    driver._metrics.shards(healths, 2)
    [family] = [one for one in driver._metrics.collect() if one.name == "equirank_fold_pause_seconds"]
    told = {sample.labels.get("le", sample.name.rpartition("_")[2]): sample.value for sample in family.samples}
    assert {sample.labels["reason"] for sample in family.samples} == {"checkpoint"}
    assert (told["0.025"], told["0.05"], told["0.25"], told["0.5"], told["+Inf"], told["count"]) == (2, 3, 3, 4, 4, 4)
    assert told["sum"] == pytest.approx(0.374)


def test_how_long_checkpoints_take_is_told_of_all_shards_together(driver: Engine) -> None:
    healths = [health_of("shard-0/1"), health_of("shard-1/1")]
    for health, seconds in zip(healths, (0.004, 70.0), strict=True):
        health.checkpoints.add(seconds)
    driver._metrics.shards(healths, 2)
    samples = [sample for family in driver._metrics.collect() for sample in family.samples]
    told = {sample.labels["le"]: sample.value for sample in samples if sample.name == "equirank_checkpoint_duration_seconds_bucket"}
    assert (told["0.005"], told["60.0"], told["120.0"], told["+Inf"]) == (1, 1, 2, 2)
    sums = {sample.name: sample.value for sample in samples}
    assert sums["equirank_checkpoint_duration_seconds_sum"] == sums["equirank_checkpoint_seconds_total"] == pytest.approx(70.004)

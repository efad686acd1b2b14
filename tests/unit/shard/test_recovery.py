"""Recovery on a log that does not answer in time, and on one that lost its end."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ratings_core.arrays.frozen import Arrays
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.log import ControlLog
from services.control.records import FOLD_VERSION, ControlState, FoldSettings, Generation, Serve, Takeover
from services.log.partition import partition_of
from services.log.protocol import BatchDamaged, Drops, Log, LogError, Reader, Records
from services.log.sqlite.log import open_sqlite_log
from services.shard import recovery
from services.shard.recovery import WrongLog, beginning, check_homes, recover, restore, served
from services.state.pool import PoolState
from tests.support import pools


class Silent:
    """A reader of a broker that does not answer: polls come back empty."""

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        return {}

    def position(self, partition: int) -> int:
        return 1

    def close(self) -> None:
        return


class Damaged(Silent):
    """A reader at a batch of two records that cannot be read."""

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        raise BatchDamaged("outcomes", 0, 1, 3, "its checksum does not match", 1)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    log.outcomes.append(0, [(None, b"first"), (None, b"second")])
    yield log
    log.close()


def manifest_of(log: Log, last_offset: int, *pools: PoolEntry, fold_version: int = FOLD_VERSION) -> Manifest:
    return Manifest(
        format=FORMAT,
        partition=0,
        position=last_offset + 1,
        epoch=1,
        log_identity=log.outcomes.identity,
        last_offset=last_offset,
        last_sha256="0" * 64,
        fold_version=fold_version,
        written_at=0.0,
        pools=list(pools),
    )


def checkpointed(log: Log, folder: Path, last_offset: int) -> CheckpointStore:
    store = CheckpointStore(folder.as_uri())
    store.write_manifest(manifest_of(log, last_offset))
    return store


def control_of(*names: str) -> ControlState:
    return pools.control_of(*map(pools.pool_of, names))


def entry_of(name: str) -> PoolEntry:
    return PoolEntry(pool=name, kind="games", generation=1, position=1, outcomes=0, object=name, sha256="", bytes=0, digest="")


def arrays_of(control: ControlState, name: str) -> Arrays:
    return PoolState(control.pools[name], control.generations[name][1]).arrays()


def test_a_log_that_does_not_answer_is_waited_for(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(positions: Mapping[int, int]) -> Reader:
        assert positions == {0: 1}
        return Silent()

    control = ControlLog(log.control).refresh()
    monkeypatch.setattr(log.outcomes, "reader", silent)
    with pytest.raises(LogError, match="gave no record") as raised:
        recover(0, log, control, checkpointed(log, tmp_path / "state", 1), [])
    assert raised.value.retriable


def test_a_record_that_was_damaged_after_it_was_folded_stops_nothing(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log.outcomes, "reader", lambda positions: Damaged())
    partition, manifest = recover(0, log, ControlLog(log.control).refresh(), checkpointed(log, tmp_path / "state", 1), [])
    assert manifest is not None
    assert partition.position == 2


def test_a_record_that_the_log_forgets_while_it_is_looked_for_is_not_missed(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = log.outcomes
    assert isinstance(topic, Drops)
    begin = topic.begin

    def before_it_forgets(partition: int) -> int:
        found = begin(partition)
        assert topic.drop(partition, 2, 10.0)
        return found

    monkeypatch.setattr(topic, "begin", before_it_forgets)
    partition, _ = recover(0, log, ControlLog(log.control).refresh(), checkpointed(log, tmp_path / "state", 1), [])
    assert (partition.position, begin(0)) == (2, 2)


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_another_record_or_none_is_another_log(log: Log, tmp_path: Path, offset: int) -> None:
    with pytest.raises(WrongLog, match=f"offset {offset}"):
        recover(0, log, ControlLog(log.control).refresh(), checkpointed(log, tmp_path / "state", offset), [])


def test_a_log_that_was_given_more_partitions_is_refused(log: Log) -> None:
    """Each pool then lives in another partition, whose offsets have nothing to do with what was folded."""
    control = control_of("pool")
    assert (partition_of("pool", 2), partition_of("pool", 1)) == (1, 0)
    arrays = {"pool": arrays_of(control, "pool")}
    assert restore(manifest_of(log, 1, entry_of("pool")), arrays, 1, control).position == 2
    with pytest.raises(WrongLog, match="pool pool, which lives in partition 1 of 2"):
        restore(manifest_of(log, 1, entry_of("pool")), arrays, 2, control)
    check_homes(control_of(), 1)
    with pytest.raises(LogError, match="partition 0 of 1, where pool pool lives, was never folded"):
        check_homes(control, 1)
    control.apply(control.position, Takeover(partition=0, owner="first", time=0.0))
    check_homes(control, 1)
    with pytest.raises(LogError, match="partition 1 of 2, where pool pool lives, was never folded") as raised:
        check_homes(control, 2)
    assert not raised.value.retriable


@pytest.mark.parametrize("fold_version", [FOLD_VERSION, FOLD_VERSION + 1])
def test_a_pool_whose_arrays_are_of_another_version_stops_alone(log: Log, fold_version: int) -> None:
    control = control_of("odd", "good")
    arrays = {name: arrays_of(control, name) for name in ("odd", "good")}
    del arrays["odd"]["pairs.wins"]
    partition = restore(manifest_of(log, 1, entry_of("odd"), entry_of("good"), fold_version=fold_version), arrays, 1, control)
    assert partition.pools["odd"].stopped is not None
    assert partition.pools["odd"].folded_to(partition.position) == 1
    assert (partition.pools["good"].stopped is None) == (fold_version == FOLD_VERSION)


def test_a_pool_of_the_first_fold_version_keeps_what_its_boards_show(log: Log) -> None:
    """Sums of forecasts had another shape. Readers see the boards of before until the pool is folded again."""
    control = pools.control_of(pools.pool_of("pool", fold=FoldSettings(by_shape=False)))
    arrays = arrays_of(control, "pool")
    for name in [name for name in arrays if name.startswith("prequential.") and name.endswith(".sums")]:
        arrays[name] = np.array([0.5, 0.1, 0.2])
    arrays["activity"] = np.array([7, 7], np.int64)
    partition = restore(manifest_of(log, 1, entry_of("pool"), fold_version=1), {"pool": arrays}, 1, control)
    assert "it needs a new generation" in str(partition.pools["pool"].stopped)
    assert partition.pools["pool"].content.ratings.activity.tolist() == [7, 7]


def test_a_control_log_without_the_pools_of_a_checkpoint_is_another_one(log: Log) -> None:
    control = control_of("known")
    with pytest.raises(WrongLog, match="no generation 1 of pool gone"):
        restore(manifest_of(log, 1, entry_of("gone")), {"gone": arrays_of(control, "known")}, 1, control)


def test_without_a_checkpoint_the_control_log_tells_another_log_too(log: Log, tmp_path: Path) -> None:
    control, store = control_of("pool"), CheckpointStore((tmp_path / "none").as_uri())
    control.apply(control.position, Takeover(partition=0, owner="first", time=0.0))
    assert recover(0, log, control, store, [])[1] is None, "an earlier release did not tell"
    for identity in (log.outcomes.identity, "another"):  # which log it was taken over with first counts
        control.apply(control.position, Takeover(partition=0, owner="second", time=0.0, log=identity))
        assert recover(0, log, control, store, [])[1] is None
    control = control_of("pool")
    control.apply(control.position, Takeover(partition=0, owner="first", time=0.0, log="another"))
    with pytest.raises(WrongLog, match=f"was folded from log another, this is {log.outcomes.identity}"):
        recover(0, log, control, store, [])


def test_the_control_log_may_go_on_while_its_pools_are_gone_through(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that publishes refreshes it, too."""
    control, home = ControlState(), recovery.partition_of
    first = Generation(pool="a", number=1, start=0, time=0.0, fold=FoldSettings())
    control.apply(0, first)

    def meanwhile(pool: str, partitions: int) -> int:
        control.apply(1, msgspec.structs.replace(first, pool=f"b{len(control.generations)}"))
        return home(pool, partitions)

    monkeypatch.setattr(recovery, "partition_of", meanwhile)
    assert [made.pool for made in served(home("a", log.outcomes.partitions), log.outcomes, control)] == ["a"]


def test_a_partition_without_a_checkpoint_begins_where_letters_may_be_missing(log: Log) -> None:
    """A generation after the first serves only once a checkpoint contains it, so letters of earlier records are written."""
    assert beginning(0, log.outcomes, ControlState()) == 0
    control = pools.control_of(pools.pool_of("p"), start=1)
    assert beginning(0, log.outcomes, control) == 0
    control.apply(10, pools.first_generation(pools.pool_of("p"), number=2, start=1))
    assert beginning(0, log.outcomes, control) == 0, "it does not serve"
    control.apply(11, Serve(pool="p", number=2, time=0.0))
    assert beginning(0, log.outcomes, control) == 1


def test_a_partition_whose_first_outcomes_are_forgotten_begins_at_them(log: Log) -> None:
    assert isinstance(log.outcomes, Drops)
    while not log.outcomes.drop(0, 2, 10.0):
        pass
    assert log.outcomes.begin(0) == 2
    assert beginning(0, log.outcomes, pools.control_of(pools.pool_of("p"), start=1)) == 1, "its shard stops: records are lost"

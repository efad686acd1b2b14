"""What the engine archives and when: a partition at a time, up to its newest checkpoint, again after failures."""

import hashlib
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.archive.follow import Followed
from services.archive.location import unused_archive
from services.archive.reader import open_reader
from services.checkpoints.checkpoint import FORMAT, Manifest
from services.control.records import FOLD_VERSION, Skipped, Why
from services.engine.archiver import COMPACT_COMMITS, TASK_SECONDS, Archiver, append_partition
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.recovery import WrongLog
from services.solve.worker.task_pool import TaskLost
from tests.support.archive import mixed
from tests.support.pools import control_of
from tests.support.task_pool import FakeTask, FakeTaskPool
from tests.support.waiting import PATIENCE


def manifests(**positions: int) -> dict[int, Manifest]:
    """Newest checkpoints: p0=5 is partition 0 at position 5."""
    common: dict[str, Any] = {"format": FORMAT, "epoch": 1, "log_identity": "log", "last_offset": None, "last_sha256": None}
    common |= {"fold_version": FOLD_VERSION, "written_at": 0.0, "pools": []}
    return {int(name[1:]): Manifest(partition=int(name[1:]), position=position, **common) for name, position in positions.items()}


def asked(task: FakeTask) -> tuple[int, int]:
    """Partition and position that a task archives."""
    checkpoint: Manifest = task.arguments[1]
    return checkpoint.partition, checkpoint.position


def archiver(tmp_path: Path, workers: int = 1) -> tuple[Archiver, FakeTaskPool]:
    pool = FakeTaskPool()
    return Archiver(Settings(data=tmp_path, archive=str(tmp_path / "archive"), archive_seconds=30.0), pool, workers), pool


def test_without_an_archive_nothing_runs(tmp_path: Path) -> None:
    pool = FakeTaskPool()
    one = Archiver(Settings(data=tmp_path, archive="off"), pool, 1)
    one.step(0.0, manifests(p0=5), control_of())
    assert pool.tasks == []
    assert (one.health(9.0).positions, one.health(9.0).lag_seconds) == ({}, {})


def test_a_partition_is_archived_up_to_its_checkpoint_and_then_rests(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    given_up = control_of()
    given_up.partitions.apply(0, Skipped(partition=0, begin=1, end=2, time=0.0, why=Why.DAMAGED))
    given_up.partitions.apply(1, Skipped(partition=0, begin=3, end=4, time=0.0, why=Why.LOST))
    one.step(0.0, manifests(p0=5), given_up)
    assert asked(pool.newest) == (0, 5)
    assert pool.newest.arguments[2:] == ({0: [(1, 2)]}, [], [(3, 4)])
    assert one.health(3.0).lag_seconds == {0: 3.0}
    pool.newest.end(Followed(5, 7, 1, True))
    one.step(4.0, manifests(p0=9), control_of())
    assert len(pool.tasks) == 1, "30 s between the starts of two appends"
    health = one.health(4.0)
    assert (health.positions, health.lag_records, health.lag_seconds, health.rows) == ({0: 5}, {0: 4}, {0: 4.0}, 7)
    one.step(30.0, manifests(p0=9), control_of())
    assert asked(pool.newest) == (0, 9)


def test_what_needs_many_commits_goes_on_at_once(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    one.step(0.0, manifests(p0=100), control_of())
    pool.newest.end(Followed(40, 40, 8, False))
    one.step(1.0, manifests(p0=100), control_of())
    assert (len(pool.tasks), asked(pool.newest)) == (2, (0, 100))
    pool.newest.end(Followed(97, 57, 8, True))
    one.step(2.0, manifests(p0=100), control_of())
    assert (one.health(2.0).positions, one.health(2.0).lag_seconds) == ({0: 100}, {0: 0.0}), "offsets 97 to 99 are no records"


def test_a_log_that_has_more_to_drop_is_dropped_at_once_also_where_all_is_archived(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    one.step(0.0, manifests(p0=5), control_of())
    pool.newest.end(Followed(5, 5, 1, True, dropped=False))
    one.step(1.0, manifests(p0=5), control_of())
    assert (len(pool.tasks), asked(pool.newest)) == (2, (0, 5))
    pool.newest.end(Followed(5, 0, 0, True, dropped=True))
    one.step(2.0, manifests(p0=5), control_of())
    assert len(pool.tasks) == 2


@pytest.mark.parametrize(("archive", "drops", "begin"), [("archive", True, 29), ("archive", False, 0), (None, True, 0)])
def test_the_embedded_log_drops_what_is_archived_below_the_last_record_of_the_checkpoint(
    tmp_path: Path, archive: str | None, drops: bool, begin: int
) -> None:
    """But nothing for the default archive."""
    settings = Settings(data=tmp_path, archive=archive and str(tmp_path / archive), partitions=1, drop_archived=drops)
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    values = [record.value for record in mixed(1, 50)]
    log.outcomes.append(0, [(None, value) for value in values])
    last = hashlib.sha256(values[29]).hexdigest()
    checkpoint = msgspec.structs.replace(manifests(p0=30)[0], log_identity=log.outcomes.identity, last_offset=29, last_sha256=last)
    for _ in range(2):
        assert append_partition(settings, checkpoint, {}).dropped
        assert (log.outcomes.begin(0), log.outcomes.end(0)) == (begin, 50)
    assert open_reader(str(tmp_path / "archive"), 0).position == 30
    log.close()


@pytest.mark.parametrize(
    ("archive", "exists", "count"), [(None, True, 0), ("archive", True, 0), ("off", True, 1), ("elsewhere", True, 1), ("off", False, 0)]
)
def test_a_default_archive_that_is_not_in_use_is_named(tmp_path: Path, archive: str | None, exists: bool, count: int) -> None:
    if exists:
        (tmp_path / "archive").mkdir()
    given = archive if archive in {None, "off"} else (tmp_path / str(archive)).as_uri()
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 2)) as log:
        found = unused_archive(Settings(data=tmp_path, archive=given), log.outcomes)
    assert [str(tmp_path / "archive") in one and "remove it" in one for one in found] == [True] * count


def test_an_archive_that_may_have_dropped_records_is_to_be_kept(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 2)) as log:
        log.outcomes.append(1, [(None, b"{}")] * 3)
        log.outcomes.drop(1, 2, 9.0)
        (found,) = unused_archive(Settings(data=tmp_path, archive="off"), log.outcomes)
    assert "keep it" in found
    assert "remove" not in found


def test_a_data_folder_that_tables_cannot_be_in_has_no_archive_and_a_warning(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "a[1]")
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        (found,) = unused_archive(settings, log.outcomes)
    assert "a path with [:" in found
    assert (settings.archive_url, settings.archive_is_copy) == (None, False)


def test_those_that_waited_longest_come_first_and_no_partition_twice_at_once(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path, workers=2)
    one.step(0.0, manifests(p1=5), control_of())
    one.step(1.0, manifests(p1=6, p0=5, p2=5), control_of())
    assert [asked(task)[0] for task in pool.tasks] == [1, 0]
    pool.tasks[1].end(Followed(5, 1, 1, True))
    one.step(2.0, manifests(p1=6, p0=5, p2=5), control_of())
    assert [asked(task)[0] for task in pool.tasks] == [1, 0, 2]


@pytest.mark.parametrize("error", [TaskLost("killed"), OSError("no space left"), ValueError("whatever")])
def test_failures_are_counted_and_tried_again_ever_later(tmp_path: Path, error: Exception) -> None:
    one, pool = archiver(tmp_path)
    at, starts = 0.0, []
    while len(starts) < 9:
        one.step(at, manifests(p0=5), control_of())
        if not pool.newest.ended:
            starts.append(at)
            pool.newest.end(error)
        at += 0.5
    assert [round(later - earlier) for earlier, later in pairwise(starts)] == [2, 2, 4, 8, 16, 32, 60, 60]
    assert one.health(at).failures == 8
    assert one.health(at).positions == {}


def test_a_table_of_many_commits_is_compacted(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    one.step(0.0, manifests(p0=5), control_of())
    pool.newest.end(Followed(5, 1, COMPACT_COMMITS, True))
    one.step(1.0, manifests(p0=5), control_of())
    one.step(40.0, manifests(p0=6), control_of())
    assert pool.newest.function == "compact_partition"
    pool.newest.end(None)
    one.step(41.0, manifests(p0=6), control_of())
    assert pool.newest.function == "append_partition"


def test_a_task_that_hangs_is_cancelled_at_its_deadline_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, pool = archiver(tmp_path)
    one.step(0.0, manifests(p0=5), control_of())
    one.step(TASK_SECONDS, manifests(p0=5), control_of())
    assert pool.cancelled == []
    one.step(TASK_SECONDS + 1.0, manifests(p0=5), control_of())
    assert (pool.cancelled, one.health(0.0).failures) == (pool.tasks, 1)
    assert "did not end within 600 s" in caplog.text
    one.step(TASK_SECONDS + 3.0, manifests(p0=5), control_of())
    assert len(pool.tasks) == 2


def test_tasks_are_cancelled_with_the_engine(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    one.step(0.0, manifests(p0=5), control_of())
    one.tasks.cancel()
    assert pool.cancelled == pool.tasks


def test_the_task_archives_the_log_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, archive=str(tmp_path / "archive"), partitions=1)
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    values = [record.value for record in mixed(1, 50)]
    log.outcomes.append(0, [(None, value) for value in values])
    checkpoint = msgspec.structs.replace(
        manifests(p0=30)[0], log_identity=log.outcomes.identity, last_offset=29, last_sha256=hashlib.sha256(values[29]).hexdigest()
    )
    log.close()
    found = append_partition(settings, checkpoint, {})
    assert (found.position, found.reached) == (30, True)
    assert open_reader(str(settings.archive), 0).position == 30
    other = msgspec.structs.replace(checkpoint, last_sha256=hashlib.sha256(b"another record").hexdigest())
    with pytest.raises(WrongLog, match="is not the one that the checkpoint was folded from"):
        append_partition(settings, other, {})


def test_failures_for_a_year_are_tried_again(tmp_path: Path) -> None:
    one, pool = archiver(tmp_path)
    for hour in range(3000):
        one.step(3600.0 * hour, manifests(p0=5), control_of())
        pool.newest.end(OSError("no space left"))
    assert one.health(0.0).failures == 1500, "more than the exponents of a double"


def test_files_and_folders_of_an_archive_are_their_owners_only(tmp_path: Path) -> None:
    """As worker processes write them, also on nodes with the usual umask."""
    code = (
        "import os, sys; os.umask(0o022)\n"
        "from services.solve.worker.task_pool import giving_way\n"
        "from tests.support.archive import fill, mixed\n"
        "from services.engine.archiver import compact_partition\n"
        "giving_way(fill)(sys.argv[1], mixed(1, 40), 10)\n"
        "compact_partition(sys.argv[1], 0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "archive")], check=True, timeout=PATIENCE)
    paths = [tmp_path / "archive", *(tmp_path / "archive").rglob("*")]
    assert len(paths) > 8
    assert {path.name: oct(path.stat().st_mode) for path in paths if path.stat().st_mode & 0o077} == {}

"""`equirank verify` never ends with status 0 where it could not compare what it is to compare."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.archive.encode import rows
from services.archive.writer import open_writer
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.partition import partition_of
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.wire import events

PARTITIONS = 3
HOME = partition_of(simulated.POOL, PARTITIONS)
NO_REDIS = "redis://127.0.0.1:1/0"

Run = Callable[..., tuple[int, str]]
"""Takes further settings, and returns the status and what was printed."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command on a folder whose only pool is in a checkpoint, while no `equirank up` runs. `{tmp}` in a setting is a folder."""
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    games = [simulated.game(i, float(i)) for i in range(20)]
    log.outcomes.append(HOME, [(b"", record) for record in events.encode_records(games, 10)])
    control, partition, reader = ControlLog(log.control), Partition(HOME, PARTITIONS), log.outcomes.reader({HOME: 0})
    records = reader.poll(5.0, 100)[HOME]
    assert partition.fold(records, LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=True)) == []
    Checkpointer(CheckpointStore((tmp_path / "state").as_uri()), log.outcomes.identity, 1, 3, None).drain(partition)
    for name, identity in (("mine", log.outcomes.identity), ("other", "sqlite:other:outcomes")):
        open_writer(str(tmp_path / name), HOME, identity).append(rows(records), 0, len(records))
    for one in (reader, control, log):
        one.close()

    def called(**settings: str) -> tuple[int, str]:
        given = {f"EQUIRANK_{name.upper()}": value.format(tmp=tmp_path) for name, value in settings.items()}
        environment = {"EQUIRANK_DATA": str(tmp_path), "EQUIRANK_PARTITIONS": str(PARTITIONS), **given}
        done = CliRunner().invoke(application("verify"), ["verify"], env=environment)
        return done.exit_code, done.output

    return called


def test_without_a_running_installation_checkpoints_and_archive_are_compared(run: Run) -> None:
    """Nothing is left out then: readers see no boards."""
    status, said = run(archive="{tmp}/mine")
    assert status == 0, said
    assert "boards are not compared, because the store does not answer" in said
    assert "2 comparisons, no difference" in said


def test_a_store_that_does_not_answer_is_no_success(run: Run) -> None:
    status, said = run(redis=NO_REDIS)
    assert status == 1, said
    assert "boards: not compared: Redis does not answer" in said
    assert "set EQUIRANK_REDIS to the readers' Redis, and verify again" in said
    assert "1 comparisons, 0 of them differ; 1 were not possible" in said


def test_an_archive_of_another_log_differs(run: Run) -> None:
    status, said = run(archive="{tmp}/other")
    assert status == 1, said
    assert f"partition {HOME} archive at 2: differs: it belongs to log sqlite:other:outcomes" in said
    assert "set EQUIRANK_ARCHIVE to the archive of this log" in said


def test_an_archive_that_holds_nothing_of_a_partition_with_outcomes_is_no_success(run: Run) -> None:
    status, said = run(archive="{tmp}/nothing/here")
    assert status == 1, said
    assert f"partition {HOME} archive: not compared: " in said
    assert "nothing/here has no rows of it: set EQUIRANK_ARCHIVE to the engine's value" in said


def test_outcomes_without_a_checkpoint_and_without_a_board_are_no_success(run: Run) -> None:
    status, said = run(checkpoints="file://{tmp}/nothing/here")
    assert status == 1, said
    assert "nothing was compared: there is no board, and no checkpoint at " in said

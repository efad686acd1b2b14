"""An archive that hangs or is damaged: what needs it waits and says why, until the archive is back. Everything else goes on."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from services.archive import reader
from services.archive.reader import ArchiveReader
from services.checkpoints.checkpoint import CheckpointStore
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard import readers, watch
from services.shard.worker import ShardWorker
from tests.support.archiving import archive, failed, fold, newest_is, served
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, differences, newest_digest, play, published, retract, store_of, until, working

AWAY = (HOME + 1) % PARTITIONS


class Archive:
    """Opening and reading its tables hang from `hang` to `answer`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch, self._answers = patch, threading.Event()
        self._table, self._tables, self._seconds = DeltaTable, ArchiveReader._tables, reader.OPEN_SECONDS
        patch.setattr(reader, "DeltaTable", self.open)

        def read(archive: ArchiveReader, *given: Any, **named: Any) -> Any:
            assert self._answers.wait(PATIENCE)
            return self._tables(archive, *given, **named)

        patch.setattr(ArchiveReader, "_tables", read)
        self.answer()

    @property
    def hangs(self) -> bool:
        return not self._answers.is_set()

    def hang(self, deadline: float = 0.2) -> None:
        """deadline: seconds that opening may take meanwhile."""
        self._patch.setattr(reader, "OPEN_SECONDS", deadline)
        self._answers.clear()

    def answer(self) -> None:
        self._patch.setattr(reader, "OPEN_SECONDS", self._seconds)
        self._answers.set()

    def open(self, *given: Any, **options: Any) -> Any:
        assert self._answers.wait(PATIENCE)
        return self._table(*given, **options)


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    monkeypatch.setattr(watch, "_ARCHIVE_SECONDS", 0.1)
    opening = Archive(monkeypatch)
    yield opening
    opening.answer()


def without_checkpoint(settings: Settings, log: Log) -> str:
    """300 games that only the archive holds, and no checkpoint of them. Digest of the checkpoint that was there."""
    fold(settings, log, 0, 300)
    before = newest_digest(settings)
    forget(settings, archive(settings))
    checkpoints = CheckpointStore(settings.checkpoint_url)
    for name in checkpoints.manifests(HOME):
        checkpoints.blobs.remove(name)
    return before


def the_others_go_on(log: Log, worker: ShardWorker) -> None:
    [offset] = log.outcomes.append(AWAY, [(None, b"no json")])
    until(lambda: [one.position for one in worker.health().partitions if one.partition == AWAY] == [offset + 1], "the others go on")


def told(settings: Settings) -> str:
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return (head.stopped if head is not None else None) or ""


def test_a_partition_waits_for_an_archive_that_hangs_and_the_others_go_on(settings: Settings, log: Log, opening: Archive, run: Run) -> None:
    before = without_checkpoint(settings, log)
    opening.hang()
    with working(settings, log) as worker:
        until(lambda: f"the archive of partition {HOME} cannot be read" in told(settings), "readers are told why")
        assert worker.health().partitions[HOME].status is PartitionStatus.ARCHIVE_UNREADABLE
        the_others_go_on(log, worker)
        assert "archive_unreadable" in (shown := run("partitions", "list"))
        assert f"partition {HOME} stops: the archive of partition {HOME} cannot be read" in shown
        opening.answer()
        until(lambda: newest_is(settings, before), "it was folded from the archive")
        until(lambda: told(settings) == "", "readers are told")
    assert differences(settings, log) == []


def test_others_go_on_while_the_archive_hangs_in_the_middle_of_reading(
    settings: Settings, log: Log, opening: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = without_checkpoint(settings, log)

    def first(*given: Any, **options: Any) -> Any:
        """The archive is opened once, and hangs from then on."""
        monkeypatch.setattr(reader, "DeltaTable", opening.open)
        found = opening.open(*given, **options)
        opening.hang()
        return found

    monkeypatch.setattr(reader, "DeltaTable", first)
    with working(settings, log) as worker:
        until(lambda: opening.hangs, "the archive was opened, and hangs")
        the_others_go_on(log, worker)
        opening.answer()
        until(lambda: newest_is(settings, before), "it was folded from the archive")
    assert differences(settings, log) == []


def test_a_generation_waits_for_an_archive_that_hangs_and_the_pool_goes_on(settings: Settings, log: Log, opening: Archive) -> None:
    fold(settings, log, 0, 300)
    forget(settings, archive(settings))
    with working(settings, log):
        opening.hang(deadline=PATIENCE)  # a generation that fails is tried again after a minute
        retract(log, [0])
        until(lambda: len(log_generations(log)) == 2, "a generation is made")
        play(log, 300, 350)
        until(lambda: published(settings) == 350, "the pool goes on")
        assert served(log) == 1
        opening.answer()
        until(lambda: published(settings) == 349, "the generation serves")
    assert differences(settings, log) == []


def log_generations(log: Log) -> list[int]:
    control = ControlLog(log.control)
    try:
        return list(control.refresh().generations[simulated.POOL])
    finally:
        control.close()


def test_damage_stops_what_needs_it_alone_until_the_archive_is_restored(
    settings: Settings, log: Log, opening: Archive, tmp_path: Path
) -> None:
    del opening  # only to ask often
    before = without_checkpoint(settings, log)
    table = Path(str(settings.archive)) / f"partition-{HOME:05d}"
    shutil.copytree(table, tmp_path / "backup")
    for file in table.rglob("*.parquet"):
        file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 8) + b"PAR1")
    with working(settings, log) as worker:
        until(lambda: f"the archive of partition {HOME} cannot be read" in told(settings), "readers are told why")
        the_others_go_on(log, worker)
        shutil.rmtree(table)
        shutil.copytree(tmp_path / "backup", table)
        until(lambda: newest_is(settings, before), "it was folded from the archive")
    assert differences(settings, log) == []


def test_a_generation_that_needs_a_damaged_archive_fails_alone(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 300)
    forget(settings, archive(settings))
    for file in (Path(str(settings.archive)) / f"partition-{HOME:05d}").rglob("*.parquet"):
        file.unlink()
    with working(settings, log):
        retract(log, [0])
        until(lambda: "the archive" in failed(settings), "readers are told why")
        play(log, 300, 350)
        until(lambda: published(settings) == 350, "the pool goes on")


def test_a_shard_that_the_topic_overtakes_goes_on_from_the_archive(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the embedded log does, which drops what is archived: another shard wrote the checkpoints that the archive follows."""
    fold(settings, log, 0, 200)
    before = newest_digest(settings)
    position = archive(settings)
    checkpoints = CheckpointStore(settings.checkpoint_url)
    for name in checkpoints.manifests(HOME):
        checkpoints.blobs.remove(name)
    opened = readers.open_reader

    def overtaken(*given: Any) -> Any:
        """Opens the topic's reader, and then the topic forgets what it is to give."""
        monkeypatch.setattr(readers, "open_reader", opened)
        found = opened(*given)
        forget(settings, position)
        return found

    monkeypatch.setattr(readers, "open_reader", overtaken)
    with working(settings, log):
        until(lambda: newest_is(settings, before), "the same content")
    assert differences(settings, log) == []

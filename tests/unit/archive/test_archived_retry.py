"""A build that failed while it read the archive is read from its start again, from the archive."""

from pathlib import Path

import pytest

from services.archive.follow import follow
from services.archive.history import ArchivedTopic
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.generations.builder import Builder
from services.shard.generations.past import ArchivedPool
from services.shard.partition import Partition
from tests.support.archive import mixed

END = 300


def stepped(builder: Builder) -> None:
    while builder.busy:
        builder.step(10.0)


def test_it_is_read_from_its_start_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, url, reads = mixed(11, END), str(tmp_path / "archive"), list[int]()
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    log.outcomes.append(0, [(None, record.value) for record in records])
    records = TopicRecords([Record(offset, record.value, 0.0) for offset, record in enumerate(records)])
    follow(log.outcomes, {}, url, 0, END)
    control, partition = ControlLog(log.control), Partition(0, 1)
    log.archived = ArchivedTopic(log.outcomes, url)
    builder = Builder(partition, log, control)
    partition.fold(records, LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=True))
    take = ArchivedPool.take

    def broken(pool: ArchivedPool, seconds: float) -> None:
        reads.append(pool.position)
        take(pool, seconds)
        raise OSError("the disk is gone")

    builder.create_due(0.0, control.refresh())
    with monkeypatch.context() as patched:
        patched.setattr(ArchivedPool, "take", broken)
        stepped(builder)
    failed = [build.failed for build in partition.builds.values()]
    assert failed, "the retractions ask for a generation"
    assert set(failed) == {"the archive cannot be read: the disk is gone"}
    assert builder.figures.counts["generation_failures"] == len(failed)

    def noted(pool: ArchivedPool, seconds: float) -> object:
        reads.append(pool.position)
        return take(pool, seconds)

    monkeypatch.setattr(ArchivedPool, "take", noted)
    for now in (1.0, 1e6):
        builder.create_due(now, control.refresh())
    stepped(builder)
    assert len(reads) > 1
    assert reads[0] == reads[1] < END, "from the archive, and from its start"
    assert [build.failed for build in partition.builds.values()] == [None] * len(failed)
    builder.close()
    log.close()

"""A batch that was damaged after it was folded: the boards stand, and an operator's skip lets new generations go on without it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.admin import partition_decisions
from services.archive.encode import rows
from services.archive.history import ArchivedTopic
from services.archive.writer import open_writer
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.protocol import Log
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.generations.builder import Builder
from services.shard.partition import Partition
from services.wire import events
from tests.support.damaged import damage

RECORDS = events.encode_records([simulated.game(i, float(i)) for i in range(200)], 10)
BEGIN, END = 5, 8
"""Of the batch."""


class Installation:
    """One partition of 20 records, folded and checkpointed before a batch of them was damaged."""

    def __init__(self, log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self.control, self.archive = log, ControlLog(log.control), str(folder / "archive")
        self.checkpoints = CheckpointStore((folder / "state").as_uri())
        log.outcomes.append(0, [(b"", value) for value in RECORDS])
        reader = log.outcomes.reader({0: 0})
        self.records = reader.poll(5.0, 100)[0]
        reader.close()
        self.partition = self.folded(self.records)
        Checkpointer(self.checkpoints, log.outcomes.identity, 1, 3, None).drain(self.partition)
        damage(log.outcomes, monkeypatch, (0, BEGIN, BEGIN, END))
        self.builder = Builder(self.partition, log, self.control)

    def folded(self, records: TopicRecords) -> Partition:
        partition = Partition(0, 1)
        partition.fold(records, LiveDirectory(self.control, FoldSettings(), 10, lambda: 0.0, create=True))
        return partition

    def skip(self, offset: int) -> tuple[int, int]:
        made = partition_decisions.skip(0, offset, self.log, self.control, self.checkpoints, 0.0)
        return made.begin, made.end

    def build(self, now: float) -> Build:
        """Read on as far as there is something to read for generation 2."""
        self.builder.create_due(now, self.control.refresh())
        while self.builder.busy:
            self.builder.step(0.1)
        return self.partition.builds[simulated.POOL, 2]


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    made = Installation(log, tmp_path, monkeypatch)
    yield made
    made.builder.close()
    made.control.close()
    log.close()


def test_a_new_generation_stops_with_a_command_that_lets_it_go_on(one: Installation) -> None:
    one.control.want(generations.wish(one.control.standing(simulated.POOL), time=0.0, bans=["rock"]))
    failed = one.build(1.0).failed or ""
    assert f"has a damaged batch at offsets {BEGIN} to {END - 1}: its checksum does not match" in failed
    assert f"`equirank partitions skip 0 --offset {BEGIN}`" in failed
    assert one.build(2.0).failed == failed, "it is tried again a minute later"
    assert one.skip(BEGIN) == (BEGIN, END)
    build = one.build(3.0)
    assert (build.failed, build.position) == (None, len(RECORDS))
    assert build.state is not None
    control = one.control.refresh()
    alone = Partition(0, 1, len(RECORDS))
    alone.begin(again := Build(control.pools[simulated.POOL], control.generations[simulated.POOL][2]))
    alone.catch_up(TopicRecords([record for record in one.records if not BEGIN <= record.offset < END]), 0)
    assert again.state is not None
    assert digest(build.state.arrays()) == digest(again.state.arrays())


@pytest.mark.parametrize("archived", [3, 6])
def test_what_the_archive_holds_of_the_batch_is_not_skipped(one: Installation, archived: int) -> None:
    open_writer(one.archive, 0, one.log.outcomes.identity).append(rows(one.records[:archived]), 0, archived)
    one.log.archived = ArchivedTopic(one.log.outcomes, one.archive)
    assert one.skip(END - 1) == (max(BEGIN, archived), END)


def test_a_batch_that_is_archived_is_not_skipped(one: Installation) -> None:
    open_writer(one.archive, 0, one.log.outcomes.identity).append(rows(one.records), 0, len(RECORDS))
    one.log.archived = ArchivedTopic(one.log.outcomes, one.archive)
    with pytest.raises(InputError, match="must not be archived: new generations read the archive, which has all offsets below 20"):
        one.skip(BEGIN)

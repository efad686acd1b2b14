"""A process that works on the archive is killed at every point of a commit: nothing is lost, twice or half, and others continue."""

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec
import pytest

from ratings_core.arrays.digest import digest
from services.admin.verify_archive import verify_archive
from services.archive.encode import rows
from services.archive.erased_rows import erased
from services.archive.history import ArchivedTopic
from services.archive.reader import open_reader
from services.archive.schema import CONTENT
from services.control.directory import FixedDirectory
from services.control.erasures import ErasureRequest, erased_name, matchers
from services.log.protocol import Drops, Log, Topic
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.partition import Partition
from services.wire.pools import Kind
from tests.chaos.deadly_archive import MOVED, POINTS, work_on
from tests.support.archive import mixed
from tests.support.pools import control_of, pool_of
from tests.support.processes import child
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
ERASED = [ErasureRequest(pool="games", name=erased_name("agent 7", ()), by="ann", time=1.0)]
FIRST, ALL = 300, 600
"""Records of the log when the archive is begun, and at the end."""
pytestmark = [
    pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="numbers of system calls are known for other processors"),
]


class World:
    """A log of one partition and its archive."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, str(folder / "archive")
        self.log: Log = open_sqlite_log(folder / "log.sqlite", 1)
        self.values = [record.value for record in mixed(11, ALL)]

    def play(self, start: int, stop: int) -> None:
        self.log.outcomes.append(0, [(None, value) for value in self.values[start:stop]])

    def started(self, work: str, point: str) -> "AbstractContextManager[subprocess.Popen[bytes]]":
        erasures = msgspec.json.encode(ERASED if work == "erase" else []).decode()
        command = [sys.executable, "-m", "tests.chaos.deadly_archive", str(self.folder), self.url, work, point, erasures]
        return child(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}))

    def digests(self, topic: Topic, erasures: list[ErasureRequest]) -> dict[str, str]:
        """Digest of every pool, folded from `topic`."""
        pools = pool_of("games"), pool_of("scores", Kind.SCORES)
        partition, names = Partition(0, 1), tuple(one.name for one in erasures)
        partition.fold(read(topic), FixedDirectory(control_of(*pools, erased=names)))
        return {pool: digest(state.arrays()) for pool, state in partition.pools.items()}


def read(topic: Topic) -> TopicRecords:
    records = TopicRecords()
    with closing(topic.reader({0: 0})) as reader:
        while reader.position(0) < topic.end(0):
            records += reader.poll(5.0, 5_000).get(0, [])
    return records


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    one = World(tmp_path)
    yield one
    one.log.close()


def check(world: World, erasures: list[ErasureRequest]) -> int:
    """Require that the archive holds every row of the log below its position once, in order; the position."""
    archive = open_reader(world.url, 0)
    expected, _ = erased(rows([one for one in read(world.log.outcomes) if one.offset < archive.position]), matchers(erasures))
    assert [row for table in archive.read(columns=CONTENT) for row in table.to_pylist()] == expected.to_pylist()
    assert [one.difference for one in verify_archive(world.url, world.log)] == [None]
    return archive.position


def check_whole(world: World, erasures: list[ErasureRequest]) -> None:
    """Archive all of the log; then archive and topic must give the digests of the log, whatever the topic forgets."""
    work_on(world.log.outcomes, world.url, "append", erasures)
    assert check(world, erasures) == ALL
    expected = world.digests(world.log.outcomes, erasures)
    assert isinstance(world.log.outcomes, Drops)
    assert world.log.outcomes.drop(0, ALL - 20, 10.0)
    assert world.digests(ArchivedTopic(world.log.outcomes, world.url), erasures) == expected
    assert expected.keys() == {"games", "scores"}


@pytest.mark.parametrize("work", ["append", "compact", "erase"])
def test_kills_at_every_point_of_a_commit_lose_nothing_and_double_nothing(world: World, work: str) -> None:
    world.play(0, FIRST)
    if work != "append":
        work_on(world.log.outcomes, world.url, "append", [])
    world.play(FIRST, ALL)
    for point in POINTS:
        with world.started(work, point) as process:
            assert process.wait(PATIENCE) == -signal.SIGSYS, f"it did not die where it was to: {point}"
        is_erased = work == "erase" and point == "after the commit"
        check(world, ERASED if is_erased else [])
    erasures = ERASED if work == "erase" else []
    work_on(world.log.outcomes, world.url, work, erasures)
    check_whole(world, erasures)


@pytest.mark.parametrize("work", ["append", "erase"])
def test_a_zombie_commits_nothing_once_its_successor_started(world: World, work: str) -> None:
    world.play(0, FIRST)
    work_on(world.log.outcomes, world.url, "append", [])
    world.play(FIRST, ALL)
    with world.started(work, "stopped") as zombie:
        _, status = os.waitpid(zombie.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended before it had a commit ready"
        work_on(world.log.outcomes, world.url, "append", [])
        os.kill(zombie.pid, signal.SIGCONT)
        assert zombie.wait(PATIENCE) == MOVED
    check_whole(world, [])

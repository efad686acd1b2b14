"""A generation built from the archive's columns is that built from the log: same content and dead letters, wherever the archive ends."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services.archive import records as archived_records
from services.archive.follow import follow
from services.archive.history import ArchivedTopic
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation
from services.log.dead_letters import DeadLetter
from services.log.protocol import Record, Topic
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.generations.build import Build
from services.shard.generations.past import archive_of
from services.shard.partition import Partition
from services.wire.events import decode
from services.wire.pools import Kind
from tests.support.archive import mixed
from tests.support.pools import control_of, first_generation, pool_of

END = 300
POOLS = {"games": pool_of("games"), "scores": pool_of("scores", Kind.SCORES)}


def topic_of(folder: Path) -> Topic:
    log = open_sqlite_log(folder / "log.sqlite", 1)
    log.outcomes.append(0, [(None, record.value) for record in mixed(11, END)])
    return log.outcomes


def read(topic: Topic, begin: int) -> TopicRecords:
    records = TopicRecords()
    with closing(topic.reader({0: begin})) as reader:
        while reader.position(0) < END:
            records += reader.poll(1.0, 100).get(0, [])
    return records


def built(topic: Topic | ArchivedTopic, pool: str, made: Generation) -> tuple[str, list[DeadLetter], int]:
    """Digest of a generation that is built after all was folded, its dead letters, and how many parts came from the archive."""
    partition, first = Partition(0, 1), {name: first_generation(one) for name, one in POOLS.items()}
    partition.fold(read(topic, 0), FixedDirectory(control_of(*POOLS.values()), first))
    build, control, letters, parts = Build(POOLS[pool], made), ControlLog(topic), list[DeadLetter](), 0
    partition.begin(build)
    while build.behind(partition.position):
        if (source := archive_of(build, topic if isinstance(topic, ArchivedTopic) else None, 0, control)) is not None:
            part = source.take(10.0)
            assert part is not None
            letters += partition.catch_up_alone(build, *part)
            parts += 1
        else:
            letters += partition.catch_up(read(topic, build.position), build.position)
    assert build.failed is None
    return digest(build.switch(build.position).arrays()), letters, parts


@pytest.mark.parametrize("cut", [1, 58, 170, END])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("rows", [7, 10_000])
@pytest.mark.parametrize("horizon", [0, END])
def test_it_is_the_one_built_from_the_log(
    tmp_path: Path, cut: int, pool: str, rows: int, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archived_records, "_ROWS", rows)
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    online = {"elo": {"k": 7.0}} if pool == "games" else None
    fold = FoldSettings(online=online, max_agents=12 if pool == "games" else 4, per_task=pool == "games", bucket_seconds=20)
    made = first_generation(POOLS[pool], number=2, fold=fold, retraction_horizon=horizon)
    expected, refused, _ = built(topic, pool, made)
    assert refused, "of more agents than the pool may have"
    follow(topic, {}, url, 0, cut)
    found, letters, parts = built(ArchivedTopic(topic, url), pool, made)
    assert found == expected
    assert [(one.offset, one.item, one.reason, one.rule, one.pool) for one in letters] == [
        (one.offset, one.item, one.reason, one.rule, one.pool) for one in refused
    ]
    assert parts > 0


def test_a_retraction_at_the_horizon_is_not_heeded(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    at = next(record.offset for record in read(topic, 0) if takes_back_an_outcome(record, topic))
    generations = [first_generation(POOLS["games"], number=2, retraction_horizon=horizon) for horizon in (at, at + 1)]
    before, after = (built(topic, "games", made)[0] for made in generations)
    assert before != after
    follow(topic, {}, url, 0, END)
    assert [built(ArchivedTopic(topic, url), "games", made)[0] for made in generations] == [before, after]


def takes_back_an_outcome(record: Record, topic: Topic) -> bool:
    """Whether a record retracts what an earlier record holds."""
    if b"retracts" not in record.value:
        return False
    ids = {event.id for event in decode([one.value for one in read(topic, 0) if one.offset < record.offset]).events}
    return json.loads(record.value)["retracts"] in ids


def test_a_build_reads_no_further_than_its_partition_although_the_archive_does(tmp_path: Path) -> None:
    """As after a recovery from an older checkpoint: what the archive holds beyond it is folded once, with the stream."""
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    made = first_generation(POOLS["games"], number=2, fold=FoldSettings(online={"elo": {"k": 7.0}}))
    expected, _, _ = built(topic, "games", made)
    follow(topic, {}, url, 0, END)
    directory = FixedDirectory(control_of(*POOLS.values()), {name: first_generation(one) for name, one in POOLS.items()})
    partition, build, history = Partition(0, 1), Build(POOLS["games"], made), ArchivedTopic(topic, url)
    partition.fold(read(topic, 0)[: END // 2], directory)
    partition.begin(build)
    while build.behind(partition.position):
        source = archive_of(build, history, 0, ControlLog(topic))
        assert source is not None
        part = source.take(10.0)
        assert part is not None
        partition.catch_up_alone(build, *part)
    assert build.position == partition.position == END // 2
    partition.switch(build)
    partition.fold(read(topic, END // 2), directory)
    assert digest(partition.pools["games"].arrays()) == expected

"""Archive and topic together are the whole log: every fold gives the same pools and the same dead letters, wherever the cut is."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services.archive import records as archived_records
from services.archive.follow import follow
from services.archive.history import ArchivedTopic
from services.control.directory import FixedDirectory
from services.log import reading
from services.log.dead_letters import DeadLetter
from services.log.protocol import LogError, OffsetLost, Record, Topic
from services.log.records import NO_RECORDS, TopicRecords
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.shard.partition import Partition
from services.wire.pools import Kind
from tests.support.archive import mixed
from tests.support.pools import control_of, first_generation, pool_of

VALUES = [record.value for record in mixed(7, 300)]
POOLS = (pool_of("games"), pool_of("scores", Kind.SCORES))


def topic_of(folder: Path) -> Topic:
    log = open_sqlite_log(folder / "log.sqlite", 1)
    log.outcomes.append(0, [(None, value) for value in VALUES])
    return log.outcomes


def forget(folder: Path, offset: int) -> None:
    """As retention does: what lies below `offset` is no longer in the topic."""
    with closing(sqlite3.connect(folder / "log.sqlite")) as file, file:
        file.execute(f'DELETE FROM {table_of("outcomes", 0)} WHERE "offset" < ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "begin" = ? WHERE topic = \'outcomes\' AND "partition" = 0', (offset,))


def read(topic: Topic, begin: int, end: int, most: int = 57) -> TopicRecords:
    records = TopicRecords()
    with closing(topic.reader({0: begin})) as reader:
        while reader.position(0) < end:
            records += reader.poll(1.0, most).get(0, NO_RECORDS)
    return records


def polled(topic: Topic) -> Iterator[Sequence[Record]]:
    with closing(topic.reader({0: 0})) as reader:
        while reader.position(0) < 300:
            yield reader.poll(1.0, 57).get(0, NO_RECORDS)


def folded(parts: Iterable[Sequence[Record]]) -> tuple[dict[str, str], set[tuple[object, ...]]]:
    """Digests of the pools, and the dead letters."""
    partition = Partition(0, 1)
    directory = FixedDirectory(control_of(*POOLS), {pool.pool: first_generation(pool) for pool in POOLS})
    letters: list[DeadLetter] = []
    for part in parts:
        for start in range(0, len(part), 41):
            letters += partition.fold(part[start : start + 41], directory)
    digests = {name: digest(state.arrays()) for name, state in sorted(partition.pools.items())}
    return digests, {(one.offset, one.item, one.reason, one.path, one.rule, one.pool) for one in letters}


@pytest.mark.parametrize("rows", [7, 10_000])
@pytest.mark.parametrize("cut", [1, 57, 58, 299, 300])
def test_a_fold_of_archive_and_topic_is_the_fold_of_the_log(
    tmp_path: Path, small_segments: None, cut: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archived_records, "_ROWS", rows)
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    whole = folded(polled(topic))
    assert set(whole[0]) == {"games", "scores"}
    assert len(whole[1]) > 20
    follow(topic, {}, url, 0, cut)
    forget(tmp_path, cut // 2)
    history = ArchivedTopic(topic, url)
    assert (history.begin(0), history.end(0)) == (0, 300)
    assert folded(polled(history)) == whole
    assert folded([read(history, 0, 300)]) == whole, "by the records' bytes"


def test_offsets_and_times_are_those_of_the_log(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    expected = read(topic, 0, 300)
    follow(topic, {}, url, 0, 200)
    forget(tmp_path, 180)
    found = read(ArchivedTopic(topic, url), 125, 300)
    assert [record.offset for record in found] == list(range(125, 300))
    assert [record.time for record in found] == pytest.approx([record.time for record in expected[125:]], abs=1e-6)
    assert [record.value for record in found[75:]] == [record.value for record in expected[200:]]


def test_a_gap_between_archive_and_topic_is_told(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    follow(topic, {}, url, 0, 100)
    forget(tmp_path, 150)
    history = ArchivedTopic(topic, url)
    assert history.begin(0) == 150
    with pytest.raises(OffsetLost) as lost:
        read(history, 0, 300)
    assert (lost.value.offset, lost.value.begin) == (100, 150)


def test_a_reader_that_the_topic_overtakes_goes_back_to_the_archive(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    with closing(ArchivedTopic(topic, url).reader({0: 20})) as reader:
        before = reader.poll(1.0, 30)[0]
        follow(topic, {}, url, 0, 200)
        forget(tmp_path, 150)
        after: list[Record] = []
        while reader.position(0) < 300:
            after += reader.poll(1.0, 57).get(0, NO_RECORDS)
    assert [record.offset for record in [*before, *after]] == list(range(20, 300))


def test_a_range_is_read_although_the_topic_forgets_it_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    follow(topic, {}, url, 0, 200)
    monkeypatch.setattr(reading, "_RECORDS", 30)
    records: list[int] = []
    for part in reading.read_parts(ArchivedTopic(topic, url), 0, 20, 300):
        records += [record.offset for record in part]
        forget(tmp_path, 150)
    assert records == list(range(20, 300))


@pytest.mark.parametrize("skips", [(), (50, 60), (0, 60), (110, 125), (290, 300)])
@pytest.mark.parametrize("rows", [7, 10_000])
def test_records_that_an_operator_gave_up_are_left_out_of_what_is_archived(
    tmp_path: Path, skips: tuple[int, int], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stay columns: a fold of records that were encoded again would take their hashes for those of the log's."""
    monkeypatch.setattr(archived_records, "_ROWS", rows)
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    skipped = {0: [skips] if skips else []}
    whole = folded(read_parts(topic, skipped))
    follow(topic, {}, url, 0, 200)
    forget(tmp_path, 120)
    history, kinds = ArchivedTopic(topic, url), set[type]()
    parts = list(read_parts(history, skipped))
    kinds = {type(part) for part in parts if int(part[-1].offset) < 200}
    assert folded(parts) == whole
    assert kinds <= {archived_records.ArchivedRecords}
    for pool in ("games", "scores"):
        found = [record.offset for part in history.parts_of(pool, 0, 0, skipped=skipped[0]) for record in part.records]
        every = [record.offset for part in history.parts_of(pool, 0, 0) for record in part.records]
        assert found == [offset for offset in every if not skips or not skips[0] <= offset < skips[1]]


def read_parts(topic: Topic, skipped: dict[int, list[tuple[int, int]]]) -> Iterator[Sequence[Record]]:
    return (part for part in reading.read_parts(topic, 0, 0, 300, skipped) if part)


def test_without_an_archive_it_is_the_topic(tmp_path: Path) -> None:
    topic = topic_of(tmp_path)
    forget(tmp_path, 20)
    history = ArchivedTopic(topic, str(tmp_path / "none"))
    assert history.begin(0) == 20
    assert read(history, 20, 300) == read(topic, 20, 300)
    assert history.append(0, [(None, b"{}")]) == [300]


def test_the_archive_of_another_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    url = str(tmp_path / "archive")
    follow(topic_of(tmp_path), {}, url, 0, 10)
    topic = topic_of(tmp_path / "other")
    forget(tmp_path / "other", 5)
    with pytest.raises(LogError, match=r"is of log .* set EQUIRANK_ARCHIVE") as refused:
        ArchivedTopic(topic, url).begin(0)
    assert not refused.value.retriable

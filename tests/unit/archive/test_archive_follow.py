"""The archive follows a real SQLite log up to a position, in as many calls as it takes."""

import os
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from services.archive import follow as followed
from services.archive import writer
from services.archive.compaction import compact
from services.archive.follow import Followed, follow
from services.archive.history import ArchivedTopic
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.archive.table import OtherLogError
from services.log.protocol import LogError, OffsetLost
from services.log.reading import read_parts
from services.log.sqlite.log import SqliteTopic, open_sqlite_log
from services.runtime.settings import Settings
from tests.support.archive import mixed

VALUES = [record.value for record in mixed(3, 400)]


def topic_of(folder: Path, values: list[bytes] = VALUES) -> SqliteTopic:
    log = open_sqlite_log(folder / "log.sqlite", 1)
    for start in range(0, len(values), 100):
        log.outcomes.append(0, [(None, value) for value in values[start : start + 100]])
    return log.outcomes


def offsets(url: str) -> list[int]:
    return sorted({offset for table in open_reader(url, 0).read(columns=["offset"]) for offset in table["offset"].to_pylist()})


def test_everything_below_the_end_is_archived_once(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    end = topic.end(0)
    first = follow(topic, {}, url, 0, 150)
    assert (first.position, first.reached) == (150, True)
    assert offsets(url) == list(range(150))
    rest = follow(topic, {}, url, 0, end)
    assert (rest.position, rest.reached, rest.commits) == (end, True, 1)
    assert offsets(url) == list(range(end))
    assert follow(topic, {}, url, 0, end) == Followed(end, 0, 0, True)
    assert first.rows + rest.rows == open_reader(url, 0).rows


def test_nothing_at_or_above_the_end_is_archived(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    for end in (1, 2, 57, 58, 400):
        assert follow(topic, {}, url, 0, end).position == end
        assert offsets(url) == list(range(end))


def test_a_call_makes_so_many_commits_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "COMMIT_BYTES", 1)
    monkeypatch.setattr(followed, "_POLL_RECORDS", 30)
    monkeypatch.setattr(followed, "_MOST_COMMITS", 4)
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    calls = [follow(topic, {}, url, 0, 400)]
    while not calls[-1].reached:
        calls.append(follow(topic, {}, url, 0, 400))
    assert len(calls) == 4
    assert [call.commits for call in calls] == [4, 4, 4, 2]
    assert offsets(url) == list(range(400))


def test_records_that_an_operator_gave_up_are_left_out(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    follow(topic, {0: [(10, 20), (390, 400)]}, url, 0, 400)
    assert offsets(url) == [*range(10), *range(20, 390)]
    assert open_reader(url, 0).position == 400


def test_nothing_but_gaps_ends_the_call(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    found = follow(topic, {0: [(0, 400)]}, url, 0, 400)
    assert (found.rows, found.reached) == (0, True)


def test_the_archive_of_another_log_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "archive")
    (tmp_path / "other").mkdir()
    follow(topic_of(tmp_path), {}, url, 0, 10)
    with pytest.raises(OtherLogError, match="belongs to log"):
        follow(topic_of(tmp_path / "other"), {}, url, 0, 10)


def test_a_log_that_ends_below_the_checkpoint_is_refused(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    with pytest.raises(LogError, match="ends at 400, and a checkpoint is at 401"):
        follow(topic, {}, url, 0, 401)
    assert follow(topic, {}, url, 0, 400).position == 400


def test_an_archive_begins_where_its_topic_begins(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    topic.drop(0, 150, 10.0)
    assert follow(topic, {}, url, 0, 300).position == 300
    assert offsets(url) == list(range(150, 300))
    topic.drop(0, 290, 10.0)
    history = ArchivedTopic(topic, url)
    assert (history.begin(0), history.archive(0, 149)) == (150, None)
    assert follow(topic, {}, url, 0, 400).position == 400
    assert open_reader(url, 0).begin == 150, "also after later appends"


def test_what_a_topic_forgot_unarchived_stops_the_archive_until_an_operator_accepts_the_loss(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    follow(topic, {}, url, 0, 100)
    topic.drop(0, 150, 10.0)
    for lost in ((), [(0, 100)], [(100, 149)], [(101, 150)]):
        with pytest.raises(LogError, match=r"begins at 150, and its archive ends at 100: .* accept-loss 0`") as stopped:
            follow(topic, {}, url, 0, 300, lost=lost)
        assert not stopped.value.retriable
        assert open_reader(url, 0).position == 100
    assert follow(topic, {}, url, 0, 300, lost=[(100, 130), (130, 150)]).position == 300
    assert offsets(url) == [*range(100), *range(150, 300)]
    topic.drop(0, 200, 10.0)
    history = ArchivedTopic(topic, url)
    assert (history.begin(0), history.archive(0, 0), history.archive(0, 149)) == (150, None, None)
    with pytest.raises(OffsetLost):
        history.reader({0: 0}).poll(0.0, 10)
    with closing(history.reader({0: 150})) as reader:
        assert reader.poll(0.0, 1000)[0][0].offset == 150


def test_where_an_archive_begins_outlives_compaction_and_checkpoints_of_its_table(tmp_path: Path) -> None:
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    topic.drop(0, 50, 10.0)
    for end in range(60, 400, 20):
        follow(topic, {}, url, 0, end)
    compact(url, 0, open_files=2, keep=timedelta(0))
    table = DeltaTable(table_uri(url, 0))
    table.create_checkpoint()
    table.cleanup_metadata()
    follow(topic, {}, url, 0, 400)
    assert (open_reader(url, 0).begin, open_reader(url, 0).position) == (50, 400)


def test_records_that_an_operator_gave_up_are_no_loss_once_the_topic_forgets_them(tmp_path: Path) -> None:
    """The archive ended before them when they fell out of the topic: it goes on, and folds from its beginning stay possible."""
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    follow(topic, {}, url, 0, 100)
    topic.drop(0, 150, 10.0)
    for skipped in ([(100, 149)], [(101, 150)]):
        with pytest.raises(LogError, match="the records between are lost"):
            follow(topic, {0: skipped}, url, 0, 300)
    skipped = {0: [(120, 150), (90, 120)]}
    assert follow(topic, skipped, url, 0, 300).position == 300
    assert offsets(url) == [*range(100), *range(150, 300)]
    history = ArchivedTopic(topic, url)
    assert history.begin(0) == 0
    read = [record.offset for part in read_parts(history, 0, 0, 400, skipped) for record in part]
    assert read == [*range(90), *range(150, 400)]


def test_what_a_killed_writer_committed_is_durable_before_the_log_drops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit is visible, and nobody had waited until it was on disk."""
    topic, url = topic_of(tmp_path), str(tmp_path / "archive")
    synced: set[int] = set()

    def kill(*_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "write_deltalake", _then(writer.write_deltalake, kill))
        with pytest.raises(OSError, match="killed"):
            follow(topic, {}, url, 0, 400)
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.add(os.fstat(file).st_ino), fsync(file)))
    assert follow(topic, {}, url, 0, 400) == Followed(400, 0, 0, True)
    table = Path(table_uri(url, 0))
    files = [path for path in table.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert [path for path in (*files, table, table.parent, tmp_path) if path.stat().st_ino not in synced] == []


def _then(first: Callable[..., object], second: Callable[..., object]) -> Callable[..., None]:
    def both(*given: object, **named: object) -> None:
        first(*given, **named)
        second()

    return both


@pytest.mark.parametrize("name", ["a b", "ü", "%", "%zz", "a#b", "a?b", "a:b", "!\"$&'()*+,-.;<=>@_`{}~"])
def test_an_archive_can_be_in_every_folder_that_the_settings_take(tmp_path: Path, name: str) -> None:
    (folder := tmp_path / name).mkdir()
    url = Settings(archive=str(folder / "archive")).archive_url
    assert url is not None
    topic = topic_of(folder)
    follow(topic, {}, url, 0, 100)
    assert follow(topic, {}, url, 0, 200).position == 200
    assert offsets(url) == list(range(200))
    compact(url, 0)
    assert offsets(url) == list(range(200))
    assert [path.name for path in (folder / "archive").iterdir()] == ["partition-00000"]
    assert [path.name for path in tmp_path.iterdir()] == [name]

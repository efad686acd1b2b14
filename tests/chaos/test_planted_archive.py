"""Two bugs planted in the archive: an append before the fold is sure, and a commit retried without its transaction version.

Every test runs twice, with the bug and without it.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from deltalake import Transaction

from services.admin import backup
from services.admin.verify import verify_partition
from services.admin.verify_archive import verify_archive
from services.archive import follow as following
from services.archive.reader import ArchiveDamagedError
from services.archive.writer import ArchiveWriter
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.log.protocol import Log, Topic
from services.runtime.settings import Settings
from tests.support.archiving import archive, fold
from tests.support.forgetting import forget, forgetful
from tests.support.worker import HOME, play, published, store_of, until, working

planted = pytest.mark.parametrize("planted", [False, True])


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"archive": str(tmp_path / "archive"), "checkpoints_kept": 1})


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    with forgetful(settings) as log:
        yield log


def found(settings: Settings, log: Log) -> Iterator[str]:
    """What the next task of the archiver and `verify` find, once the topic holds only the last record of the newest checkpoint."""
    try:
        forget(settings, archive(settings) - 1)
    except ArchiveDamagedError as error:
        yield str(error)
    yield from (one.difference for one in verify_archive(str(settings.archive), log) if one.difference is not None)
    with store_of(settings, log) as store:
        findings = list(verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), store.live))
    assert findings
    yield from (one.difference for one in findings if one.difference is not None)


@planted
def test_an_append_before_the_fold_is_sure_is_found(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    """Records above the newest checkpoint are archived; then the log loses them, and others take their offsets."""
    follow = following.follow

    def ahead(topic: Topic, skipped: Any, url: str, partition: int, end: int, *more: Any) -> Any:
        return follow(topic, skipped, url, partition, topic.end(partition), *more)

    fold(settings, log, 0, 200)
    backup.back_up(settings.data, settings.data.parent / "saved")
    play(log, 200, 300)
    with monkeypatch.context() as patch:
        if planted:
            patch.setattr(following, "follow", ahead)
        assert archive(settings) == (30 if planted else 20)
    restored = settings.model_copy(update={"data": settings.data.parent / "restored"})
    backup.restore(settings.data.parent / "saved", restored.data)
    with closing(open_log(restored)) as cut:
        play(cut, 300, 400)
        with working(restored, cut):
            until(lambda: published(restored) == 300, "what the log holds now is folded")
        complaints = list(found(restored, cut))
    assert bool(complaints) == planted, complaints
    assert all("checkpoint" in one or "the log and its archive give" in one for one in complaints)


@planted
def test_a_commit_retried_without_its_transaction_version_is_found(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """The answer to a commit is lost, and the commit is tried again with the same rows."""
    commit = ArchiveWriter._commit

    def lost(writer: ArchiveWriter, rows: Any, transactions: Sequence[Transaction]) -> None:
        commit(writer, rows, list(transactions))
        if planted:
            commit(writer, rows, [])
        raise OSError("connection reset")

    fold(settings, log, 0, 300)
    with monkeypatch.context() as patch, suppress(OSError):
        patch.setattr(ArchiveWriter, "_commit", lost)
        archive(settings)
    complaints = list(found(settings, log))
    assert bool(complaints) == planted, complaints
    assert all("must hold each of the rows" in one for one in complaints)

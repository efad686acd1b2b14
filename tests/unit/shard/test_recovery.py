"""Recovery on a log that does not answer in time, and on one that lost its end."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from services.control import ControlLog
from services.log.protocol import Log, LogError, Reader, Record
from services.log.sqlite import open_sqlite_log
from services.pools import FOLD_VERSION
from services.shard.checkpoint import FORMAT, CheckpointStore, Manifest
from services.shard.recovery import WrongLog, recover


class Silent:
    """A reader of a broker that does not answer: polls come back empty."""

    def poll(self, timeout: float, max_records: int) -> dict[int, list[Record]]:
        return {}

    def close(self) -> None:
        return


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    log.outcomes.append(0, [(None, b"first"), (None, b"second")])
    yield log
    log.close()


def checkpointed(log: Log, folder: Path, last_offset: int) -> CheckpointStore:
    store = CheckpointStore(folder.as_uri())
    store.write_manifest(
        Manifest(
            format=FORMAT,
            partition=0,
            position=last_offset + 1,
            epoch=1,
            log_identity=log.outcomes.identity,
            last_offset=last_offset,
            last_sha256="0" * 64,
            fold_version=FOLD_VERSION,
            written_at=0.0,
            pools=[],
        )
    )
    return store


def test_a_log_that_does_not_answer_is_waited_for(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(positions: Mapping[int, int]) -> Reader:
        assert positions == {0: 1}
        return Silent()

    control = ControlLog(log.control).refresh()
    monkeypatch.setattr(log.outcomes, "reader", silent)
    with pytest.raises(LogError, match="gave no record") as raised:
        recover(0, log.outcomes, control, checkpointed(log, tmp_path / "state", 1), [])
    assert raised.value.retriable


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_another_record_or_none_is_another_log(log: Log, tmp_path: Path, offset: int) -> None:
    with pytest.raises(WrongLog, match=f"offset {offset}"):
        recover(0, log.outcomes, ControlLog(log.control).refresh(), checkpointed(log, tmp_path / "state", offset), [])

"""`verify` folds the log again and compares files of history with the segments that this gives."""

from pathlib import Path

import pytest

from services.admin.verify import verify_partition
from services.checkpoints.checkpoint import CheckpointStore
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.worker import HOME, embedded, installed, play, published, until, working


def found(settings: Settings, log: Log) -> list[str | None]:
    """Differences of the findings about history."""
    findings = verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), None)
    return [finding.difference for finding in findings if finding.what == "history"]


def test_a_changed_file_of_history_is_found_and_a_missing_one_is_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 90)
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 300)
        with working(settings, log):
            until(lambda: published(settings, log) == 300, "all outcomes are shown")
        files = sorted((settings.data / "state" / "history").rglob("*.eqh"))
        assert len(files) > 2
        assert found(settings, log) == [None]
        other = files[1].with_name(files[1].name.replace("-" + files[1].name[-24:-4], "-" + "9" * 20))
        other.write_bytes(files[1].read_bytes()[:-1])
        assert found(settings, log) == [None], "readers take the other file of the segment"
        other.write_bytes(files[2].read_bytes())
        [difference] = found(settings, log)
        assert difference is not None, "readers would take this one, which is not damaged"
        other.unlink()
        content = bytearray(files[1].read_bytes())
        content[-1] ^= 1
        files[1].write_bytes(content)
        [difference] = found(settings, log)
        assert difference is not None
        assert "differ from what the log and its archive give (1 segments)" in difference
        files[1].rename(other)
        assert found(settings, log) == [difference], "the file of another epoch is compared as well"
        other.unlink()
        assert found(settings, log) == [None]
        for file in files:
            file.unlink(missing_ok=True)
        assert found(settings, log) == []

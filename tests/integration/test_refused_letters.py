"""Dead letters that may not be written end each shard, and no record is blamed for it: after the repair nothing is isolated or lost."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from services.control.log import ControlLog
from services.log import dead_letters
from services.log.protocol import LogError
from services.shard.restarts import isolated_at
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, embedded, installed, play, published, until, working


def test_no_record_is_isolated_if_shards_end_because_dead_letters_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 20)
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        play(log, 20, 40)
        for _ in range(6):
            refused = threading.Event()

            def refuse(*_: object, refused: threading.Event = refused) -> None:
                refused.set()
                raise LogError("the topic of dead letters may not be written", retriable=False)

            with monkeypatch.context() as patched:
                patched.setattr(dead_letters, "write", refuse)
                with pytest.raises(LogError, match="may not be written"), working(settings, log):
                    assert refused.wait(PATIENCE)
        with closing(ControlLog(log.control)) as control:
            assert isolated_at(HOME, control.refresh()) is None
        with working(settings, log):
            until(lambda: published(settings, log) == 40, "all outcomes are shown")
        assert log.dead_letters.end(0) == 1

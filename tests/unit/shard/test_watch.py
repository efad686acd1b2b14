"""What a shard does beside the fold for tools that watch lag."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from services.control.log import ControlLog
from services.log.protocol import Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.figures import ShardFigures
from services.shard.owned import OwnedPartitions
from services.shard.takeover import Takeovers
from services.shard.watch import LogWatch
from tests.support.worker import until


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 1)) as log:
        yield log


def test_a_log_that_takes_no_positions_holds_nothing_up(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed, answer = list[dict[int, int]](), threading.Event()

    def commit(positions: Mapping[int, int]) -> None:
        committed.append(dict(positions))
        assert answer.wait(10)
        raise LogError("the group has no coordinator", retriable=True)

    monkeypatch.setattr(log.outcomes, "commit", commit, raising=False)
    figures, now = ShardFigures(), [1.0]
    with closing(ControlLog(log.control)) as control:
        owned, timer = OwnedPartitions(), lambda: now[0]
        takeovers = Takeovers(Settings(data=tmp_path), "test", log, control, figures, timer, timer)
        owned.runtimes[0] = takeovers.take_over(0)
        watch = LogWatch(log, control, owned, takeovers, timer, figures)
        for end in (1, 2):
            log.outcomes.append(0, [(None, b"x")])
            watch.step(now[0])
            assert (owned.runtimes[0].end, figures.measured_at) == (end, now[0])
            now[0] += 2.0
        until(lambda: committed == [{0: 0}], "committed once, as the first one has not ended")
        answer.set()
        while len(committed) == 1:
            watch.step(now[0])
            assert figures.measured_at == now[0], "a failure changes nothing"
            now[0] += 2.0
        owned.runtimes[0].builder.close()

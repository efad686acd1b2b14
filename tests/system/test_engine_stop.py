"""How an engine stops whose shard hangs: at the deadline, or at once by a second signal; in either case nothing of it stays."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster import LINGERING
from tests.support.drivers import drivers
from tests.support.installation import processes_with, until
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, play


def test_a_shard_that_hangs_is_given_up_at_the_deadline_and_a_second_signal_is_hard(tmp_path: Path) -> None:
    mark = f"EQUIRANK_DATA={tmp_path}"

    def left() -> list[str]:
        return [line for line in processes_with(mark, mark).values() if not line.startswith(LINGERING)]

    def hanging(outcomes: int) -> "subprocess.Popen[bytes]":
        seen = one.owners()
        play(one.log, outcomes - 100, outcomes)
        engine = one.start(shards=1)
        until(lambda: one.owners().get(HOME, 0) != seen.get(HOME, 0), f"taken over\n{one.output()}")
        one.counted(outcomes)
        os.kill(one.owners()[HOME], signal.SIGSTOP)
        engine.send_signal(signal.SIGTERM)
        return engine

    with drivers(tmp_path, "local") as one:
        engine = hanging(100)
        assert engine.wait(PATIENCE) == 0
        assert "1 shards did not finish within 20 s" in one.output()
        until(lambda: not left(), f"nothing is left of {left()}")

        engine = hanging(200)
        until(lambda: engine.send_signal(signal.SIGTERM) or engine.poll() is not None, "it ended")
        assert engine.returncode == 128 + signal.SIGTERM
        until(lambda: not left(), f"nothing is left of {left()}")


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.0, 1.5, 2.0, 2.2, 2.4, 3.0])
def test_an_engine_that_is_told_to_stop_while_it_starts_ends_in_order(tmp_path: Path, seconds: float) -> None:
    """Also while Ray starts, which takes the signal over meanwhile."""
    mark = f"EQUIRANK_DATA={tmp_path}"
    with drivers(tmp_path, "local") as one:
        engine = one.start(shards=1)
        until(lambda: "the engine starts Ray" in one.output(), "it starts")
        with pytest.raises(subprocess.TimeoutExpired):
            engine.wait(seconds)
        engine.send_signal(signal.SIGTERM)
        assert engine.wait(PATIENCE) == 0, one.output()
        until(lambda: not [line for line in processes_with(mark, mark).values() if not line.startswith(LINGERING)], "all ended")

"""An engine that was stopped for longer than its successor's start ends by itself once it is woken."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.cluster import cluster_on
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.waiting import until


@pytest.mark.parametrize("what", ["the engine alone", "all that it started"])
def test_a_woken_engine_ends(kafka: str, tmp_path: Path, redis_url: str, what: str) -> None:  # noqa: F811
    with cluster_on(tmp_path, kafka, redis_url) as one:
        before = one.owners()
        stopped = {one.pid("engine")} if what == "the engine alone" else one.processes().keys() - {one.pid("api")}
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        first = one.replace_engine()
        until(lambda: set(one.owners().values()).isdisjoint(before.values()), "the second engine took over")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        until(lambda: first.poll() is not None, f"the woken engine ended\n{one.output('engine')[-4000:]}")
        assert first.returncode != 0
        assert set(one.owners().values()).isdisjoint(before.values()), "it took nothing back"

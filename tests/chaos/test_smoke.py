"""A short schedule of faults on each log, for `.ci/run`: the whole of chaos takes ten minutes, and a soak as long as one likes."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from deploy.local.kafka.broker import missing
from tests.chaos.embedded import embedded
from tests.chaos.on_kafka import on_kafka
from tests.chaos.report import say
from tests.chaos.room import run
from tests.chaos.system import System

SEED = 20261128
FAULTS = {
    "kill shard",
    "pause shard",
    "kill redis",
    "corrupt checkpoint and kill its shard",
    "other settings of a pool, and kill its shard",
}
"""Faults that every log has, of each kind: a death, a pause, the loss of the store, damage, and an operator's change."""
OUTCOMES = 20_000
SECONDS = 30.0
NO_BROKER = pytest.mark.skipif(bool(missing()), reason=f"no Kafka broker: {missing()}")
pytestmark = [pytest.mark.smoke, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


@pytest.mark.parametrize(
    "on", [embedded, pytest.param(partial(on_kafka, brokers=1, ratings=True), marks=NO_BROKER)], ids=["embedded", "kafka"]
)
def test_a_short_schedule_loses_and_doubles_nothing(
    capsys: pytest.CaptureFixture[str], on: Callable[[Path], AbstractContextManager[System]]
) -> None:
    with capsys.disabled(), tempfile.TemporaryDirectory(prefix="smoke-") as folder, on(Path(folder)) as system:
        system.faults = {name: system.faults[name] for name in sorted(FAULTS)}
        report = run(system, SEED, seconds=SECONDS, outcomes=OUTCOMES, gap=(1.0, 4.0), say=say)
        say(str(report))
    assert report.wrong == []
    assert (report.lost, report.doubled) == (0, 0)
    assert report.outcomes >= OUTCOMES
    assert report.faults.keys() == FAULTS
    assert report.resumed > 0
    assert "no difference" in report.verified

"""Everything is killed, paused, damaged and filled with nonsense; afterwards the boards are those of the log, outcome for outcome."""

import tempfile
from pathlib import Path

import pytest

from deploy.local.kafka.broker import missing
from tests.chaos.on_kafka import on_kafka
from tests.chaos.report import say
from tests.chaos.room import run

SEED = 20261122
OUTCOMES = 200_000
SECONDS = 110.0
pytestmark = [pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


@pytest.mark.skipif(bool(missing()), reason=f"no Kafka broker: {missing()}")
def test_nothing_is_lost_or_doubled(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        capsys.disabled(),
        tempfile.TemporaryDirectory(prefix="chaos-") as folder,
        on_kafka(Path(folder), brokers=1, ratings=True) as system,
    ):
        report = run(system, SEED, seconds=SECONDS, outcomes=OUTCOMES + 2_000, gap=(1.0, 4.0), say=say)
        say(str(report))
    assert report.wrong == []
    assert (report.lost, report.doubled) == (0, 0)
    assert report.outcomes >= OUTCOMES
    assert report.retracted > 0
    assert report.switches > 0
    assert report.faults.keys() == system.faults.keys()
    assert report.archived > report.records / 2
    assert report.consumed > 0
    assert report.consumed_solved > 0
    assert report.resumed > 0
    assert "no difference" in report.verified

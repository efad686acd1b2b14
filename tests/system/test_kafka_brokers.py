"""Brokers that go away: waited for, shared, and tidied up after."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log, LogError
from tests.support.kafka import RUN, kafka, leased_broker  # noqa: F401 - a fixture
from tests.support.log_laws import values
from tests.support.processes import child
from tests.support.waiting import PATIENCE, until

# kafka-python leaves a socket whose connecting failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.mark.smoke
def test_a_broker_that_goes_away_is_waited_for(kafka: str) -> None:  # noqa: F811 - asked for, so that this skips where no broker can be had
    with Broker() as broker:
        log = open_kafka_log(Connection(broker.bootstrap, timeout=10.0), 1)
        topic = log.outcomes
        topic.append(0, [(None, b"before")])
        reader = topic.reader({0: 0})
        assert values(reader.poll(PATIENCE, 10)[0]) == [b"before"]
        broker.kill()
        assert reader.poll(0.5, 10) == {}
        for call in (lambda: topic.append(0, [(None, b"lost?")]), lambda: topic.end(0)):
            with pytest.raises(LogError) as caught:
                call()
            assert caught.value.retriable
        broker.restart()
        _append_until_taken(log, b"after")
        found: list[bytes] = []

        def read() -> bool:
            found.extend(values(reader.poll(0.5, 10).get(0, [])))
            return b"after" in found

        until(read, "it is read")
        # What failed retriably may be there or not; what was acknowledged is, once and in order.
        assert [value for value in found if value != b"lost?"] == [b"after"]
        reader.close()
        log.close()


def _append_until_taken(log: Log, value: bytes) -> None:
    def taken() -> bool:
        try:
            log.outcomes.append(0, [(None, value)])
        except LogError as error:
            if not error.retriable:
                raise
            return False
        return True

    until(taken, "the record is taken")


def test_the_shared_broker_ends_with_its_last_user(kafka: str, tmp_path: Path) -> None:  # noqa: F811
    addresses: list[str] = []
    with leased_broker(tmp_path) as first:
        thread = threading.Thread(target=lambda: addresses.append(_lease_again(tmp_path)))
        thread.start()
        thread.join(PATIENCE)
        assert addresses == [first]
    until(lambda: not (tmp_path / "kafka.lease.address").exists(), "the broker ended")


def _lease_again(folder: Path) -> str:
    with leased_broker(folder) as bootstrap:
        return bootstrap


def test_a_killed_runner_leaves_no_broker_and_the_next_one_tidies_up(kafka: str, tmp_path: Path) -> None:  # noqa: F811
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [str(RUN), "--", "sleep", "100"]
    with child(subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)) as runner:
        broker = until(lambda: _child_java(runner.pid), "it started a broker")
        runner.send_signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{broker}/stat").exists(), "its broker ended")
    assert len(list(tmp_path.iterdir())) == 1
    done = subprocess.run([str(RUN), "--", "sh", "-c", "test -n $KAFKA_BOOTSTRAP && exit 7"], env=environment, check=False)
    assert done.returncode == 7
    assert list(tmp_path.iterdir()) == []


def _child_java(parent: int) -> int | None:
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split():
        if "kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace"):
            return int(pid)
    return None

"""Details of agents on a real broker and beside a real shard: what is kept, what is skipped, and that no fold notices them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.admin.backup import back_up, restore
from services.admin.erasure import erase_details
from services.backends import open_log
from services.control.details import AgentDetails, DetailsChange
from services.control.details_records import agent_key
from services.control.erasures import ErasureRequest, erased_name, matchers
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.log_laws import Backend, KafkaBackend, SqliteBackend
from tests.support.pools import pool_of
from tests.support.worker import counted, differences, play, store_of, until, working

POOL = simulated.POOL
MOST = 100_000


@pytest.fixture(params=["sqlite", "kafka"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    made = SqliteBackend(tmp_path) if request.param == "sqlite" else KafkaBackend(request.getfixturevalue("kafka"))
    yield made
    made.close()


def test_details_are_the_same_on_every_log(backend: Backend) -> None:
    log = backend.open()
    control = ControlLog(log.control, details=True)
    control.create_pool(pool_of("blitz"))
    changes = {f"agent-{i}": DetailsChange(display_name=f"Agent {i}", country="DE") for i in range(2500)}
    assert control.write_details("blitz", changes, 1.0, most_agents=MOST) == 2500
    assert control.write_details("blitz", {"agent-7": DetailsChange(country="FR")}, 2.0, most_agents=MOST) == 1
    assert control.write_details("blitz", {"agent-8": DetailsChange(display_name="Ann Lee")}, 3.0, most_agents=MOST) == 1
    other, plain = ControlLog(log.control, details=True), ControlLog(log.control)
    assert other.refresh().details.of("blitz").items() == control.known().details.of("blitz").items()
    assert (plain.refresh().pools.keys(), plain.known().position) == (other.known().pools.keys(), other.known().position)
    assert len(plain.known().details.of("blitz")) == 0
    request = ErasureRequest(pool="blitz", name=erased_name("agent-8", ()), by="case 1", time=4.0)
    control.append(request)
    erase_details(log.control, matchers([request]))
    newest = {}
    reader = log.control.reader({0: log.control.begin(0)})
    while reader.position(0) < log.control.end(0):
        newest |= {record.key: record.value for record in reader.poll(1.0, 1000).get(0, [])}
    reader.close()
    assert b"Ann Lee" not in newest[agent_key("blitz", "agent-8").encode()]
    for reading in (control, other, ControlLog(log.control, details=True)):
        assert reading.refresh().details.of("blitz").get("agent-8") is None
        assert reading.known().details.of("blitz").get("agent-7") == AgentDetails(display_name="Agent 7", country="FR")
        assert len(reading.known().details.of("blitz")) == 2499
        reading.close()
    plain.close()


def test_a_change_of_details_makes_no_generation_and_moves_no_digest(settings: Settings, log: Log) -> None:
    control = ControlLog(log.control, details=True)
    play(log, 0, 200)
    with working(settings, log):
        until(lambda: counted(settings, 200, 1), "published")
        with store_of(settings) as store:
            before = store.live.page(POOL, "elo", 0, 100)
        assert before is not None
        name = before.rows[0].agent
        assert control.write_details(POOL, {name: DetailsChange(display_name="Ann", hidden=True)}, 1.0, most_agents=MOST) == 1
        play(log, 200, 300)
        until(lambda: counted(settings, 300, 1), "published")
        with store_of(settings) as store:
            after = store.live.page(POOL, "elo", 0, 100)
        assert after is not None
        assert (after.head.generation, name in {row.agent for row in after.rows}) == (1, True)
        until(lambda: differences(settings, log) == [], "a checkpoint is compared with the log")
    assert list(control.refresh().generations[POOL]) == [1]


def test_a_backup_carries_details(settings: Settings, log: Log, tmp_path: Path) -> None:
    control = ControlLog(log.control, details=True)
    play(log, 0, 20)
    with working(settings, log):
        until(lambda: counted(settings, 20, 1), "published")
    control.write_details(POOL, {"rock": DetailsChange(country="DE", tags={"team": "red"})}, 1.0, most_agents=MOST)
    back_up(settings.data, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    restored = open_log(Settings(data=tmp_path / "again", partitions=settings.partitions), create=False)
    try:
        details = ControlLog(restored.control, details=True).refresh().details.of(POOL)
        assert json.dumps([name for name, _ in details.items()]) == '["rock"]'
        assert details.get("rock") == AgentDetails(country="DE", tags={"team": "red"})
    finally:
        restored.close()

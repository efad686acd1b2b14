"""Control records as the release before wrote them: skips, accepted losses and attempts are read with the meaning that they have now."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, Skipped, Takeover, Why, decode
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.shard.restarts import RestartCounter, isolated_at

LOST = b'{"type":"forgotten","partition":3,"position":20,"begin":30,"time":1.5}'
SKIPPED = b'{"type":"skipped","partition":3,"begin":40,"end":45,"time":2.5}'
OF_A_SLICE = b'{"type":"attempt","partition":3,"epoch":0,"begin":50,"end":60,"deaths":0,"time":3.5}'
ONE_DEATH = b'{"type":"attempt","partition":3,"epoch":0,"begin":51,"end":52,"deaths":1,"time":4.5}'
TWO_DEATHS = b'{"type":"attempt","partition":3,"epoch":0,"begin":51,"end":52,"deaths":2,"time":4.5}'
WITHDRAWN = b'{"type":"attempt","partition":3,"epoch":0,"begin":0,"end":0,"deaths":0,"time":5.5}'


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 4)) as log:
        yield log


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    with closing(ControlLog(log.control)) as control:
        control.append(Takeover(partition=3, owner="test", time=0.0))
        yield control


def test_an_accepted_loss_and_a_skip_are_skips(log: Log, control: ControlLog) -> None:
    assert decode(LOST) == Skipped(partition=3, begin=20, end=30, time=1.5, why=Why.LOST)
    assert decode(SKIPPED) == Skipped(partition=3, begin=40, end=45, time=2.5, why=Why.OPERATOR)
    log.control.append(0, [(b"once/1", LOST), (b"once/2", SKIPPED)])
    known = control.refresh().partitions
    assert known.skipped == {3: [(20, 30), (40, 45)]}
    assert [known.beyond(3, offset) for offset in (19, 20, 29, 30, 40)] == [19, 30, 30, 30, 45]


def test_a_partition_that_was_isolated_stays_isolated_until_somebody_decides(log: Log, control: ControlLog) -> None:
    log.control.append(0, [(b"attempt/3", OF_A_SLICE), (b"attempt/3", ONE_DEATH), (b"attempt/3", TWO_DEATHS)])
    assert isolated_at(3, control.refresh()) == 51
    assert control.known().partitions.restarts[3].count == MOST_RESTARTS + 1
    counter = RestartCounter(3, 0, control)
    counter.begin(48, 60)
    assert counter.isolated_offset == 51
    log.control.append(0, [(b"attempt/3", WITHDRAWN)])
    assert isolated_at(3, control.refresh()) is None


@pytest.mark.parametrize("value", [OF_A_SLICE, ONE_DEATH, WITHDRAWN])
def test_other_attempts_have_no_effect(log: Log, control: ControlLog, value: bytes) -> None:
    log.control.append(0, [(b"attempt/3", value)])
    assert isolated_at(3, control.refresh()) is None
    counter = RestartCounter(3, 0, control)
    counter.begin(48, 60)
    assert (counter.isolated_offset, control.refresh().partitions.restarts[3].count) == (None, 0)

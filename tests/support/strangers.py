"""Producers that know nothing of Equirank: they send JSON to the topic of outcomes, as any client of Kafka does."""

import json
from typing import Any, Self

from services.log.partition import partition_of
from tests.support import outcomes
from tests.support.cluster import PARTITIONS, SHARDS, Cluster
from tests.support.waiting import PATIENCE, until


def game(pool: str, identity: str, winner: str, loser: str, **fields: Any) -> dict[str, Any]:
    return outcomes.game(identity, winner, loser, pool=pool, time=1_764_547_200.0, **fields)


def pool_in(shard: int, stem: str) -> str:
    """A pool name whose partition belongs to `shard`."""
    return next(name for i in range(1000) if partition_of(name := f"{stem}-{i}", PARTITIONS) % SHARDS == shard)


class Stranger:
    """Sends JSON as any client of Kafka would: the pool's name is the key, the client's own partitioner finds the place."""

    def __init__(self, cluster: Cluster, compression: str | None = None) -> None:
        self._producer, self._topic = cluster.producer(compression), cluster.topic

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close()

    def send(self, pool: str, value: object, partition: int | None = None) -> tuple[int, int]:
        """Partition and offset of one record, durable. value: bytes as they are, anything else as JSON."""
        record = value if isinstance(value, bytes) else json.dumps(value).encode()
        found = self._producer.send(self._topic, key=pool.encode(), value=record, partition=partition).get(timeout=PATIENCE)
        return found.partition, found.offset


def visible(cluster: Cluster, pool: str, count: int) -> dict[str, Any]:
    until(lambda: cluster.counted(pool) == count, f"{count} outcomes of {pool} visible\n{cluster.output('engine')[-4000:]}")
    return cluster.head(pool)

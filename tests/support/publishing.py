"""Run a publisher round by round, on a fake store that counts calls and raises the errors that a test sets."""

import math
from collections import Counter
from collections.abc import Callable, Mapping

from services.boards.store.live import LiveBoards
from services.boards.store.protocol import Fence, LiveBoard, PoolHead, StoreError
from services.shard.partition import Partition
from services.shard.publishing.publisher import Publisher
from tests.support.boards import Content
from tests.support.waiting import PATIENCE

EPOCH = 7


class FakeStore:
    """Fake store.

    Attributes:
        asked: Pool -> number of publications, also failed ones.
        written: Pool -> number of successful publications.
        heads: Pool -> its newest head.
        boards: Pool -> its newest boards.
        stands: Pool -> fence that `published` returns.
        fails: Function of a pool's name that returns the error of its next publication, or None.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.heads: dict[str, PoolHead] = {}
        self.boards: dict[str, Mapping[str, LiveBoard]] = {}
        self.stands: dict[str, Fence] = {}
        self.fails: Callable[[str], StoreError | None] = lambda _: None

    def head(self, pool: str) -> PoolHead | None:
        return self.heads.get(pool)

    def publish(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        assert epoch == EPOCH
        assert "elo" in boards or head.stopped is not None or self.heads[head.pool].stopped is not None
        assert all(map(math.isfinite, (value for board in boards.values() for value in board.values)))
        self.asked[head.pool] += 1
        if (error := self.fails(head.pool)) is not None:
            raise error
        self.written[head.pool] += 1
        self.heads[head.pool], self.boards[head.pool] = head, boards
        return True

    def published(self, pool: str) -> Fence | None:
        return self.stands.get(pool)

    def pools(self) -> list[PoolHead]:
        return [self.heads[pool] for pool in sorted(self.heads)]

    def claimed(self, pool: str) -> int:
        return self.stands[pool].epoch if pool in self.stands else -1

    def is_interrupted(self, pool: str) -> bool:
        return False

    def forget(self, pool: str, epoch: int) -> bool:
        assert self.claimed(pool) <= epoch
        self.heads.pop(pool, None)
        self.stands.pop(pool, None)
        return True


def until_done(publisher: Publisher) -> None:
    """Wait until the running round has ended. The publisher processes its result in its next `step`."""
    if publisher._job is not None:
        publisher._job.exception(PATIENCE)


class Driver:
    """Runs rounds of a publisher, one after the other, on a simulated timer."""

    def __init__(self, store: FakeStore | LiveBoards, partition: Partition, superseded: bool = False, epoch: int = EPOCH) -> None:
        self.content = Content(superseded)
        self.publisher, self.partition, self.now = Publisher(store, 0.2, self.content), partition, 0.0
        self.epoch = epoch

    def round(self) -> None:
        self.publisher.step(self.now, {0: self.partition}, {0: self.epoch})
        until_done(self.publisher)
        self.publisher.step(self.now, {}, {})
        self.now += 0.25

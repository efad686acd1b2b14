"""What the room asks of an installation under test."""

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from tests.chaos.oracle import Letter, Record
from tests.chaos.traffic import Sent
from tests.support.ratings_topic import Table

Fault = Callable[[random.Random], None]


class System(Protocol):
    """An installation under test."""

    partitions: int
    faults: Mapping[str, Fault]
    """Name -> what injects it. Each returns once what it broke is repaired or restarts."""
    forgetful: Collection[str]
    """Faults after which the store is empty or older, so that positions may go back once."""
    k: Mapping[str, float]
    """Elo's K, by pool, where a fault changed it."""
    skipped: Collection[tuple[int, int]]
    """Partition and offset of records that an operator skipped."""
    checkpoints: str
    """URL of the checkpoints."""
    archive: str
    """URL of the archive."""

    @property
    def api(self) -> str:
        """Address of one API, for readers of streams. It can change when the API is started again."""

    def send(self, batch: Sequence[Sent]) -> list[bool]:
        """Which records the log accepted. One that it did not may be there all the same."""

    def ends(self) -> dict[int, int]:
        """One past the newest accepted offset of each partition that has any."""

    def log_ends(self) -> Mapping[int, int]:
        """End of each partition of the log, for the thread of the readers; empty while the log does not answer."""

    def heads(self) -> Mapping[str, PoolHead]:
        """What the store shows of every pool. Raises `StoreError` while it does not answer."""

    def reader(self) -> AbstractContextManager[RedisStore]:
        """A reader of the store, for one thread."""

    def board(self, pool: str, method: str) -> dict[str, float]:
        """A live board, whole."""

    def generations(self, pool: str) -> Any:
        """What the API says of the generations of a pool; None while it does not answer."""

    def records(self) -> Iterator[Record]:
        """All that is in the log, each partition in order."""

    def letters(self) -> Iterator[tuple[Letter, str]]:
        """Every dead letter delivered: its place and its reason."""

    def keep(self) -> Sequence[str]:
        """Start again what ended by itself and has nobody else who would; its names."""

    def ratings_table(self) -> Table | None:
        """The table of a consumer of the ratings topic, after shards have written all; None without this topic."""

    def verify(self) -> tuple[bool, str]:
        """Whether `equirank verify` finds no difference, and what it said."""

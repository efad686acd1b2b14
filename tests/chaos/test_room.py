"""The room itself: whoever it leans on and dies ends the run at once, instead of an account of half a run."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing

import pytest

from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from tests.chaos.oracle import Letter, Record
from tests.chaos.room import run
from tests.chaos.traffic import Sent


class EmptyStore:
    """A store without pools."""

    def __init__(self) -> None:
        self.live = self

    def pools(self) -> list[PoolHead]:
        return []

    def close(self) -> None:
        return


class Unwatched:
    """A system that takes all, and whose store gives what nobody can read."""

    partitions = 4

    def __init__(self, *, feeds: bool) -> None:
        self.feeds = feeds
        self.faults = {"nothing": self.nothing}
        self.forgetful: set[str] = set()
        self.k: dict[str, float] = {}
        self.skipped: set[tuple[int, int]] = set()
        self.checkpoints = self.archive = "memory://"

    @property
    def api(self) -> str:
        return "http://127.0.0.1:9"

    def nothing(self, _: random.Random) -> None:
        return

    def send(self, batch: Sequence[Sent]) -> list[bool]:
        if not self.feeds:
            raise RuntimeError("nobody can be fed")
        return [True] * len(batch)

    def ends(self) -> dict[int, int]:
        return {}

    def heads(self) -> Mapping[str, PoolHead]:
        if self.feeds:
            raise RuntimeError("nobody can read that")
        return {}

    def log_ends(self) -> Mapping[int, int]:
        return {}

    def reader(self) -> AbstractContextManager[RedisStore]:
        return closing(EmptyStore())  # type: ignore[arg-type, return-value, type-var]

    def board(self, pool: str, method: str) -> dict[str, float]:
        raise NotImplementedError

    def generations(self, pool: str) -> object:
        raise NotImplementedError

    def records(self) -> Iterator[Record]:
        raise NotImplementedError

    def letters(self) -> Iterator[tuple[Letter, str]]:
        raise NotImplementedError

    def keep(self) -> Sequence[str]:
        return ()

    def ratings_table(self) -> None:
        return None

    def verify(self) -> tuple[bool, str]:
        raise NotImplementedError


@pytest.mark.parametrize(("feeds", "who"), [(True, "watch"), (False, "feed")])
def test_a_thread_that_dies_ends_the_run_at_once(feeds: bool, who: str) -> None:
    with pytest.raises(AssertionError, match=f"the {who} thread died"):
        run(Unwatched(feeds=feeds), 1, seconds=3600.0, outcomes=1000, gap=(600.0, 600.0), say=lambda _: None)

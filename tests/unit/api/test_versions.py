"""Versions of more pools than are remembered."""

from collections.abc import Iterable
from typing import Any

from services.boards.store.connection import Command
from services.boards.store.keys import Keys
from services.boards.store.seen import Seen
from services.boards.store.versions import Versions


class Pipeline:
    """Every pool has one solved board."""

    def get(self, _: str) -> str:
        return "head"

    def smembers(self, _: str) -> set[str]:
        return {"copeland"}

    def sismember(self, *_: str) -> int:
        return 1

    def hget(self, *_: str) -> str:
        return "version"


class Connection:
    """Counts round trips; none comes after the last one allowed."""

    def __init__(self, most: int) -> None:
        self.left = most

    def pipeline(self, commands: Iterable[Command], *, skip_garbage: bool) -> list[Any]:
        assert skip_garbage
        self.left -= 1
        assert self.left >= 0, "the reading does not end"
        return [command(Pipeline()) for command in commands]


def test_a_reading_of_more_pools_than_are_remembered_ends() -> None:
    versions = Versions(Connection(most=4), Keys("log"), Seen())  # type: ignore[arg-type]
    pools = [f"p{i}" for i in range(20_001)]
    for _ in range(2):
        found = versions.read(pools)
        assert list(found) == pools
        assert found["p7"].solved == {"copeland": "version/version"}, "season and version"

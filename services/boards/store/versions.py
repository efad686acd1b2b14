"""Versions of pools' boards. A reader compares them to decide whether an answer that it built earlier is still valid."""

from collections.abc import Collection
from operator import methodcaller
from typing import Final

from services.boards.store.connection import Command, Connection
from services.boards.store.keys import Keys
from services.boards.store.protocol import PoolVersion
from services.boards.store.seen import Seen
from services.wire.pools import check_pool_name

_KNOWN_POOLS: Final = 20_000
"""Largest number of pools whose methods are remembered: twice the default limit of pools in an installation."""


class Versions:
    """Reads versions of several pools in one round trip. The methods of pools are remembered from earlier reads."""

    def __init__(self, connection: Connection, keys: Keys, seen: Seen) -> None:
        self._redis, self._keys, self._seen = connection, keys, seen
        self._methods: dict[str, tuple[str, ...]] = {}

    def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
        """Pool -> its version. Raises `StoreError`, `InputError`."""
        if len(self._methods) > _KNOWN_POOLS:
            self._methods.clear()  # before the loop, which needs the methods that it remembers
        versions: dict[str, PoolVersion] = {}
        left = [check_pool_name(pool) for pool in pools]
        while left:
            expected = {pool: self._methods.get(pool, ()) for pool in left}
            commands = [command for pool in left for command in self._asked(pool, expected[pool])]
            answers = iter(self._redis.pipeline(commands, skip_garbage=True))
            changed = []
            for pool in left:
                head, members, listed, season, sliced = (next(answers) for _ in range(5))
                found = [(method, next(answers)) for method in expected[pool]]
                boards = {method: None if version is None else in_season(version, season) for method, version in found}
                methods = self._methods[pool] = tuple(sorted(members or ()))
                if methods != expected[pool]:
                    changed.append(pool)
                    continue
                versions[pool] = PoolVersion(head, boards, bool(listed), None if sliced is None else in_season(sliced, season))
                if head is not None:
                    self._seen.note(pool, methods)
            left = changed
        return versions

    def _asked(self, pool: str, methods: Collection[str]) -> list[Command]:
        keys = self._keys
        shared = [
            methodcaller("get", keys.head(pool)),
            methodcaller("smembers", keys.methods(pool)),
            methodcaller("sismember", keys.pools, pool),
            methodcaller("hget", keys.fence(pool), "season"),
            methodcaller("hget", keys.sliced(pool), ""),
        ]
        return [*shared, *(methodcaller("hget", keys.solved(pool, method), "version") for method in methods)]


def in_season(version: str, season: str | None) -> str:
    """Version of a solved board as readers see it: with another season, an equal board may be hidden.

    season: the first generation of the season, as the fence has it; None for the first season.
    """
    return f"{season or 1}/{version}"

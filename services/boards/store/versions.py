"""Which publication stands of a pool: what tells a reader whether an answer that it built earlier is still the newest."""

from collections.abc import Collection

from services.boards.store.connection import Command, Connection, command_of
from services.boards.store.keys import Keys
from services.boards.store.protocol import PoolVersion
from services.wire.pools import check_pool_name


class Versions:
    """Looks versions up, several pools in one round trip."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._redis, self._keys = connection, keys
        self._methods: dict[str, tuple[str, ...]] = {}

    def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
        """The versions of `pools`, by name. Raises `StoreError`, `InputError`."""
        found: dict[str, PoolVersion] = {}
        left = [check_pool_name(pool) for pool in pools]
        while left:
            expected = {pool: self._methods.get(pool, ()) for pool in left}
            commands = [command for pool in left for command in self._asked(pool, expected[pool])]
            answers = iter(self._redis.pipeline(commands, skip_garbage=True))
            changed = []
            for pool in left:
                head, members, listed = next(answers), next(answers), next(answers)
                boards = {method: next(answers) for method in expected[pool]}
                methods = self._methods[pool] = tuple(sorted(members or ()))
                if methods != expected[pool]:
                    changed.append(pool)
                    continue
                found[pool] = PoolVersion(head, boards, bool(listed))
            self._forget_unused()
            left = changed
        return found

    def _forget_unused(self) -> None:
        if len(self._methods) > 20_000:  # twice as many as an installation has pools by default
            self._methods.clear()

    def _asked(self, pool: str, methods: Collection[str]) -> list[Command]:
        keys = self._keys
        shared = [command_of("get", keys.head(pool)), command_of("smembers", keys.methods(pool)), command_of("sismember", keys.pools, pool)]
        return [*shared, *(command_of("hget", keys.solved(pool, method), "version") for method in methods)]

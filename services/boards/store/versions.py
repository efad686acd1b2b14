"""Which publication stands of a pool: what tells a reader whether an answer that it built earlier is still the newest."""

from collections.abc import Collection

from services.boards.store import keys
from services.boards.store.connection import Command, Connection, command_of
from services.boards.store.live import held_by
from services.boards.store.protocol import PoolVersion
from services.wire.pools import check_pool_name


class Versions:
    """Looks versions up, several pools in one round trip. log: identity of the reader's log, empty where it is not known."""

    def __init__(self, connection: Connection, log: str = "") -> None:
        self._redis, self._log = connection, log
        self._methods: dict[str, tuple[str, ...]] = {}

    def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
        """The versions of `pools`, by name. Raises `StoreError`, `InputError`."""
        found: dict[str, PoolVersion] = {}
        left = [check_pool_name(pool) for pool in pools]
        while left:
            expected = {pool: self._methods.get(pool, ()) for pool in left}
            commands = [command for pool in left for command in _asked(pool, expected[pool])]
            answers = iter(self._redis.pipeline(commands, skip_garbage=True))
            changed = []
            for pool in left:
                holder, head, members, listed = next(answers), next(answers), next(answers), next(answers)
                pointers = {method: tuple(next(answers) or ()) for method in expected[pool]}
                methods = self._methods[pool] = tuple(sorted(members or ()))
                if methods != expected[pool]:
                    changed.append(pool)
                    continue
                visible = head is not None and self._log in ("", holder)
                found[pool] = PoolVersion(head if visible else None, holder, pointers, bool(listed))
            self._forget_unused()
            left = changed
        return found

    def _forget_unused(self) -> None:
        if len(self._methods) > 20_000:  # twice as many as an installation has pools by default
            self._methods.clear()


def _asked(pool: str, methods: Collection[str]) -> list[Command]:
    pointers: list[Command] = [command_of("hmget", keys.solved(pool, method), ["version", "log"]) for method in methods]
    shared = [command_of("get", keys.head(pool)), command_of("smembers", keys.methods(pool)), command_of("sismember", keys.POOLS, pool)]
    return [held_by(pool), *shared, *pointers]

"""The logs whose boards are in one Redis: when their engines last registered, and the removal of a log's keys by a person."""

import re
from collections import Counter
from collections.abc import Iterator
from operator import methodcaller
from typing import Final, NamedTuple

from ratings_core.errors import InputError
from services.boards.store.connection import Connection
from services.boards.store.keys import LOGS, Keys
from services.boards.store.protocol import StoreError

ALIVE_SECONDS: Final = 300
"""An engine counts as running if it has registered within this time. Engines register every minute."""
_KEYS_A_SCAN: Final = 1000
_FULL: Final = 0.95
"""From this part of its memory on, a store may refuse registrations. So an engine may be running that has not registered for long."""
_REMOVE: Final = """
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if #ARGV > 2 then redis.call('UNLINK', unpack(ARGV, 3)) else redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1
"""
"""Remove the named keys, or without names the registration, unless the log's engine has registered since."""
_LOG_OF_A_KEY: Final = re.compile(r"equirank:([^{]+):(?:\{|pools$|folding$)")


class HeldLog(NamedTuple):
    """A log that has keys in the store, or whose engine has registered there.

    Attributes:
        log: Identity of the log.
        seen_ago: Seconds since its engine last registered; None if the store has no registration.
        pools: Number of pools with published boards.
        keys: Number of keys.
    """

    log: str
    seen_ago: int | None
    pools: int
    keys: int


def register(connection: Connection, log: str) -> None:
    """Record that the log's engine is running now."""
    now = _now(connection)
    connection.run(lambda client: client.hset(LOGS, log, now))


def written_logs(connection: Connection) -> list[str]:
    """Identities of all logs that are registered in this Redis and were not removed."""
    return sorted(connection.run(lambda client: client.hkeys(LOGS)))


def held_logs(connection: Connection) -> list[HeldLog]:
    """All logs in the store, by identity. It scans all keys of the store once."""
    keys = Counter(match[1] for names in _scan(connection, "equirank:*") for name in names if (match := _LOG_OF_A_KEY.match(name)))
    now, seen = _now(connection), connection.run(lambda client: client.hgetall(LOGS))
    logs = sorted(keys.keys() | seen.keys())
    pools: list[int] = connection.pipeline(methodcaller("scard", Keys(log).pools) for log in logs) if logs else []
    return [HeldLog(log, now - int(seen[log]) if log in seen else None, count, keys[log]) for log, count in zip(logs, pools, strict=True)]


def forget(connection: Connection, log: str, own: str | None, *, engine_is_gone: bool = False) -> HeldLog:
    """Remove all keys of a log, at most 1,000 at a time, and then its registration. After an interruption, call it again.

    Args:
        connection: To the store.
        log: Identity of the log.
        own: Identity of the caller's log, which is refused; None if the caller has none.
        engine_is_gone: The caller knows that the log's engine does not run. Needed if the store is full.

    Returns:
        What the store held of the log before.

    Raises:
        InputError: The log is `own`, its engine is running or may be running, or the store holds nothing of it.
        StoreError: The store does not answer, or the log's engine registered during the removal.
    """
    if log == own:
        raise InputError("LOG", log, "must not be the log of this installation, whose engine writes its boards again")
    seen = connection.run(lambda client: client.hget(LOGS, log)) or ""
    held = {held_log.log: held_log for held_log in held_logs(connection)}
    if log not in held:
        raise InputError("LOG", log, f"must be a log in the store (there are: {', '.join(held) or 'none'})")
    if (ago := held[log].seen_ago) is not None and ago < ALIVE_SECONDS:
        raise InputError("LOG", log, f"must not have a running engine (it registered {ago} s ago): stop it, and wait {ALIVE_SECONDS} s")
    if not engine_is_gone and _is_full(connection):
        rule = (
            "must have no running engine, and a full store cannot register one: if the engine of this log is stopped, add --engine-is-gone"
        )
        raise InputError("LOG", log, rule)
    for names in _scan(connection, Keys(log).pattern):
        _remove(connection, log, seen, names)
    _remove(connection, log, seen, [])
    return held[log]


def _remove(connection: Connection, log: str, seen: str, names: list[str]) -> None:
    """Remove keys of a log; without names, its registration. Raises `StoreError` if its engine did not register last at `seen`."""
    if not connection.run(lambda client: client.eval(_REMOVE, 1, LOGS, log, seen, *names)):
        msg = f"the engine of {log} was started during the removal: it writes its boards again; to forget them, stop it first"
        raise StoreError(msg, retriable=False)


def _is_full(connection: Connection) -> bool:
    memory = connection.run(lambda client: client.info("memory"))
    return bool(0 < _FULL * memory["maxmemory"] <= memory["used_memory"])


def _scan(connection: Connection, pattern: str) -> Iterator[list[str]]:
    """All keys of a glob pattern, about 1,000 at a time. Keys that are written during the scan may be left out."""
    cursor, names = connection.run(methodcaller("scan", 0, pattern, _KEYS_A_SCAN))
    while True:
        if names:
            yield names
        if int(cursor) == 0:
            return
        cursor, names = connection.run(methodcaller("scan", cursor, pattern, _KEYS_A_SCAN))


def _now(connection: Connection) -> int:
    """Seconds since 1970 by the server's clock, which all engines share."""
    return int(connection.run(lambda client: client.time())[0])

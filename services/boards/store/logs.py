"""The logs whose boards are in one Redis. If the engine of a log is gone, the engine of another log removes its keys."""

from operator import methodcaller
from typing import Final

from services.boards.store.connection import Connection
from services.boards.store.keys import LOGS, Keys

GONE_SECONDS: Final = 3600
"""An engine counts as gone if it has not registered for so long. If it returns, it writes all of its boards again."""
_KEYS_A_SCAN: Final = 1000
_SCANS_A_ROUND: Final = 100
"""Largest number of scans in one round, which bounds its time. A Redis with millions of keys takes several rounds."""
_FORGET: Final = "return redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] and redis.call('HDEL', KEYS[1], ARGV[1]) or 0"


class Logs:
    """Registers the engine of one log, and removes the keys of logs whose engine is gone."""

    def __init__(self, connection: Connection, log: str) -> None:
        self._redis, self._log = connection, log
        self._scans: dict[str, tuple[int, bool]] = {}
        """Log -> cursor of the unfinished scan for its keys, and whether the scan has found no key so far."""

    def register(self) -> None:
        """Record that this log's engine is running now."""
        now = self._now()
        self._redis.run(lambda client: client.hset(LOGS, self._log, now))

    def remove_gone(self) -> list[str]:
        """Remove keys of the first log whose engine is gone. Returns the log once it has no keys left, which may take several rounds."""
        now = self._now()
        seen: dict[str, str] = self._redis.run(lambda client: client.hgetall(LOGS))
        gone = sorted(log for log, at in seen.items() if log != self._log and now - int(at) >= GONE_SECONDS)
        self._scans = {log: scan for log, scan in self._scans.items() if log in gone}
        return [log for log in gone[:1] if self._remove(log, seen[log])]

    def _now(self) -> int:
        """Seconds since 1970 by the server's clock, which all engines share."""
        return int(self._redis.run(lambda client: client.time())[0])

    def _remove(self, log: str, seen: str) -> bool:
        """Remove keys of a log. Returns whether a complete scan found no key any more.

        seen: When the log's engine last registered. If it registered again, nothing more is removed.
        """
        cursor, clean = self._scans.pop(log, (0, True))
        for _ in range(_SCANS_A_ROUND):
            cursor, names = self._redis.run(methodcaller("scan", cursor, Keys(log).pattern, _KEYS_A_SCAN))
            if names:
                if self._redis.run(lambda client: client.hget(LOGS, log)) != seen:
                    return False
                self._redis.run(methodcaller("unlink", *names))
                clean = False
            if int(cursor) == 0:
                if clean:
                    return bool(self._redis.run(lambda client: client.eval(_FORGET, 1, LOGS, log, seen)))
                clean = True  # scan again: a key may have been written where this scan had already passed
        self._scans[log] = int(cursor), clean
        return False


def written_logs(connection: Connection) -> list[str]:
    """Identities of all logs that are registered in this Redis and were not removed."""
    return sorted(connection.run(lambda client: client.hkeys(LOGS)))

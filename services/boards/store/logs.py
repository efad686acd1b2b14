"""Which logs have boards in one Redis. The keys of a log whose engine is gone are removed by the engine of another."""

from typing import Final

from services.boards.store.connection import Connection
from services.boards.store.keys import LOGS, Keys

GONE_SECONDS: Final = 3600
"""A log whose engine was not here for so long is gone. Its engine would write all of its boards again."""
_KEYS_A_SCAN: Final = 1000
_SCANS_A_ROUND: Final = 100
"""Bounds the time of a round: a Redis of millions of keys is gone through in several ones."""


class Logs:
    """Registers the engine of one log, and removes the keys of logs whose engine is gone."""

    def __init__(self, connection: Connection, log: str) -> None:
        self._redis, self._log = connection, log
        self._cursors: dict[str, int] = {}

    def register(self) -> None:
        """Note that this log's engine is here."""
        now = self._now()
        self._redis.run(lambda client: client.hset(LOGS, self._log, now))

    def remove_gone(self) -> list[str]:
        """Remove the keys of logs whose engine is gone. Returns those of which nothing is left: a large one takes several rounds."""
        now = self._now()
        seen: dict[str, str] = self._redis.run(lambda client: client.hgetall(LOGS))
        return [log for log, at in seen.items() if log != self._log and now - int(at) >= GONE_SECONDS and self._remove(log)]

    def _now(self) -> int:
        """Seconds since 1970 by the server's clock, which all engines share."""
        return int(self._redis.run(lambda client: client.time())[0])

    def _remove(self, log: str) -> bool:
        """Whether the scan for the log's keys came to its end."""
        cursor = self._cursors.pop(log, 0)
        for _ in range(_SCANS_A_ROUND):
            cursor = self._remove_part(log, cursor)
            if cursor == 0:
                self._redis.run(lambda client: client.hdel(LOGS, log))
                return True
        self._cursors[log] = cursor
        return False

    def _remove_part(self, log: str, cursor: int) -> int:
        """Remove the log's keys in the next part of the scan; the cursor of the part after it, 0 after the last one."""
        following, names = self._redis.run(lambda client: client.scan(cursor, Keys(log).pattern, _KEYS_A_SCAN))
        if names:
            self._redis.run(lambda client: client.unlink(*names))
        return int(following)


def written_logs(connection: Connection) -> list[str]:
    """Identities of the logs whose engines have been at this Redis, and whose keys were not removed."""
    return sorted(connection.run(lambda client: client.hkeys(LOGS)))

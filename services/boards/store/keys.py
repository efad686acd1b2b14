"""Key layout of the Redis store.

Every key of a log begins with `equirank:LOG`, LOG being the log's identity, so two logs share no key; only `Logs` removes keys of another
log. A pool's keys share one cluster slot, because only the pool's name stands in braces. Agents are members and values, never part of a
key.

- equirank:logs  hash: identity of a log -> when its engine was here last, seconds since 1970
- equirank:LOG:pools  set of pool names
- equirank:LOG:folding  hash: partition -> "EPOCH TIME HEARTBEAT" of its owner
- equirank:LOG:{pool}:fence  hash: epoch and token that hold the pool; committed epoch, generation, position
- equirank:LOG:{pool}:head  string: PoolHead as JSON
- equirank:LOG:{pool}:boards  set of "generation/method", every live board that has a key
- equirank:LOG:{pool}:live:GENERATION:METHOD  sorted set: agent -> minus its rating (ascending: best first, ties by name)
- equirank:LOG:{pool}:beliefs:GENERATION:METHOD  hash: agent -> deviation (or "deviation wander since") of its belief; of methods that
  hold them
- equirank:LOG:{pool}:methods  set of solved methods
- equirank:LOG:{pool}:solved:METHOD  hash: generation, position, version, total, board (JSON without agents' rows)
- equirank:LOG:{pool}:history:METHOD  list: `Kept` of `services.boards.history` as JSON, oldest first, each without and then with its rows
- equirank:LOG:{pool}:rows:METHOD:VERSION  list: AgentRow as JSON, best first
- equirank:LOG:{pool}:index:METHOD:VERSION  hash: agent -> its index in the list
"""

import re
from typing import Final

from ratings_core.errors import InputError

LOGS: Final = "equirank:logs"
METHOD_PATTERN: Final = r"[a-z][a-z0-9_]{0,62}"
_METHOD = re.compile(METHOD_PATTERN)


def check_method(method: str) -> str:
    """`method` itself when it may stand in a key; raises `InputError` otherwise."""
    if not _METHOD.fullmatch(method):
        raise InputError("method", method, "must be a-z 0-9 _, starting with a letter, at most 63 characters")
    return method


class Keys:
    """Names of the keys of the log with this identity."""

    def __init__(self, log: str) -> None:
        self._prefix = f"equirank:{log}:"

    @property
    def pattern(self) -> str:
        """Glob pattern of all keys of the log. Identities of logs hold no character that globs give a meaning to."""
        return f"{self._prefix}*"

    @property
    def pools(self) -> str:
        """Names of the pools that were published."""
        return f"{self._prefix}pools"

    @property
    def folding(self) -> str:
        """Heartbeats of the shards that fold the log."""
        return f"{self._prefix}folding"

    def fence(self, pool: str) -> str:
        """Who holds a pool."""
        return self._of(pool, "fence")

    def head(self, pool: str) -> str:
        """A pool's `PoolHead`."""
        return self._of(pool, "head")

    def boards(self, pool: str) -> str:
        """Which live boards a pool has."""
        return self._of(pool, "boards")

    def live(self, pool: str, generation: int, method: str) -> str:
        """One live board."""
        return self._of(pool, f"live:{generation}:{method}")

    def beliefs(self, pool: str, generation: int, method: str) -> str:
        """Beliefs about the agents of one live board."""
        return self._of(pool, f"beliefs:{generation}:{method}")

    def methods(self, pool: str) -> str:
        """Which methods are solved."""
        return self._of(pool, "methods")

    def solved(self, pool: str, method: str) -> str:
        """The pointer to a solved board."""
        return self._of(pool, f"solved:{method}")

    def history(self, pool: str, method: str) -> str:
        """The kept solves of a method."""
        return self._of(pool, f"history:{method}")

    def rows(self, pool: str, method: str, version: str) -> str:
        """Rows of one version of a solved board."""
        return self._of(pool, f"rows:{method}:{version}")

    def index(self, pool: str, method: str, version: str) -> str:
        """Where each agent stands in those rows."""
        return self._of(pool, f"index:{method}:{version}")

    def _of(self, pool: str, name: str) -> str:
        return f"{self._prefix}{{{pool}}}:{name}"

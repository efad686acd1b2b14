"""Key layout of the Redis store.

Every key of a log begins with `equirank:LOG`, where LOG is the log's identity, so two logs share no key. Only
`equirank store forget` removes keys of another log. All keys of a pool are in one cluster slot, because the pool's name is the only
part in braces. Names of agents are members and values, never part of a key.

- equirank:logs  hash: identity of a log -> when its engine last registered, in seconds since 1970
- equirank:LOG:pools  set of pool names
- equirank:LOG:folding  hash: partition -> "EPOCH TIME HEARTBEAT" of its owner
- equirank:LOG:{pool}:fence  hash: epoch and token of the newest writer; committed epoch, generation and position; first generation of
  the season
- equirank:LOG:{pool}:head  string: PoolHead as JSON
- equirank:LOG:{pool}:boards  set of "generation/method", every live board that has a key
- equirank:LOG:{pool}:live:GENERATION:METHOD  sorted set: settled agent -> minus its rating (ascending: best first, ties by name)
- equirank:LOG:{pool}:provisional:GENERATION:METHOD  the same of provisional agents; no agent is in both
- equirank:LOG:{pool}:beliefs:GENERATION:METHOD  hash: agent -> deviation (or "deviation wander since") of its belief; only for methods
  that hold beliefs
  The METHOD of a slice's boards, live and solved, is METHOD~DIMENSION~HASH
- equirank:LOG:{pool}:methods  set of solved methods
- equirank:LOG:{pool}:sliced  hash: name of each solved board of a slice -> its version. The field '' changes with each of them
- equirank:LOG:{pool}:solved:METHOD  hash: generation, position, sequence, version, total, board (JSON without agents' rows). After the
  removal of the board, it has only the sequence below which no board is accepted, for some hours
- equirank:LOG:{pool}:history:METHOD  list, oldest solve first: for each solve `Past`, then `KeptSolve` (`services.boards.history`) as JSON
- equirank:LOG:{pool}:erasing  string: number of solved boards that may still show an erased name; it expires
- equirank:LOG:{pool}:rows:METHOD:VERSION  list: AgentRow as JSON, best first
- equirank:LOG:{pool}:index:METHOD:VERSION  hash: agent -> its index in the list
"""

import re
from typing import Final

from ratings_core.errors import InputError
from ratings_core.records.tag_keys import TAG_KEY

LOGS: Final = "equirank:logs"
METHOD_PATTERN: Final = r"[a-z][a-z0-9_]{0,62}"
_BOARD: Final = re.compile(rf"{METHOD_PATTERN}(~{TAG_KEY}~[0-9a-f]{{16}})?")
"""Names of boards: of methods, and of slices (`services.boards.slice_boards`)."""


def check_method(method: str) -> str:
    """`method` itself if it is valid in a key. Raises `InputError` otherwise."""
    if not _BOARD.fullmatch(method):
        raise InputError("method", method, "must be a-z 0-9 _, starting with a letter, at most 63 characters")
    return method


class Keys:
    """Names of the keys of the log with this identity.

    Attributes:
        pattern: Glob pattern of all keys of the log. Identities of logs contain no special characters of globs.
        pools: Key of the names of published pools.
        folding: Key of the heartbeats of the log's shards.
    """

    def __init__(self, log: str) -> None:
        self._prefix = f"equirank:{log}:"
        self.pattern, self.pools, self.folding = (f"{self._prefix}{name}" for name in ("*", "pools", "folding"))

    def fence(self, pool: str) -> str:
        """Key of a pool's fence: its newest writer and what that committed."""
        return self._of(pool, "fence")

    def head(self, pool: str) -> str:
        """Key of a pool's `PoolHead`."""
        return self._of(pool, "head")

    def boards(self, pool: str) -> str:
        """Key of the set of a pool's live boards."""
        return self._of(pool, "boards")

    def live(self, pool: str, generation: int, method: str) -> str:
        """Key of the settled agents of a live board."""
        return self._of(pool, f"live:{generation}:{method}")

    def provisional(self, pool: str, generation: int, method: str) -> str:
        """Key of the provisional agents of a live board."""
        return self._of(pool, f"provisional:{generation}:{method}")

    def beliefs(self, pool: str, generation: int, method: str) -> str:
        """Key of the beliefs about the agents of a live board."""
        return self._of(pool, f"beliefs:{generation}:{method}")

    def methods(self, pool: str) -> str:
        """Key of the set of a pool's solved methods."""
        return self._of(pool, "methods")

    def sliced(self, pool: str) -> str:
        """Key of the names and versions of the solved boards of a pool's slices."""
        return self._of(pool, "sliced")

    def solved(self, pool: str, method: str) -> str:
        """Key of the pointer to a solved board."""
        return self._of(pool, f"solved:{method}")

    def history(self, pool: str, method: str) -> str:
        """Key of the kept solves of a method."""
        return self._of(pool, f"history:{method}")

    def erasing(self, pool: str) -> str:
        """Key of the number of a pool's solved boards that may still show an erased name."""
        return self._of(pool, "erasing")

    def rows(self, pool: str, method: str, version: str) -> str:
        """Key of the rows of one version of a solved board."""
        return self._of(pool, f"rows:{method}:{version}")

    def index(self, pool: str, method: str, version: str) -> str:
        """Key of the index of each agent in these rows."""
        return self._of(pool, f"index:{method}:{version}")

    def _of(self, pool: str, name: str) -> str:
        return f"{self._prefix}{{{pool}}}:{name}"

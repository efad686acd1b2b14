"""Agents of a pool that a real shard folds: the index of its checkpoints, beside the boards of its store."""

from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.agent_opponents import opponent_list
from services.boards.agent_profile import profile
from services.boards.agent_search import AgentList, agent_list
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.worker import counted, play, store_of, until, working

POOL = simulated.POOL
NAME = "pebble"


def indexed(settings: Settings, generation: int, outcomes: int) -> tuple[PoolHead, AgentIndex] | None:
    """The head of the generation and its index, if the checkpoint has as many outcomes; else None."""
    with store_of(settings) as store:
        head = store.live.head(POOL)
    if head is None or head.generation != generation:
        return None
    try:
        index = AgentIndex.load(CheckpointStore(settings.checkpoint_url), head)
    except NoIndex:
        return None
    return (head, index) if index.entry.outcomes == outcomes else None


def searched(settings: Settings, head: PoolHead, index: AgentIndex, query: str) -> AgentList:
    with store_of(settings) as store:
        return agent_list(store, head, index, query=query, count=200)


def test_agents_of_checkpoints_agree_with_the_store_and_erased_names_are_not_found(settings: Settings, log: Log) -> None:
    control = ControlLog(log.control)
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: counted(settings, 300, 1), "published")
        head, index = until(lambda: indexed(settings, 1, 300), "a checkpoint")
        everybody = searched(settings, head, index, "")
        assert len(everybody.agents) == everybody.total == head.agents == len(index)
        with store_of(settings) as store:
            for row in everybody.agents:
                one = profile(store, head, index, row.agent, now=0.0)
                met = opponent_list(store, head, index, row.agent, now=0.0, count=200)
                assert one is not None
                assert one.games is not None
                assert met is not None
                assert (one.outcomes, one.methods["elo"].rank, one.games.games) == (row.outcomes, row.rank, float(row.outcomes))
                assert sum(opponent.games for opponent in met.opponents) == row.outcomes
                assert (met.opponents[0].expected_score or 0.0) > 0.0
        assert [row.agent for row in searched(settings, head, index, NAME.upper()).agents] == [NAME]
        erased = erased_name(NAME, ())
        control.append(ErasureRequest(pool=POOL, name=erased, by="ann", time=1.0))
        head, index = until(lambda: indexed(settings, 2, 300), "a checkpoint of generation 2")
        assert (index.find(NAME), index.find(erased.token) is not None) == (None, True)
        after = searched(settings, head, index, NAME)
        assert (after.agents, [name for name in after.suggestions if name == NAME]) == ([], [])
        assert len(searched(settings, head, index, "").agents) == len(everybody.agents)

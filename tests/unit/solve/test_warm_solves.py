"""Solves of a pool that start from the result before: the same answer within the certificate's tolerance, sooner."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ratings_core.methods.registry import METHODS
from ratings_core.solution import Start
from services.boards.result import VERSION, SolvedBoard
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import FoldSettings, Generation, PoolCreated
from services.solve.registry.methods import Solved
from services.solve.registry.starts import packed, unpacked
from services.solve.results import ResultFiles
from services.solve.worker.tasks import solve_pool
from services.state.pool import PoolState
from services.wire.events import ScoreEvent
from services.wire.pools import Kind
from tests.support.folds import fold_events

WARM = [name for name, method in METHODS.items() if method.starts]
MEMORY = 1 << 30
AGENTS, TASKS = 10, 7


def scores(tasks: range, agents: int, seed: int) -> list[ScoreEvent]:
    table = np.random.default_rng(seed).beta(0.5, 0.5, size=(AGENTS + 3, 2 * TASKS))
    named = {task: {f"a{i}": float(table[i, task]) for i in range(agents)} for task in tasks}
    return [ScoreEvent(v=1, id=f"{task}/{agents}", pool="p", time=0.0, task=f"t{task}", scores=row) for task, row in named.items()]


class Pool:
    """Scores checkpointed as they come."""

    def __init__(self, folder: Path) -> None:
        made = Generation(pool="p", number=1, start=0, time=0.0, fold=FoldSettings())
        self.state = PoolState(PoolCreated(pool="p", kind=Kind.SCORES, time=0.0), made)
        self.checkpoints, self.url = CheckpointStore(folder.as_uri()), folder.as_uri()

    def add(self, events: list[ScoreEvent]) -> bytes:
        assert fold_events(self.state, events) == []
        name = f"objects/{self.state.content.counts['outcomes']}"
        sha256, size = self.checkpoints.write_object(name, self.state.arrays(), {})
        entry = PoolEntry(pool="p", kind="scores", generation=1, position=0, outcomes=0, object=name, sha256=sha256, bytes=size, digest="")
        return msgspec.json.encode(entry)

    def solve(self, entry: bytes, method: str, previous: str | None, **parameters: Any) -> Solved:
        return solve_pool(self.url, entry, method, parameters, MEMORY, previous)

    def keep(self, solved: Solved, **changed: Any) -> str:
        board = SolvedBoard(pool="p", generation=1, position=0, outcomes=0, data="", parameters={}, solved_at=0.0, result=solved.result,
                            start=solved.start, version=VERSION)  # fmt: skip
        return ResultFiles(self.checkpoints.blobs, 10).write(msgspec.structs.replace(board, **changed))


def ratings(solved: Solved) -> dict[str, float | None]:
    return {row.agent: row.rating for row in solved.result.agents} | {row.task: row.rating for row in solved.result.tasks}


def work(solved: Solved) -> float:
    stats: Any = solved.result.extra["stats"]
    return float(sum(stats.get(name, 0) for name in ("iterations", "evaluations", "newton_steps")))


def test_methods_that_start_from_the_answer_before_are_those_whose_ratings_it_cannot_change() -> None:
    """Payoff ratings are read off one equilibrium of many, the path to a limiting logit equilibrium and a descent of soft Condorcet's loss
    depend on where they begin, and so do Fenchel-Young fits where the box holds somebody: there a start would decide the answer.
    """
    lotteries = {"maximal_lottery", "iterated_maximal_lotteries", "nash_average", "nash_average_agents"}
    assert set(WARM) == {"bradley_terry", "cce", "deviation", *lotteries}


@pytest.mark.parametrize("method", WARM)
@pytest.mark.parametrize("change", ["nothing", "tasks", "agents", "other parameters", "another version"])
def test_the_answer_is_the_same_and_a_like_problem_takes_less_work(method: str, change: str, tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    entry = pool.add(scores(range(TASKS), AGENTS, seed=3))
    first = pool.solve(entry, method, None)
    changed = {"other parameters": {"parameters": {"merge": False}}, "another version": {"version": "0"}}
    name = pool.keep(first, **changed.get(change, {}))
    if change == "tasks":
        entry = pool.add(scores(range(TASKS, TASKS + 1), AGENTS, seed=3))
    if change == "agents":
        entry = pool.add(scores(range(TASKS), AGENTS + 2, seed=3))
    cold, warm = pool.solve(entry, method, None), pool.solve(entry, method, name)
    assert ratings(warm) == pytest.approx(ratings(cold), abs=2e-6)
    assert [row.rank for row in warm.result.agents] == [row.rank for row in cold.result.agents]
    assert warm.result.status == cold.result.status == "optimal"
    before = {row.agent: row.rank for row in first.result.agents}
    assert [row.rank_before for row in warm.result.agents] == [before.get(row.agent) for row in warm.result.agents]
    if change == "nothing":
        assert work(warm) < work(cold) or work(cold) == 0, "a Condorcet winner takes no work"
    if change in ("other parameters", "another version"):
        assert work(warm) == work(cold), "it began afresh"


def test_a_damaged_start_is_left_out() -> None:
    whole = packed(Start("cce", (("a", "b"),), {"play": np.eye(2)}))
    found = unpacked(whole)
    assert found is not None
    assert (found.arrays["play"] == np.eye(2)).all()
    for damage in ({"data": b"no zlib"}, {"shape": (3, 3)}, {"dtype": "no dtype"}):
        bad = msgspec.structs.replace(whole.arrays["play"], **damage)
        assert unpacked(msgspec.structs.replace(whole, arrays={"play": bad})) is None


def test_a_solve_says_what_memory_its_process_held(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    found = pool.solve(pool.add(scores(range(TASKS), AGENTS, seed=3)), "copeland", None)
    assert 10 << 20 < found.memory < 1 << 40

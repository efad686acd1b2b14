"""What a solve does in its own process: read one pool's checkpointed arrays, solve, return the result as JSON bytes."""

from collections.abc import Mapping
from typing import Any

import msgspec
from numpy.typing import NDArray

from ratings_core.outcomes import NO_TASK
from ratings_core.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from services.pools import Kind
from services.shard.checkpoint import CheckpointStore, PoolEntry
from services.shard.pool import part
from services.solve import methods
from services.solve.inputs import GamesInput, Problem, ScoresInput
from services.solve.limits import memory_limit


def solve_pool(url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int) -> bytes:
    """Solve `method` on the data object that `entry` (a `PoolEntry` as JSON) names under the checkpoints at `url`.

    memory: bytes it may take. Raises `OutOfMemory` beyond them, `BadObject`, and what `methods.solve` raises.
    """
    pool = msgspec.json.decode(entry, type=PoolEntry)
    with memory_limit(memory):
        arrays, _ = CheckpointStore(url).read_object(pool.object, pool.sha256)
        return msgspec.json.encode(methods.solve(method, problem(Kind(pool.kind), arrays), parameters))


def problem(kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> Problem:
    """What a pool's content gives to solve: games with their pairs and places, or the means of its scores."""
    names = tuple(Roster.from_arrays(part(arrays, "agents")).names())
    tasks = tuple(Roster.from_arrays(part(arrays, "tasks")).names())
    if kind is Kind.GAMES:
        return of_tallies(names, tasks, PairTally.from_arrays(part(arrays, "pairs")), PlaceTally.from_arrays(part(arrays, "places")))
    return ScoresInput(names, tasks, ScoreTable.from_arrays(part(arrays, "scores")).means(len(names), len(tasks)))


def of_tallies(names: tuple[str, ...], tasks: tuple[str, ...], pairs: PairTally, places: PlaceTally) -> GamesInput:
    """What games in tallies give to solve; tasks without a pair (teams only) take no part."""
    on_tasks = {task: counts for task, counts in pairs.counts_by_task().items() if task != NO_TASK}
    return GamesInput(names, pairs.counts(), places.counts(), tuple(tasks[task] for task in on_tasks), tuple(on_tasks.values()))

"""Insight into one slice of a pool, computed on request from its newest checkpoint and the newest boards of the slice.

Insight into pools is a job of the scheduler. Slices are many, and few are looked at, so theirs has no job.
"""

import time
from typing import Final, TypeAlias

import msgspec

from ratings_core.errors import InputError
from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.findings.records import Findings
from ratings_core.records.roster import Roster
from services.boards.insight import Insight
from services.boards.ranked import ranked
from services.boards.reading import age
from services.boards.slice_boards import SliceName
from services.boards.store.protocol import PoolHead
from services.boards.store.solved import SolvedBoards
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import ControlState
from services.runtime.settings import Provisional
from services.solve.insight import job
from services.solve.kept_answers import KeptAnswers
from services.solve.problems.checkpointed import problem
from services.solve.problems.serving import NoCheckpoint, arrays_of, serving_entry
from services.state.parts import part as part_of
from services.state.slices import slice_generation
from services.wire.pools import Kind

MOST_AGENTS: Final = 2000
"""Largest number of agents of a slice whose insight is computed on request."""
Insights: TypeAlias = KeptAnswers[tuple[Insight, float]]
"""Insights with the time of their computation in seconds since 1970, by what they were computed from."""
INSIGHTS_KEPT: Final = 64
"""Number of insights that a process keeps."""


def slice_insight(
    files: CheckpointStore, boards: SolvedBoards, control: ControlState, head: PoolHead, part: str, insights: Insights, now: float,
    limits: Provisional,
) -> Insight:  # fmt: skip
    """Compute the insight into a slice.

    Args:
        files: The checkpoints.
        boards: The solved boards in the store.
        control: State of the control log, which has the parameters of online methods.
        head: Head of the pool. It has the slice.
        part: The slice, such as `language:English`.
        insights: Keeps insights.
        now: Seconds since 1970.
        limits: The least evidence for a rank.

    Raises:
        InputError: The slice has too many agents.
        SolverError: A computation did not reach its accuracy.
        NoCheckpoint: There is no checkpoint with the slice yet, or it cannot be read now.
        StoreError: The store does not answer.
    """
    name = SliceName.parsed(part)
    agents = next(value.agents for value in head.slices[name.dimension].values if value.value == name.value)
    if agents > MOST_AGENTS:
        raise InputError("slice", part, f"must have at most {MOST_AGENTS} agents for an insight; it has {agents}")
    entry = serving_entry(files, head, part)
    pages = [boards.page(head.pool, name.board(method), 0, MOST_AGENTS) for method in boards.methods(head.pool, name)]
    solved = [page[0] for page in pages if page is not None and page[0].generation == entry.generation]
    key = (entry.pool, part, entry.generation, entry.position, entry.digest, *(board.solved_at for board in solved))
    standings = [ranked(board) for board in solved if board.result.agents]
    found, computed_at = insights.get(key, lambda: (_computed(files, control, entry, standings, limits), now))
    return msgspec.structs.replace(found, age_seconds=age(now, computed_at))


def _computed(
    files: CheckpointStore, control: ControlState, entry: PoolEntry, standings: list[RankedBoard], limits: Provisional
) -> Insight:
    begun, kind, arrays = time.perf_counter(), Kind(entry.kind), arrays_of(files, entry)
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    if made is None or entry.part is None:
        raise NoCheckpoint(f"the control log does not have generation {entry.generation} of pool {entry.pool} yet", retriable=True)
    online = slice_generation(kind, made, entry.part.dimension).fold.methods(kind)
    names = Roster.from_arrays(part_of(arrays, "agents")).names()
    live = job.online_standings(kind, online, arrays, names, entry.position, limits)
    result = job.solve(problem(kind, arrays), entry.outcomes, [*live, *standings], job.sums_of(arrays, list(online)))
    return Insight(
        pool=entry.pool,
        generation=entry.generation,
        position=entry.position,
        outcomes=entry.outcomes,
        seconds=time.perf_counter() - begun,
        status=result.status,
        findings=msgspec.convert(result.extra, Findings),
        slice=entry.slice,
    )

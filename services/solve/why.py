"""Why an agent has its rating, computed on request from a checkpoint of its pool.

The API and `equirank why` use it. The method is solved again with the parameters of its published board, so that the answer is complete and
its sums can be checked. Solves are kept by position.
"""

import time
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from ratings_core.deadline import Deadline
from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.explained import Explanation, Solve
from ratings_core.methods.explained_changes import rating_change
from ratings_core.methods.explanations import explain
from ratings_core.methods.rank_flips import Direction, RankFlip, rank_flip
from ratings_core.problems.inputs import Problem
from services.boards.past import season_checked
from services.boards.past_contents import PastContents, When, check_order
from services.boards.result import SolvedBoard
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control.records import ControlState
from services.solve.kept_answers import KeptAnswers
from services.solve.problems.serving import PoolAt, newest, pool_at
from services.solve.registry import methods
from services.solve.why_answers import Why, change_of, flip_of, number, state_of, sum_of
from services.wire.pools import Kind

MOST_AGENTS: Final = {1: 20_000, 2: 2_000, 3: 300}
"""Cost class of a method -> largest number of agents of a solve on request."""
MOST_SECONDS: Final = 20.0
"""Largest duration of the published solve whose method is solved again on request."""
FLIP_SECONDS: Final = 20.0
"""Time limit of the search for flips, for both directions together. The last solve can exceed it by its own duration."""
MOST_FLIP_SECONDS: Final = 2.0
"""Largest processor time of a solve that is repeated in a search for flips. The duration of the published solve does not decide it: on a
busy machine, or in a new process, it can be many times as long.
"""
SINCE: Final = ("from", "since")
UNTIL: Final = ("to", "until")
"""Names of the parameters of the two moments: of a position, and of a time."""
Solves: TypeAlias = KeptAnswers[Solve]
SOLVES_KEPT: Final = 4
"""Number of solves that a process keeps, with their problems, margins and games."""
_FLIPS_KEPT: Final = 32
"""Number of agents whose flips are kept with a solve."""


_WITHOUT_INTERVALS: Final[registry.Parameters] = {"replicates": 0, "standard_errors": "none", "explain": 0}
"""Parameters that change no rating, at the values that save the most work. A published solve's duration does not contain its replicates."""


class TooLarge(InputError):  # noqa: N818 - names the fact
    """The pool is too large for a solve on request, or its newest solve failed. The rule states the limit."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked.

    Attributes:
        agent: Name of the agent.
        flips: Whether to search for sets of outcomes that decide the rank.
        since: Position or time of an earlier state to compare with; None for no comparison.
        until: Position or time of the explained state; None for the newest checkpoint.
        count: Largest number of terms of a sum, and of moves.
    """

    agent: str
    flips: bool = False
    since: When | None = None
    until: When | None = None
    count: int = 20


def why(
    files: CheckpointStore, head: PoolHead, board: SolvedBoard, asked: Asked, solves: Solves | None = None,
    contents: PastContents | None = None, control: ControlState | None = None,
) -> Why:  # fmt: skip
    """Explain the rating of an agent by the method of a published board.

    Args:
        files: The checkpoints.
        head: Head of the pool; it names the partition and the generation whose checkpoint is read.
        board: The published board: its method, parameters and slice are used.
        asked: What is asked.
        solves: Keeps solves; None solves each time.
        contents: Folds pools again up to positions of the request; None takes kept checkpoints instead.
        control: State of the control log, which knows the season; None does not check that moments are in it.

    Returns:
        The explanation at the newest checkpoint, or at `until`.

    Raises:
        TooLarge: The pool is too large for a solve on request, or its newest solve failed.
        UnknownAgent: The solve has no such agent.
        InputError: `since` is after `until`, or the method does not apply to the pool now.
        OtherSeason: `since` or `until` is before the present season.
        NoOutcomes: The pool had no outcome at `since` or `until`.
        NotKept: A position is before all kept checkpoints, and the pool cannot be folded again.
        StillFolding, LogError: As of `PastContents`.
        NoSlice: The pool had no outcome of the slice at a position.
        SolverError: The method did not reach its accuracy.
        NoCheckpoint: The serving generation has no checkpoint yet, or it cannot be read now.
    """
    begun, solves = time.perf_counter(), solves or Solves(SOLVES_KEPT)
    check_order(asked.since, asked.until)
    check_repeatable(board)
    part = board.slice
    state = newest(files, head, part) if asked.until is None else in_season(files, head, asked.until, contents, part, control, UNTIL)
    entry, solve = state.entry, solved_at(state, board, solves)
    if asked.flips and solve.seconds > MOST_FLIP_SECONDS:
        rule = f"must be at most {MOST_FLIP_SECONDS:g} to solve {board.result.method} many times for flips; leave out `flips`"
        raise TooLarge("seconds of a solve", round(solve.seconds, 1), rule)
    answer = explained(solve, asked, entry.outcomes)
    change = None
    if asked.since is not None:
        earlier = in_season(files, head, asked.since, contents, part, control, SINCE)
        if earlier.entry.position > entry.position:
            raise InputError("from", earlier.entry.position, f"must be at most the position of the explained state, {entry.position}")
        difference = rating_change(solved_at(earlier, board, solves), solve, asked.agent)
        before = state_of(earlier.entry.position, earlier.entry.outcomes, difference.before)
        change = change_of(difference, before, state_of(entry.position, entry.outcomes, difference.after), asked.count)
    return msgspec.structs.replace(
        answer,
        pool=head.pool,
        generation=entry.generation,
        position=entry.position,
        outcomes=entry.outcomes,
        change=change,
        seconds=time.perf_counter() - begun,
        slice=part or msgspec.UNSET,
    )


def in_season(
    files: CheckpointStore, head: PoolHead, when: When, contents: PastContents | None, part: str, control: ControlState | None,
    names: tuple[str, str], *, begun: bool = True,
) -> PoolAt:  # fmt: skip
    """The pool at a moment of the present season.

    Other arguments and errors are those of `pool_at`. control: State of the control log; None does not check the season. names: As of
    `check_season`. Raises `OtherSeason` for a moment before the season.
    """
    with season_checked(control, head.pool, head.generation, when, names) as check:
        found = pool_at(files, head, when, contents, part, begun=begun)
        check(found.entry.position)
    return found


def why_in_problem(method: str, problem: Problem, parameters: registry.Parameters, asked: Asked, tie_tolerance: float | None = None) -> Why:
    """Explain the rating of an agent of a problem, such as that of a file. Raises as `why`, and has no limits.

    tie_tolerance: Ratings within it share a rank. None for the method's default.
    """
    begun = time.perf_counter()
    taken = _without_intervals(registry.taken(method, problem, parameters))
    answer = explained(Solve(taken, taken.rated(), tie_tolerance), asked)
    return msgspec.structs.replace(answer, seconds=time.perf_counter() - begun)


def explained(solve: Solve, asked: Asked, outcomes: int | None = None) -> Why:
    """The answer of one solve, without its pool. outcomes: Number of outcomes of the pool. Raises `UnknownAgent`, `SolverError`."""
    found: Explanation = explain(solve, asked.agent)
    return Why(
        pool="",
        method=found.method,
        agent=found.agent,
        generation=0,
        position=0,
        outcomes=None,
        rating=number(found.rating),
        rank=found.rank,
        agents=found.agents,
        margins=found.margins,
        sums=[sum_of(terms, asked.count) for terms in found.terms],
        not_applicable=found.why_not,
        parameters={name: value for name, value in solve.taken.values.items() if name not in _WITHOUT_INTERVALS},
        flips=[flip_of(flip) for flip in _kept_flips(solve, asked.agent, outcomes)] if asked.flips else None,
    )


def _kept_flips(solve: Solve, agent: str, outcomes: int | None) -> list[RankFlip]:
    """The flips of both directions, searched for once as long as the solve is kept. outcomes: Those of the solve's own pool."""
    kept: KeptAnswers[list[RankFlip]] = solve.once("flips", lambda: KeptAnswers(_FLIPS_KEPT))
    return kept.get(agent, lambda: _flips(solve, agent, outcomes))


def _flips(solve: Solve, agent: str, outcomes: int | None) -> list[RankFlip]:
    """The flips of both directions. Each gets half of the time."""
    found = []
    directions: tuple[Direction, ...] = ("down", "up")
    for direction in directions:
        flip = rank_flip(solve, agent, direction, outcomes=outcomes, deadline=Deadline.within(FLIP_SECONDS / 2))
        if flip is not None:
            found.append(flip)
    return found


def solved_at(state: PoolAt, board: SolvedBoard, solves: Solves) -> Solve:
    """The solve of a pool at a position, by the method and the parameters of a published board.

    Raises `TooLarge`, `NoCheckpoint`, `SolverError`, and `InputError` if the method does not apply to the pool.
    """
    method, entry = board.result.method, state.entry
    parameters = msgspec.json.encode(board.parameters, order="sorted").decode()
    key = (entry.pool, method, str(entry.generation), str(entry.position), entry.digest, parameters)
    return solves.get(key, lambda: _solve(method, methods.problem_for(method, Kind(entry.kind), state.arrays()), board.parameters))


def _solve(method: str, problem: Problem, parameters: registry.Parameters) -> Solve:
    """Solve a pool's problem. Raises `TooLarge` before a solve of too many agents."""
    taken = _without_intervals(registry.taken(method, problem, parameters))
    most = MOST_AGENTS[taken.method.cost]
    if len(taken.problem.names) > most:
        offline = "`equirank solve --pool` has no limit"
        rule = f"must be at most {most} to solve {method} on request; solve fewer agents (most_agents), or offline: {offline}"
        raise TooLarge("agents", len(taken.problem.names), rule)
    begun = time.thread_time()
    rated = taken.rated()
    return Solve(taken, rated, seconds=time.thread_time() - begun)


def _without_intervals(taken: registry.Taken) -> registry.Taken:
    """The same solve without intervals, which explanations do not use."""
    return taken._replace(values={name: _WITHOUT_INTERVALS.get(name, value) for name, value in taken.values.items()})


def check_repeatable(board: SolvedBoard) -> None:
    """Raise `TooLarge` if the published solve took too long to be repeated, or a newer one failed.

    The failed one can have exceeded its time or memory. A solve on request has no such limits, because it runs in a thread of the API.
    """
    seconds, method = board.result.seconds, board.result.method
    if board.error is not None:
        raise TooLarge(f"newest solve of {method}", board.error, "must have succeeded to be repeated on request")
    if seconds > MOST_SECONDS:
        rule = f"must be at most {MOST_SECONDS:g} to solve {method} again on request"
        raise TooLarge("seconds of the published solve", round(seconds, 1), rule)

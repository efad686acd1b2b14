"""Boards of solved methods at past positions of which no solve is kept: the pool is folded to the position and solved on request."""

from collections.abc import Callable
from typing import NamedTuple

from services.boards.history import Difference, KeptSolve, difference, kept
from services.boards.past import BoardChange, PastRows, season_checked
from services.boards.past_contents import PastContents, When, check_begun
from services.boards.reading import Board
from services.boards.reading import past_solve as board_of
from services.boards.result import VERSION, SolvedBoard
from services.boards.store.protocol import PoolHead
from services.control.records import ControlState
from services.runtime.settings import PROVISIONAL, Provisional
from services.solve.problems.serving import PoolAt, unreadable
from services.solve.registry.methods import problem_for, result_of
from services.solve.why import Solves, check_repeatable, solved_at
from services.solve.worker.evidence import by_evidence
from services.wire.pools import Kind


class PastSolves(NamedTuple):
    """Solves one method of a pool at past positions.

    head: Head of the pool. published: The newest board of the method, whose parameters are used. contents: Folds the pool again. solves:
    Keeps solves. control: Returns the state of the control log. limits: The least evidence for a rank.
    """

    head: PoolHead
    published: SolvedBoard
    contents: PastContents
    solves: Solves
    control: Callable[[], ControlState]
    limits: Provisional = PROVISIONAL

    def at(self, when: When, generation: int | None = None) -> KeptSolve:
        """The solve at a position or time, without intervals. generation: As of `PastContents.content`.

        Raises:
            NotFolded, StillFolding, LogError: As of `PastContents.content`.
            NoCheckpoint: The checkpoints cannot be read now.
            TooLarge: The pool is too large for a solve on request, or its newest solve failed.
            NoOutcomes: The pool had no outcome at this moment.
            NoSlice: The pool had no outcome of the slice at this moment.
            InputError: The method does not apply to the pool at this moment.
            SolverError: The method did not reach its accuracy.
        """
        check_repeatable(self.published)
        try:
            found = self.contents.content(self.head, when, generation)
        except OSError as error:
            raise unreadable(self.head.pool, error) from error
        check_begun(found, when)
        state = PoolAt.of(found.of_slice(self.published.slice))
        solve, arrays = solved_at(state, self.published, self.solves), state.arrays()
        given = problem_for(self.published.result.method, Kind(state.entry.kind), arrays)
        board = SolvedBoard(
            pool=state.entry.pool,
            generation=state.entry.generation,
            position=state.entry.position,
            outcomes=state.entry.outcomes,
            data=state.entry.digest,
            parameters=self.published.parameters,
            solved_at=found.time,
            version=VERSION,
            result=by_evidence(result_of(solve.taken, solve.rated), arrays, given, self.limits),
            slice=self.published.slice,
        )
        return kept(board)

    def board(self, rows: PastRows, now: float) -> Board:
        """The requested rows of the solve at a position or time. now: Seconds since 1970. Raises as `at`."""
        solve = self.at(rows.when, rows.generation)
        return board_of(rows.pool, rows.method, solve, rows.start, rows.most, now, rows.part)

    def changes(self, wanted: BoardChange) -> Difference:
        """The difference between the solves at two positions or times.

        Raises as `at`, `InputError` for those in the wrong order, and `OtherSeason` if the earlier one is before the season of the later.
        """
        begin, end = wanted.moments(self.head.position)
        after = self.at(end, wanted.generation)
        with season_checked(self.control(), self.head.pool, after.past.generation, begin, ("against", "since")):
            before = self.at(begin, after.past.generation)
        wanted.check_positions(before.past.position, after.past.position)
        return difference(self.head.pool, self.published.result.method, before, after, wanted.most, self.published.slice)

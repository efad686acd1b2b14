"""Past boards for the routes: kept ones, live ones folded again, and solved ones solved again, with their errors as problems."""

from collections.abc import Iterator
from contextlib import contextmanager

from ratings_core.errors import InputError, SolverError
from services.api.context import Context
from services.api.problems import RETRY, ApiError
from services.boards.cursors import ReplacedBoard
from services.boards.past import NotKept, PastBoards, PastRows, SeveralGenerations
from services.boards.past_contents import NoOutcomes, NoSlice, NotFolded, StillFolding
from services.boards.reading import Board
from services.boards.slice_boards import board_name
from services.checkpoints.checkpoint import CheckpointStore
from services.solve.past_solves import PastSolves


def past_boards(here: Context) -> PastBoards:
    """Past boards of the installation."""
    files = CheckpointStore(here.settings.checkpoint_url)
    return PastBoards(here.store, files, here.directory.control.refresh, here.settings.solves_kept, here.past)


def past_board(here: Context, rows: PastRows, now: float) -> Board | None:
    """A past board. A solved one of which no solve is kept is solved on request, and an earlier kept one answers where that cannot be done.

    Returns None if the pool has no such board.

    now: Seconds since 1970. Raises as `PastBoards.board` and `PastSolves.at`.
    """
    try:
        return past_boards(here).board(rows, now)
    except NotKept as error:
        return _solved_again(here, rows, now, error)


def _solved_again(here: Context, rows: PastRows, now: float, not_kept: NotKept) -> Board:
    """The board of a solve on request, or the nearest kept one where that cannot be done. Raises `not_kept` without either."""
    solves = past_solves(here, rows.pool, board_name(rows.method, rows.part))
    try:
        if solves is None:
            raise not_kept
        return solves.board(rows, now)
    except (NotFolded, InputError, SolverError) as error:
        if not_kept.nearest is not None:
            return not_kept.nearest
        if isinstance(error, NotFolded):
            raise not_kept.because(str(error)) from error
        raise


def past_solves(here: Context, pool: str, board: str) -> PastSolves | None:
    """What solves a published board's method at past positions. None if the pool has no such board, or the board has no ratings."""
    head, page = here.store.live.head(pool), here.store.solved.page(pool, board, 0, 1)
    if head is None or page is None or not page[1]:
        return None
    return PastSolves(head, page[0], here.past, here.solves, here.directory.control.refresh, here.settings.provisional)


@contextmanager
def past_problems() -> Iterator[None]:
    """Raise the errors of past boards as `ApiError`."""
    try:
        yield
    except NoOutcomes as error:
        raise ApiError(404, "nothing yet", error.says) from error
    except NoSlice as error:
        raise ApiError(404, "not found", str(error)) from error
    except NotKept as error:
        raise ApiError(410, "not kept", str(error)) from error
    except NotFolded as error:
        raise ApiError(410, "cannot be folded again", str(error)) from error
    except StillFolding as error:
        raise ApiError(503, "still folding", str(error), headers=RETRY) from error
    except SeveralGenerations as error:
        raise ApiError(409, "several generations", str(error)) from error
    except ReplacedBoard as error:
        raise ApiError(410, "board replaced", str(error)) from error
    except SolverError as error:
        raise ApiError(422, "no certain ratings", f"the method did not reach its accuracy at this position: {error}") from error

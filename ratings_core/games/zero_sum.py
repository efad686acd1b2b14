"""Two-player zero-sum games: the optimal strategies of largest entropy, with a certificate.

A solve scales the payoffs and follows the central path (`interior`). It stops as soon as the guessed supports solve the game strictly,
because then no other equilibrium exists. Otherwise it follows the path to the end, reads off the largest supports, and takes the point of
largest entropy of each player's face (`face`). If the path leaves a doubt about who is played, as it does with near copies, the strategies
that may be played are solved in whole numbers (`exact_faces`). If these are too many, a linear program (`membership`) decides close cases.

Supports of a similar game can be given as a guess and are tried first. If they solve this game strictly, no other equilibrium exists. The
answer then does not depend on the guess, and no path is followed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.games.exact_faces import exact_sides, exact_symmetric
from ratings_core.games.face import FacePoint, entropy, point_of_largest_entropy, proven_point
from ratings_core.games.interior import MatrixPath, PathGame, PathPoint, SymmetricPath, central_path
from ratings_core.games.membership import playable
from ratings_core.games.normal_form import LARGEST
from ratings_core.games.rules import PathOptions, Rules, begin
from ratings_core.games.supports import (
    Indices,
    Mask,
    clipped,
    first_candidates,
    hides_differences,
    in_doubt,
    inside,
    more_candidates,
    only_equilibrium,
    only_symmetric,
    out_of_play,
    placed,
    played,
    unclear,
)
from ratings_core.solution import Floats, Status

GUESS_FROM: Final = 1e-2
"""Supports are guessed once the gap (payoffs scaled to 1) is at most this; a wrong guess costs an eighth of a step."""
FINAL_GAP: Final = 1e-14
_GUESSED: Final = PathPoint(np.empty(0), np.empty(0), 0.0, 0)
"""Path point of an answer that needed no path."""
ENTROPY_TOLERANCE: Final = 1e-8
"""In nats. A strategy with a larger entropy gap is not proven to have the largest entropy, so it is approximate."""


@dataclass(frozen=True, slots=True)
class SymmetricSolution:
    """An optimal strategy p of a symmetric game, M'p >= 0.

    strategy: (m,), sums to 1; support: mask of the strategies that some optimal strategy plays; exploitability: -(least entry of M'p), at
    least 0, over the largest |M|; entropy: nats; unique: True if proven to be the only optimal strategy.
    """

    strategy: Floats
    support: Mask
    exploitability: float
    entropy: float
    unique: bool
    status: Status
    stats: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GameSolution:
    """Optimal strategies of both sides: rows maximise x'Ay, columns minimise it.

    value: of the game, in the payoffs' unit; row, column: strategies; row_support, column_support: masks of the strategies that some
    optimal strategy plays; exploitability: max(A y) - min(A'x) over max(A) - min(A); row_unique, column_unique: True if proven.
    """

    value: float
    row: Floats
    column: Floats
    row_support: Mask
    column_support: Mask
    exploitability: float
    row_unique: bool
    column_unique: bool
    status: Status
    stats: Mapping[str, float] = field(default_factory=dict)


_DEFAULTS: Final = PathOptions()


def solve_symmetric(margins: ArrayLike, *, options: PathOptions = _DEFAULTS) -> SymmetricSolution:
    """The optimal strategy of largest entropy of the symmetric game `margins` (m, m), antisymmetric, finite.

    An inexact answer raises no error: its `status` is `approximate`. This happens if the exploitability exceeds the tolerance, or if the
    support is uncertain, so that a strategy of larger entropy may exist. Duplicates are not merged here. Raises `InputError`.
    """
    PathOptions.require(options)
    return symmetric_within(margins, begin(options))


def solve_zero_sum(payoffs: ArrayLike, *, options: PathOptions = _DEFAULTS) -> GameSolution:
    """Optimal strategies of largest entropy of both sides of the game `payoffs` (rows, columns), finite.
    Status as for `solve_symmetric`.
    """
    PathOptions.require(options)
    return zero_sum_within(payoffs, begin(options))


def symmetric_within(margins: ArrayLike, limits: Rules[PathOptions], guess: Mask | None = None) -> SymmetricSolution:
    """As `solve_symmetric`, with checked limits and a deadline that is already running. guess: mask of a support to try first, (m,)."""
    given = checks.antisymmetric("margins", margins)
    M = given / (float(np.abs(given).max()) or 1.0)
    if guess is not None and (single := only_symmetric(M, guess)) is not None:
        solved = _symmetric(M, guess, proven_point(single), _GUESSED, limits)
        return replace(solved, stats={**solved.stats, "rounds": 0, "candidates": len(M)})
    return _on_candidates(M, given, limits)


def zero_sum_within(payoffs: ArrayLike, limits: Rules[PathOptions], guess: tuple[Mask, Mask] | None = None) -> GameSolution:
    """As `solve_zero_sum`, with checked limits and a deadline that is already running. guess: masks of both supports to try first."""
    A = checks.finite("payoffs", payoffs)
    if A.ndim != 2 or not A.size:
        raise InputError("payoffs", A.shape, "must be a matrix with at least one row and one column")
    if np.abs(A).max() > LARGEST:
        raise InputError("payoffs", float(np.abs(A).max()), f"must be within +-{LARGEST:g}")
    if A.shape[0] > A.shape[1]:
        return _sides_swapped(_solve_game(-A.T, limits, None if guess is None else guess[::-1]))
    return _solve_game(A, limits, guess)


def _status(exploitability: float, stats: Mapping[str, float], limits: Rules[PathOptions]) -> Status:
    good = (
        exploitability <= limits.options.tolerance
        and stats["entropy_gap"] <= ENTROPY_TOLERANCE
        and stats["support_gap"] <= limits.options.tolerance
    )
    return Status.OPTIMAL if good else Status.APPROXIMATE


# Symmetric games


def _on_candidates(M: Floats, given: Floats, limits: Rules[PathOptions]) -> SymmetricSolution:
    chosen: Indices | None = first_candidates(M)
    rounds = 0
    while chosen is not None:
        rounds += 1
        solved = chosen
        inner = _solve_all(M[np.ix_(solved, solved)], given[np.ix_(solved, solved)], limits)
        chosen = more_candidates(solved, inner.strategy @ M[solved], limits.options.tolerance)
        if chosen is not None and limits.deadline.passed():
            inner = replace(inner, unique=False, stats=_in_part(inner.stats, len(M)))
            break
    return _lifted(M, inner, solved, rounds, limits)


def _lifted(M: Floats, inner: SymmetricSolution, chosen: Indices, rounds: int, limits: Rules[PathOptions]) -> SymmetricSolution:
    strategy, support = placed(inner.strategy, chosen, len(M)), placed(inner.support, chosen, len(M))
    exploitability = max(0.0, -float((strategy @ M).min()))
    return SymmetricSolution(
        strategy=strategy,
        support=support,
        exploitability=exploitability,
        entropy=inner.entropy,
        unique=inner.unique,
        status=_status(exploitability, inner.stats, limits),
        stats={**inner.stats, "rounds": rounds, "candidates": len(chosen)},
    )


def _solve_all(M: Floats, given: Floats, limits: Rules[PathOptions]) -> SymmetricSolution:
    """Solve a game. given: the margins before they were scaled to M."""
    for point in _path(SymmetricPath(M), limits):
        support = played(point.strategy, point.slack)
        if point.gap <= GUESS_FROM and (single := only_symmetric(M, support)) is not None:
            return _symmetric(M, support, proven_point(single), point, limits)
    out = out_of_play(point.strategy, point.slack)
    stuck = point.gap > limits.options.tolerance
    if stuck and point.iterations >= limits.options.max_iterations:
        return _symmetric(M, support, _unfinished(point.strategy, support), point, limits)
    doubt = stuck or in_doubt(point.strategy, point.slack) or hides_differences(M[np.ix_(~out, ~out)])
    settled = None if doubt else _settled(M, support, unclear(point.strategy, point.slack, limits.options.close), limits)
    if settled is None and (exact := exact_symmetric(M, given, out, limits.deadline)) is not None:
        return _symmetric(M, exact.played, exact.point, point, limits)
    if doubt and not stuck:
        settled = _settled(M, support, unclear(point.strategy, point.slack, limits.options.close), limits)
    if settled is None:
        return _symmetric(M, support, _unfinished(point.strategy, support), point, limits)
    support = settled
    equalities, inequalities = M[np.ix_(support, support)], M[np.ix_(support, ~support)]
    face = point_of_largest_entropy(equalities, inequalities, inside(point.strategy, support), limits.deadline)
    return _symmetric(M, support, face, point, limits)


def _symmetric(M: Floats, support: Mask, face: FacePoint, point: PathPoint, limits: Rules[PathOptions]) -> SymmetricSolution:
    strategy = clipped(support, face.strategy)
    exploitability = max(0.0, -float((strategy @ M).min()))
    stats = _stats(point, face)
    return SymmetricSolution(
        strategy=strategy,
        support=support,
        exploitability=exploitability,
        entropy=entropy(strategy),
        unique=face.single,
        status=_status(exploitability, stats, limits),
        stats=stats,
    )


# Games of rows against columns


def _solve_game(A: Floats, limits: Rules[PathOptions], guess: tuple[Mask, Mask] | None) -> GameSolution:
    """Solve a game with at least as many columns as rows, on the guessed supports or on a growing set of its columns."""
    low, spread = float(A.min()), float(A.max()) - float(A.min())
    scaled = (A - low) / spread if spread else np.zeros_like(A)
    if guess is not None and (single := only_equilibrium(scaled, *guess)) is not None:
        inner = _on_faces(scaled, proven_point(single[0]), proven_point(single[1]), _GUESSED, *guess, limits)
        return _game_lifted(A, scaled, inner, np.arange(A.shape[1]), 0, limits)
    chosen: Indices | None = first_candidates(scaled)
    rounds = 0
    while chosen is not None:
        rounds += 1
        solved = chosen
        inner = _solve_scaled(scaled[:, solved], A[:, solved], limits)
        chosen = more_candidates(solved, inner.row @ scaled - inner.value, limits.options.tolerance)
        if chosen is not None and limits.deadline.passed():
            inner = replace(inner, row_unique=False, column_unique=False, stats=_in_part(inner.stats, A.shape[1]))
            break
    return _game_lifted(A, scaled, inner, solved, rounds, limits)


def _game_lifted(A: Floats, scaled: Floats, inner: GameSolution, chosen: Indices, rounds: int, limits: Rules[PathOptions]) -> GameSolution:
    column = placed(inner.column, chosen, A.shape[1])
    exploitability = max(0.0, float((scaled @ column).max() - (inner.row @ scaled).min()))
    return replace(
        inner,
        value=float(inner.row @ A @ column),
        column=column,
        column_support=placed(inner.column_support, chosen, A.shape[1]),
        exploitability=exploitability,
        status=_status(exploitability, inner.stats, limits),
        stats={**inner.stats, "rounds": rounds, "candidates": len(chosen)},
    )


def _solve_scaled(A: Floats, given: Floats, limits: Rules[PathOptions]) -> GameSolution:
    """Solve a game. given: the payoffs before they were scaled to A."""
    return _on_faces(A, *_both_faces(A, given, limits), limits)


def _on_faces(
    A: Floats, rows: FacePoint, columns: FacePoint, point: PathPoint, row_support: Mask, column_support: Mask, limits: Rules[PathOptions]
) -> GameSolution:
    row, column = clipped(row_support, rows.strategy), clipped(column_support, columns.strategy)
    exploitability = max(0.0, float((A @ column).max() - (row @ A).min()))
    stats = _stats(point, rows, columns)
    return GameSolution(
        value=float(row @ A @ column),
        row=row,
        column=column,
        row_support=row_support,
        column_support=column_support,
        exploitability=exploitability,
        row_unique=rows.single,
        column_unique=columns.single,
        status=_status(exploitability, stats, limits),
        stats=stats,
    )


def _both_faces(A: Floats, given: Floats, limits: Rules[PathOptions]) -> tuple[FacePoint, FacePoint, PathPoint, Mask, Mask]:
    for point in _path(MatrixPath(A), limits):
        (row, column), (row_slack, column_slack) = np.split(point.strategy, [len(A)]), np.split(point.slack, [len(A)])
        r, c = played(row, row_slack), played(column, column_slack)
        if point.gap <= GUESS_FROM and (single := only_equilibrium(A, r, c)) is not None:
            return proven_point(single[0]), proven_point(single[1]), point, r, c
    out = out_of_play(row, row_slack), out_of_play(column, column_slack)
    stuck = point.gap > limits.options.tolerance
    if stuck and point.iterations >= limits.options.max_iterations:
        return _unfinished(row, r), _unfinished(column, c), point, r, c
    doubt = stuck or in_doubt(row, row_slack) or in_doubt(column, column_slack) or hides_differences(A[np.ix_(~out[0], ~out[1])])
    close = unclear(row, row_slack, limits.options.close), unclear(column, column_slack, limits.options.close)
    advantage = A - _value(A, r, c)
    settled = None if doubt else _settled_sides(advantage, (r, c), close, limits)
    if settled is None and (exact := exact_sides(A, given, out, limits.deadline)) is not None:
        return exact[0].point, exact[1].point, point, exact[0].played, exact[1].played
    if doubt and not stuck:
        settled = _settled_sides(advantage, (r, c), close, limits)
    if settled is None:
        return _unfinished(row, r), _unfinished(column, c), point, r, c
    r, c = settled
    block = advantage[np.ix_(r, c)]
    rows = point_of_largest_entropy(block, advantage[np.ix_(r, ~c)], inside(row, r), limits.deadline)
    columns = point_of_largest_entropy(-block.T, -advantage[np.ix_(~r, c)].T, inside(column, c), limits.deadline)
    return rows, columns, point, r, c


def _value(A: Floats, rows: Mask, columns: Mask) -> float:
    """The value, from the equations of the supports: every solution of x'A = v on them has the game's v."""
    block = A[np.ix_(rows, columns)]
    r, c = block.shape
    system = np.block([[block.T, -np.ones((c, 1))], [np.ones((1, r)), np.zeros((1, 1))]])
    wanted = np.append(np.zeros(c), 1.0)
    return float(np.linalg.lstsq(system, wanted)[0][-1])


def _sides_swapped(game: GameSolution) -> GameSolution:
    return GameSolution(
        value=-game.value,
        row=game.column,
        column=game.row,
        row_support=game.column_support,
        column_support=game.row_support,
        exploitability=game.exploitability,
        row_unique=game.column_unique,
        column_unique=game.row_unique,
        status=game.status,
        stats=game.stats,
    )


def _stats(point: PathPoint, *faces: FacePoint) -> dict[str, float]:
    """Statistics of an answer. support_gap: duality gap of the point from which supports were read off, 0 if they were proven."""
    proven = all(face.proven for face in faces)
    return {
        "iterations": point.iterations,
        "entropy_gap": max(face.entropy_gap for face in faces),
        "support_gap": 0.0 if proven else point.gap,
    }


def _path(game: PathGame, limits: Rules[PathOptions]) -> Iterator[PathPoint]:
    return central_path(game, gap=FINAL_GAP, max_iterations=limits.options.max_iterations, deadline=limits.deadline)


def _settled(advantage: Floats, support: Mask, close: Mask, limits: Rules[PathOptions]) -> Mask | None:
    """The support with its close members decided; None if the linear program fails or misses the deadline."""
    try:
        return playable(advantage, support & ~close, close, limits.deadline) if close.any() else support
    except SolverError:  # the point is an equilibrium up to its gap, but perhaps not the one of largest entropy
        return None


def _settled_sides(
    advantage: Floats, supports: tuple[Mask, Mask], close: tuple[Mask, Mask], limits: Rules[PathOptions]
) -> tuple[Mask, Mask] | None:
    """As `_settled`, for the rows and the columns."""
    rows = _settled(advantage, supports[0], close[0], limits)
    columns = None if rows is None else _settled(-advantage.T, supports[1], close[1], limits)
    return None if rows is None or columns is None else (rows, columns)


def _unfinished(strategy: Floats, support: Mask) -> FacePoint:
    """The face point of a path that ended early: its entropy gap is the trivial bound."""
    return FacePoint(inside(strategy, support), entropy_gap=_trivial(len(strategy)))


def _in_part(stats: Mapping[str, float], strategies: int) -> dict[str, float]:
    """Statistics of an answer on some candidates only: other strategies may be played, so the entropy gap is the trivial bound."""
    return {**stats, "entropy_gap": _trivial(strategies)}


def _trivial(strategies: int) -> float:
    return float(np.log(strategies)) + 1.0

"""Optimal strategies of small zero-sum games in whole numbers: no tolerance decides which strategies an equilibrium plays.

Of two near copies that differ by d, one may be played and the other not, by a slack of d or less. A central path in float64 sees slacks
down to the square root of its gap, about 1e-7. Below that it takes both copies for played, and no strategy makes their nearly equal
equations hold.

The simplex method finds an optimal strategy of the columns' player. Variables of positive reduced cost are 0 in every optimum and are
removed. The sum of the variables that were not positive yet is then maximised over what is left, until it is 0: then these are 0 in every
optimum, too. What remains is the complete face of optimal strategies, with a point inside it. Its point of largest entropy is found in
float64, in coordinates that exact pivots choose such that near copies do not make them nearly parallel.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np

from ratings_core.deadline import NEVER, Deadline
from ratings_core.games.face import FacePoint, climbed
from ratings_core.games.supports import ROUNDING, Mask, placed
from ratings_core.games.whole_tableau import Labels, Tableau, Whole
from ratings_core.solution import Floats

TOTAL: Final = 0
"""Label of the sum that is maximised. Columns have the labels 1, 2, ..., and slacks of rows -1, -2, ..."""
DIGITS: Final = 14
"""Payoffs are decimals if all have at most so many digits, relative to the power of ten above the largest."""
LARGEST_DENOMINATOR: Final = 10_000
"""Largest denominator of the fraction that stands for a payoff divided by the largest one. A payoff that is further than `ROUNDING` from
each such fraction is a multiple of one over `GRID`. No unit."""
LARGEST_COMMON: Final = 2**160
"""Largest common denominator of these fractions. Many different ones, such as shares of a few thousand games for each pair, would make
whole numbers of thousands of digits, which take minutes and do not fit into float64.
"""
GRID: Final = 2**54
"""Other payoffs, over the largest, are multiples of one over this, which is half of the last digit of float64."""
MOST_ENTRIES: Final = 2_000
"""Games of at most so many rows times columns that matter are solved in whole numbers."""
STRICT: Final = 1e-12
"""Bound on the rounding error of a slack."""


@dataclass(frozen=True, slots=True)
class ExactFace:
    """The optimal strategies of the columns' player.

    played: mask of the columns that some optimal strategy plays; point: the optimal strategy of largest entropy on these columns; beaten:
    mask of the rows that get less than the value against some optimal strategy, so no optimal strategy of the other side plays them.
    """

    played: Mask
    point: FacePoint
    beaten: Mask


def exact_symmetric(scaled: Floats, given: Floats, out: Mask, deadline: Deadline) -> ExactFace | None:
    """The optimal strategies of a symmetric game.

    scaled, given: margins (m, m), divided by the largest and as they were given; out: mask of strategies that are probably not played.
    Each of them is proven not to be, or else considered. None if the game is too large or the deadline passed.
    """
    while (face := _against_candidates(scaled, given, out, out, deadline)) is not None:
        if face.beaten[out].all():
            return face
        out = out & face.beaten
    return None


def exact_sides(scaled: Floats, given: Floats, out: tuple[Mask, Mask], deadline: Deadline) -> tuple[ExactFace, ExactFace] | None:
    """The optimal strategies of the rows' and of the columns' player.

    Arguments and None as for `exact_symmetric`. scaled: payoffs from 0 to 1; out: of rows and of columns.
    """
    rows_out, columns_out = out
    while (of_columns := _against_candidates(scaled, given, rows_out, columns_out, deadline)) is not None:
        of_rows = _against_candidates(-scaled.T, -given.T, columns_out, rows_out, deadline)
        if of_rows is None:
            return None
        if of_columns.beaten[rows_out].all() and of_rows.beaten[columns_out].all():
            return of_rows, of_columns
        rows_out, columns_out = rows_out & of_columns.beaten, columns_out & of_rows.beaten
    return None


def _against_candidates(scaled: Floats, given: Floats, rows_out: Mask, columns_out: Mask, deadline: Deadline) -> ExactFace | None:
    """The optimal strategies of the columns' player among the columns that are not out, against all rows.

    Rows that are out are added only if they limit the answer. None if the game is too large or the deadline passed.
    """
    columns, against = np.flatnonzero(~columns_out), ~rows_out
    while np.count_nonzero(against) * len(columns) <= MOST_ENTRIES:
        rows = np.flatnonzero(against)
        face = exact_face(whole_payoffs(given[np.ix_(rows, columns)]), deadline)
        if face is None:
            return None
        played, beaten = placed(face.played, columns, scaled.shape[1]), placed(face.beaten, rows, scaled.shape[0])
        paid = scaled[:, played] @ face.point.strategy
        strictly = paid < paid[rows].max() - STRICT
        if (strictly | against).all():
            return ExactFace(played, face.point, beaten | strictly)
        against = against | ~strictly
    return None


def whole_payoffs(payoffs: Floats) -> Whole:
    """`payoffs` times one factor, in whole numbers.

    Decimals of at most 14 digits are exact. Otherwise payoffs are divided by the largest, and those within 4e-16 of a fraction with a
    denominator of at most 10,000 are that fraction; without this, thirds would not add up. The others, or all if the common denominator
    exceeds `LARGEST_COMMON`, keep 54 binary digits after the point. Numbers that differ by at most 4e-16 are equal.
    """
    largest = float(np.abs(payoffs).max()) or 1.0
    decimals = payoffs / 10.0 ** min(np.ceil(np.log10(largest)), 308.0) * 10.0**DIGITS  # 1e309 is beyond float64
    if (np.abs(decimals - np.rint(decimals)) <= ROUNDING * 10.0**DIGITS).all():
        return np.asarray(np.rint(decimals).astype(np.int64).astype(object), np.object_)
    relative = payoffs / largest
    sizes, place = np.unique(np.abs(relative), return_inverse=True)
    first = np.append(0, np.flatnonzero(np.diff(sizes) > ROUNDING) + 1)
    fractions = [_fraction(size) for size in sizes[first].tolist()]
    common = lcm(*(own.denominator for own in fractions))
    if common > LARGEST_COMMON:
        fractions, common = [Fraction(round(size * GRID), GRID) for size in sizes[first].tolist()], GRID
    whole = np.array([own.numerator * (common // own.denominator) for own in fractions], object)
    group = np.searchsorted(first, place.reshape(payoffs.shape), side="right") - 1
    return np.asarray(whole[group] * np.sign(payoffs).astype(int).astype(object), np.object_)


def _fraction(size: float) -> Fraction:
    near = Fraction(size).limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(float(near) - size) <= ROUNDING else Fraction(round(size * GRID), GRID)


def exact_face(payoffs: Whole, deadline: Deadline = NEVER) -> ExactFace | None:
    """All strategies of the columns' player with the least largest payoff to rows, whole numbers (rows, columns).

    None if the deadline passed before the face was known. If it passes later, the entropy gap of the point is large.
    """
    rows, columns = payoffs.shape
    at = _tableau(payoffs)
    if not at.maximise(rows, deadline):
        return None
    at.remove(at.basis == TOTAL, at.table[rows, :-1] > 0)
    inside = _inside(at, deadline)
    if inside is None:
        return None
    left = np.append(at.labels, at.basis)
    played, beaten = np.isin(np.arange(1, columns + 1), left), np.isin(-np.arange(1, rows + 1), left)
    return ExactFace(played, _most_even(at, inside, np.flatnonzero(played) + 1, deadline), beaten)


def _tableau(payoffs: Whole) -> Tableau:
    """The game as a linear program: with payoffs above 0, maximise the sum of u >= 0 with at most 1 for each row. u over its sum is a
    strategy, and one over the sum is the value.
    """
    rows, columns = payoffs.shape
    limits = np.hstack([payoffs - payoffs.min() + 1, np.ones((rows, 1), np.int64)])
    total = np.append(np.full(columns, -1), 0)
    return Tableau(np.vstack([limits, total]), np.arange(1, columns + 1), np.append(-np.arange(1, rows + 1), TOTAL))


def _inside(at: Tableau, deadline: Deadline) -> dict[int, Fraction] | None:
    """Reduce the tableau of an optimum to variables that some optimum has positive, and return a point at which all are.

    The point is the sum of optima, so its values are a multiple. None if the deadline passed.
    """
    undecided, inside = {*at.labels.tolist(), *at.basis.tolist()}, dict[int, Fraction]()
    while True:
        for label, value in at.positive().items():
            inside[label] = inside.get(label, Fraction(0)) + value
        undecided -= inside.keys()
        if not undecided:
            return inside
        row = at.add_row(TOTAL, _sum_of(at, undecided))
        if not at.maximise(row, deadline):
            return None
        largest, zero = at.table[row, -1], at.table[row, :-1] > 0
        at.remove(at.basis == TOTAL, zero if largest == 0 else np.zeros(len(zero), bool))
        if largest == 0:
            _remove(at, undecided)
            return inside


def _sum_of(at: Tableau, labels: set[int]) -> Whole:
    """The row of the sum of the variables."""
    chosen = list(labels)
    row = at.table[np.isin(at.basis, chosen)].sum(axis=0)
    row[:-1][np.isin(at.labels, chosen)] -= at.denominator
    return np.asarray(row, object)


def _remove(at: Tableau, labels: set[int]) -> None:
    """Remove variables that are 0 in all that the tableau describes."""
    zero = list(labels)
    for row in np.flatnonzero(np.isin(at.basis, zero)).tolist():
        others = np.flatnonzero((at.table[row, :-1] != 0) & ~np.isin(at.labels, zero))
        if len(others):
            column = int(others[0])
            if at.table[row, column] < 0:
                at.table[row] = -at.table[row]  # the row's variable is 0, and so is its negative
            at.exchange(row, column)
    at.remove(np.isin(at.basis, zero), np.isin(at.labels, zero))


def _most_even(at: Tableau, inside: dict[int, Fraction], columns: Labels, deadline: Deadline) -> FacePoint:
    """The point of largest entropy of the face. columns: labels of the columns that are played."""
    total = sum((inside[label] for label in columns.tolist()), Fraction(0))
    start = np.array([float(inside[label] / total) for label in columns.tolist()])
    if not len(at.labels):
        return FacePoint(start, single=True, proven=True)
    slacks = np.array([label for label in inside if label < 0], np.int64)
    along, slopes = _directions(at, inside, columns, slacks)
    slack = np.array([float(inside[label] / total) for label in slacks.tolist()])
    size = np.abs(slopes).max(axis=1, initial=0.0)
    bounded = size > 0
    slopes, slack = slopes[bounded] / size[bounded, None], slack[bounded] / size[bounded]
    return replace(climbed(start, along, slopes, slack, deadline), proven=True)


def _directions(at: Tableau, inside: dict[int, Fraction], columns: Labels, slacks: Labels) -> tuple[Floats, Floats]:
    """A basis of the directions of the face, and the change of each slack along each.

    The tableau has a direction for each variable that is not basic, and near copies can make these nearly parallel. Exact pivots choose
    variables instead whose changes determine all other changes. Each is on the entry that is left with the largest share of its variable's
    value: so the smallest probabilities and slacks are coordinates, and rounding errors of others do not reach them.
    """
    row_of = {label: row for row, label in enumerate([*columns.tolist(), *slacks.tolist()])}
    changes = np.zeros((len(row_of), len(at.labels)), object)
    changes[[row_of[label] for label in at.basis.tolist()]] = -at.table[:, :-1]
    changes[[row_of[label] for label in at.labels.tolist()], np.arange(len(at.labels))] = at.denominator
    denominator = at.denominator
    most = max(inside[label] for label in row_of)
    smallness = np.array([int(most / inside[label]) for label in row_of], object)
    left = np.ones(changes.shape, bool)
    for _ in range(changes.shape[1]):
        sizes = np.where(left, np.abs(changes) * smallness[:, None], -1)
        row, column = divmod(int(np.argmax(sizes)), sizes.shape[1])
        chosen, pivot = changes[:, column].copy(), changes[row, column]
        changes = (changes * pivot - np.outer(chosen, changes[row])) // denominator
        changes[:, column] = chosen
        denominator = pivot
        left[row], left[:, column] = False, False
    along = np.asarray(changes / denominator, np.float64)
    along /= np.abs(along[: len(columns)]).max(axis=0)
    return along[: len(columns)], along[len(columns) :]

"""The best order of many agents by linear programs, with cutting planes for cycles of three agents and branching on pairs.

The variable x(a, b), a < b, is 1 if a is before b, else 0. Bounds are recomputed from the margins and the rows' multipliers by weak
duality, so they do not depend on the tolerances of the solver. The cuts are those of Grötschel, Jünger and Reinelt 1984.
"""

from typing import Final, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import SolverError
from ratings_core.games.linear_program import new_model
from ratings_core.solution import Floats
from ratings_core.voting.kemeny_search import gain_of, improved, packing_bound, searched_order
from ratings_core.voting.ties import Ints

_VIOLATED: Final = 1e-6
_ROUNDING: Final = 1e-11
_WHOLE: Final = 1e9
"""Largest margin for which bounds are rounded to values that whole-number margins allow. Float errors are then far below one vote."""
_CUTS_AN_AGENT: Final = 30
"""Largest number of cuts added at a time, per agent."""


class BoundedOrder(NamedTuple):
    """An order and its gain; bound: upper bound of the gain of any order; programs: number of linear programs solved."""

    order: list[int]
    gain: float
    bound: float
    programs: int


def good_order(margins: Floats, place: Ints, most_programs: int) -> BoundedOrder:
    """A good order with an upper bound of the gain: by local search and `packing_bound`, then by `bounded_order` if these differ.

    margins: (k, k), antisymmetric; place: as in `searched_order`; most_programs: largest number of linear programs, none if it is 0.
    Raises `SolverError` if HiGHS fails.
    """
    order, bound = searched_order(margins, place), packing_bound(margins)
    gain = gain_of(margins, order)
    if bound <= gain or most_programs < 1:
        return BoundedOrder(order, gain, bound, 0)
    cut = bounded_order(margins, order, most_programs)
    return cut._replace(bound=min(bound, cut.bound))


def bounded_order(margins: Floats, order: list[int], most_programs: int) -> BoundedOrder:
    """Search for the best order, starting from `order`, with an upper bound of the gain. margins: (k, k), antisymmetric.

    most_programs: largest number of linear programs; the search then returns its best order and bound. Raises `SolverError` if HiGHS fails.
    """
    return _Search(margins, order, most_programs).run()


class _Relaxed(NamedTuple):
    x: Floats
    bound: float


class _Program:
    """The linear program over all pairs, with the cuts so far. Each run starts from the last solution. solved: number of runs."""

    def __init__(self, margins: Floats) -> None:
        k, (a, b) = len(margins), np.triu_indices(len(margins), 1)
        at = np.zeros((k, k), np.int64)
        at[a, b] = np.arange(len(a))
        self.solved = 0
        self._weight, self._grain, self._triples = 2 * margins[a, b], _grain(margins), _triples(k, at)
        self._most_cuts = _CUTS_AN_AGENT * k
        self._rows = np.zeros((0, 3), np.int64)
        self._model = _model(self._weight)

    def restrict(self, low: Floats, high: Floats) -> None:
        """Set the lower and upper bounds of the variables (pairs,)."""
        self._model.changeColsBounds(len(low), np.arange(len(low), dtype=np.int32), low, high)

    def solve(self, low: Floats, high: Floats) -> _Relaxed:
        """The optimum within the variables' bounds, and an upper bound of the gain of the orders there. Raises `SolverError`."""
        self.solved += 1
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:  # the fixed pairs form a cycle
            return _Relaxed(low, -np.inf)
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                f"HiGHS ended a program of Kemeny's method with status '{self._model.modelStatusToString(status)}'; round the margins"
            )
        solution = self._model.getSolution()
        x = np.clip(np.asarray(solution.col_value, np.float64), 0.0, 1.0)
        return _Relaxed(x, self._bound(np.asarray(solution.row_dual, np.float64), low, high))

    def cut(self, x: Floats) -> bool:
        """Add cuts for the cycles of three agents that x violates most. Returns whether a cut was added."""
        sums = x[self._triples[:, 0]] + x[self._triples[:, 1]] - x[self._triples[:, 2]]
        excess = np.maximum(sums - 1, -sums)
        worst = np.argsort(-excess, kind="stable")[: self._most_cuts]
        rows = self._triples[worst[excess[worst] > _VIOLATED]]
        count = len(rows)
        if count:
            starts, values = np.arange(count, dtype=np.int32) * 3, np.tile([1.0, 1.0, -1.0], count)
            self._model.addRows(count, np.zeros(count), np.ones(count), 3 * count, starts, rows.ravel().astype(np.int32), values)
            self._rows = np.concatenate([self._rows, rows])
        return bool(count)

    def _bound(self, multiplier: Floats, low: Floats, high: Floats) -> float:
        """Upper bound of the gain, by weak duality, rounded down to a gain that an order can have if margins are whole numbers.

        It is valid for arbitrary multipliers of the rows 0 <= x(a,b) + x(b,c) - x(a,c) <= 1.
        """
        reduced = self._weight.copy()
        for column, sign in enumerate((1.0, 1.0, -1.0)):
            np.subtract.at(reduced, self._rows[:, column], sign * multiplier)
        total = self._weight.sum() / 2
        bound = float(np.maximum(multiplier, 0.0).sum() + np.maximum(reduced * low, reduced * high).sum() - total)
        if not self._grain:
            return bound
        return float(total + self._grain * np.floor((bound - total) / self._grain + 1e-6))


class _Search:
    """Depth-first branch and bound over fixed pairs. order: best order so far; gain: its gain; slack: rounding error of gains."""

    def __init__(self, margins: Floats, order: list[int], most_programs: int) -> None:
        self.margins, self.most = margins, most_programs
        self.a, self.b = np.triu_indices(len(margins), 1)
        self.order, self.gain = order, gain_of(margins, order)
        self.slack = _ROUNDING * float(np.abs(margins).sum())
        self.program = _Program(margins)

    def run(self) -> BoundedOrder:
        """Search all boxes of fixed pairs. The final bound is the largest of the bounds of boxes that were not divided."""
        boxes = [(np.zeros(len(self.a)), np.ones(len(self.a)), np.inf)]
        bound = self.gain
        while boxes:
            low, high, above = boxes.pop()
            if self.program.solved < self.most and above > self.gain + self.slack:
                solved = self._cut(low, high)
                above = min(above, solved.bound)
                if self._divides(solved.x, above):
                    boxes += self._halves(low, high, solved.x, above)
                    continue
            bound = max(bound, above)
        return BoundedOrder(self.order, self.gain, max(bound, self.gain), self.program.solved)

    def _divides(self, x: Floats, bound: float) -> bool:
        fraction = float(np.minimum(x, 1 - x).max())
        return bound > self.gain + self.slack and fraction > _VIOLATED and self.program.solved < self.most

    def _halves(self, low: Floats, high: Floats, x: Floats, bound: float) -> "list[tuple[Floats, Floats, float]]":
        """Divide a box at the pair whose x is nearest to 1/2. The likelier half is last, because the search takes boxes from the end."""
        pair = int(np.argmax(np.minimum(x, 1 - x)))
        halves = []
        for value in sorted((0.0, 1.0), key=lambda value: -abs(x[pair] - value)):
            below, above = low.copy(), high.copy()
            below[pair] = above[pair] = value
            halves.append((below, above, bound))
        return halves

    def _cut(self, low: Floats, high: Floats) -> _Relaxed:
        """Solve the program in the box, and add cuts until no cycle of three is violated.

        Stops earlier if the bound does not exceed the best gain, or if `most` programs were solved.
        """
        self.program.restrict(low, high)
        while True:
            relaxed = self.program.solve(low, high)
            self._try(relaxed.x)
            if relaxed.bound <= self.gain + self.slack or self.program.solved >= self.most or not self.program.cut(relaxed.x):
                return relaxed

    def _try(self, x: Floats) -> None:
        """Round x to an order by summed wins, improve it by local search, and keep it if it is the best so far."""
        wins = np.zeros(len(self.margins))
        np.add.at(wins, self.a, x)
        np.add.at(wins, self.b, 1 - x)
        order = improved(self.margins, np.argsort(-wins, kind="stable"))
        if (gain := gain_of(self.margins, order)) > self.gain:
            self.order, self.gain = order, gain


def _triples(k: int, at: Ints) -> NDArray[np.int64]:
    """Indices of the variables (a, b), (b, c), (a, c) for all a < b < c, int64 (triples, 3)."""
    a, b, c = (axis.ravel() for axis in np.meshgrid(*[np.arange(k)] * 3, indexing="ij"))
    kept = (a < b) & (b < c)
    a, b, c = a[kept], b[kept], c[kept]
    return np.stack([at[a, b], at[b, c], at[a, c]], axis=1)


def _grain(margins: Floats) -> float:
    """Unit of the differences between gains: twice the greatest common divisor of whole-number margins, 0 for other margins."""
    if not np.array_equal(margins, np.round(margins)) or np.abs(margins).max() > _WHOLE:
        return 0.0
    return 2.0 * float(np.gcd.reduce(margins.astype(np.int64), axis=None))


def _model(weight: Floats) -> highspy.Highs:
    model = new_model({"presolve": "off", "solver": "simplex"})
    count = len(weight)
    model.addVars(count, np.zeros(count), np.ones(count))
    model.changeColsCost(count, np.arange(count, dtype=np.int32), weight)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return model

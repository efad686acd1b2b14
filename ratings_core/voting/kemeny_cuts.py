"""The best order of many agents by linear programs: cycles of three are cut off where they occur, then pairs are branched on.

A variable x(a, b), a < b, says that a is before b. Bounds are recomputed from the margins and the rows' multipliers by weak duality, so
they hold whatever the solver's tolerances are (Grötschel, Jünger and Reinelt 1984 cut cycles in the same way).
"""

from typing import Final, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import SolverError
from ratings_core.solution import Floats
from ratings_core.voting.kemeny_search import gain_of, improved
from ratings_core.voting.ties import Ints

_VIOLATED: Final = 1e-6
_ROUNDING: Final = 1e-11
_WHOLE: Final = 1e9
"""Margins up to this are taken as whole numbers when they are: their bounds are exact to far less than a vote."""
_CUTS_AN_AGENT: Final = 30
"""Most cuts added at a time, for each agent."""


class BoundedOrder(NamedTuple):
    """order and its gain; bound: at least the gain of any order; programs: linear programs solved."""

    order: list[int]
    gain: float
    bound: float
    programs: int


def bounded_order(margins: Floats, order: list[int], most_programs: int) -> BoundedOrder:
    """The best order found, starting from `order`, and how good any could be. margins: (k, k), antisymmetric.

    most_programs: linear programs after which the search ends with the bound it has. Raises `SolverError` where HiGHS fails.
    """
    return _Search(margins, order, most_programs).run()


class _Relaxed(NamedTuple):
    x: Floats
    bound: float


class _Program:
    """The linear program of all pairs, warm-started, with the cuts so far. solved: how often. weight: of each variable."""

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
        """Bound the variables."""
        self._model.changeColsBounds(len(low), np.arange(len(low), dtype=np.int32), low, high)

    def solve(self, low: Floats, high: Floats) -> _Relaxed:
        """The best point within the bounds, and a bound for all orders there. Raises `SolverError`."""
        self.solved += 1
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:  # fixed pairs close a cycle
            return _Relaxed(low, -np.inf)
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"a program of Kemeny's method ended as '{self._model.modelStatusToString(status)}'; round the margins")
        solution = self._model.getSolution()
        x = np.clip(np.asarray(solution.col_value, np.float64), 0.0, 1.0)
        return _Relaxed(x, self._bound(np.asarray(solution.row_dual, np.float64), low, high))

    def cut(self, x: Floats) -> bool:
        """Cut off the cycles of three that x violates most. Whether there are any."""
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
        """Weak duality with any multipliers of the rows 0 <= x(a,b) + x(b,c) - x(a,c) <= 1, down to what orders can attain."""
        reduced = self._weight.copy()
        for column, sign in enumerate((1.0, 1.0, -1.0)):
            np.subtract.at(reduced, self._rows[:, column], sign * multiplier)
        total = self._weight.sum() / 2
        bound = float(np.maximum(multiplier, 0.0).sum() + np.maximum(reduced * low, reduced * high).sum() - total)
        if not self._grain:
            return bound
        return float(total + self._grain * np.floor((bound - total) / self._grain + 1e-6))


class _Search:
    """Depth first over fixed pairs. order: the best one so far, gain: its gain; slack: rounding of gains."""

    def __init__(self, margins: Floats, order: list[int], most_programs: int) -> None:
        self.margins, self.most = margins, most_programs
        self.a, self.b = np.triu_indices(len(margins), 1)
        self.order, self.gain = order, gain_of(margins, order)
        self.slack = _ROUNDING * float(np.abs(margins).sum())
        self.program = _Program(margins)

    def run(self) -> BoundedOrder:
        """Explores boxes of fixed pairs; a box left at the end, or closed by its bound, counts with that bound."""
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
        """Both boxes of the least decided pair, the likelier one last, as it is looked into first."""
        pair = int(np.argmax(np.minimum(x, 1 - x)))
        halves = []
        for value in sorted((0.0, 1.0), key=lambda value: -abs(x[pair] - value)):
            below, above = low.copy(), high.copy()
            below[pair] = above[pair] = value
            halves.append((below, above, bound))
        return halves

    def _cut(self, low: Floats, high: Floats) -> _Relaxed:
        """The program within the box, cut until no cycle of three is violated, its bound is beaten, or programs run out."""
        self.program.restrict(low, high)
        while True:
            relaxed = self.program.solve(low, high)
            self._try(relaxed.x)
            if relaxed.bound <= self.gain + self.slack or self.program.solved >= self.most or not self.program.cut(relaxed.x):
                return relaxed

    def _try(self, x: Floats) -> None:
        """The order that x suggests, improved; kept where it is the best so far."""
        wins = np.zeros(len(self.margins))
        np.add.at(wins, self.a, x)
        np.add.at(wins, self.b, 1 - x)
        order = improved(self.margins, np.argsort(-wins, kind="stable"))
        if (gain := gain_of(self.margins, order)) > self.gain:
            self.order, self.gain = order, gain


def _triples(k: int, at: Ints) -> NDArray[np.int64]:
    """Variables (a, b), (b, c), (a, c) of all a < b < c."""
    a, b, c = (axis.ravel() for axis in np.meshgrid(*[np.arange(k)] * 3, indexing="ij"))
    kept = (a < b) & (b < c)
    a, b, c = a[kept], b[kept], c[kept]
    return np.stack([at[a, b], at[b, c], at[a, c]], axis=1)


def _grain(margins: Floats) -> float:
    """Gains of orders differ by multiples of this: twice the common divisor of whole margins; 0 where nothing is known."""
    if not np.array_equal(margins, np.round(margins)) or np.abs(margins).max() > _WHOLE:
        return 0.0
    return 2.0 * float(np.gcd.reduce(margins.astype(np.int64), axis=None))


def _model(weight: Floats) -> highspy.Highs:
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0), ("presolve", "off"), ("solver", "simplex")):
        if model.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {option}={value}; install highspy >= 1.10")
    count = len(weight)
    model.addVars(count, np.zeros(count), np.ones(count))
    model.changeColsCost(count, np.arange(count, dtype=np.int32), weight)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return model

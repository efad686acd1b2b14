"""The restricted master program of deviation ratings: least largest gain over distributions on the joints added so far.

    min t  subject to  (A s)_c <= t where row c is open, (A s)_c <= r_c where it is frozen, sum s = 1, s >= 0

HiGHS finds the basis, warm-started from the last; the numbers are then recomputed from that basis in double precision with a
step of refinement, since a simplex method may stop up to its tolerance away and the next rows are frozen at what is found.
Rounding can leave the frozen rows no point at all, or none that HiGHS finds, most of all where near copies of a top strategy make
many of them nearly parallel. Then they give way a little, and the error is that much larger.
"""

from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgetrf, dgetrs

from ratings_core.errors import SolverError
from ratings_core.solution import Floats

TOLERANCE: Final = 1e-10
"""Of feasibility, in the payoffs' unit: HiGHS's least."""
LEAST_ENTRY: Final = 1e-12
"""HiGHS's least; it drops smaller ones, and at its default of 1e-9 the differences of near copies with them."""
SLACKS: Final = (0.0, 1e-11, 1e-10, 1e-9, 1e-8)
"""What frozen rows give way by, once HiGHS fails without. They leave no room, only a face, which rounding makes empty or a thread."""
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""New columns leave the old point feasible, which is what the primal method needs for a start."""
SCALED, AS_GIVEN = 2, 0
WARM: Final = (PRIMAL_SIMPLEX, SCALED, "off")
COLD: Final = (WARM, (PRIMAL_SIMPLEX, AS_GIVEN, "off"), (DUAL_SIMPLEX, AS_GIVEN, "off"), (DUAL_SIMPLEX, SCALED, "on"))
"""Method, scaling and presolve, tried from scratch at each slack. Rows of near copies have tiny entries, and scaling blows them up."""
OPTIONS: Final = (
    ("output_flag", False),
    ("threads", 1),
    ("random_seed", 0),
    ("solver", "simplex"),
    ("small_matrix_value", LEAST_ENTRY),
    ("primal_feasibility_tolerance", TOLERANCE),
    ("dual_feasibility_tolerance", TOLERANCE),
)
_NEGATIVE: Final = -1e-6
"""A recomputed probability below this says that the basis is too ill-conditioned to be recomputed from."""


@dataclass(frozen=True, slots=True)
class MasterPoint:
    """An optimal point. probability: (columns,), sums to 1; multipliers: (rows,), nonnegative, 1 in sum over the open rows;
    gains: A s, (rows,); iterations: of the simplex method.
    """

    probability: Floats
    multipliers: Floats
    gains: Floats
    iterations: int


class Master:
    """The program, grown by `add` and narrowed by `freeze`. rows: number of deviations, all open at first."""

    def __init__(self, rows: int) -> None:
        self.columns = np.zeros((rows, 0))
        self.open = np.ones(rows, bool)
        self.bounds = np.zeros(rows)
        self.slack = 0.0
        self._model = _empty_program(rows)

    def add(self, columns: Floats) -> None:
        """More joints, by their gains (rows, k)."""
        rows, k = columns.shape
        whole = np.vstack([columns, np.ones((1, k))])
        starts = np.arange(k, dtype=np.int32) * (rows + 1)
        index = np.tile(np.arange(rows + 1, dtype=np.int32), k)
        unbounded = np.full(k, highspy.kHighsInf)
        _taken(self._model.addCols(k, np.zeros(k), np.zeros(k), unbounded, whole.size, starts, index, whole.T.ravel()))
        self.columns = np.hstack([self.columns, columns])

    def freeze(self, rows: NDArray[np.int64], bound: float, at: MasterPoint) -> None:
        """The gains of `rows` are at most `bound` from now on and no longer count for t. at: the last optimum, to start from."""
        basis = self._model.getBasis()
        for row in rows.tolist():
            _taken(self._model.changeRowBounds(row, -highspy.kHighsInf, bound + self.slack))
            _taken(self._model.changeCoeff(row, 0, 0.0))
        self.open[rows], self.bounds[rows] = False, bound
        self._mend(basis, rows, at)

    def solve(self) -> MasterPoint:
        """The optimum over the joints added. Raises `SolverError` where HiGHS finds none."""
        iterations = self._optimise()
        found = self._recomputed() or self._as_reported()
        share = np.maximum(found[0], 0.0)
        share /= share.sum()
        multipliers = np.maximum(found[1], 0.0)
        return MasterPoint(share, multipliers / multipliers[self.open].sum(), self.columns @ share, iterations)

    def forget(self) -> None:
        """The next solve starts cold."""
        self._model.clearSolver()

    def _mend(self, basis: highspy.HighsBasis, frozen: NDArray[np.int64], at: MasterPoint) -> None:
        """A feasible basis for the narrowed program, where one is at hand; otherwise HiGHS finds its own, at twice the cost.

        With the frozen rows gone from its column t depends on the slacks left in the basis. It stays in, held by the open row of
        largest gain whose slack leaves; the slack of a frozen row, which the others imply, takes that place at 0.
        """
        still = np.flatnonzero(self.open)
        status = list(basis.row_status)
        implied, basic = int(frozen[np.argmax(at.multipliers[frozen])]), highspy.HighsBasisStatus.kBasic
        if not len(still) or status[implied] == basic or any(status[row] != basic for row in still.tolist()):
            return
        holding = int(still[np.argmax(at.gains[still])])
        status[implied], status[holding] = basic, highspy.HighsBasisStatus.kUpper
        basis.row_status = status
        _taken(self._model.setBasis(basis))

    def _optimise(self) -> int:
        """Warm, then cold in several ways, then with frozen rows that give way, which the caller sees in the gap of what is found."""
        if self._run(*WARM):
            return int(self._model.getInfo().simplex_iteration_count)
        for slack in SLACKS[SLACKS.index(self.slack) :]:
            self._give_way(slack)
            for method in COLD:
                self.forget()
                if self._run(*method):
                    return int(self._model.getInfo().simplex_iteration_count)
        status = self._model.modelStatusToString(self._model.getModelStatus())
        raise SolverError(
            f"a program of deviation ratings ended as '{status}' after {int((~self.open).sum())} of {len(self.open)} rows; "
            "round the payoffs or rescale ones of very different size"
        )

    def _run(self, strategy: int, scaling: int, presolve: str) -> bool:
        self._model.setOptionValue("simplex_strategy", strategy)
        self._model.setOptionValue("simplex_scale_strategy", scaling)
        self._model.setOptionValue("presolve", presolve)
        self._model.run()
        return bool(self._model.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    def _give_way(self, slack: float) -> None:
        """From now on, too: what was too tight once is so again at the next level."""
        self.slack = slack
        for row in np.flatnonzero(~self.open).tolist():
            _taken(self._model.changeRowBounds(row, -highspy.kHighsInf, float(self.bounds[row]) + slack))

    def _as_reported(self) -> tuple[Floats, Floats]:
        solution = self._model.getSolution()
        return np.asarray(solution.col_value, np.float64)[1:], -np.asarray(solution.row_dual, np.float64)[:-1]

    def _recomputed(self) -> tuple[Floats, Floats] | None:
        """Probabilities and multipliers of the basis; None where it is too ill-conditioned."""
        basic = np.asarray(self._model.getBasicVariables()[1], np.int64)
        factors, pivots, singular = dgetrf(matrix := self._basis_matrix(basic))
        if singular:
            return None
        values = _refined(matrix, factors, pivots, np.append(np.where(self.open, 0.0, self.bounds + self.slack), 1.0), transposed=False)
        duals = _refined(matrix, factors, pivots, np.where(basic == 0, 1.0, 0.0), transposed=True)
        share = np.zeros(self.columns.shape[1])
        share[basic[basic > 0] - 1] = values[basic > 0]
        return (share, -duals[:-1]) if np.isfinite(duals).all() and share.min() >= _NEGATIVE else None

    def _basis_matrix(self, basic: NDArray[np.int64]) -> Floats:
        """basic: 0 for t, j + 1 for the j-th joint, -1 - c for the slack of row c."""
        matrix = np.zeros((len(basic), len(basic)), order="F")
        joints, slacks = np.flatnonzero(basic > 0), np.flatnonzero(basic < 0)
        matrix[:-1, joints], matrix[-1, joints] = self.columns[:, basic[joints] - 1], 1.0
        matrix[:-1, basic == 0] = np.where(self.open, -1.0, 0.0)[:, None]
        matrix[-1 - basic[slacks], slacks] = 1.0
        return matrix


def _refined(matrix: Floats, factors: Floats, pivots: NDArray[np.int32], wanted: Floats, *, transposed: bool) -> Floats:
    system = matrix.T if transposed else matrix
    found = dgetrs(factors, pivots, wanted, trans=int(transposed))[0]
    return np.asarray(found + dgetrs(factors, pivots, wanted - system @ found, trans=int(transposed))[0], np.float64)


def _empty_program(rows: int) -> highspy.Highs:
    """The program with no joints yet: t, a row for each deviation and one for the sum of probabilities."""
    model = highspy.Highs()
    for option, value in OPTIONS:
        if model.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {option}={value}; install highspy >= 1.10")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 1, rows + 1
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.ones(1), np.full(1, -highspy.kHighsInf), np.full(1, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.full(rows, -highspy.kHighsInf), 1.0)
    lp.row_upper_ = np.append(np.zeros(rows), 1.0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.array([0, rows], np.int32)
    lp.a_matrix_.index_ = np.arange(rows, dtype=np.int32)
    lp.a_matrix_.value_ = np.full(rows, -1.0)
    _taken(model.passModel(lp))
    return model


def _taken(status: highspy.HighsStatus) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refuses a change of a program of deviation ratings; check that payoffs are finite, and report it")

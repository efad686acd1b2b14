"""The restricted master program of deviation ratings: minimise the largest gain over distributions on the joints added so far.

    min t  subject to  (A s)_c <= t where row c is open, (A s)_c <= r_c where it is frozen, sum s = 1, s >= 0

HiGHS finds the basis, warm-started from the last one. The numbers are then recomputed from that basis in double precision with a step of
refinement, because a simplex method may stop up to its tolerance away, and the next rows are frozen at these numbers. Rounding can leave no
feasible point for the frozen rows, or none that HiGHS finds, especially if near copies of a top strategy make many rows nearly parallel.
The bounds of frozen rows are then relaxed a little, and the error grows by this amount.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.errors import SolverError
from ratings_core.games.linear_program import new_model
from ratings_core.solution import Floats

TOLERANCE: Final = 1e-10
"""Feasibility tolerance, in the payoffs' unit: the smallest that HiGHS accepts."""
LEAST_ENTRY: Final = 1e-12
"""Smallest entry that HiGHS can keep; it drops smaller ones. The default of 1e-9 would drop the differences of near copies."""
SLACKS: Final = (0.0, 1e-11, 1e-10, 1e-9, 1e-8)
"""Relaxations of frozen rows' bounds, tried in order if HiGHS fails. Without one, the feasible set is a face,
which rounding can make empty.
"""
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""Values of simplex_strategy. The old point stays feasible when columns are added, so the primal method can start from it."""
SCALED, AS_GIVEN = 2, 0
WARM: Final = (PRIMAL_SIMPLEX, SCALED, "off")
COLD: Final = (WARM, (PRIMAL_SIMPLEX, AS_GIVEN, "off"), (DUAL_SIMPLEX, AS_GIVEN, "off"), (DUAL_SIMPLEX, SCALED, "on"))
"""Method, scaling and presolve, tried from a cold start at each slack. Rows of near copies have tiny entries, which scaling enlarges."""
OPTIONS: Final[Mapping[str, str | float]] = {
    "solver": "simplex",
    "small_matrix_value": LEAST_ENTRY,
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
}
_NEGATIVE: Final = -1e-6
"""If a recomputed probability is lower, the basis is too ill-conditioned for recomputation."""


@dataclass(frozen=True, slots=True)
class MasterPoint:
    """An optimal point. probability: (columns,), sums to 1; multipliers: (rows,), nonnegative, sum 1 over the open rows; gains: A s,
    (rows,); iterations: of the simplex method.
    """

    probability: Floats
    multipliers: Floats
    gains: Floats
    iterations: int


class Master:
    """The program: `add` adds columns, `freeze` fixes bounds of rows. rows: number of deviations, all open at first."""

    def __init__(self, rows: int) -> None:
        self.columns = np.zeros((rows, 0))
        self.open = np.ones(rows, bool)
        self.bounds = np.zeros(rows)
        self.slack = 0.0
        self._model = _empty_program(rows)

    def add(self, columns: Floats) -> None:
        """Add joints. columns: their gains, (rows, k)."""
        rows, k = columns.shape
        coefficients = np.vstack([columns, np.ones((1, k))])
        starts = np.arange(k, dtype=np.int32) * (rows + 1)
        index = np.tile(np.arange(rows + 1, dtype=np.int32), k)
        unbounded = np.full(k, highspy.kHighsInf)
        _taken(self._model.addCols(k, np.zeros(k), np.zeros(k), unbounded, coefficients.size, starts, index, coefficients.T.ravel()))
        self.columns = np.hstack([self.columns, columns])

    def freeze(self, rows: NDArray[np.int64], bound: float, at: MasterPoint) -> None:
        """Bound the gains of `rows` by `bound` and remove these rows from the maximum t. at: the last
        optimum, where the next solve starts.
        """
        basis = self._model.getBasis()
        for row in rows.tolist():
            _taken(self._model.changeRowBounds(row, -highspy.kHighsInf, bound + self.slack))
            _taken(self._model.changeCoeff(row, 0, 0.0))
        self.open[rows], self.bounds[rows] = False, bound
        self._mend(basis, rows, at)

    def solve(self) -> MasterPoint:
        """The optimum over the joints added. Raises `SolverError` if HiGHS finds none."""
        iterations = self._optimise()
        optimum = self._recomputed() or self._as_reported()
        share = np.maximum(optimum[0], 0.0)
        share /= share.sum()
        multipliers = np.maximum(optimum[1], 0.0)
        return MasterPoint(share, multipliers / multipliers[self.open].sum(), self.columns @ share, iterations)

    def forget(self) -> None:
        """Make the next solve a cold start."""
        self._model.clearSolver()

    def _mend(self, basis: highspy.HighsBasis, frozen: NDArray[np.int64], at: MasterPoint) -> None:
        """Set a feasible basis for the narrowed program, if one can be derived; otherwise HiGHS finds a basis, at twice the cost.

        Freezing removes the frozen rows from t's column, so t depends on the slacks left in the basis. To keep t basic, the slack of the
        open row of largest gain leaves the basis. The slack of a frozen row, which the other rows imply, takes that place at 0.
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
        """Solve warm, then cold in several ways, then with relaxed frozen rows, which the caller sees in the
        gap. Returns the iterations.
        """
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
            "round the payoffs, or rescale payoffs of very different size"
        )

    def _run(self, strategy: int, scaling: int, presolve: str) -> bool:
        self._model.setOptionValue("simplex_strategy", strategy)
        self._model.setOptionValue("simplex_scale_strategy", scaling)
        self._model.setOptionValue("presolve", presolve)
        self._model.run()
        return bool(self._model.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    def _give_way(self, slack: float) -> None:
        """Relax the bounds of all frozen rows, for this and later levels: rows that were too tight are too tight at the next level."""
        self.slack = slack
        for row in np.flatnonzero(~self.open).tolist():
            _taken(self._model.changeRowBounds(row, -highspy.kHighsInf, float(self.bounds[row]) + slack))

    def _as_reported(self) -> tuple[Floats, Floats]:
        solution = self._model.getSolution()
        return np.asarray(solution.col_value, np.float64)[1:], -np.asarray(solution.row_dual, np.float64)[:-1]

    def _recomputed(self) -> tuple[Floats, Floats] | None:
        """Probabilities and multipliers computed from the basis; None if it is too ill-conditioned."""
        basic = np.asarray(self._model.getBasicVariables()[1], np.int64)
        factors, pivots, singular = scipy.linalg.lapack.dgetrf(matrix := self._basis_matrix(basic))
        if singular:
            return None
        values = _refined(matrix, factors, pivots, np.append(np.where(self.open, 0.0, self.bounds + self.slack), 1.0), transposed=False)
        duals = _refined(matrix, factors, pivots, np.where(basic == 0, 1.0, 0.0), transposed=True)
        share = np.zeros(self.columns.shape[1])
        share[basic[basic > 0] - 1] = values[basic > 0]
        return (share, -duals[:-1]) if np.isfinite(duals).all() and share.min() >= _NEGATIVE else None

    def _basis_matrix(self, basic: NDArray[np.int64]) -> Floats:
        """The matrix of the basic variables. basic: 0 for t, j + 1 for the j-th joint, -1 - c for the slack of row c."""
        matrix = np.zeros((len(basic), len(basic)), order="F")
        joints, slacks = np.flatnonzero(basic > 0), np.flatnonzero(basic < 0)
        matrix[:-1, joints], matrix[-1, joints] = self.columns[:, basic[joints] - 1], 1.0
        matrix[:-1, basic == 0] = np.where(self.open, -1.0, 0.0)[:, None]
        matrix[-1 - basic[slacks], slacks] = 1.0
        return matrix


def _refined(matrix: Floats, factors: Floats, pivots: NDArray[np.int32], wanted: Floats, *, transposed: bool) -> Floats:
    system = matrix.T if transposed else matrix
    solved = scipy.linalg.lapack.dgetrs(factors, pivots, wanted, trans=int(transposed))[0]
    return np.asarray(solved + scipy.linalg.lapack.dgetrs(factors, pivots, wanted - system @ solved, trans=int(transposed))[0], np.float64)


def _empty_program(rows: int) -> highspy.Highs:
    """The program without joints: t, a row for each deviation and a row for the sum of probabilities."""
    model = new_model(OPTIONS)
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
        raise SolverError("HiGHS rejects a change of a program of deviation ratings; check that payoffs are finite, and report this error")

"""How the programs are stated and solved."""

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import extras
from ratings_core.errors import SolverError
from ratings_core.solution import Floats

PLAYED: Final = 1e-7
"""A probability that can be at least this large is one that some optimal strategy gives."""
_LINEAR: Final = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "mip_rel_gap": 1e-7}
_CONIC: Final = (1e-10, 1e-9, 1e-8)
"""Gaps that Clarabel is asked for, one after another, until it calls its answer optimal."""
ENTROPY_ERROR: Final = (2 * _CONIC[-1]) ** 0.5
"""Largest error of a distribution of largest entropy, in total: by Pinsker's inequality a gap of g nats leaves sqrt(2 g)."""


def cvxpy() -> Any:
    """The modelling language. Raises `MissingExtraError`."""
    return extras.load("cvxpy", "reference", "a reference program")


def solve(objective: Any, constraints: list[Any], *, linear: bool) -> float:
    """Solve one program.

    Args:
        objective: cvxpy's `Minimize` or `Maximize`.
        constraints: cvxpy's constraints.
        linear: True for HiGHS (linear or mixed-integer), False for Clarabel (entropy). Conic solvers are too inexact for programs that
            are solved in a sequence: they were off by 2e-3 on deviation ratings.

    Returns:
        The optimal value. Variables and multipliers have theirs.

    Raises:
        SolverError: The solver did not call its answer optimal.
    """
    program = cvxpy().Problem(objective, constraints)
    if linear:
        program.solve(solver="HIGHS", **_LINEAR)
    else:
        _solve_conic(program)
    if program.status != "optimal":
        raise SolverError(f"the reference program ended as {program.status}: its data may be too badly scaled for this solver")
    return float(program.value)


def _solve_conic(program: Any) -> None:
    for gap in _CONIC:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
            program.solve(solver="CLARABEL", tol_gap_abs=gap, tol_gap_rel=gap, tol_feas=gap)
        if program.status == "optimal":
            return


def most_even(support: NDArray[np.bool_], constraints_of: Any) -> Floats:
    """The distribution of largest entropy on a support.

    Args:
        support: Boolean (m,), strategies that may have a probability.
        constraints_of: Function from the variable p (m,) to its further constraints.

    Returns:
        Probabilities (m,), exactly 0 outside the support.
    """
    cp = cvxpy()
    share = cp.Variable(int(support.sum()), nonneg=True)
    p = np.eye(len(support))[:, support] @ share
    solve(cp.Maximize(cp.sum(cp.entr(share))), [cp.sum(share) == 1, *constraints_of(p)], linear=False)
    mix = np.zeros(len(support))
    mix[support] = np.maximum(share.value, 0.0)
    return np.asarray(mix / mix.sum(), np.float64)

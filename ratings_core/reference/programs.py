"""Helpers that state and solve the programs."""

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import extras
from ratings_core.errors import SolverError
from ratings_core.games.linear_program import silent_packages
from ratings_core.solution import Floats

PLAYED: Final = 1e-7
"""A strategy is in a support if an optimal strategy can give it more than this probability."""
_LINEAR: Final = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "mip_rel_gap": 1e-7}
_CONIC: Final = (1e-10, 1e-9, 1e-8)
"""Gaps for Clarabel, tried one after another until its status is optimal."""
ENTROPY_ERROR: Final = (2 * _CONIC[-1]) ** 0.5
"""Largest total error of a distribution of largest entropy: by Pinsker's inequality, a gap of g nats leaves an error of sqrt(2 g)."""


def cvxpy() -> Any:
    """The module cvxpy, the modelling language. Raises `MissingExtraError`."""
    return extras.load("cvxpy", "reference", "a reference program")


def solve(objective: Any, constraints: list[Any], *, linear: bool) -> float:
    """Solve one program.

    Args:
        objective: cvxpy's `Minimize` or `Maximize`.
        constraints: cvxpy's constraints.
        linear: True for HiGHS (linear or mixed-integer), False for Clarabel (entropy). Conic solvers are too inexact for programs that are
            solved in a sequence: their deviation ratings were off by 2e-3.

    Returns:
        The optimal value. Variables and multipliers hold their optimal values afterwards.

    Raises:
        SolverError: The solver's status is not optimal.
    """
    program = cvxpy().Problem(objective, constraints)
    if linear:
        with silent_packages():
            program.solve(solver="HIGHS", **_LINEAR)
    else:
        _solve_conic(program)
    if program.status != "optimal":
        raise SolverError(f"the reference program ended as {program.status}: its data may be too badly scaled for this solver")
    return float(program.value)


def _solve_conic(program: Any) -> None:
    for gap in _CONIC:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status shows it
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

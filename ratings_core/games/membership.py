"""Which strategies are in some optimal strategy: one linear program decides where the interior point result is too close to 0.

Scaled by positive factors, the optimal strategies of a player form the cone {x >= 0, C'x >= 0}, with C the payoffs minus the value.
Maximising sum(s) with 0 <= s <= min(x, 1) over the cone gives s = 1 for each strategy that some optimal strategy plays, and s = 0 for the
others. So no threshold on small probabilities is needed (Freund, Roundy and Todd 1985).
"""

from typing import Final

import highspy
import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import NEVER, Deadline
from ratings_core.errors import SolverError
from ratings_core.games.linear_program import new_model
from ratings_core.solution import Floats

UNDECIDED: Final = 0.01
"""Largest accepted distance of s from 0 or 1. In theory s is 0 or 1, so at a larger distance the program was
not solved accurately enough.
"""


def playable(advantage: Floats, sure: NDArray[np.bool_], close: NDArray[np.bool_], deadline: Deadline = NEVER) -> NDArray[np.bool_]:
    """Mask of the strategies in `sure` and of those in `close` that some optimal strategy plays.

    advantage: C above, (strategies, opponents); sure: strategies that are known to be played by some optimal strategy. All strategies
    outside `sure` and `close` are known to be played by no optimal strategy. Raises `SolverError` if HiGHS does not solve the program,
    misses the deadline, or is not accurate enough.
    """
    ids, unclear = np.flatnonzero(sure | close), np.flatnonzero(close)
    model = _program(advantage[ids], advantage[unclear])
    model.setOptionValue("time_limit", deadline.left())
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = model.modelStatusToString(model.getModelStatus())
        raise SolverError(f"the program for {len(unclear)} close strategies ended with status '{status}'; rescale or round the payoffs")
    unit = np.asarray(model.getSolution().col_value, np.float64)[len(ids) :]
    if ((unit > UNDECIDED) & (unit < 1 - UNDECIDED)).any():
        raise SolverError(f"{len(unclear)} close strategies are undecided at double precision; round the payoffs or raise `close`")
    played = sure.copy()
    played[unclear] = unit > 0.5
    return played


def _program(free: Floats, unit: Floats) -> highspy.Highs:
    """Variables: x - s (of all of `free`), then s (of `unit`). One row per opponent."""
    model = new_model({"primal_feasibility_tolerance": 1e-10})
    if model.passModel(_description(np.vstack([free, unit]), len(unit))) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS rejects the support program; check that payoffs are finite and below 1e15")
    return model


def _description(columns: Floats, n_unit: int) -> highspy.HighsLp:
    n, rows = columns.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, rows
    unit = np.arange(n) >= n - n_unit
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = unit.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(n), np.where(unit, 1.0, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.zeros(rows), np.full(rows, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(n + 1, dtype=np.int32) * rows
    lp.a_matrix_.index_ = np.tile(np.arange(rows, dtype=np.int32), n)
    lp.a_matrix_.value_ = columns.ravel()
    return lp

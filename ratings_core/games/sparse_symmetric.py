"""An optimal strategy of a large symmetric game whose payoffs are mostly 0, with its certificate.

The program is to find p >= 0 of sum 1 with M'p >= 0. The first-order solver (PDLP; Applegate et al. 2021) only multiplies by M. It ends
within seconds for tens of thousands of agents that each met a few dozen others. If it misses the tolerance, HiGHS's interior point solver
runs. The certificate does not rely on the solvers: M'p is recomputed from the margins.
"""

from dataclasses import dataclass, field
from typing import Final

import highspy
import numpy as np
import scipy

from ratings_core.checks import Sparse
from ratings_core.errors import SolverError
from ratings_core.games.linear_program import new_model
from ratings_core.games.rules import PathOptions
from ratings_core.games.zero_sum import solve_symmetric
from ratings_core.solution import Floats

DENSE_AGENTS: Final = 2_000
"""Games up to this size are solved dense. That takes some seconds at most, gives the largest entropy, and
often proves the answer unique.
"""
DENSE_SHARE: Final = 0.02
MOST_DENSE: Final = 5_000
"""Games up to this size are solved dense, too, if more than `DENSE_SHARE` of their entries are not 0: sparse factors would fill up."""
FIRST_ORDER_STEPS: Final = 10_000
NEGLIGIBLE: Final = 1e-12
"""Lower probabilities are set to 0, because an interior point solver leaves such values for 0."""


@dataclass(frozen=True, slots=True)
class SparseSolution:
    """A strategy and its certificate.

    strategy: (m,), >= 0, sums to 1; exploitability: -(least entry of M'p), at least 0, over the largest |M|; unique: True if proven to be
    the only optimal strategy; stats: ``iterations`` and the solver of the answer (``dense``, ``first_order`` or ``interior``).
    """

    strategy: Floats
    exploitability: float
    unique: bool
    stats: dict[str, float] = field(default_factory=dict)


def some_optimal_strategy(margins: Sparse, *, tolerance: float, max_iterations: int) -> SparseSolution:
    """An optimal strategy of the symmetric game `margins`, antisymmetric CSR (m, m), or the best strategy if no solver reaches the
    tolerance.

    tolerance: the exploitability at which the search ends; max_iterations: of an interior point solver. Raises `SolverError` if no solver
    returns a strategy.
    """
    m = margins.shape[0]
    if m <= DENSE_AGENTS or (m <= MOST_DENSE and margins.nnz > DENSE_SHARE * m * m):
        solved = solve_symmetric(margins.toarray(), options=PathOptions(tolerance=tolerance, max_iterations=max_iterations))
        stats = {"dense": 1.0, "iterations": float(solved.stats["iterations"])}
        return SparseSolution(solved.strategy, solved.exploitability, solved.unique, stats)
    return _by_program(margins, tolerance, max_iterations)


def _by_program(margins: Sparse, tolerance: float, max_iterations: int) -> SparseSolution:
    scaled = scipy.sparse.csr_array(margins / float(np.abs(margins.data).max()))
    limits = {
        "first_order": ("pdlp", "pdlp_iteration_limit", FIRST_ORDER_STEPS, 1.0),
        "interior": ("ipm", "ipm_iteration_limit", max_iterations, float(margins.shape[0])),
    }
    best: SparseSolution | None = None
    for name, (solver, limit, most, total) in limits.items():
        candidate = _solved(scaled, total, name, solver, {limit: most})
        if candidate is not None and (best is None or candidate.exploitability < best.exploitability):
            best = candidate
        if best is not None and best.exploitability <= tolerance:
            return best
    if best is None:
        raise SolverError(f"HiGHS found no lottery of {margins.shape[0]} agents; rescale margins of very different size")
    return best


def _solved(scaled: Sparse, total: float, name: str, solver: str, limit: dict[str, int]) -> SparseSolution | None:
    """Run a solver. None if it returns no strategy. The exploitability is computed from the margins, not from the solver's status."""
    model = new_model({"kkt_tolerance": 1e-9, "solver": solver, "run_crossover": "off", **limit})
    if model.passModel(_program(scaled, total)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS rejects the program of a lottery; check that margins are finite and below 1e15")
    model.run()
    values = np.asarray(model.getSolution().col_value, np.float64)
    strategy = np.where(np.isfinite(values) & (values > NEGLIGIBLE), values, 0.0)
    if len(strategy) != scaled.shape[0] or not strategy.any():
        return None
    strategy /= strategy.sum()
    info = model.getInfo()
    iterations = info.pdlp_iteration_count if solver == "pdlp" else info.ipm_iteration_count
    exploitability = max(0.0, -float((strategy @ scaled).min()))
    return SparseSolution(strategy, exploitability, unique=False, stats={name: 1.0, "iterations": float(iterations)})


def _program(scaled: Sparse, total: float) -> highspy.HighsLp:
    """The linear program, with probabilities times `total` as unknowns: a row per opponent, and a row with 1/total that keeps the sum at 1.

    The interior point solver's residuals are about its tolerance, independent of the size of the unknowns. Probabilities of thousands of
    agents are as small as these residuals: the solver ended at 1e-8 of the margins with 17,000 agents. With unknowns of about 1 it ends
    below 1e-15. The first-order solver uses `total` = 1, because larger unknowns take more steps than its limit.
    """
    m = scaled.shape[0]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = m, m + 1
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(m), np.zeros(m), np.full(m, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.zeros(m), 1.0)
    lp.row_upper_ = np.append(np.full(m, highspy.kHighsInf), 1.0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = (scaled.indptr + np.arange(m + 1)).astype(np.int32)
    lp.a_matrix_.index_ = np.insert(scaled.indices, scaled.indptr[1:], m).astype(np.int32)
    lp.a_matrix_.value_ = np.insert(scaled.data, scaled.indptr[1:], 1.0 / total)
    return lp

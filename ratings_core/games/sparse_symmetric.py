"""Some optimal strategy of a large symmetric game whose payoffs are mostly 0, with its certificate.

The program is to find p >= 0 of sum 1 with M'p >= 0. First-order steps (PDLP; Applegate et al. 2021) need only products with M
and end within seconds where tens of thousands of agents met a few dozen others each; where they stop short, HiGHS's interior
point tries. Neither is taken at its word: what counts is M'p, recomputed from the margins.
"""

from dataclasses import dataclass, field
from typing import Final

import highspy
import numpy as np
from scipy import sparse

from ratings_core.checks import Sparse
from ratings_core.errors import SolverError
from ratings_core.games.rules import PathOptions
from ratings_core.games.zero_sum import solve_symmetric
from ratings_core.solution import Floats

DENSE_AGENTS: Final = 2_000
"""Games up to this size are solved dense: some seconds at most, of largest entropy, and often proven to have no other answer."""
DENSE_SHARE: Final = 0.02
MOST_DENSE: Final = 5_000
"""So are games up to this size of which that share of the entries is not 0: sparse factors would fill up."""
FIRST_ORDER_STEPS: Final = 10_000
NEGLIGIBLE: Final = 1e-12
"""Probabilities below it are what an interior point leaves of 0."""


@dataclass(frozen=True, slots=True)
class SparseSolution:
    """strategy: (m,), >= 0, sums to 1; exploitability: -(least entry of M'p), at least 0, over the largest |M|; unique: True where
    proven the only optimal strategy; stats: ``iterations`` and which solver's answer it is (``dense``, ``first_order``, ``interior``).
    """

    strategy: Floats
    exploitability: float
    unique: bool
    stats: dict[str, float] = field(default_factory=dict)


def some_optimal_strategy(margins: Sparse, *, tolerance: float, max_iterations: int) -> SparseSolution:
    """An optimal strategy of the symmetric game `margins`, antisymmetric CSR (m, m): the best found where none is good enough.

    tolerance: the exploitability at which the search ends; max_iterations: of an interior point. Raises `SolverError` where no
    solver gives any strategy.
    """
    m = margins.shape[0]
    if m <= DENSE_AGENTS or (m <= MOST_DENSE and margins.nnz > DENSE_SHARE * m * m):
        solved = solve_symmetric(margins.toarray(), options=PathOptions(tolerance=tolerance, max_iterations=max_iterations))
        stats = {"dense": 1.0, "iterations": float(solved.stats["iterations"])}
        return SparseSolution(solved.strategy, solved.exploitability, solved.unique, stats)
    return _by_program(margins, tolerance, max_iterations)


def _by_program(margins: Sparse, tolerance: float, max_iterations: int) -> SparseSolution:
    scaled = sparse.csr_array(margins / float(np.abs(margins.data).max()))
    limits = {
        "first_order": ("pdlp", "pdlp_iteration_limit", FIRST_ORDER_STEPS, 1.0),
        "interior": ("ipm", "ipm_iteration_limit", max_iterations, float(margins.shape[0])),
    }
    best: SparseSolution | None = None
    for name, (solver, limit, most, total) in limits.items():
        found = _solved(scaled, total, name, solver, {limit: most})
        if found is not None and (best is None or found.exploitability < best.exploitability):
            best = found
        if best is not None and best.exploitability <= tolerance:
            return best
    if best is None:
        raise SolverError(f"HiGHS found no lottery of {margins.shape[0]} agents; rescale margins of very different size")
    return best


def _solved(scaled: Sparse, total: float, name: str, solver: str, limit: dict[str, int]) -> SparseSolution | None:
    """None where the solver leaves no strategy; whatever it leaves is judged by the margins."""
    model = _model({"solver": solver, "run_crossover": "off", **limit})
    if model.passModel(_program(scaled, total)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refuses the program of a lottery; check that margins are finite and below 1e15")
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


def _model(options: dict[str, str | int]) -> highspy.Highs:
    model = highspy.Highs()
    fixed = {"output_flag": False, "threads": 1, "random_seed": 0, "kkt_tolerance": 1e-9}
    for option, value in {**fixed, **options}.items():
        if model.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refuses the option {option}={value}; install highspy >= 1.10")
    return model


def _program(scaled: Sparse, total: float) -> highspy.HighsLp:
    """A column per agent: its margins over the others, and 1/total in the row that sums to 1; unknowns are probabilities times `total`.

    The interior point's residuals are of the size of its tolerance whatever the unknowns' size. Probabilities of thousands of agents
    are as small as its residuals get (it ended at 1e-8 of the margins at 17,000 agents), unknowns of about 1 are not (below 1e-15).
    First-order steps have the longer way to go then, and more to do than they can.
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

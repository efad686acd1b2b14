"""Batch Bradley-Terry from tallies, beside peers and beside L-BFGS on the same likelihood.

`python -m benchmarks.bradley_terry [--quick]`. Goals: 1M battles of 100 agents <= 0.02 s from tallies with sandwich errors;
a Diplomacy-sized tally (52,958 agents) <= 3 s. Peers are the optional group `bench`; one that is missing is said, not timed.
Seconds are CPU seconds, one thread.
"""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from scipy import optimize, sparse
from scipy.special import expit

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import battles, free_for_alls, pairs_of
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.solution import Floats

PRIOR = 0.1
"""Games against the anchor in the large tally: without it agents that won or lost every pair have no finite rating."""


def tally(winner: Any, loser: Any, m: int) -> Any:
    """Sparse win counts."""
    return sparse.csr_array(sparse.coo_array((np.ones(len(winner)), (winner, loser)), shape=(m, m)))


def lbfgs(wins: Any, prior: float, gradient_tolerance: float) -> Floats:
    """The same likelihood by scipy's L-BFGS, to `gradient_tolerance` points; logits."""
    counts = pair_counts(wins)

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        gap = theta[counts.first] - theta[counts.second]
        surplus = counts.games * expit(gap) - counts.points
        value = counts.games @ np.logaddexp(0, gap) - counts.points @ gap
        anchor = prior * (np.logaddexp(0, theta) - theta / 2).sum()
        return value + anchor, counts.per_agent(surplus, -surplus) + prior * (expit(theta) - 0.5)

    options = {"maxiter": 10_000, "maxfun": 20_000, "maxcor": 20, "gtol": gradient_tolerance, "ftol": 0.0}
    return np.asarray(optimize.minimize(value_and_gradient, np.zeros(counts.m), jac=True, method="L-BFGS-B", options=options).x)


def peer(module: str, run: Callable[[Any], Any], repeats: int) -> float | None:
    """CPU seconds of a peer, None where it is not installed."""
    try:
        loaded = import_module(module)
    except ImportError:
        return None
    return seconds(lambda: run(loaded), repeats)


def arena(n: int, repeats: int) -> None:
    m = 100
    winner, loser = battles(n, m)
    thin = tally(winner, loser, m)
    wins = thin.toarray()
    size = f"{n} battles, {m} agents"
    plain = seconds(lambda: bradley_terry(wins), repeats)
    sandwich = seconds(lambda: bradley_terry(wins, options=BradleyTerryOptions(standard_errors="sandwich")), repeats)
    counts = peer("choix", lambda module: module.ilsr_pairwise_dense(wins), repeats)
    listed = list(zip(winner.tolist(), loser.tolist(), strict=True))
    each = peer("choix", lambda module: module.ilsr_pairwise(m, listed), 1)
    show(
        Row("Bradley-Terry from tallies", size, plain, "L-BFGS, gradient 1e-6", seconds(lambda: lbfgs(wins, 0.0, 1e-6), repeats)),
        Row("the same with sandwich errors", size, sandwich, "goal", 0.02),
        Row("Bradley-Terry from tallies", size, plain, "choix ilsr_pairwise_dense, from tallies", counts),
        Row("Bradley-Terry from tallies", size, plain, "choix ilsr_pairwise, from battles", each),
    )


def diplomacy(n: int, m: int, repeats: int) -> None:
    wins = tally(*pairs_of(free_for_alls(n, m)), m)
    fit = bradley_terry(wins, options=BradleyTerryOptions(prior=PRIOR))
    size = f"{fit.stats['pairs']:.0f} pairs, {m} agents"
    ours = seconds(lambda: bradley_terry(wins, options=BradleyTerryOptions(prior=PRIOR)), repeats)
    parts = seconds(lambda: bradley_terry(wins, options=BradleyTerryOptions(unconnected="components")), repeats)
    theirs = seconds(lambda: lbfgs(wins, PRIOR, 1e-5), 1)
    show(
        Row("Bradley-Terry, sparse, prior 0.1", size, ours, "L-BFGS, gradient 1e-5", theirs),
        Row("Bradley-Terry, sparse, by component", size, parts, "goal", 3.0),
    )
    print(f"  certificate {fit.certificate.value:.1e} ({fit.certificate.kind}), {fit.stats['iterations']:.0f} Newton steps")


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    header("Batch Bradley-Terry", ["numpy", "scipy"])
    arena(20_000 if options.quick else 1_000_000, options.repeats)
    if options.quick:
        diplomacy(1_000, 1_700, options.repeats)
    else:
        diplomacy(31_049, 52_958, min(options.repeats, 3))


if __name__ == "__main__":
    main()

"""Soft Condorcet optimisation at Diplomacy size: speed beside OpenSpiel's C++ and a bare loop.

`python -m benchmarks.soft_condorcet [--quick]`. Goal: 100,000 batches of 32 votes <= 0.8 s where the bare loop takes 0.63 s. How well
the fits order games that they have not seen is in `benchmarks.held_out`. The peer is the optional group `bench`; missing, it is said,
not timed. Seconds are CPU seconds, one thread.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import free_for_alls
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.solution import Floats
from ratings_core.voting.profile import Profile

Games = NDArray[np.int32]


def full_batch(counts: MetPairs, prior: float) -> Floats:
    """The full-batch fit, to an accuracy that its order does not feel."""
    return soft_condorcet(counts, options=SoftCondorcetOptions(prior=prior, tolerance=1e-3)).ratings


def votes(games: Games, m: int) -> tuple[Profile, MetPairs]:
    """Both forms of the data."""
    profile = Profile.from_orders(games, names=tuple(map(str, range(m))))
    return profile, of_tally(profile.pair_counts("unknown"), m)


@njit
def bare_loop(games: Any, picks: Any, alpha: float, tau: float, theta: Any) -> None:
    """Algorithm 1 as one writes it first: an exponential a pair, one array for the batch's gradient."""
    gradient = np.zeros(len(theta))
    k = games.shape[1]
    for step in range(picks.shape[0]):
        for column in range(picks.shape[1]):
            game = games[picks[step, column]]
            for i in range(k):
                for j in range(i + 1, k):
                    wrong = 1.0 / (1.0 + np.exp((theta[game[i]] - theta[game[j]]) / tau))
                    gradient[game[i]] -= wrong * (1.0 - wrong) / tau
                    gradient[game[j]] += wrong * (1.0 - wrong) / tau
        for column in range(picks.shape[1]):
            for a in games[picks[step, column]]:
                theta[a] = min(max(theta[a] - alpha / picks.shape[1] * gradient[a], 0.0), 100.0)
                gradient[a] = 0.0


def openspiel(games: Games, steps: int) -> float | None:
    """CPU seconds of its C++ optimiser, without building its profile; None where it is not installed."""
    try:
        sco = import_module("pyspiel").sco
    except (ImportError, AttributeError):
        return None
    listed = [(1, [str(agent) for agent in game]) for game in games.tolist()]
    ready = sco.SoftCondorcetOptimizer(listed, 0.0, 100.0, 32, 1.0, 0)
    return seconds(lambda: ready.run_solver(steps, 0.01), 1)


def speed(games: Games, m: int, steps: int, repeats: int) -> None:
    """Rows of seconds."""
    profile, counts = votes(games, m)
    size = f"{steps:,} batches of 32, {m:,} agents"
    picks = np.random.default_rng(0).integers(0, len(games), (steps, 32))
    bare_loop(games, picks[:1], 0.01, 1.0, np.full(m, 50.0))
    ours = seconds(lambda: soft_condorcet_sgd(profile, seed=0, iterations=steps), repeats)
    bare = seconds(lambda: bare_loop(games, picks, 0.01, 1.0, np.full(m, 50.0)), repeats)
    show(
        Row("SCO, Algorithm 1, drawing and certificate too", size, ours, "bare numba loop, drawn beforehand", bare),
        Row("", "", ours, "pyspiel, C++", openspiel(games, steps)),
    )
    full = seconds(lambda: full_batch(counts, 1.0), repeats)
    show(Row("SCO, full batch, prior 1", f"{len(counts.first):,} pairs, {m:,} agents", full, "Algorithm 1, ours", ours))


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the rows."""
    options = arguments(__doc__ or "", argv)
    n, m, steps = (1_500, 2_500, 3_000) if options.quick else (31_049, 52_958, 100_000)
    games = free_for_alls(n, m)
    header("Soft Condorcet optimisation", ["numba", "numpy", "scipy"])
    speed(games, m, steps, min(options.repeats, 3))


if __name__ == "__main__":
    main()

"""Soft Condorcet optimisation at Diplomacy size: speed beside OpenSpiel's C++ and a bare loop, and quality on held-out games.

`python -m benchmarks.soft_condorcet [--quick]`. Goals: 100,000 batches of 32 votes <= 0.8 s; a full-batch fit at least as good on
held-out games; the best of all at most 8.15 wrongly ordered pairs a game of seven. Settings are chosen on 3,000 games, then fitted
again with these included, and judged on 3,000 others; all players of both appear in training. The peer is the optional group
`bench`; missing, it is said, not timed. Seconds are CPU seconds, one thread.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import free_for_alls
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.batch.fenchel_young import fenchel_young
from ratings_core.batch.pair_counts import PairCounts, of_tally
from ratings_core.batch.soft_condorcet import soft_condorcet
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.solution import Floats
from ratings_core.voting.profile import Profile

Games = NDArray[np.int32]
Fit = Callable[[Profile, PairCounts], Floats]


def fits(quick: bool) -> Iterator[tuple[str, str, Fit]]:
    """(method, setting, fit): what is tried on the validation games."""
    steps = (3_000,) if quick else (50_000, 100_000, 200_000)
    for alpha in (1.0, 10.0):
        for count in steps:
            yield "SCO, Algorithm 1", f"alpha {alpha:g}, {count:,} steps", sgd(alpha, count)
    for prior in (0.3, 0.7, 1.0, 2.0):
        yield "SCO, full batch", f"prior {prior:g}", lambda _, counts, prior=prior: full_batch(counts, prior)
    for prior in (5.0, 20.0, 40.0, 80.0):
        yield "Fenchel-Young, full batch", f"prior {prior:g}", lambda _, counts, prior=prior: fenchel_young(counts, prior=prior).ratings
    yield "Bradley-Terry", "prior 0.1", lambda _, counts: bradley_terry(counts, prior=0.1).ratings


def sgd(alpha: float, steps: int) -> Fit:
    """Algorithm 1 with batches of 32."""
    return lambda profile, _: soft_condorcet_sgd(profile, seed=0, alpha=alpha, iterations=steps).ratings


def full_batch(counts: PairCounts, prior: float) -> Floats:
    """The full-batch fit, to an accuracy that its order does not feel."""
    return soft_condorcet(counts, prior=prior, tolerance=1e-3).ratings


def votes(games: Games, m: int) -> tuple[Profile, PairCounts]:
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


def split(games: Games, m: int, held: int) -> tuple[Games, Games, Games]:
    """Training, validation and test games; everybody held out plays in training at least once."""
    left, chosen = np.bincount(games.ravel(), minlength=m), []
    for game in np.random.default_rng(0).permutation(len(games)):
        if (left[games[game]] > 1).all() and len(chosen) < 2 * held:
            left[games[game]] -= 1
            chosen.append(game)
    rest = np.setdiff1d(np.arange(len(games)), chosen)
    return games[rest], games[chosen[:held]], games[chosen[held:]]


def wrong_pairs(ratings: Floats, games: Games) -> float:
    """Mean Kendall distance of games to the ratings' order, ties half."""
    better, worse = np.triu_indices(games.shape[1], 1)
    gap = ratings[games[:, worse]] - ratings[games[:, better]]
    return float(((gap > 0) + 0.5 * (gap == 0)).sum(axis=1).mean())


def quality(games: Games, m: int, held: int, quick: bool) -> None:
    """Each method's best setting by validation, and what it then makes of the test games."""
    train, validation, test = split(games, m, held)
    some, whole = votes(train, m), votes(np.concatenate([train, validation]), m)
    best: dict[str, tuple[float, str, Fit]] = {}
    for method, setting, fit in fits(quick):
        found = wrong_pairs(fit(*some), validation)
        if method not in best or found < best[method][0]:
            best[method] = found, setting, fit
    print(f"\nWrong pairs a game on {len(test):,} held-out games (lower is better; 10.5 by chance)")
    for method, (found, setting, fit) in best.items():
        print(f"  {method:28}{setting:28}validation {found:.3f}  test {wrong_pairs(fit(*whole), test):.3f}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints both tables."""
    options = arguments(__doc__ or "", argv)
    n, m, steps, held = (1_500, 2_500, 3_000, 100) if options.quick else (31_049, 52_958, 100_000, 3_000)
    games = free_for_alls(n, m)
    header("Soft Condorcet optimisation", ["numba", "numpy", "scipy"])
    speed(games, m, steps, min(options.repeats, 3))
    quality(games, m, held, options.quick)


if __name__ == "__main__":
    main()

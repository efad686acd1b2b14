"""How often 95 % intervals of Bradley-Terry ratings hold the truth, by number of sides a game, and what resampling costs.

`python -m benchmarks.intervals [--quick]`. Tournaments of free-for-alls by Plackett-Luce, whose pairs follow Bradley-Terry. Five kinds of
intervals: resampled pairs and the sandwich of pairs, which take pairs of one game for independent, and resampled games, the
sandwich clustered by game and 64 groups of games left out in turn, which do not. The first two are too narrow by
sqrt((k + 1)/3) at k sides.
"""

import math
import os
from collections.abc import Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from scipy.special import ndtri

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import battles
from ratings_core.analysis.intervals import cell_replicates, outcome_replicates, replicate_intervals
from ratings_core.analysis.jackknife import group_deletions, jackknife_intervals
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.solution import Floats

AGENTS, GAMES, LEVEL = 16, 300, 0.95
KINDS = ("pairs resampled", "sandwich of pairs", "games resampled", "sandwich of games", "groups of games left out")


def tournament(k: int, skill: Floats, seed: int) -> Comparisons:
    """Games of k agents drawn evenly, by Plackett-Luce."""
    rng = np.random.default_rng(seed)
    games = np.array([rng.permutation(len(skill))[:k] for _ in range(GAMES)])
    games = np.take_along_axis(games, np.argsort(-(skill[games] + rng.gumbel(size=games.shape)), axis=1), axis=1)
    better, worse = np.triu_indices(k, 1)
    pairs = len(better)
    each = np.repeat(np.arange(GAMES), pairs)
    return Comparisons(len(skill), games[:, better].ravel(), games[:, worse].ravel(), np.ones(GAMES * pairs), each, np.ones(GAMES))


def ratings(counts: MetPairs) -> Floats:
    """In logits, mean 0."""
    return bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=1e-6)).ratings


def coverage(k: int, tournaments: int, replicates: int) -> None:
    """One line a kind: share of intervals that hold the truth, and their mean half-width over the fits' spread."""
    skill = np.linspace(0.6, -0.6, AGENTS)
    held, width, fits = np.zeros(len(KINDS)), np.zeros(len(KINDS)), []
    for seed in range(tournaments):
        data = tournament(k, skill, seed)
        fits.append(ratings(data.counts()))
        for kind, (low, high) in enumerate(_intervals(data, fits[-1], seed, replicates)):
            held[kind] += ((low <= skill) & (skill <= high)).mean() / tournaments
            width[kind] += (high - low).mean() / 2 / tournaments
    spread = np.std(fits, axis=0).mean() * ndtri(0.5 + LEVEL / 2)
    print(f"\n{k} sides, {tournaments} tournaments of {GAMES} games, {AGENTS} agents; sqrt((k + 1)/3) = {math.sqrt((k + 1) / 3):.2f}")
    for name, share, half in zip(KINDS, held, width, strict=True):
        print(f"  {name:26} holds the truth {share:6.1%}   true spread over half-width {spread / half:5.2f}", flush=True)


def _intervals(data: Comparisons, fit: Floats, seed: int, replicates: int) -> list[tuple[Floats, Floats]]:
    counts, normal = data.counts(), ndtri(0.5 + LEVEL / 2)
    cells = replicate_intervals(ratings, cell_replicates(counts, seed=seed, replicates=replicates), level=LEVEL)
    games = replicate_intervals(ratings, outcome_replicates(data, seed=seed, replicates=replicates), level=LEVEL)
    pairs, clustered = (
        bradley_terry(given, options=BradleyTerryOptions(scale=1.0, centre=0.0, standard_errors=kind)).standard_error
        for given, kind in ((counts, "sandwich"), (data, "clustered"))
    )
    assert pairs is not None
    assert clustered is not None
    bands = [(fit - normal * error, fit + normal * error) for error in (pairs, clustered)]
    without = jackknife_intervals(ratings, counts, group_deletions(data, seed=seed), level=LEVEL)
    return [(cells.low, cells.high), bands[0], (games.low, games.high), bands[1], (without.low, without.high)]


def cost(n: int, replicates: int, repeats: int) -> None:
    """A hundred replicates of many battles beside the refits they are for."""
    winner, loser = battles(n, 100)
    data = Comparisons(100, winner, loser, np.ones(n), np.arange(n), np.ones(n))
    made = seconds(lambda: list(outcome_replicates(data, seed=0, replicates=replicates)), repeats)
    counts = data.counts()
    refits = seconds(lambda: [bradley_terry(counts) for _ in range(replicates)], repeats)
    header("Replicates", ["numpy", "numba"])
    show(Row(f"{replicates} tallies of whole outcomes", f"{n:,} battles, 100 agents", made, "as many Bradley-Terry fits", refits))


def main(argv: Sequence[str] | None = None) -> None:
    """Prints coverage and cost."""
    options = arguments(__doc__ or "", argv)
    cost(*((20_000, 20) if options.quick else (1_000_000, 100)), repeats=min(options.repeats, 2))
    for k in (2, 7) if options.quick else (2, 3, 4, 7, 12):
        coverage(k, *((10, 40) if options.quick else (60, 200)))


if __name__ == "__main__":
    main()

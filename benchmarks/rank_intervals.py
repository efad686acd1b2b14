"""Rank intervals by several rules, on planted pools: the tables of docs/concepts/intervals.md.

`python -m benchmarks.rank_intervals [--quick]`. Rules for Bradley-Terry, each for 95 %:

- `ours`: simultaneous intervals of all differences, single step (`simultaneous_ranks`).
- `step-down`: the same differences, tested again without those that are certain, until nothing changes (Romano and Wolf 2005).
- `leaderboard`: an agent is above another if the lower end of its own 95 % interval is above the other's upper end, as LMArena's
  leaderboard counts (package arena-rank).

Rules for methods whose intervals come from draws, on the same draws:

- `ours`: intervals that hold together (`simultaneous_ranks_of_draws`).
- `draws`: without differences of ratings, only so that 95 % of the draws have all their ranks inside. It is `ours` for lotteries.
- `differences`: with differences of ratings, where `ours` has none.
- `percentiles`: the central 95 % of the draws' ranks of each agent by itself: the rule before decision 88.

All of these are extended to the estimate. `all` is the share of pools in which all rank intervals hold at once, `each` the share of agents
whose interval holds, `width` the mean number of ranks in an interval. Pools are those of `benchmarks.coverage`.
"""

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np

from benchmarks.common import machine, parser
from benchmarks.coverage import Cell
from benchmarks.coverage import drawn as planted
from ratings_core.analysis.normal_intervals import normal_intervals
from ratings_core.analysis.rank_intervals import simultaneous_ranks_of_draws
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.methods.refits import sample
from ratings_core.methods.registry import ranking_of, taken
from ratings_core.methods.resampling import has_differences, resampling
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

POOLS = [(18, 1_800, 100), (120, 12_000, 40), (400, 40_000, 10)]
"""Agents, games and number of pools."""
DRAWN = [
    Cell("copeland", "transitive", 6, 30, 100),
    Cell("copeland", "cyclic", 6, 30, 100),
    Cell("copeland", "sparse", 20, 20, 100),
    Cell("copeland", "random", 32, 320, 100),
    Cell("copeland", "random", 32, 8_000, 100),
    Cell("copeland", "random, near", 20, 4_000, 100),
    Cell("schulze", "random", 20, 2_000, 60),
    Cell("uniform", "tasks", 5, 40, 100),
    Cell("uniform", "tasks", 20, 200, 60),
    Cell("uniform", "tasks, near", 20, 60, 60),
    Cell("maximal_lottery", "transitive", 6, 30, 60),
    Cell("maximal_lottery", "cyclic", 6, 30, 60),
    Cell("maximal_lottery", "random", 32, 2_000, 60),
    Cell("maximal_lottery", "random, near", 12, 600, 60),
    Cell("nash_average_agents", "cyclic", 6, 30, 60),
]
"""Pools of methods whose intervals come from draws."""
DRAWS = 1_000
REPLICATES = 256
"""Number of draws of an answer."""
LOGITS = BradleyTerryOptions(scale=1.0, centre=0.0, standard_errors="sandwich")


def drawn(agents: int, games: int, seed: int) -> tuple[MetPairs, Floats]:
    """Results between random pairs, and the skills."""
    rng = np.random.default_rng([seed, agents, games])
    skill = rng.normal(0.0, 0.7, agents)
    first, second = np.triu_indices(agents, 1)
    met = rng.multinomial(games, np.full(len(first), 1 / len(first)))
    won = rng.binomial(met, 1 / (1 + np.exp(skill[second] - skill[first])))
    kept = met > 0
    counts = MetPairs(agents, first[kept], second[kept], *(part[kept].astype(float) for part in (won, met - won, 0 * met)))
    return counts, skill


def step_down(theta: Floats, covariance: Floats) -> tuple[Any, Any]:
    """Best and worst ranks from the differences that are certain after all steps. The critical value falls as fewer remain."""
    m = len(theta)
    i, j = np.triu_indices(m, 1)
    spread = covariance.diagonal()
    error = np.sqrt(spread[i] + spread[j] - 2 * covariance[i, j])
    gap = (theta[i] - theta[j]) / error
    values, vectors = np.linalg.eigh(covariance)
    draws = np.random.default_rng(0).standard_normal((DRAWS, m)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    surely = np.zeros(len(gap), bool)
    while True:
        largest = np.array([np.abs((one[i] - one[j])[~surely] / error[~surely]).max() for one in draws])
        found = surely | (np.abs(gap) > np.quantile(largest, 0.95))
        if found.all() or (found == surely).all():
            break
        surely = found
    above = np.bincount(i, found & (gap < 0), m) + np.bincount(j, found & (gap > 0), m)
    below = np.bincount(i, found & (gap > 0), m) + np.bincount(j, found & (gap < 0), m)
    return 1 + above, m - below


def ways(counts: MetPairs) -> dict[str, tuple[Any, Any]]:
    """Best and worst rank of each agent by each way."""
    fit = bradley_terry(counts, options=LOGITS)
    own = normal_intervals(counts, fit.ratings)
    above = (own.low[:, None] > own.high).sum(axis=0)
    below = (own.high[:, None] < own.low).sum(axis=0)
    assert fit.covariance is not None
    return {
        "ours": (own.rank_low, own.rank_high),
        "step-down": step_down(fit.ratings, fit.covariance),
        "leaderboard": (1 + above, counts.m - below),
    }


def rules_of_draws(cell: Cell, seed: int) -> tuple[Floats, dict[str, tuple[Any, Any]]]:
    """True ratings of a planted pool, and best and worst rank of each agent by each rule, from the same draws."""
    pool = planted(cell, seed)
    run = taken(cell.method, pool.problem, {})
    rated, source = run.rated(), resampling(run.problem, run.method, run.values)
    found, own = sample(run, source, seed, 0, REPLICATES, math.inf), ranking_of(run.method, rated).rank
    rule = partial(simultaneous_ranks_of_draws, found.ratings, found.ranks, rated.solution.ratings, units=source.units)
    rules = {
        "ours": rule(differences=has_differences(run.method)),
        **({"draws": rule(differences=False)} if has_differences(run.method) else {"differences": rule(differences=True)}),
        "percentiles": np.quantile(found.ranks, [0.025, 0.975], axis=0, method="inverted_cdf"),
    }
    return pool.truth, {name: (np.minimum(best, own), np.maximum(worst, own)) for name, (best, worst) in rules.items()}


class Row:
    """Shares of pools and agents whose intervals hold, and widths, by rule."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[float, float, float]]] = {}

    def add(self, truth: Floats, ends: dict[str, tuple[Any, Any]]) -> None:
        """Count one pool. truth: its true ratings."""
        rank = Ranking.from_scores(np.round(truth, 9)).rank
        for name, (best, worst) in ends.items():
            held = (best <= rank) & (rank <= worst)
            self._found.setdefault(name, []).append((float(held.all()), float(held.mean()), float((worst - best + 1).mean())))

    def print(self, label: str) -> None:
        """Print a line for each rule."""
        for name, rows in self._found.items():
            everyone, each, width = np.mean(rows, axis=0)
            print(f"{label}{len(rows):7}  {name:12}{everyone:7.0%}{each:7.1%}{width:8.1f}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    options = parser(__doc__ or "")
    options.add_argument("--only", default="", help="rows of drawn methods that contain this word, and no others")
    chosen = options.parse_args(argv)
    print(machine(["numpy", "scipy"]))
    print(f"{'method':22}{'pool':14}{'agents':>7}{'games':>7}{'pools':>7}  {'rule':12}{'all':>7}{'each':>7}{'width':>8}")
    for agents, games, pools in [] if chosen.only else POOLS[: 1 if chosen.quick else None]:
        row = Row()
        for seed in range(5 if chosen.quick else pools):
            counts, skill = drawn(agents, games, seed)
            with suppress(InputError):  # chains of wins do not connect all agents
                row.add(skill, ways(counts))
        row.print(f"{'bradley_terry':22}{'random':14}{agents:7}{games:7}")
    for cell in DRAWN:
        if chosen.only in cell.label:
            row = Row()
            for seed in range(2 if chosen.quick else cell.pools):
                row.add(*rules_of_draws(cell, seed))
            row.print(cell.label[:-7])


if __name__ == "__main__":
    main()

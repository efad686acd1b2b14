"""Rank intervals by several rules, on planted pools: the tables of docs/concepts/intervals.md.

`python -m benchmarks.rank_intervals [--quick]`. Rules for Bradley-Terry, each for 95 %:

- `ours`: simultaneous intervals of all differences, single step (`simultaneous_ranks`).
- `step-down`: the same differences, tested again without those that are certain, until nothing changes (Romano and Wolf 2005).
- `leaderboard`: an agent is above another if the lower end of its own 95 % interval is above the other's upper end, as LMArena's
  leaderboard counts (package arena-rank).

Rules for methods whose intervals come from draws, on the same draws:

- `ours`: intervals that hold together (`simultaneous_ranks_of_draws`).
- `errors`: the rule for more than 1,000 agents, by the errors of single ratings (`simultaneous_ranks_of_errors`).
- `percentiles`: the central 95 % of the draws' ranks of each agent by itself, extended to the estimate: the rule before decision 88.

`all` is the share of pools in which all rank intervals hold at once, `each` the share of agents whose interval holds, `width` the mean
number of ranks in an interval. Games are between random pairs, skills are normal with a deviation of 0.7 logits; `near` pools have skills
with a seventh of it.
"""

import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np

from benchmarks.common import machine, parser
from ratings_core.analysis.normal_intervals import normal_intervals
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.solution import Floats

POOLS = [(18, 1_800, 100), (120, 12_000, 40), (400, 40_000, 10)]
"""Agents, games and number of pools."""
DRAWS = 1_000
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


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    quick = parser(__doc__ or "").parse_args(argv).quick
    print(machine(["numpy", "scipy"]))
    print(f"{'agents':>7}{'games':>7}{'pools':>7}  {'way':12}{'all':>7}{'each':>7}{'width':>8}")
    for agents, games, pools in POOLS[: 1 if quick else None]:
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(5 if quick else pools):
            counts, skill = drawn(agents, games, seed)
            rank = 1 + (skill[:, None] < skill).sum(axis=1)
            try:
                ranks = ways(counts)
            except InputError:  # chains of wins do not connect all agents
                continue
            for name, (best, worst) in ranks.items():
                held = (best <= rank) & (rank <= worst)
                found.setdefault(name, []).append((float(held.all()), float(held.mean()), float((worst - best + 1).mean())))
        for name, rows in found.items():
            everyone, each, width = np.mean(rows, axis=0)
            print(f"{agents:7}{games:7}{len(rows):7}  {name:12}{everyone:7.0%}{each:7.1%}{width:8.1f}", flush=True)


if __name__ == "__main__":
    main()

"""Rank intervals by several rules, on planted pools: the tables of docs/concepts/intervals.md.

`python -m benchmarks.rank_intervals [--quick] [--only WORD]`. Rules for Bradley-Terry, each for 95 %:

- `ours`: differences beyond a critical value that is calibrated for ranks (`simultaneous_ranks`).
- `single step`: the critical value of the largest error among all differences: the rule before decision 88.
- `step-down`: the same differences, tested again without those that are certain, until nothing changes (Romano and Wolf 2005).
- `leaderboard`: an agent is above another if the lower end of its own 95 % interval is above the other's upper end, as LMArena's
  leaderboard counts (package arena-rank).
- `known truth`: the critical value with which just 95 % of these pools hold, read off the planted skills: what no rule can beat on average.

Rules for methods whose intervals come from draws, on the same draws:

- `ours`: intervals that hold together (`simultaneous_ranks_of_draws`).
- `single step`: with Bonferroni's critical value instead of the calibrated one.
- `draws`: without differences of ratings, only so that 95 % of the draws have all their ranks inside. It is `ours` for lotteries.
- `differences`: with differences of ratings, where `ours` has none.
- `percentiles`: the central 95 % of the draws' ranks of each agent by itself: the rule before decision 88.

All of these are extended to the estimate. `all` is the share of pools in which all rank intervals hold at once, `each` the share of agents
whose interval holds, `width` the mean number of ranks in an interval. Games of Bradley-Terry are between random pairs. Its skills are
`normal` with a deviation of 0.7 logits, of a Student distribution (`tails`), of three groups of equal agents, each a logit above the next
(`groups`), or `equal`. The other pools are those of `benchmarks.coverage`.
"""

import math
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
import scipy

from benchmarks.common import machine, parser
from benchmarks.coverage import Cell
from benchmarks.coverage import drawn as planted
from ratings_core.analysis.critical_value import needed_values
from ratings_core.analysis.rank_intervals import simultaneous_ranks, simultaneous_ranks_of_draws
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.methods.refits import sample
from ratings_core.methods.registry import ranking_of, taken
from ratings_core.methods.resampling import has_differences, resampling
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats


class Planted(NamedTuple):
    """Pools of Bradley-Terry. games: of an agent."""

    shape: str
    agents: int
    games: int
    pools: int

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"{'bradley_terry':22}{self.shape:20}{self.agents:7}{self.agents * self.games // 2:7}"


POOLS = [
    Planted(shape, agents, games, pools)
    for shape in ("normal", "tails", "groups", "equal")
    for agents, pools in ((18, 200), (120, 60), (400, 20))
    for games in (12, 200)
]
STEP_DOWN = ("normal", 200)
"""Shape and games of an agent in the pools with the row `step-down`, which takes minutes for many agents."""
DRAWN = [
    Cell("copeland", "transitive", 6, 30, 50),
    Cell("copeland", "cyclic", 6, 30, 50),
    Cell("copeland", "sparse", 20, 20, 50),
    Cell("copeland", "random", 32, 320, 50),
    Cell("copeland", "random", 32, 8_000, 50),
    Cell("copeland", "random, near", 20, 4_000, 50),
    Cell("schulze", "random", 20, 2_000, 30),
    Cell("uniform", "tasks", 5, 40, 50),
    Cell("uniform", "tasks", 20, 200, 30),
    Cell("uniform", "tasks, near", 20, 60, 30),
    Cell("maximal_lottery", "transitive", 6, 30, 30),
    Cell("maximal_lottery", "cyclic", 6, 30, 30),
    Cell("maximal_lottery", "random", 32, 2_000, 30),
    Cell("maximal_lottery", "random, near", 12, 600, 30),
    Cell("nash_average_agents", "cyclic", 6, 30, 30),
]
"""Pools of methods whose intervals come from draws."""
DRAWS = 1_000
REPLICATES = 256
"""Number of draws of an answer."""
SIMULATED_AGENTS = 300
"""Largest number of agents whose critical value was simulated before decision 88."""
LOGITS = BradleyTerryOptions(scale=1.0, centre=0.0, unconnected="components", standard_errors="sandwich")

Ends = tuple[Any, Any]


def skills(shape: str, agents: int, rng: np.random.Generator) -> Floats:
    """True ratings in logits."""
    match shape:
        case "normal":
            return rng.normal(0.0, 0.7, agents)
        case "tails":
            return 0.45 * rng.standard_t(3, agents)
        case "groups":
            return np.arange(agents) % 3 - 1.0
        case _:
            return np.zeros(agents)


def drawn(cell: Planted, seed: int) -> tuple[MetPairs, Floats]:
    """Results between random pairs, and the skills."""
    rng = np.random.default_rng([seed, cell.agents, cell.games])
    skill = skills(cell.shape, cell.agents, rng)
    first, second = np.triu_indices(cell.agents, 1)
    met = rng.multinomial(cell.agents * cell.games // 2, np.full(len(first), 1 / len(first)))
    won = rng.binomial(met, 1 / (1 + np.exp(skill[second] - skill[first])))
    kept = met > 0
    counts = MetPairs(cell.agents, first[kept], second[kept], *(part[kept].astype(float) for part in (won, met - won, 0 * met)))
    return counts, skill


def errors_of(covariance: Floats) -> Floats:
    """Standard errors of all differences (m, m), infinite on the diagonal."""
    spread = covariance.diagonal()
    error = np.sqrt(np.maximum(spread[:, None] + spread - 2 * covariance, 0.0))
    np.fill_diagonal(error, np.inf)
    return error


def ends_at(theta: Floats, error: Floats, critical: float) -> Ends:
    """Best and worst rank of each agent if differences beyond `critical` errors are sure."""
    gap, limit = theta - theta[:, None], critical * np.where(np.isfinite(error), error, np.finfo(float).max / 1e6)
    return 1 + (gap > limit).sum(axis=1), len(theta) - (-gap > limit).sum(axis=1)


def largest_error(covariance: Floats, error: Floats, freedom: int | None = None) -> float:
    """Critical value for all differences: simulated as the largest of all, or Bonferroni's with degrees of freedom or many agents."""
    m = len(covariance)
    tail = 0.05 / max(1, m * (m - 1))
    if freedom is not None or m > SIMULATED_AGENTS:
        return float(-(scipy.special.ndtri(tail) if freedom is None else scipy.special.stdtrit(freedom, tail)))
    largest = [(np.abs(one - one[:, None]) / error).max() for one in drawn_errors(covariance)]
    return float(np.quantile(largest, 0.95, method="higher"))


def drawn_errors(covariance: Floats) -> Floats:
    """Draws of errors with this covariance (DRAWS, m)."""
    values, vectors = np.linalg.eigh(covariance)
    return np.random.default_rng(0).standard_normal((DRAWS, len(values))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T


def step_down(theta: Floats, covariance: Floats) -> Ends:
    """Best and worst ranks from the differences that are certain after all steps. The critical value falls as fewer remain."""
    m = len(theta)
    i, j = np.triu_indices(m, 1)
    error = errors_of(covariance)[i, j]
    gap = (theta[i] - theta[j]) / error
    draws = drawn_errors(covariance)
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


class Fitted(NamedTuple):
    """A fit to a planted pool. needed: critical value that its ranks need; ends: best and worst rank of each agent by each rule."""

    skill: Floats
    theta: Floats
    error: Floats
    needed: float
    ends: dict[str, Ends]


def fitted(cell: Planted, seed: int) -> Fitted:
    """One pool by all rules. Agents that no chains of wins link to the others are left out."""
    counts, skill = drawn(cell, seed)
    fit = bradley_terry(counts, options=LOGITS)
    assert fit.covariance is not None
    largest = np.bincount(fit.component).argmax()
    ids = np.flatnonzero(fit.component == largest)
    theta, covariance, skill = fit.ratings[ids], fit.covariance[np.ix_(ids, ids)], skill[ids]
    error, own = errors_of(covariance), 1.959964 * np.sqrt(covariance.diagonal())
    low, high = theta - own, theta + own
    ends: dict[str, Ends] = {
        "ours": simultaneous_ranks(theta, covariance),
        "single step": ends_at(theta, error, largest_error(covariance, error)),
        "leaderboard": (1 + (low[:, None] > high).sum(axis=0), len(ids) - (high[:, None] < low).sum(axis=0)),
    }
    if (cell.shape, cell.games) == STEP_DOWN:
        ends["step-down"] = step_down(theta, covariance)
    return Fitted(skill, theta, error, float(needed_values(theta, error, skill[None])[0]), ends)


def with_known_truth(fits: Sequence[Fitted]) -> list[Fitted]:
    """The fits with the rule `known truth`."""
    needed = sorted(fit.needed for fit in fits)
    least = needed[math.ceil(0.95 * len(needed)) - 1]
    return [fit._replace(ends=fit.ends | {"known truth": ends_at(fit.theta, fit.error, least)}) for fit in fits]


def single_step(draws: Floats, theta: Floats, band: Ends, units: int) -> Ends:
    """The band, extended to the ends by Bonferroni's critical value over all differences."""
    k = len(draws)
    off = math.sqrt((units / (units - 1) if units else 1.0) / (k - 1)) * (draws - theta)
    covariance = off.T @ off
    error = errors_of(covariance)
    best, worst = ends_at(theta, error, largest_error(covariance, error, min(k, units or k) - 1))
    return np.minimum(best, band[0]), np.maximum(worst, band[1])


def rules_of_draws(cell: Cell, seed: int) -> tuple[Floats, dict[str, Ends]]:
    """True ratings of a planted pool, and best and worst rank of each agent by each rule, from the same draws."""
    pool = planted(cell, seed)
    run = taken(cell.method, pool.problem, {})
    rated, source = run.rated(), resampling(run.problem, run.method, run.values)
    found, own = sample(run, source, seed, 0, REPLICATES, math.inf), ranking_of(run.method, rated).rank
    theta, differ = rated.solution.ratings, has_differences(run.method)
    rule = partial(simultaneous_ranks_of_draws, found.ratings, found.ranks, theta, units=source.units)
    band = rule(differences=False)
    rules = {
        "ours": rule(differences=differ),
        **({"single step": single_step(found.ratings, theta, band, source.units)} if differ else {}),
        **({"draws": band} if differ else {"differences": rule(differences=True)}),
        "percentiles": np.quantile(found.ranks, [0.025, 0.975], axis=0, method="inverted_cdf"),
    }
    return pool.truth, {name: (np.minimum(best, own), np.maximum(worst, own)) for name, (best, worst) in rules.items()}


class Row:
    """Shares of pools and agents whose intervals hold, and widths, by rule."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[float, float, float]]] = {}

    def add(self, truth: Floats, ends: dict[str, Ends]) -> None:
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
    options.add_argument("--only", default="", help="rows whose method and pool contain this word, and no others")
    chosen = options.parse_args(argv)
    print(machine(["numpy", "scipy"]))
    print(f"{'method':22}{'pool':20}{'agents':>7}{'games':>7}{'pools':>7}  {'rule':12}{'all':>7}{'each':>7}{'width':>8}")
    for cell in POOLS[:: 9 if chosen.quick else 1]:
        if chosen.only in cell.label:
            row = Row()
            for fit in with_known_truth([fitted(cell, seed) for seed in range(5 if chosen.quick else cell.pools)]):
                row.add(fit.skill, fit.ends)
            row.print(cell.label)
    for pool in DRAWN:
        if chosen.only in pool.label:
            row = Row()
            for seed in range(2 if chosen.quick else pool.pools):
                row.add(*rules_of_draws(pool, seed))
            row.print(pool.label[:-7])


if __name__ == "__main__":
    main()

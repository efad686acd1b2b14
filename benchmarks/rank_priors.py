"""Priors of the critical value of ranks, on ratings with known errors: a table of docs/concepts/intervals.md.

`python -m benchmarks.rank_priors [--quick] [--agents AGENTS] [--level LEVEL]`. Measured ratings are planted ones plus independent normal
errors, whose deviations differ by a fifth. Planted ratings are in errors:

- `normal`: with a deviation of 4.6; `tails`: 3 times Student's distribution with 3 degrees; `equal`: all 0.
- `far`: three groups of equal agents, each 6.5 above the next; `close`: the same, 2.5; `nearer`: the same, 1.5.
- `two`: two groups, 2 apart; `six`: six groups, 2.6; `fives`: groups of five, 4.
- `pairs`: pairs of equal agents, each 3 above the next; `outliers`: equal agents, one 13 above and one 13 below them.

Rules: `ours`; the value of the `normal` prior or that of `any shape` in all cases, without a least value; `bonferroni`: the critical value
for all differences, whatever the ratings are. `all` is the share of pools in which all rank intervals hold at once, `width` the mean number
of ranks in an interval, `value` the mean critical value.
"""

import os
from collections.abc import Callable, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
import scipy

from benchmarks.common import machine, parser
from ratings_core.analysis import critical_value as ours
from ratings_core.analysis.priors import Mixture, Normal, likeliest_mixture, likeliest_normal
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

SHAPES: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "normal": lambda m, rng: rng.normal(0.0, 4.6, m),
    "tails": lambda m, rng: 3.0 * rng.standard_t(3, m),
    "equal": lambda m, _: np.zeros(m),
    "far": lambda m, _: np.arange(m) % 3 * 6.5,
    "close": lambda m, _: np.arange(m) % 3 * 2.5,
    "nearer": lambda m, _: np.arange(m) % 3 * 1.5,
    "two": lambda m, _: np.arange(m) % 2 * 2.0,
    "six": lambda m, _: np.arange(m) % 6 * 2.6,
    "fives": lambda m, _: np.arange(m) // 5 * 4.0,
    "pairs": lambda m, _: np.arange(m) // 2 * 3.0,
    "outliers": lambda m, _: np.concatenate([[13.0, -13.0], np.zeros(m - 2)]),
}
SIZES = [(3, 400), (6, 400), (18, 400), (50, 200), (120, 100), (400, 40)]
"""Agents and number of pools."""


def values(theta: Floats, deviation: Floats, error: Floats, level: float) -> dict[str, float]:
    """Critical value of each rule."""
    m = len(theta)
    bound = float(-scipy.special.ndtri((1 - level) / (m * (m - 1))))
    label = np.zeros(m, np.int64)
    found = {"ours": ours.critical_value(theta, np.diag(deviation**2), error, label, level=level), "bonferroni": bound}
    own = np.diag(deviation**2)
    spread = ours.CAUTION * np.sqrt(own.diagonal() - 2 * own.mean(axis=0) + own.mean())
    priors: dict[str, Normal | Mixture] = {"normal": likeliest_normal(theta, spread), "any shape": likeliest_mixture(theta, spread)}
    for name, prior in priors.items():
        truth = prior.draws(np.random.default_rng(0), ours.DRAWS)
        needed = np.quantile(ours.needed_values(theta, error, truth), 1 - ours.OUTSIDE * (1 - level), method="higher")
        found[name] = min(bound, float(needed) * (1 + 1e-9))
    return found


def pool(shape: str, agents: int, seed: int, level: float) -> dict[str, tuple[bool, float, float]]:
    """By rule: whether all rank intervals of a pool hold, their mean width, and the critical value."""
    rng = np.random.default_rng([seed, agents])
    truth, deviation = SHAPES[shape](agents, rng), np.exp(rng.normal(0.0, 0.2, agents))
    theta = truth + deviation * rng.standard_normal(agents)
    error = np.sqrt(deviation**2 + deviation[:, None] ** 2)
    gap, rank = theta - theta[:, None], Ranking.from_scores(truth).rank
    np.fill_diagonal(error, np.inf)
    found: dict[str, tuple[bool, float, float]] = {}
    for name, value in values(theta, deviation, error, level).items():
        limit = value * np.where(np.isfinite(error), error, 1.0)
        best, worst = 1 + (gap > limit).sum(axis=1), agents - (-gap > limit).sum(axis=1)
        found[name] = (bool(((best <= rank) & (rank <= worst)).all()), float((worst - best + 1).mean()), value)
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    options = parser(__doc__ or "")
    options.add_argument("--agents", type=int, default=0, help="rows of this many agents, and no others")
    options.add_argument("--level", type=float, default=0.95, help="probability that all intervals hold")
    chosen = options.parse_args(argv)
    print(machine(["numpy", "scipy"]))
    names = ("ours", "normal", "any shape", "bonferroni")
    print(f"{'shape':10}{'agents':>7}{'pools':>7}" + "".join(f"{name:>14}: all   width  value" for name in names))
    for agents, pools in [size for size in SIZES if chosen.agents in (0, size[0])][: 1 if chosen.quick else None]:
        for shape in SHAPES:
            count = 5 if chosen.quick else pools
            rows = [pool(shape, agents, seed, chosen.level) for seed in range(count)]
            cells = [np.mean([row[name] for row in rows], axis=0) for name in names]
            line = "".join(f"{held:19.0%}{width:8.1f}{value:7.2f}" for held, width, value in cells)
            print(f"{shape:10}{agents:7}{count:7}{line}", flush=True)


if __name__ == "__main__":
    main()

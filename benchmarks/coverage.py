"""How often 95 % intervals of ratings and ranks hold the truth, and how wide they are: the grid of docs/concepts/intervals.md.

`python -m benchmarks.coverage [--quick] [--share SHARE] [--before CHECKOUT] [--only WORD]`.
Each row plants pools whose truth is known, solves them as
`equirank solve --intervals` does (online methods: as boards show them), and counts. `covered` is the share of agents whose interval holds
the true rating, with its Monte Carlo standard error over pools; `width` is the mean width (points, or the method's unit); `ranks` is the
share of pools in which all intervals of ranks hold at once, `wide` the mean number of ranks in one; `far` is `covered` of the agents that
are hardest to cover: for online methods the tenth whose ratings are farthest from a newcomer's, in pools with newcomers these, in pools
with extremes the agents that won or lost all their games; `excluded` is the number of rows whose interval excludes its own estimate.
`--before` runs the same pools with another checkout of the project, in the same table.

Kinds of pools are words: `random` pairs or a `sparse` graph of pairs, then `ties` and `prior` (a prior of one game in the solve). In
pools with `newcomers`, a quarter of the agents have one to five games, against the others, whose games are between random pairs, some
agents five times as often as others. In pools with `extremes`, two of these others are in addition 4 logits above and below the mean.

The truth of a fit is the fit to the true probabilities of all pairs; that of other methods is their answer on the true margins. Planted
skills are normal with a deviation of 0.7 logits; `near` agents have almost equal ones. Online methods have rows of planted, constant
skills, and rows of the method's own model: skills are drawn from its prior and move as it says (Glicko-2: by the volatility each
rating period; Weng-Lin: by tau each game). An agent plays about 12 games in a rating period, or 4 or 24 in the rows that say so;
`half prior` halves the prior's deviation.
"""

import json
import math
import os
import subprocess
import sys
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np

from benchmarks.common import machine, parser
from ratings_core.batch.bradley_terry import components_of
from ratings_core.batch.pair_counts import of_tally
from ratings_core.online import RATERS
from ratings_core.problems.inputs import GamesInput, MarginsInput, Problem, ScoresInput
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairCounts, PlaceCounts
from services.solve.intervals.replicates import add_intervals
from services.solve.registry import methods

POINTS = 400 / math.log(10)
SECONDS = 5.0
PERIODS = {"own model, 4": 4, "own model, 24": 24}
"""Games of an agent in a rating period, by kind of pool; 12 in others."""
TIES = 6 / 7
"""Davidson's parameter of ties, with which equal agents tie 30 % of their games."""
FITS = ("bradley_terry", "davidson")
NEWCOMERS = [
    (method, kind)
    for kind in ("newcomers", "newcomers, ties", "newcomers, prior", "newcomers, ties, prior", "extremes, prior", "extremes, ties, prior")
    for method in (FITS if "ties" in kind else FITS[:1])
]
"""Methods and kinds of pools with newcomers."""
DRAWN = ("copeland", "maximal_lottery", "nash_average_agents")
TASKS = {"tasks": 1.0, "tasks, near": 0.1}
"""Kinds of tables of tasks, with the deviation of the agents' levels."""
NEAR = 0.1
"""Deviation of the skills of near agents, in logits: their order is mostly chance."""
NO_PLACES = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))


class Cell(NamedTuple):
    """One row of the grid. games: of each pair that meets, tasks of a table, or games in all (clustered, random and online)."""

    method: str
    kind: str
    agents: int
    games: int
    pools: int

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"{self.method:22}{self.kind:20}{self.agents:7}{self.games:7}{self.pools:7}"

    @property
    def schedule(self) -> str:
        """Who meets whom: the first word of its kind."""
        return self.kind.partition(",")[0]

    @property
    def ties(self) -> bool:
        """Whether equal agents tie 30 % of their games."""
        return "ties" in self.kind

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of its solves."""
        return {"prior": 1.0} if "prior" in self.kind else {}


class Pool(NamedTuple):
    """A planted pool. truth: true ratings (agents,) by name; far: bool (agents,), those of the column `far`; None: none."""

    problem: Problem
    truth: Any
    far: Any = None


def grid(pools: float) -> list[Cell]:
    """All rows, with this share of the pools."""

    def cells(method: str, kind: str, sizes: Sequence[tuple[int, int, int]]) -> list[Cell]:
        return [Cell(method, kind, agents, games, max(4, round(count * pools))) for agents, games, count in sizes]

    found = cells(
        "bradley_terry",
        "transitive",
        [(3, 10, 600), (3, 100, 600), (6, 30, 400), (10, 10, 300), (10, 1_000, 300), (50, 10, 60), (50, 100, 60)],
    )
    found += cells("bradley_terry", "cyclic", [(6, 30, 400), (10, 100, 300)])
    found += cells("bradley_terry", "sparse", [(20, 20, 150), (50, 10, 60)])
    for kind in ("sparse, ties", "sparse, prior", "sparse, ties, prior"):
        found += cells("bradley_terry", kind, [(20, 20, 150)])
    found += cells("bradley_terry", "clustered", [(16, 600, 150)])
    for kind in ("random", "random, ties", "random, prior", "random, ties, prior"):
        found += cells("bradley_terry", kind, [(32, 320, 200), (32, 2_000, 200)])
    found += cells("bradley_terry", "random, near", [(32, 320, 200), (32, 2_000, 200)])
    for kind in ("random, ties", "random, ties, prior"):
        found += cells("davidson", kind, [(32, 320, 200), (32, 2_000, 200)])
    for kind in ("sparse, ties", "sparse, ties, prior"):
        found += cells("davidson", kind, [(20, 20, 150)])
    found += [cell for method, kind in NEWCOMERS for cell in cells(method, kind, [(32, 720, 200)])]
    for method in DRAWN:
        for kind in ("random", "random, ties"):
            found += cells(method, kind, [(32, 320, 120), (32, 2_000, 60)])
    found += cells("copeland", "random", [(32, 8_000, 60)]) + cells("copeland", "random, near", [(20, 4_000, 60)])
    found += cells("copeland", "sparse, ties", [(20, 20, 60)])
    for method in DRAWN[1:]:
        found += cells(method, "sparse", [(20, 20, 60)]) + cells(method, "sparse, ties", [(20, 20, 60)])
    found += cells("davidson", "transitive", [(3, 30, 600), (6, 30, 300), (10, 100, 200), (20, 10, 100)])
    found += cells("davidson", "cyclic", [(6, 30, 300)])
    found += (
        cells("copeland", "transitive", [(6, 30, 60)])
        + cells("copeland", "cyclic", [(6, 30, 60)])
        + cells("copeland", "sparse", [(20, 20, 30)])
    )
    found += cells("maximal_lottery", "transitive", [(6, 30, 60)]) + cells("maximal_lottery", "cyclic", [(6, 30, 60), (6, 300, 60)])
    found += cells("nash_average_agents", "cyclic", [(6, 30, 60)])
    found += cells("uniform", "tasks", [(5, 40, 100), (20, 200, 40)]) + cells("uniform", "tasks, near", [(20, 60, 60)])
    own = [(20, 100, 150), (20, 400, 150), (20, 4_000, 75), (50, 1_000, 60), (50, 4_000, 30), (100, 1_000, 30)]
    for method in ("glicko2", "weng_lin"):
        found += cells(method, "planted", [(20, 400, 150), (20, 4_000, 75), (50, 4_000, 30)]) + cells(method, "own model", own)
        found += cells(method, "half prior", [(20, 400, 150), (50, 4_000, 30)])
    return found + [cell for kind in PERIODS for cell in cells("glicko2", kind, [(20, 400, 150)])]


def chances(rng: np.random.Generator, m: int, *, cyclic: bool) -> Any:
    """True log odds of every pair (m, m): skills, and three types of which each is ahead of the next by a logit."""
    skill = rng.normal(0.0, 0.7, m)
    gap = skill[:, None] - skill
    kind = np.arange(m) % 3
    ahead = ((kind[None, :] - kind[:, None]) % 3 == 1).astype(float)
    return gap + (ahead - ahead.T if cyclic else 0.0)


def drawn(cell: Cell, seed: int) -> Pool:
    """One pool of the cell."""
    rng = np.random.default_rng([seed, cell.agents, cell.games])
    if cell.kind in TASKS:
        return _table(rng, cell)
    if cell.kind == "clustered":
        return _clustered(rng, cell)
    if cell.schedule == "random":
        return _random(rng, cell)
    if cell.schedule in ("newcomers", "extremes"):
        return _newcomers(rng, cell)
    gap = chances(rng, cell.agents, cyclic=cell.kind == "cyclic")
    first, second = np.triu_indices(cell.agents, 1)
    if cell.schedule == "sparse":
        ring = (second - first == 1) | (second - first == cell.agents - 1)
        met = ring | (rng.random(len(first)) < 0.15)
        first, second = first[met], second[met]
    chance = _results(cell, gap[first, second])
    counts = np.array([rng.multinomial(cell.games, one) for one in chance], float)
    problem = GamesInput(_names(cell.agents), _tally(first, second, counts.T), NO_PLACES)
    return Pool(problem, _truth(cell, first, second, chance, gap))


def _results(cell: Cell, gap: Any) -> Any:
    """Chances of win, tie and loss (pairs, 3), given log odds (pairs,).

    Ties of Davidson's pools follow its model. In other pools they leave the expected points alone, so that margins are those of the skills,
    and a fit that counts a tie as half a win has the skills as its truth.
    """
    if cell.method == "davidson":
        nu = TIES if cell.ties else 0.7
        weights = np.stack([np.exp(gap / 2), np.full_like(gap, nu), np.exp(-gap / 2)], axis=1)
        return weights / weights.sum(axis=1, keepdims=True)
    points = 1 / (1 + np.exp(-gap))
    tied = (0.6 if cell.ties else 0.0) * np.minimum(points, 1 - points)
    return np.stack([points - tied / 2, tied, 1 - points - tied / 2], axis=1)


def _truth(cell: Cell, first: Any, second: Any, chance: Any, gap: Any) -> Any:
    if cell.method in FITS:
        exact = _tally(first, second, 1e6 * chance.T)
        return _rated(methods.solve(cell.method, GamesInput(_names(cell.agents), exact, NO_PLACES), {}))
    margins = np.tanh(gap / 2)
    if cell.method == "nash_average_agents":
        i, j = np.triu_indices(cell.agents, 1)
        share = (1 + margins[i, j]) / 2
        exact = _tally(i, j, 1e6 * np.stack([share, 0 * share, 1 - share]))
        return _rated(methods.solve(cell.method, GamesInput(_names(cell.agents), exact, NO_PLACES), {"margins": "observed"}))
    return _rated(methods.solve(cell.method, MarginsInput(_names(cell.agents), margins), {}))


def _clustered(rng: np.random.Generator, cell: Cell) -> Pool:
    """Games of four sides by Plackett-Luce, whose pairs follow Bradley-Terry, in 64 groups."""
    m = cell.agents
    skill = rng.normal(0.0, 0.7, m)
    groups = np.zeros((64, m, m))
    for game in range(cell.games):
        sides = rng.permutation(m)[:4]
        order = sides[np.argsort(-(skill[sides] + rng.gumbel(size=4)))]
        for place in range(3):
            groups[game % 64, order[place], order[place + 1 :]] += 1
    parts = tuple(PairCounts.from_dense(group) for group in groups)
    places = PlaceCounts(*(np.array([value], np.int32) for value in (0, 4, 0, 1)), np.ones(1))
    return Pool(
        GamesInput(_names(m), PairCounts.from_dense(groups.sum(axis=0)), places, groups=parts), 1500 + POINTS * (skill - skill.mean())
    )


def _random(rng: np.random.Generator, cell: Cell) -> Pool:
    """Games between random pairs."""
    skill = rng.normal(0.0, NEAR if "near" in cell.kind else 0.7, cell.agents)
    first, second = np.triu_indices(cell.agents, 1)
    games = rng.multinomial(cell.games, np.full(len(first), 1 / len(first)))
    chance = _results(cell, skill[first] - skill[second])
    counts = np.array([rng.multinomial(number, one) for number, one in zip(games, chance, strict=True)], float)
    problem = GamesInput(_names(cell.agents), _tally(first, second, counts.T), NO_PLACES)
    if cell.method in FITS:
        return Pool(problem, 1500 + POINTS * (skill - skill.mean()))
    return Pool(problem, _truth(cell, first, second, chance, skill[:, None] - skill))


def _newcomers(rng: np.random.Generator, cell: Cell) -> Pool:
    """Games between settled agents, and one to five games of each newcomer against them. games: of the settled agents."""
    m, settled = cell.agents, cell.agents * 3 // 4
    skill = rng.normal(0.0, 0.7, m)
    if cell.schedule == "extremes":
        skill[:2] = 4.0, -4.0
    first, second = np.triu_indices(m, 1)
    activity = np.append(rng.uniform(20, 100, settled), np.zeros(m - settled))
    share = activity[first] * activity[second]
    games = rng.multinomial(cell.games, share / share.sum())
    for newcomer in range(settled, m):
        met = (second == newcomer) & (first < settled)
        games[met] = rng.multinomial(rng.integers(1, 6), np.full(settled, 1 / settled))
    chance = _results(cell, skill[first] - skill[second])
    counts = np.array([rng.multinomial(number, one) for number, one in zip(games, chance, strict=True)], float)
    tally = _tally(first, second, counts.T)
    pairs = of_tally(tally, m)
    component = components_of(pairs, cell.parameters.get("prior", 0.0))
    rated = component == np.bincount(component).argmax()
    points, played = (pairs.per_agent(*both) for both in ((pairs.points, pairs.games - pairs.points), (pairs.games, pairs.games)))
    far = np.arange(m) >= settled if cell.schedule == "newcomers" else (points == 0) | (points == played)
    return Pool(GamesInput(_names(m), tally, NO_PLACES), 1500 + POINTS * (skill - skill[rated].mean()), far & rated)


def _table(rng: np.random.Generator, cell: Cell) -> Pool:
    """Scores of agents on tasks drawn at random; the truth is the same method on 20,000 tasks of the same kind."""
    level = rng.normal(0.0, TASKS[cell.kind], cell.agents)

    def table(tasks: int) -> Problem:
        scores = level[:, None] + rng.normal(0.0, 1.0, tasks) + rng.normal(0.0, 1.0, (cell.agents, tasks))
        return ScoresInput(_names(cell.agents), tuple(f"t{i:06}" for i in range(tasks)), scores)

    return Pool(table(cell.games), _rated(methods.solve(cell.method, table(20_000), {})))


def _tally(first: Any, second: Any, cells: Any) -> PairCounts:
    met = cells.sum(axis=0) > 0
    ids = first[met].astype(np.int32), second[met].astype(np.int32)
    return PairCounts(*ids, cells[0][met], cells[2][met], cells[1][met])


def _names(m: int) -> tuple[str, ...]:
    return tuple(f"a{i:03}" for i in range(m))


def _rated(result: Any) -> Any:
    by_name = {row.agent: row.rating for row in result.agents}
    return np.array([np.nan if by_name[name] is None else by_name[name] for name in sorted(by_name)])


def offline(cell: Cell, seed: int) -> dict[str, Any]:
    """Coverage of one pool by `equirank solve --intervals`."""
    pool = drawn(cell, seed)
    plain = methods.solve(cell.method, pool.problem, cell.parameters)
    rows = sorted(add_intervals(cell.method, pool.problem, cell.parameters, plain, SECONDS, seed).agents, key=lambda row: row.agent)
    low, high = (
        np.array([math.nan if end is None else end for end in ends]) for ends in zip(*((row.low, row.high) for row in rows), strict=True)
    )
    if np.isnan(low).all():
        raise RuntimeError("no intervals in the time")
    slack = 1e-9 * np.maximum(1.0, np.abs(pool.truth))
    inside = (low <= pool.truth + slack) & (pool.truth - slack <= high)
    known = ~np.isnan(low) & ~np.isnan(pool.truth)
    rank = 1 + (np.round(pool.truth, 9)[:, None] < np.round(pool.truth, 9)).sum(axis=1)
    best, worst = (np.array(ends, float) for ends in zip(*((row.rank_low, row.rank_high) for row in rows), strict=True))  # None is NaN
    return {
        "covered": float(inside[known].mean()),
        "width": float((high - low)[known].mean()),
        "ranks": float(not ((rank < best) | (rank > worst)).any()),
        "wide": float((worst - best + 1).mean()),
        "far": float(inside[pool.far].mean()) if pool.far is not None and pool.far.any() else math.nan,
        "excluded": sum(not _includes(row) for row in rows),
    }


def _includes(row: Any) -> bool:
    of_rating = row.low is None or row.rating is None or row.low <= row.rating <= row.high
    return of_rating and (row.rank_low is None or row.rank_low <= row.rank <= row.rank_high)


def online(cell: Cell, seed: int) -> dict[str, Any]:
    """Coverage of one pool by the belief of an online method, as its live board shows it. Ratings and skills are centered."""
    rng = np.random.default_rng([seed, cell.agents, cell.games])
    rater = _rater(cell)
    unit, prior = _units(cell.method, rater)
    period = cell.agents * PERIODS.get(cell.kind, 12) // 2
    skill = rng.normal(0.0, 0.7 if cell.kind == "planted" else prior / unit, cell.agents)
    sides = np.array([rng.permutation(cell.agents)[:2] for _ in range(cell.games)])
    won, uniform = np.zeros(cell.games, bool), rng.random(cell.games)
    for i, (a, b) in enumerate(sides.tolist()):
        if cell.kind != "planted" and (rater.name == "weng_lin" or (i and i % period == 0)):
            _drift(rng, skill, (a, b), rater)
        won[i] = uniform[i] < 1 / (1 + math.exp(skill[b] - skill[a]))
    names = _names(cell.agents)
    spacing = 60.0 if rater.beliefs is None or rater.beliefs.period_seconds is None else rater.beliefs.period_seconds / period
    games = [
        Outcome((Side((names[a],), 1 if first else 2), Side((names[b],), 2 if first else 1)), time=i * spacing)
        for i, ((a, b), first) in enumerate(zip(sides.tolist(), won.tolist(), strict=True))
    ]
    agents = Roster()
    agents.intern(list(names))
    state = rater.init(cell.agents)
    rater.fold(state, OutcomeBatch.of(games, agents))
    shown = rater.read(state, np.arange(cell.agents, dtype=np.int32))
    model = rater.beliefs
    assert model is not None
    assert shown.beliefs is not None
    ends = np.array(
        [model.interval(rating, belief, None) for rating, belief in zip(shown.rating.tolist(), shown.beliefs.each(), strict=True)]
    )
    mean = ends.mean(axis=1)
    truth = unit * (skill - skill.mean()) + mean.mean()
    inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    from_start = np.abs(mean - (rater.start if cell.method == "glicko2" else rater.mu))
    far = inside[from_start >= np.quantile(from_start, 0.9)]
    width = float((ends[:, 1] - ends[:, 0]).mean())
    return {"covered": float(inside.mean()), "width": width, "ranks": math.nan, "wide": math.nan, "far": float(far.mean()), "excluded": 0}


def _rater(cell: Cell) -> Any:
    """The method with its defaults, or with half the deviation before any outcome."""
    rater: Any = RATERS[cell.method]()
    if cell.kind != "half prior":
        return rater
    return replace(rater, deviation=rater.deviation / 2) if cell.method == "glicko2" else replace(rater, sigma=rater.sigma / 2)


def _drift(rng: np.random.Generator, skill: Any, sides: tuple[int, int], rater: Any) -> None:
    """Move skills as the method's model says: all of them in a new rating period, or those of a game's sides."""
    if rater.name == "weng_lin":
        skill[list(sides)] += rng.normal(0.0, rater.tau / _units(rater.name, rater)[0], 2)
    else:
        skill += rng.normal(0.0, rater.volatility * rater.scale / POINTS, len(skill))


def _units(method: str, rater: Any) -> tuple[float, float]:
    """Rating points a logit of the method's model, and the deviation of its prior in points."""
    return (POINTS, rater.deviation) if method == "glicko2" else (math.sqrt(2) * rater.beta, rater.sigma)


def measured(cell: Cell) -> dict[str, float]:
    """All pools of a cell. Pools without an answer or interval are counted in `failed`."""
    run: Callable[[Cell, int], dict[str, Any]] = online if cell.method in RATERS else offline
    found, failed = [], 0
    for seed in range(cell.pools):
        try:
            found.append(run(cell, seed))
        except (ValueError, RuntimeError):
            failed += 1
    if not found:
        return {"failed": failed}
    means = {name: float(np.mean([one[name] for one in found])) for name in ("covered", "width", "ranks", "wide")}
    far = [one["far"] for one in found if not math.isnan(one["far"])]
    means["far"] = float(np.mean(far)) if far else math.nan
    error = float(np.std([one["covered"] for one in found], ddof=1) / math.sqrt(len(found))) if len(found) > 1 else math.nan
    return {**means, "error": error, "excluded": sum(one["excluded"] for one in found), "failed": failed}


def shown(found: dict[str, float]) -> str:
    """The figures of a row."""
    if "covered" not in found:
        return f"{'no intervals':>63}"
    ranks, far = ("-" if math.isnan(found[name]) else f"{found[name]:6.1%}" for name in ("ranks", "far"))
    wide = "-" if math.isnan(found["wide"]) else f"{found['wide']:.1f}"
    counts = f"{found['excluded']:9.0f}{found['failed']:7.0f}"
    return f"{found['covered']:7.1%} ±{found['error']:5.1%}{found['width']:10.4g}{ranks:>8}{wide:>7}{far:>8}{counts}"


def before(checkout: Path, cell: Cell) -> dict[str, float]:
    """The same cell with another checkout of the project."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    here = Path(__file__).resolve()
    command = [sys.executable, str(here.with_name("former_checkout.py")), str(here), "--cell", json.dumps(cell)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=checkout, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the grid."""
    options = parser(__doc__ or "")
    options.add_argument("--before", type=Path, help="another checkout of the project, measured on the same pools")
    options.add_argument("--only", default="", help="rows that contain this word")
    options.add_argument("--share", type=float, default=1.0, help="share of the pools (default 1)")
    options.add_argument("--cell", help=SUPPRESS)
    chosen = options.parse_args(argv)
    if chosen.cell:
        print(json.dumps(measured(Cell(*json.loads(chosen.cell)))))
        return
    print(machine(["numpy", "scipy"]))
    columns = f"{'covered':>15}{'width':>10}{'ranks':>8}{'wide':>7}{'far':>8}{'excluded':>9}{'failed':>7}"
    print(f"{'method':22}{'pool':20}{'agents':>7}{'games':>7}{'pools':>7}{columns}{'   before:' + columns if chosen.before else ''}")
    for cell in grid(0.1 if chosen.quick else chosen.share):
        if chosen.only in cell.label:
            then = f"          {shown(before(chosen.before.resolve(), cell))}" if chosen.before else ""
            print(cell.label + shown(measured(cell)) + then, flush=True)


if __name__ == "__main__":
    main()

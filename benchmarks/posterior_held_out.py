"""Held-out log loss and Kendall tau of posterior margins beside Elo, Glicko-2, Weng-Lin, Bradley-Terry and mElo.

`python -m benchmarks.posterior_held_out [--quick]`. Needs the shared folder (EQUIRANK_SHARED) for football. Every method learns from all
years before a year and predicts that whole year; ratings are never updated inside a predicted year, so batch fits and online raters see
the same. Settings are chosen by log loss on early years of men's football (1998-2005) and used unchanged on its late years, on women's
football (reported only) and on planted pools. Log loss is of the expected score, in nats; a tie is half a win and half a loss. Kendall tau
is 1 less twice the share of decided games whose winner was rated lower. Differences to Bradley-Terry are paired by game; their 95 %
interval takes years for independent (Student's t over the yearly sums). The last table is of the two likelihoods of kappa alone: the loss
of the restricted one less that of the plain one, paired by year or, in pools of the model with a planted kappa, by pool.
"""

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from benchmarks.common import arguments, machine
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.margins import posterior_margins
from ratings_core.online import Elo, Glicko2, Melo, Rater, WengLin
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.tallies import pair_counts as tallies
from ratings_core.tallies.pair_tally import PairTally
from tests.support.planted import planted_kappa

Floats: TypeAlias = NDArray[np.float64]
SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).resolve().parents[2] / "shared"))
LEAST = 1e-6
YEAR = 365.25 * 86_400
MODEL_POOLS = ((60, 0.15, 12, 5.0), (120, 0.15, 12, 5.0), (60, 0.3, 6, 5.0), (60, 1.0, 12, 5.0), (60, 0.3, 20, 20.0), (60, 0.3, 8, 1e9))
"""agents, share of the pairs that met, games of each, kappa (1e9: no cycles)."""


@dataclass(frozen=True)
class Games:
    """Games in order of time. first, second: ids; score: of the first, 1, 1/2 or 0; year: of each game; m: agents."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    score: Floats
    year: NDArray[np.int64]
    m: int

    def of(self, years: Any) -> "Games":
        """The games of some years (a mask over games)."""
        return Games(self.first[years], self.second[years], self.score[years], self.year[years], self.m)

    def batch(self) -> OutcomeBatch:
        """As online raters fold them; time is the middle of the year."""
        made = OutcomeBatch.of_pairs(self.first, self.second, self.score, self.m).numbered(int(self.year[0]) * 1_000_000)
        made.time[:] = (self.year - 1970 + 0.5) * YEAR
        return made

    def counts(self) -> MetPairs:
        """As batch fits read them."""
        tally = PairTally()
        tally.add(self.batch(), np.zeros(len(self.score), np.int64))
        found: tallies.PairCounts = tally.counts()
        return of_tally(found, self.m)


Method: TypeAlias = Callable[[Games, Sequence[int]], Iterator[Floats]]
"""(games, years) to the expected scores of each year's games, learnt from the years before it."""


def football(name: str, since: int) -> Games:
    """Matches of a results file, from a year on; matches without a result are left out."""
    with (SHARED / "data" / name / "results.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["home_score"].isdigit() and int(row["date"][:4]) >= since]
    rows.sort(key=lambda row: row["date"])
    ids = {team: i for i, team in enumerate(sorted({row[side] for row in rows for side in ("home_team", "away_team")}))}
    home, away = (np.array([ids[row[side]] for row in rows], np.int32) for side in ("home_team", "away_team"))
    ahead = np.array([int(row["home_score"]) - int(row["away_score"]) for row in rows])
    return Games(home, away, (np.sign(ahead) + 1) / 2, np.array([int(row["date"][:4]) for row in rows]), len(ids))


def planted(seed: int, *, cyclic: float, agents: int = 80, years: int = 12, games: int = 1_500) -> Games:
    """Constant skills, and three types each ahead of the next by `cyclic` logits."""
    rng = np.random.default_rng(seed)
    skill, kind = rng.normal(0, 1, agents), rng.integers(0, 3, agents)
    first = rng.integers(0, agents, years * games)
    second = (first + rng.integers(1, agents, years * games)) % agents
    turn = (kind[first] - kind[second]) % 3
    odds = skill[first] - skill[second] + cyclic * ((turn == 2).astype(float) - (turn == 1))
    won = rng.random(len(first)) < 1 / (1 + np.exp(-odds))
    year = 1990 + np.repeat(np.arange(years), games)
    return Games(first.astype(np.int32), second.astype(np.int32), won.astype(float), year, agents)


def online(rater: Rater[Any]) -> Method:
    def predict(games: Games, years: Sequence[int]) -> Iterator[Floats]:
        state, learnt = rater.init(games.m), -(10**6)
        for year in years:
            new = games.of((games.year < year) & (games.year >= learnt))
            if len(new.score):
                rater.fold(state, new.batch())
            learnt, ahead = year, games.of(games.year == year)
            pairs, index = np.unique(np.stack([ahead.first, ahead.second]), axis=1, return_inverse=True)
            yield np.array([rater.predict(state, a, b) for a, b in pairs.T.tolist()])[index]

    return predict


def batch(half_life: float, *, kappa: float | None, prior: float, restricted: bool = True) -> Method:
    """Posterior margins of results that lose half of their weight every `half_life` years; kappa infinite is Bradley-Terry (Davidson)."""

    def predict(games: Games, years: Sequence[int]) -> Iterator[Floats]:
        totals: dict[int, MetPairs] = {int(year): games.of(games.year == year).counts() for year in np.unique(games.year)}
        for year in years:
            past = {y: own for y, own in totals.items() if y < year}
            weight = {y: 2.0 ** (-(year - 1 - y) / half_life) for y in past}
            learnt = posterior_margins(_weighted(past, weight, games.m), kappa=kappa, prior=prior, restricted=restricted)
            ahead = games.of(games.year == year)
            yield (1 + learnt.win_less_loss(ahead.first, ahead.second)) / 2  # type: ignore[arg-type]

    return predict


def _weighted(past: dict[int, MetPairs], weight: dict[int, float], m: int) -> MetPairs:
    keys, index = np.unique(np.concatenate([own.first * m + own.second for own in past.values()]), return_inverse=True)
    won, lost, tied = (
        np.bincount(index, np.concatenate([weight[y] * getattr(own, name) for y, own in past.items()])) for name in ("won", "lost", "tied")
    )
    return MetPairs(m, keys // m, keys % m, won, lost, tied)  # type: ignore[arg-type]


def candidates(quick: bool) -> dict[str, dict[str, Method]]:
    """The settings of each method among which early years choose."""
    lives = (8.0,) if quick else (4.0, 8.0, 16.0, 32.0)
    priors = (1.0,) if quick else (1.0, 3.0)
    deviations = (350.0,) if quick else (200.0, 350.0)
    steps = (32.0,) if quick else (32.0, 48.0, 64.0)
    return {
        "Bradley-Terry": {f"half-life {h:g}, prior {p:g}": batch(h, kappa=np.inf, prior=p) for h in lives for p in priors},
        "posterior margins": {f"half-life {h:g}, prior {p:g}": batch(h, kappa=None, prior=p) for h in lives for p in priors},
        "plain likelihood": {
            f"half-life {h:g}, prior {p:g}": batch(h, kappa=None, prior=p, restricted=False) for h in lives for p in priors
        },
        "Elo": {f"k {k:g}": online(Elo(k=k)) for k in steps},
        "Glicko-2": {f"deviation {d:g}": online(Glicko2(deviation=d, period_seconds=YEAR / 4)) for d in deviations},
        "Weng-Lin": {f"beta {b:g}": online(WengLin(beta=b)) for b in ((25 / 6,) if quick else (25 / 6, 25 / 3, 25 / 2))},
        "mElo": {f"k {k:g}, rate {r:g}": online(Melo(k=k, rate=r)) for k in steps[:2] for r in ((0.1,) if quick else (0.03, 0.1))},
    }


def losses(expected: Floats, score: Floats) -> Floats:
    """Log loss of each game, nats."""
    p = np.clip(expected, LEAST, 1 - LEAST)
    return np.asarray(-(score * np.log(p) + (1 - score) * np.log1p(-p)), np.float64)


def predicted(method: Method, games: Games, years: Sequence[int]) -> list[tuple[Floats, Floats]]:
    """Expected and actual scores of each year's games."""
    return [(p, games.of(games.year == year).score) for year, p in zip(years, method(games, years), strict=True)]


def mean_loss(found: list[tuple[Floats, Floats]]) -> float:
    return float(np.concatenate([losses(p, s) for p, s in found]).mean())


def kendall(found: list[tuple[Floats, Floats]]) -> float:
    """Tau of decided games."""
    p, s = (np.concatenate(parts) for parts in zip(*found, strict=True))
    decided = s != 0.5
    return float((np.sign(p - 0.5) * np.sign(s - 0.5))[decided].mean())


def paired(found: list[tuple[Floats, Floats]], against: list[tuple[Floats, Floats]]) -> tuple[float, float]:
    """Mean difference of the losses and half of its 95 % interval, by years."""
    games = np.array([len(s) for _, s in found])
    sums = np.array([(losses(p, s) - losses(q, s)).sum() for (p, s), (q, _) in zip(found, against, strict=True)])
    mean = sums.sum() / games.sum()
    error = np.sqrt(len(sums) / (len(sums) - 1) * ((sums - mean * games) ** 2).sum()) / games.sum()
    return float(mean), float(student.ppf(0.975, len(sums) - 1) * error)


def report(title: str, games: Games, years: Sequence[int], chosen: dict[str, tuple[str, Method]]) -> None:
    found = {name: predicted(method, games, years) for name, (_, method) in chosen.items()}
    total = sum(len(s) for _, s in found["Bradley-Terry"])
    print(f"\n{title}: {total:,} games of {years[0]}-{years[-1]} predicted a year ahead")
    print(f"{'method':20}{'setting':28}{'log loss':>10}{'less Bradley-Terry':>26}{'tau':>9}")
    for name, rows in found.items():
        difference, half = paired(rows, found["Bradley-Terry"])
        interval = f"{difference:+.5f} +-{half:.5f}" if name != "Bradley-Terry" else "-"
        print(f"{name:20}{chosen[name][0]:28}{mean_loss(rows):10.5f}{interval:>26}{kendall(rows):9.4f}", flush=True)


def choose(games: Games, years: Sequence[int], quick: bool) -> dict[str, tuple[str, Method]]:
    """Of each method the setting of least log loss."""
    chosen = {}
    for name, settings in candidates(quick).items():
        tried = {setting: mean_loss(predicted(method, games, years)) for setting, method in settings.items()}
        best = min(tried, key=lambda setting: tried[setting])
        chosen[name] = best, settings[best]
        print(f"chosen {name:20}{best:28}{tried[best]:10.5f}   of {len(tried)}", flush=True)
    return chosen


def likelihoods(pools: dict[str, Games], years: Sequence[int], seeds: int) -> None:
    """The restricted and the plain likelihood of kappa, on held-out games."""
    print("\nLog loss with the restricted likelihood of kappa less that with the plain one")
    for name, games in pools.items():
        for life in (np.inf, 32.0, 8.0):
            both = [predicted(batch(life, kappa=None, prior=1.0, restricted=one), games, years) for one in (True, False)]
            difference, half = paired(*both)
            print(f"{name:44}half-life {life:4g} years: {difference:+.5f} +-{half:.5f}", flush=True)
    for agents, met, number, kappa in MODEL_POOLS:
        differences = np.array([_split(seed, agents, met, number, kappa) for seed in range(seeds)])
        half = student.ppf(0.975, seeds - 1) * differences.std(ddof=1) / np.sqrt(seeds)
        name = f"{agents} agents, {met:.0%} of pairs met, {number} games"
        print(f"{name:44}kappa {kappa:g}, {seeds} pools: {differences.mean():+.5f} +-{half:.5f}", flush=True)


def _split(seed: int, agents: int, met: float, number: int, kappa: float) -> float:
    """Difference of the log losses, nats a game, on as many games of the same pairs as were learnt from."""
    wins = planted_kappa(seed, agents=agents, met=met, games=2 * number, kappa=kappa).astype(np.int64)
    first, second = np.nonzero(np.triu(wins + wins.T))
    won = np.random.default_rng([seed, agents]).hypergeometric(wins[first, second], wins[second, first], number).astype(float)
    held = wins[first, second] - won
    learnt = np.zeros((agents, agents))
    learnt[first, second], learnt[second, first] = won, number - won
    losses_of = []
    for restricted in (True, False):
        p = (1 + posterior_margins(learnt, restricted=restricted).win_less_loss(first, second)) / 2
        losses_of.append(-(held * np.log(p) + (number - held) * np.log1p(-p)).sum() / (number * len(first)))
    return float(losses_of[0] - losses_of[1])


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    print(machine(("numpy", "scipy")))
    men = football("football", 1980)
    early = range(2002, 2006) if options.quick else range(1998, 2006)
    late = range(2020, 2025) if options.quick else range(2014, 2026)
    print(f"Settings chosen on men's football, {early[0]}-{early[-1]}")
    chosen = choose(men, early, options.quick)
    report("Men's football, late years", men, late, chosen)
    report("Women's football, reported only", football("football_women", 1980), late, chosen)
    for label, cyclic in (("transitive", 0.0), ("mixed", 0.5), ("cyclic", 1.5)):
        report(f"Planted pool, {label}", planted(1, cyclic=cyclic), range(1994, 2002), chosen)
    pools = {"men's football": men, "women's football": football("football_women", 1980)}
    likelihoods(pools, late, 4 if options.quick else 100)


if __name__ == "__main__":
    main()

"""Sec. 4.3 of Lanctot et al. 2025: tournaments of four with noise, uniform or matched by skill, and eleven ranking methods."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.papers.figures import band, grid, line
from benchmarks.papers.items import Drawn, Match, Output, Run, Value, claim, equal
from benchmarks.papers.soft_condorcet.paper import GOLDEN, PAPER
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.fenchel_young import FenchelYoungOptions, fenchel_young
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_sgd
from ratings_core.online import FenchelYoung
from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.solution import Floats
from ratings_core.voting import iterated_maximal_lotteries
from ratings_core.voting.copeland import copeland
from ratings_core.voting.positional import approval, borda
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze

Games = NDArray[np.int64]
PARAMETERS: Final = json.loads((GOLDEN / "sec43_parameters.json").read_text(encoding="utf-8"))
AGENTS: Final[int] = PARAMETERS["m"]
SIZES: Final[list[int]] = PARAMETERS["n_values"]
MATCHINGS: Final = ("uniform", "skill-matched")
CANDIDATES: Final = 3
"""Agents drawn for each seat of a skill-matched contest; the nearest one to the contest's mean skill plays."""
SPARSE: Final = {"uniform": 30, "skill-matched": 20}
"""Matching -> largest number of contests at which the paper has SCO first: 38 % and 59 % of the pairs never met."""
BOTH_LOWEST: Final = {"uniform": 10, "skill-matched": 20}
"""Matching -> largest number of contests at which the paper has both SCO ratings lowest: at least 59 % of the pairs never met."""
ALPHA: Final = 0.01
"""Step of the Fenchel-Young loss. The paper gives no step for these tournaments, and 0.01 and 0.1 in section 4.2."""
ALPHA_SIGMOID: Final = 0.1
"""Step of the sigmoid loss. With 0.01 its descent is far from its end after the paper's 10,000 iterations of this section."""
WIDE: Final = FenchelYoungOptions(high=1_000.0, tolerance=1e-6, accept_approximate=True)
"""A box in which only agents without a finite maximum-likelihood rating reach a bound. Near it the loss is flat, so it is not always
certain."""
HIGHEST: Final = {"approval", "Borda", "maximal lotteries"}
LEAST_STRENGTH: Final = 1e-100
"""Strength of an agent that never won."""
CHUNK: Final = 50
FULL: Final = 4
"""Parts of `CHUNK` tournaments in a full run."""
WITH_PRIOR: Final = "Elo with a prior (ours)"
ITERATIONS: Final = 3
"""Iterations of Hunter's algorithm after which Elo is stopped in one variant. After 10, it is higher than SCO in some of the skill-matched
tournaments alone."""
EARLY: Final = f"Elo, {ITERATIONS} iterations (ours)"
OURS: Final = {WITH_PRIOR, EARLY}
"""Variants of Elo that the paper does not name."""
Method = Callable[[Profile, int], Ranking]


def contests(skills: Floats, n: int, rng: np.random.Generator, *, matched: bool) -> Games:
    """Agents of n contests, best performance first (n, 4). Performance is skill plus normal noise of deviation 5."""
    size = PARAMETERS["contest_size"]
    seats = [_matched(skills, rng, size) if matched else rng.permutation(len(skills))[:size] for _ in range(n)]
    games = np.array(seats, np.int64)
    shown = skills[games] + PARAMETERS["performance_noise_sd"] * rng.normal(size=games.shape)
    return np.take_along_axis(games, np.argsort(-shown, axis=1), axis=1)


def _matched(skills: Floats, rng: np.random.Generator, size: int) -> list[int]:
    seats = [int(rng.integers(len(skills)))]
    while len(seats) < size:
        free = np.setdiff1d(np.arange(len(skills)), seats)
        drawn = rng.choice(free, min(CANDIDATES, len(free)), replace=False)
        seats.append(int(drawn[np.abs(skills[drawn] - skills[seats].mean()).argmin()]))
    return seats


def skills_of(rng: np.random.Generator) -> Floats:
    """Skills of the agents of one tournament (20,): N(100, 30), where 30 is read as the deviation."""
    return np.asarray(rng.normal(PARAMETERS["skill_mean"], PARAMETERS["skill_sd"], AGENTS), np.float64)


def unmet(games: Games) -> float:
    """Share of the pairs that are in no contest together."""
    met = np.zeros((AGENTS, AGENTS), bool)
    for game in games:
        met[np.ix_(game, game)] = True
    return float(1 - met[np.triu_indices(AGENTS, 1)].mean())


def _wins(votes: Profile) -> Floats:
    return votes.preferences("unknown")


def _margins(votes: Profile) -> Floats:
    return votes.margins("unknown")


def sampled_fenchel_young(votes: Profile, seed: int) -> Floats:
    """Ratings after as many votes as Algorithm 1 sees, one at a time, each with a step of alpha over the batch."""
    batch, steps = PARAMETERS["batch"], PARAMETERS["iterations"]
    games = votes.agent.reshape(len(votes), -1)
    order = games[np.random.default_rng(seed).integers(0, len(games), steps * batch)]
    rater = FenchelYoung(alpha=ALPHA / batch, seed=seed)
    state = rater.init(AGENTS)
    rater.fold(state, OutcomeBatch.of_rankings(order, AGENTS).numbered(0))
    return rater.read(state, np.arange(AGENTS, dtype=np.int32)).rating


def minorised(wins: Floats, iterations: int) -> Floats:
    """Bradley-Terry ratings after some iterations of Hunter's algorithm (2004, eq. 3) from equal ones, which the paper uses for Elo.

    Without a prior, ratings of undefeated agents grow with each iteration, so where it stops decides how far they are apart.
    """
    games, strength = wins + wins.T, np.ones(len(wins))
    for _ in range(iterations):
        weight = (games / np.add.outer(strength, strength)).sum(axis=1)
        strength = np.divide(wins.sum(axis=1), weight, out=np.ones(len(wins)), where=weight > 0).clip(LEAST_STRENGTH)
        strength /= np.exp(np.log(strength).mean())
    return np.log(strength)


METHODS: Final[Mapping[str, Method]] = {
    "SCO, sigmoid": lambda votes, seed: (
        soft_condorcet_sgd(votes, seed=seed, alpha=ALPHA_SIGMOID, batch=PARAMETERS["batch"], iterations=PARAMETERS["iterations"]).ranking
    ),
    "SCO, Fenchel-Young": lambda votes, seed: Ranking.from_scores(sampled_fenchel_young(votes, seed)),
    "Elo": lambda votes, _: Ranking.from_scores(fenchel_young(_wins(votes), options=WIDE).ratings, 1e-6),
    WITH_PRIOR: lambda votes, _: Ranking.from_scores(bradley_terry(_wins(votes), options=BradleyTerryOptions(prior=0.1)).ratings, 1e-6),
    EARLY: lambda votes, _: Ranking.from_scores(minorised(_wins(votes), ITERATIONS), 1e-9),
    "Copeland": lambda votes, _: copeland(_margins(votes)).ranking,
    "ranked pairs": lambda votes, _: ranked_pairs(_margins(votes), ties="order").ranking,
    "Schulze": lambda votes, _: schulze(_wins(votes)).ranking,
    "maximal lotteries": lambda votes, _: Ranking.from_scores(iterated_maximal_lotteries(_margins(votes)).ratings, 1e-9),
    "Borda": lambda votes, _: borda(votes, unlisted="unknown").ranking,
    "approval": lambda votes, _: approval(votes, 2).ranking,
}
"""Rankings of a tournament. Elo is the maximum-likelihood fit, where undefeated agents end at the upper bound of a wide box; the one with a
prior has a tenth of a tied game for each agent; the one of three iterations is the algorithm that the paper names, stopped early. Approval
is of the first two.
"""


def distances(ranking: Ranking, skills: Floats) -> tuple[float, float]:
    """Kendall-tau distance to the true order (ties count half), and mean difference of the skills of discordant pairs, 0 if there are
    none."""
    first, second = np.triu_indices(len(skills), 1)
    level, gap = ranking.level, skills[first] - skills[second]
    lead = level[second] - level[first]
    share = np.where(lead == 0, 0.5, (lead > 0) != (gap > 0))
    return kendall_tau(ranking, Ranking.from_scores(skills)), float(share @ np.abs(gap) / share.sum()) if share.any() else 0.0


def tournament(n: int, matched: bool, seed: int) -> dict[str, tuple[float, float]]:
    """Distances of every method on one tournament of n contests."""
    rng = np.random.default_rng([seed, n, matched])
    skills = skills_of(rng)
    votes = Profile.from_orders(contests(skills, n, rng, matched=matched), names=tuple(map(str, range(AGENTS))))
    return {name: distances(method(votes, seed), skills) for name, method in METHODS.items()}


@PAPER.item("missing-pairs", "Section 4.3, table of missing pairs", "Share of the pairs that never meet")
def missing_pairs(run: Run) -> Output:
    rows = list(csv.DictReader((GOLDEN / "missing_data_sec43.csv").read_text(encoding="utf-8").splitlines()))
    repeats = run.pick(40, 100)
    values: list[Value] = []
    (seed,) = run.seeds(1)
    for matched, row in product((False, True), rows):
        n = int(row["n_contests"])
        rng = np.random.default_rng([n, matched, seed])
        shares = [unmet(contests(skills_of(rng), n, rng, matched=matched)) for _ in range(repeats)]
        share, error = float(np.mean(shares)), float(np.std(shares)) / repeats**0.5
        kind = "skill" if matched else "uniform"
        label, printed = f"{MATCHINGS[matched]}, {n} contests", float(row[f"p_missing_{kind}_published"])
        of_matching = (
            f"the stated matching seats the nearest of three drawn agents to the mean skill of the contest; {repeats} simulations of it "
            f"leave {share:.3f} unmet, standard error {error:.4f}, and agree with the seven other printed sizes"
        )
        reason = of_matching if matched and n == SIZES[0] else ""
        expected = float(row["skill_simulated_200+reps"])
        values.append(equal(label, printed, share, tolerance=0.0165, reason=reason, expected=expected))
    note = f"Means of {repeats} tournaments. The tolerance is a printed unit (the print truncates) and the noise of the mean."
    return Output(values, note=note)


@PAPER.item("figure-2", "Figure 2 (section 4.3)", "Distance to the true order in tournaments with few games")
def figure_2(run: Run) -> Output:
    chunks, size = run.pick((1, 4), (FULL, CHUNK))
    seeds, cells = run.seeds(chunks * size), list(product(MATCHINGS, SIZES))
    parts = [(matching, n, seeds[size * chunk : size * (chunk + 1)]) for chunk in range(chunks) for matching, n in cells]
    stored = run.each(((f"{matching}-{n}-{own[0]}", partial(_cell, matching, n, own)) for matching, n, own in parts), len(parts))
    found: dict[tuple[str, int], dict[str, Floats]] = {}
    for (matching, n, _), result in zip(parts, stored, strict=True):
        before = found.setdefault((matching, n), {name: np.empty((0, 2)) for name in METHODS})
        found[matching, n] = {name: np.vstack([before[name], result[name]]) for name in METHODS}
    return Output(_claims(found), [_drawn(found)], note=_NOTE.format(seeds=len(seeds), sigmoid=ALPHA_SIGMOID, fenchel_young=ALPHA))


_NOTE: Final = """{seeds} tournaments for each point (the paper has 200); the bands are 95 % intervals of the mean. The paper prints curves
and makes statements about them, which are compared. *Lowest*, *lower* and *higher* hold if no mean of the paper's methods contradicts them
by more than three standard errors of the difference (of few tournaments, by as many more as Student's t needs); where a mean contradicts
*lowest* by fewer, the row is within noise. Of *lowest*, the column *ours* has the mean of the SCO rating, and how far the mean of the
lowest other method is above it (+) or below (-), with the standard error of this difference on the same tournaments. The paper says
*lowest* of both SCO ratings if at least 59 % of the pairs never met, and of SCO if 38 % never met; there the better rating is compared.
The paper gives no steps for these tournaments, and 10,000 iterations. Its appendix E.2 has a step of 0.01 for up to 500 alternatives, with
ten times the iterations above ten alternatives, and 0.1 for more. Here the step is {sigmoid:g} with the sigmoid and {fenchel_young:g} with
the Fenchel-Young loss. With 0.01, the descent of the sigmoid loss is far from its end after 10,000 iterations (31 wrong pairs and not 21
with 20 skill-matched contests), and four of its six statements about skill-matched tournaments fail. Without a prior, the optimum of the
Fenchel-Young loss is the one of Elo; they differ because the descent ends before it."""
Found = Mapping[tuple[str, int], Mapping[str, Floats]]
"""(matching, contests) -> method -> (tournaments, 2): both distances."""


def _cell(matching: str, n: int, seeds: Iterable[int]) -> dict[str, list[Any]]:
    runs = [tournament(n, matching == MATCHINGS[1], seed) for seed in seeds]
    return {name: [run[name] for run in runs] for name in METHODS}


SCO: Final = ("SCO, sigmoid", "SCO, Fenchel-Young")
METRICS: Final = ("Kendall-tau distance", "mean true rating distance")


def _gap(found: Mapping[str, Floats], name: str, than: str, metric: int) -> tuple[float, float]:
    """By how much one method is lower than another on the same tournaments: mean and its standard error."""
    gap = found[than][:, metric] - found[name][:, metric]
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))


def _lower(found: Mapping[str, Floats], name: str, than: str, metric: int) -> bool:
    """Whether one method is lower than the other by more than three standard errors, or as many more as so few tournaments need."""
    mean, error = _gap(found, name, than, metric)
    return mean > float(stats.t.ppf(stats.norm.cdf(3), len(found[name]) - 1)) * error


def _mean(found: Found, matching: str, n: int, name: str, metric: int) -> float:
    return float(found[matching, n][name][:, metric].mean())


_EXACT_ELO: Final = (
    "the statement does not follow from the paper's definition of Elo, the maximum-likelihood ratings by Hunter's algorithm: our Elo is "
    "this optimum, which is also that of the Fenchel-Young loss"
)


def _lowest(found: Found, matching: str, n: int, sco: str, metric: int) -> Value:
    """Statement that no other method of the paper is lower than an SCO rating."""
    cell = found[matching, n]
    others = [name for name in METHODS if name not in SCO and name not in OURS]
    lower = [name for name in others if _lower(cell, name, sco, metric)]
    best = min(others, key=lambda name: _mean(found, matching, n, name, metric))
    mean, error = _gap(cell, best, sco, metric)
    early = _mean(found, matching, n, EARLY, metric)
    stopped = f"{_EXACT_ELO}; stopped after {ITERATIONS} iterations, Elo has {early:.1f}"
    reason = stopped if lower == ["Elo"] and not _lower(cell, EARLY, sco, metric) else ""
    ours = f"{_mean(found, matching, n, sco, metric):.1f}; {best} {-mean:+.2f}, standard error {error:.2f}"
    label = f"{matching}, {n} contests, {METRICS[metric]}: {sco}"
    value = claim(label, "lowest", ours, holds=not lower, reason=reason)
    within = f"{best} is lower by {mean / error:.1f} standard errors" if mean > 0 and not lower else ""
    return replace(value, match=Match.NOISE, why=within) if within else value


def _better_sco(found: Found, matching: str, n: int, metric: int) -> str:
    return min(SCO, key=lambda sco: _mean(found, matching, n, sco, metric))


def _elo_higher(found: Found, metric: int) -> Value:
    """Statement that Elo's distances are higher than those of the SCO ratings in skill-matched tournaments."""
    matching = MATCHINGS[1]
    against = [n for n in SIZES if any(_lower(found[matching, n], "Elo", sco, metric) for sco in SCO)]
    early = all(_mean(found, matching, n, EARLY, metric) > _mean(found, matching, n, sco, metric) for n in SIZES for sco in SCO)
    stopped = (
        f"stopped after {ITERATIONS} iterations, it is higher than both with each number of contests, and in uniform tournaments "
        f"{_above(found, MATCHINGS[0], EARLY, metric)}, where the paper calls it comparable"
    )
    reason = f"{_EXACT_ELO}; {stopped}" if early else ""
    ours = f"lower than an SCO rating with {_listed(against)} contests"
    return claim(f"{matching}, {METRICS[metric]}: Elo", "higher than SCO", ours, holds=not against, reason=reason)


def _ranked_pairs_lower(found: Found) -> Value:
    """Statement about the mean true rating distance of ranked pairs where fewer than half of the pairs never met."""
    matching, sizes = MATCHINGS[1], [n for n in SIZES if n > SPARSE["skill-matched"]]
    lower = [n for n in sizes if _mean(found, matching, n, "ranked pairs", 1) < min(_mean(found, matching, n, sco, 1) for sco in SCO)]
    against = [n for n in sizes if any(_lower(found[matching, n], sco, "ranked pairs", 1) for sco in SCO)]
    ours = f"lower than both with {_listed(lower)} contests"
    return claim(f"{matching}, {sizes[0]} contests or more, {METRICS[1]}: ranked pairs", "lower than SCO", ours, holds=not against)


def _beside_sco(found: Found, matching: str, name: str, metric: int) -> Value:
    """A method that the paper calls comparable to SCO: by how much its means are above those of the better SCO rating."""
    ours, reason = _above(found, matching, name, metric), "the paper gives no measure of comparable"
    return Value(f"{matching}, {METRICS[metric]}: {name}", "comparable to SCO", ours, Match.NONE, reason)


def _above(found: Found, matching: str, name: str, metric: int) -> str:
    """By how much the means of a method are above those of the better SCO rating."""
    gaps = [
        _mean(found, matching, n, name, metric) - _mean(found, matching, n, _better_sco(found, matching, n, metric), metric) for n in SIZES
    ]
    return f"{min(gaps):+.1f} to {max(gaps):+.1f} beside the better SCO"


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "no number of"


def _claims(found: Found) -> list[Value]:
    values = []
    for matching in MATCHINGS:
        for n in (size for size in SIZES if size <= SPARSE[matching]):
            for metric in range(len(METRICS)):
                losses = SCO if n <= BOTH_LOWEST[matching] else (_better_sco(found, matching, n, metric),)
                values += [_lowest(found, matching, n, sco, metric) for sco in losses]
    for matching in MATCHINGS:
        worst = _worst(found, matching)[: len(HIGHEST)]
        holds = set(worst) == HIGHEST
        values.append(claim(f"{matching}: highest distances", "approval, Borda, maximal lotteries", ", ".join(worst), holds=holds))
    for metric in range(len(METRICS)):
        values.append(_elo_higher(found, metric))
        values.append(_ranked_pairs_lower(found)) if metric else values.append(_beside_sco(found, "skill-matched", "ranked pairs", metric))
        values.append(_beside_sco(found, "uniform", "Elo", metric))
    return values


def _worst(found: Found, matching: str) -> list[str]:
    mean = {name: np.mean([found[matching, n][name][:, 0].mean() for n in SIZES]) for name in METHODS}
    return sorted(mean, key=lambda name: -mean[name])


def _curve(found: Found, matching: str, name: str, metric: int) -> tuple[Floats, Floats]:
    """Means by number of contests, and half the widths of their 95 % intervals."""
    runs = np.array([found[matching, n][name][:, metric] for n in SIZES])
    return runs.mean(axis=1), 1.96 * runs.std(axis=1) / np.sqrt(runs.shape[1])


def _drawn(found: Found) -> Drawn:
    figure, axes = grid(2, 2, 9.0, 7.4)
    for place, (matching, metric) in enumerate(product(MATCHINGS, (0, 1))):
        for number, name in enumerate(name for name in METHODS if name not in HIGHEST):
            mean, error = _curve(found, matching, name, metric)
            line(axes[place], number, SIZES, mean, name)
            band(axes[place], number, SIZES, mean - error, mean + error)
        for name, marker in zip(sorted(HIGHEST), "x1+", strict=True):
            axes[place].plot(SIZES, _curve(found, matching, name, metric)[0], color="#888888", marker=marker, linewidth=1, label=name)
        axes[place].set(
            xscale="log", xlabel="contests", ylabel=("Kendall-tau distance", "mean true rating distance")[metric], title=matching
        )
        axes[place].set_xticks(SIZES, list(map(str, SIZES)))
        axes[place].minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return Drawn("tournaments", "Distance to the true order by number of contests of four among 20 agents. Lower is better.", figure)

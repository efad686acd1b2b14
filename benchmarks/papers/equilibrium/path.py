"""Sec. 3.2 of Liu et al. 2025: the annealed loss of equation 3 beside the exact path of logit equilibria."""

from itertools import pairwise
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, rel_entr

from benchmarks.papers.equilibrium.paper import PAPER
from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, unprinted
from benchmarks.workloads import preferences
from ratings_core.equilibria import lle
from ratings_core.games import KingOfTheHill, mix_regrets, uniform_mixes
from ratings_core.solution import Floats

HOTTEST: Final = 10.0
COLDEST: Final = 0.01
COOLING: Final = 0.6
NEAR: Final = 0.05
"""Largest difference of a probability between two equilibria that count as the same: the annealed one ends at a positive temperature."""
_PROMPTS, _MODELS = 3, 3
_STEPS: Final = 60

Mixes = tuple[Floats, ...]


def loss(game: KingOfTheHill, mixes: Mixes, tau: float) -> float:
    """Equation 3 with uniform targets: the players' gains by best answers in the regularised game, 0 exactly at a logit equilibrium."""
    total = 0.0
    for worth, mix in zip(game.payoffs_against(mixes), mixes, strict=True):
        target = 1 / len(mix)
        best = tau * float(logsumexp(worth / tau + np.log(target)))
        total += best - float(mix @ worth) + tau * float(rel_entr(mix, target).sum())
    return total


def annealed(game: KingOfTheHill) -> tuple[Mixes, float]:
    """Mixes after annealing from `HOTTEST` to `COLDEST`, and the largest loss of a temperature's minimum."""
    cuts = np.cumsum([0, *game.shape])

    def mixes_of(logits: Floats) -> Mixes:
        parts = (logits[low:high] for low, high in pairwise(cuts))
        return tuple(np.exp(part - logsumexp(part)) for part in parts)

    def at(logits: Floats, tau: float) -> float:
        return loss(game, mixes_of(logits), tau)

    logits, tau, worst = np.zeros(cuts[-1]), HOTTEST, 0.0
    while tau > COLDEST:
        found = minimize(at, logits, (tau,), method="L-BFGS-B", options={"maxiter": _STEPS})
        logits, tau, worst = np.asarray(found.x, np.float64), tau * COOLING, max(worst, float(found.fun))
    return mixes_of(logits), worst


@PAPER.item("equation-3", "Section 3.2, equation 3", "The annealed loss beside the exact path")
def equation_3(run: Run) -> Output:
    games = [KingOfTheHill.of(preferences(_PROMPTS, _MODELS, seed)) for seed in run.seeds(run.pick(2, 40))]
    exact = [lle(game, target="even") for game in games]
    found = [annealed(game) for game in games]
    apart = [
        max(float(np.abs(a - b).max()) for a, b in zip(one.mixes, mixes, strict=True)) for one, (mixes, _) in zip(exact, found, strict=True)
    ]
    regret = [float(mix_regrets(game, mixes).max()) for game, (mixes, _) in zip(games, found, strict=True)]
    same = sum(off <= NEAR for off in apart)
    start = max(loss(game, uniform_mixes(game.shape), 1e6) for game in games)
    certificate = max(one.certificate.value for one in exact)
    return Output(
        [
            claim("loss at the uniform mixes, high temperature", "0", f"{start:.1e}", holds=start <= 1e-5),
            claim(
                "annealed mixes",
                "approximately the limiting equilibrium",
                f"in {same} of {len(games)} games; in the others the annealing ends elsewhere",
                holds=2 * same > len(games),
            ),
            unprinted("median difference of a probability", round(float(np.median(apart)), 5)),
            unprinted(
                "median regret of the annealed mixes", round(float(np.median(regret)), 5), f"the exact path's largest is {certificate:.0e}"
            ),
        ],
        [_drawn(apart, [worst for _, worst in found])],
        note=_note(len(games)),
    )


def _note(games: int) -> str:
    return f"""Two algorithms for the limiting logit equilibrium are compared on {games} random games of {_PROMPTS} prompts and {_MODELS}
models. A path of logit equilibria leads from the uniform mixes at a high temperature to the limiting equilibrium at temperature 0. The
library follows this path, also where it turns back to higher temperatures (at a fold). The paper's annealing only lowers the
temperature, here from {HOTTEST:g} to {COLDEST:g} by a factor of {COOLING:g}, and minimises equation 3 by L-BFGS at each one. At a fold it
cannot follow the path: it ends at another equilibrium, or at a local minimum with a positive loss. The paper says that annealing finds
approximately the limit. We count this as true if each probability is within {NEAR:g} of it in more than half of the games."""


def _drawn(apart: list[float], worst: list[float]) -> Drawn:
    figure, (axes,) = grid(1, 1, 5.0, 3.4)
    axes.loglog(np.maximum(worst, 1e-14), np.maximum(apart, 1e-6), "o", color=COLOURS[0])
    axes.axhline(NEAR, color=COLOURS[1], linestyle="--")
    axes.set(xlabel="largest loss at a temperature's minimum", ylabel="largest difference of a probability")
    return Drawn(
        "annealing", "One point a game: difference between annealed and exact equilibrium. Below the line they count as the same.", figure
    )

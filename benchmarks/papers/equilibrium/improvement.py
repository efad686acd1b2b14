"""Figures 1 and 2 of Liu et al. 2025: what models and prompts become if each new one maximises its rating."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.papers.equilibrium.paper import PAPER
from benchmarks.papers.figures import SEQUENTIAL, band, grid, line
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from ratings_core.equilibria import lle
from ratings_core.equilibria.options import LLEOptions
from ratings_core.games import KingOfTheHill
from ratings_core.solution import Floats

SKILLS: Final = 6
FIRST_PROMPTS: Final = 8
FIRST_MODELS: Final = 6
DRAWN: Final = 64
"""Candidates of which the one with the highest rating is added."""
MAINTAINED: Final = 0.9
"""Share of the entropy at the beginning, from which on it counts as maintained."""
RULES: Final = "the rules of improvement are ours, because the paper's pseudocode is not at hand"
KINDS: Final = ("Elo, initial prompts", "Elo, additional prompts", "NE, initial prompts", "NE, additional prompts")


@dataclass(frozen=True)
class Weights:
    """What a rating averages over. prompts: (P,), kings and rebels: (M,), probabilities."""

    prompts: Floats
    kings: Floats
    rebels: Floats


def weights(kind: str, prompts: Floats, models: Floats) -> Weights:
    """Uniform weights for Elo, equilibrium mixes for NE. prompts: (P, skills), models: (M, skills)."""
    if kind.startswith("Elo"):
        even = np.full(len(models), 1 / len(models))
        return Weights(np.full(len(prompts), 1 / len(prompts)), even, even)
    skill = prompts @ models.T
    lead = skill[:, :, None] - skill[:, None, :]
    found = lle(KingOfTheHill.of(lead / max(float(np.abs(lead).max()), 1e-9)), options=LLEOptions(tolerance=1e-4, accept_approximate=True))
    return Weights(*found.mixes)


def entropy(vectors: Floats) -> float:
    """Shannon entropy, in nats, of the mean of vectors over skills, scaled to sum 1."""
    share = vectors.mean(axis=0) / vectors.mean(axis=0).sum()
    return float(-(share * np.log(np.maximum(share, 1e-300))).sum())


def improved(models: Floats, direction: Floats, rng: np.random.Generator) -> Floats:
    """A new model (skills,): the sum of as few improvements as give it the highest rating, each the best of `DRAWN` drawn ones.

    direction: the weighted mean of the prompts; a model's rating grows with its product with it.
    """
    model, highest = np.zeros(SKILLS), float((models @ direction).max())
    while float(model @ direction) <= highest:
        steps = rng.dirichlet(np.ones(SKILLS), DRAWN)
        model = model + steps[np.argmax(steps @ direction)]
    return model


def grown(kind: str, seed: int, iterations: int) -> dict[str, Any]:
    """One trial. Returns the entropies before each iteration and after the last, and the final prompts, models and prompt weights."""
    rng = np.random.default_rng(seed)
    prompts, models = rng.dirichlet(np.ones(SKILLS), FIRST_PROMPTS), rng.dirichlet(np.ones(SKILLS), FIRST_MODELS)
    entropies, mixes = [(entropy(prompts), entropy(models))], []
    for _ in range(iterations):
        now = weights(kind, prompts, models)
        mixes.append((now.prompts @ prompts).tolist())
        models = np.vstack([models, improved(models, now.prompts @ prompts, rng)])
        candidates = rng.dirichlet(np.ones(SKILLS), DRAWN)
        if kind.endswith("additional prompts"):
            prompts = np.vstack([prompts, candidates[np.argmax(_separation(candidates, models, now))]])
        entropies.append((entropy(prompts), entropy(models)))
    return {"entropies": entropies, "prompts": prompts.tolist(), "models": models.tolist(), "mixes": mixes}


def _separation(prompts: Floats, models: Floats, now: Weights) -> Floats:
    """Expected absolute lead on each prompt of kings over rebels, over the models before the newest one (prompts,)."""
    skill = prompts @ models[: len(now.kings)].T
    apart = np.abs(skill[:, :, None] - skill[:, None, :])
    return np.asarray(np.einsum("pij,i,j->p", apart, now.kings, now.rebels), np.float64)


@PAPER.item("figure-1", "Figures 1 and 2 (sections 1.1 and 4.1)", "Improvement paths under Elo and under equilibrium ratings")
def figure_1(run: Run) -> Output:
    trials, iterations = run.pick(2, 32), run.pick(8, 24)
    seeds = run.seeds(trials)
    cells = [(kind, seed) for kind in KINDS for seed in seeds]
    parts = ((f"{kind}-{seed}".replace(", ", "-").replace(" ", "-"), partial(grown, kind, seed, iterations)) for kind, seed in cells)
    found = dict(zip(cells, run.each(parts, len(cells)), strict=True))
    curves = {kind: np.array([found[kind, seed]["entropies"] for seed in seeds]) for kind in KINDS}
    note = f"""{trials} trials (the paper has 32) of {iterations} iterations (the paper states no number) with {SKILLS} skills,
{FIRST_PROMPTS} prompts and {FIRST_MODELS} models to begin with, all from the uniform Dirichlet distribution. The paper's pseudocode is in
an appendix that is not at hand, so these rules are ours: a new model is the sum of as few improvements as give it the highest rating, each
the best of {DRAWN} drawn ones; a new prompt is the best of {DRAWN} by separability (Elo) or by its rating at the equilibrium (NE). Entropy
is that of the mean skill, in nats; its largest value is {np.log(SKILLS):.2f}."""
    compared = [unprinted("claims", "not compared", "few and short trials decide none of them")] if run.quick else _compared(curves)
    return Output(compared, [_drawn(curves), _paths({kind: found[kind, seeds[0]] for kind in KINDS})], note=note)


def _compared(curves: Mapping[str, Floats]) -> list[Value]:
    """Statements about the change of entropy. curves: kind -> (trials, iterations + 1, prompts and models)."""
    change = {kind: (runs[:, -1] - runs[:, 0]).mean(axis=0) for kind, runs in curves.items()}
    elo, more, nash, both = (change[kind] for kind in KINDS)
    first = curves[KINDS[-1]][:, 0].mean(axis=0)

    def maintained(what: str, column: int) -> Value:
        kept, lost = 1 + both[column] / first[column], f"{both[column] / more[column]:.2f} of what it loses under Elo"
        ours = f"{both[column]:+.3f}, {lost}; {kept:.1%} is kept, {MAINTAINED:.0%} or more counts as maintained"
        return claim(f"{what} entropy, NE, additional prompts", "maintained", ours, holds=kept >= MAINTAINED, other_input=RULES)

    return [
        claim("model entropy, Elo, initial prompts", "declines", f"{elo[1]:+.3f}", holds=elo[1] < 0),
        claim("model entropy, Elo, additional prompts", "declines more", f"{more[1]:+.3f}", holds=more[1] < elo[1]),
        claim("prompt entropy, Elo, additional prompts", "declines", f"{more[0]:+.3f}", holds=more[0] < 0),
        claim("model entropy, NE, initial prompts", "higher than under Elo", f"{nash[1]:+.3f}", holds=nash[1] > elo[1]),
        maintained("model", 1),
        maintained("prompt", 0),
    ]


def _drawn(curves: Mapping[str, Floats]) -> Drawn:
    figure, axes = grid(1, 2, 8.8, 3.6)
    for one, place, name in zip(axes, (1, 0), ("models", "prompts"), strict=True):
        for number, (kind, runs) in enumerate(curves.items()):
            values = runs[:, :, place]
            mean, error = values.mean(axis=0), 1.96 * values.std(axis=0) / np.sqrt(len(values))
            line(one, number, np.arange(values.shape[1]), mean, kind, markers=False)
            band(one, number, np.arange(values.shape[1]), mean - error, mean + error)
        one.set(title=name, xlabel="iteration", ylabel="entropy of the mean skill, nats")
    axes[0].legend(loc="lower left")
    return Drawn("entropy", "Mean over the trials; the bands are 95 % intervals. Initial prompts do not change.", figure)


def _paths(found: Mapping[str, Mapping[str, Any]]) -> Drawn:
    figure, axes = grid(3, 2, 7.6, 6.6)
    for column, kind in enumerate(("Elo, additional prompts", "NE, additional prompts")):
        one = found[kind]
        shares = [np.array(one[name]) / np.array(one[name]).sum(axis=1, keepdims=True) for name in ("models", "prompts", "mixes")]
        for row, (name, share) in enumerate(zip(("models", "prompts", "weighted prompts"), shares, strict=True)):
            axes[2 * row + column].imshow(share.T, aspect="auto", cmap=f"{SEQUENTIAL}_r", vmin=0)
            axes[2 * row + column].grid(visible=False)
            axes[2 * row + column].set(ylabel="skill", xlabel="order of arrival" if row < 2 else "iteration", title=f"{kind}: {name}")
    return Drawn(
        "paths", "One trial: skills of models and prompts as they arrive, and prompts weighted by the rating. Darker is more.", figure
    )

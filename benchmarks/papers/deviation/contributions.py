"""Figure 2 of Marris et al. 2025: models against models on tasks, and what each task contributes to a rating."""

from typing import Final

import numpy as np

from benchmarks.papers.deviation.atari import AGENTS, GAMES, SCORES
from benchmarks.papers.deviation.paper import PAPER
from benchmarks.papers.figures import COLOURS, DIVERGING, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, unprinted
from ratings_core.analysis.contributions import Contributions, contributions
from ratings_core.equilibria import deviation, uniform
from ratings_core.games import agent_vs_agent_vs_task
from ratings_core.solution import Floats

MODELS: Final = 17
TASKS: Final = 18
SPECIALISTS: Final = 4
TIED: Final = 1e-6
_SHOWN: Final = 4


def table(seed: int) -> Floats:
    """Scores of models on tasks, 0 to 1 (17, 18): strength and noise, and four strong models that each lead on one task."""
    rng = np.random.default_rng(seed)
    strength = np.concatenate([np.full(SPECIALISTS, 0.62), np.linspace(0.58, 0.2, MODELS - SPECIALISTS)])
    scores = strength[:, None] + 0.04 * rng.normal(size=(MODELS, TASKS))
    scores[range(SPECIALISTS), range(SPECIALISTS)] = 0.85
    return np.asarray(np.clip(scores, 0, 1), np.float64)


def split(scores: Floats, models: list[str], tasks: list[str]) -> tuple[Floats, Contributions]:
    """Deviation ratings and their split by task."""
    game = agent_vs_agent_vs_task(scores, agents=models, tasks=tasks, merge=False).game
    found = deviation(game)
    return found.ratings, contributions(game, found.play, player=0, by=2)


@PAPER.item("figure-2", "Figure 2 (section 5.2)", "Models on tasks, and contributions of tasks to ratings")
def figure_2(run: Run) -> Output:
    models, tasks = [f"model {n}" for n in range(1, MODELS + 1)], [f"task {n}" for n in range(1, TASKS + 1)]
    scores = table(*run.seeds(1))
    ratings, parts = split(scores, models, tasks)
    average = uniform(agent_vs_agent_vs_task(scores, agents=models, tasks=tasks).game).ratings
    tied = np.flatnonzero(ratings >= ratings.max() - TIED)
    off = float(np.abs(parts.ratings - ratings).max())
    own = [next(iter(parts.of(models[i]))) for i in range(SPECIALISTS)]
    atari, atari_parts = split(SCORES, AGENTS, GAMES)
    atari_off = float(np.abs(atari_parts.ratings - atari).max())
    salient = ", ".join(GAMES[i] for i in np.argsort(-np.abs(atari_parts.values).sum(axis=0))[:6])
    specialists = set(range(SPECIALISTS))
    return Output(
        [
            claim(
                "models that share the first place",
                "four of the strongest",
                f"{len(tied)}, all specialists",
                holds=set(tied) == specialists,
            ),
            claim("contributions of a rating", "sum to the rating", f"largest difference {off:.1e}", holds=off <= TIED),
            claim("largest contribution of each", "the task on which it leads", ", ".join(own), holds=own == tasks[:SPECIALISTS]),
            claim("contributions on Atari (table 3)", "sum to the rating", f"largest difference {atari_off:.1e}", holds=atari_off <= TIED),
            unprinted("most salient Atari games", salient),
        ],
        [_drawn(scores, ratings, average, parts)],
        note=f"""The paper takes LiveBench's judgments of 18 August 2024, which are not part of this project. Here are {MODELS} synthetic
models on {TASKS} tasks, where four strong models lead on one task each, and the paper's own Atari table. The paper's formula for a
contribution has the deviating model in the equilibrium's probability; here it has not, as otherwise the contributions do not sum to the
rating.""",
    )


def _drawn(scores: Floats, ratings: Floats, average: Floats, parts: Contributions) -> Drawn:
    figure, axes = grid(1, 3, 12.0, 4.4)
    place = np.arange(MODELS)
    scaled = (average - average.max()) / np.ptp(average) * np.ptp(ratings)
    axes[0].plot(scaled, place, "s", color=COLOURS[1], label="uniform, rescaled")
    axes[0].plot(ratings, place, "o", color=COLOURS[0], label="deviation")
    axes[0].set(xlabel="rating", title="(a) ratings")
    axes[0].legend()
    salient = np.argsort(-np.abs(parts.values).sum(axis=0))[:_SHOWN]
    rest = np.delete(parts.values, salient, axis=1).sum(axis=1)
    bars = [(parts.parts[task], parts.values[:, task]) for task in salient] + [("other tasks", rest)]
    for number, (name, values) in enumerate(bars):
        below = sum((np.where(np.sign(other) == np.sign(values), other, 0) for _, other in bars[:number]), np.zeros(MODELS))
        axes[1].barh(place, values, left=below, color=COLOURS[number], label=name)
    axes[1].set_axisbelow(True)
    axes[1].set(xlabel="contribution", title="(b) contributions of tasks")
    axes[1].legend()
    axes[2].imshow(scores, aspect="auto", cmap=DIVERGING, vmin=0, vmax=1)
    axes[2].grid(visible=False)
    axes[2].set_xticks(range(0, TASKS, 3), list(map(str, range(1, TASKS + 1, 3))))
    axes[2].set(xlabel="task", title="(c) scores")
    for one in axes:
        one.set_yticks(place, [f"model {n + 1}" for n in place])
        if not one.yaxis_inverted():
            one.invert_yaxis()
    return Drawn(
        "models",
        "Ratings, contributions of the four most salient tasks, and the table of scores. Model 1 to 4 lead on one task each.",
        figure,
    )

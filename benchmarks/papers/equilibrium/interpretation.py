"""Figures 4 and 5 of Liu et al. 2025: support and rating of prompts, and contributions of families of models."""

from typing import Final

import numpy as np

from benchmarks.papers.equilibrium.paper import PAPER
from benchmarks.papers.equilibrium.redundancy import AFFINITY, game_with_copies, plain_game
from benchmarks.papers.figures import COLOURS, DIVERGING, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, unprinted
from ratings_core.analysis.contributions import contributions
from ratings_core.equilibria import cce, lle
from ratings_core.equilibria.options import LLEOptions
from ratings_core.solution import Floats

PROMPT, KING, REBEL = range(3)
FAMILIES: Final = 5
SHOWN: Final = 5
ROUNDING: Final = 1e-6
_PLAYED: Final = 1e-6


@PAPER.item("figure-4", "Figure 4 (section 4.3)", "Support and rating of prompts at the equilibrium")
def figure_4(run: Run) -> Output:
    game, original = game_with_copies(run)
    found = lle(game, target=AFFINITY, options=LLEOptions(merge=False))
    rating, support = found.by_player[PROMPT], found.mixes[PROMPT]
    count = np.bincount(original)[original]
    single = count == 1
    played = support > _PLAYED
    lift = float(rating[played].mean() - rating[~played].mean())
    apart = max(float(np.ptp(rating[original == prompt])) for prompt in np.unique(original))
    best = rating >= rating.max() - ROUNDING
    alone, copied = (float(support[best & kind].mean()) if (best & kind).any() else float("nan") for kind in (single, ~single))
    values = [
        claim("prompts with support", "have high ratings", f"mean rating {lift:.3f} above the others'", holds=lift > 0),
        claim("ratings of copies", "identical", f"they differ by at most {apart:.0e}", holds=apart <= ROUNDING),
        unprinted("prompts with support", f"{int(played.sum())} of {len(rating)}"),
    ]
    if np.isfinite([alone, copied]).all():
        text = f"{copied:.4f}, without copies {alone:.4f}"
        values.append(claim("support of prompts with copies among the best", "lower", text, holds=copied < alone))
    copies = len(original) - len(np.unique(original))
    note = f"""The game of figure 3 with {copies} copies of prompts, not merged. A rating is a regret: 0 for the best prompts, and
every prompt with support is among them."""
    return Output(values, [_support(rating, support, single), _payoffs(game.ahead, rating)], note=note)


def _support(rating: Floats, support: Floats, single: Floats) -> Drawn:
    figure, axes = grid(2, 1, 8.0, 4.4)
    order = np.argsort(rating, kind="stable")
    colours = np.where(single[order], COLOURS[0], "#999999").tolist()
    for one, values, name in zip(axes, (rating, support), ("rating", "support"), strict=True):
        one.set_axisbelow(True)
        one.bar(range(len(order)), values[order], width=1.0, color=colours)
        one.set(ylabel=name)
    axes[1].set(xlabel="prompts in the order of their ratings; grey ones have copies")
    return Drawn("support", "Rating (regret) and probability of all prompts at the limiting logit equilibrium.", figure)


def _payoffs(ahead: Floats, rating: Floats) -> Drawn:
    figure, axes = grid(1, 6, 12.0, 2.5)
    strength = np.argsort(-ahead.mean(axis=(0, 2)))
    order = np.argsort(rating, kind="stable")
    for one, prompt in zip(axes, order[np.linspace(0, len(order) - 1, len(axes)).astype(int)], strict=True):
        one.imshow(ahead[prompt][np.ix_(strength, strength)], cmap=DIVERGING, vmin=-1, vmax=1)
        one.set(title=f"rating {rating[prompt]:.2f}", xticks=[], yticks=[], xlabel="rebel")
        one.grid(visible=False)
    axes[0].set_ylabel("king")
    return Drawn("prompts", "Lead of king over rebel on six prompts with increasing ratings; models from the strongest.", figure)


@PAPER.item("figure-5", "Figure 5 (section 4.3)", "Contributions of families of models to the king's ratings")
def figure_5(run: Run) -> Output:
    game = plain_game(run)
    found = cce(game)
    parts = contributions(game, found.play, player=KING, by=REBEL)
    families = np.arange(len(parts.parts)) % FAMILIES
    values = np.array([parts.values[:, families == family].sum(axis=1) for family in range(FAMILIES)]).T
    off = float(np.abs(values.sum(axis=1) - found.ratings).max())
    return Output(
        [
            claim("contributions of a rating", "sum to the rating", f"largest difference {off:.0e}", holds=off <= ROUNDING),
            unprinted(
                "sum of the printed formula",
                "minus the rating",
                "its difference has the other sign, and products of marginals replace the joint distribution",
            ),
        ],
        [_bars(values, found.ratings)],
        note=f"""The game of figure 3 without copies, at the CCE nearest to the affinity target. The paper groups models by their makers;
the synthetic models have none, so {FAMILIES} families are assigned by their numbers. Which family helps which model is a statement about
the paper's data.""",
    )


def _bars(values: Floats, ratings: Floats) -> Drawn:
    figure, (axes,) = grid(1, 1, 7.0, 3.2)
    top = np.argsort(-ratings, kind="stable")[:SHOWN]
    up, down = np.zeros(SHOWN), np.zeros(SHOWN)
    for family, part in enumerate(values[top].T):
        axes.barh(range(SHOWN), part, left=np.where(part > 0, up, down), color=COLOURS[family], label=f"family {family + 1}")
        up, down = up + np.maximum(part, 0), down + np.minimum(part, 0)
    axes.set_yticks(range(SHOWN), [f"model {agent + 1}" for agent in top])
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.set(xlabel="contribution to the rating")
    axes.legend(ncols=FAMILIES, loc="upper center", bbox_to_anchor=(0.5, 1.18))
    return Drawn("families", "Contributions of the rebel's families to the five best kings; the parts of a bar sum to the rating.", figure)

"""Figure 4 of Lanctot et al. 2025: both losses of the votes of equation 11, on the plane of ratings with sum 0."""

from typing import Final

import numpy as np
from matplotlib.axes import Axes

from benchmarks.papers.figures import SEQUENTIAL, grid
from benchmarks.papers.items import Drawn, Output, Run, claim, equal
from benchmarks.papers.soft_condorcet.paper import PAPER
from benchmarks.papers.soft_condorcet.warmup import order, profile
from ratings_core.batch.fenchel_young import FenchelYoungOptions, fenchel_young
from ratings_core.batch.sigmoidal_program import sigmoidal_program
from ratings_core.solution import Floats

BOUND: Final = 1.5
_STEPS: Final = 241
_ROUNDING: Final = 1e-9


def losses(theta: Floats) -> tuple[Floats, Floats]:
    """The sigmoid loss (eq. 8) and the Fenchel-Young loss under Gumbel noise (up to a constant), at temperature 1. theta: (..., 3)."""
    wins = profile().preferences()
    behind = theta[..., None, :] - theta[..., :, None]
    return (wins / (1 + np.exp(-behind))).sum(axis=(-1, -2)), (wins * np.logaddexp(0, behind)).sum(axis=(-1, -2))


def convex(loss: Floats) -> bool:
    """Whether second differences along both axes and both diagonals of a grid are nonnegative where they are known."""
    centre = loss[1:-1, 1:-1]
    across = (loss[:-2, 1:-1], loss[2:, 1:-1]), (loss[1:-1, :-2], loss[1:-1, 2:])
    diagonal = (loss[:-2, :-2], loss[2:, 2:]), (loss[:-2, 2:], loss[2:, :-2])
    return all(bool(np.nanmin(one + other - 2 * centre) >= -_ROUNDING) for one, other in (*across, *diagonal))


@PAPER.item("figure-4", "Figure 4 (section 5)", "Loss landscapes of the Fenchel-Young and the sigmoid loss")
def figure_4(_: Run) -> Output:
    wins = profile().preferences()
    first, second = np.meshgrid(np.linspace(-BOUND, BOUND, _STEPS), np.linspace(-BOUND, BOUND, _STEPS))
    theta = np.stack([first, second, -first - second], axis=-1)
    outside = np.abs(theta[..., 2]) > BOUND
    sigmoid, fenchel = (np.where(outside, np.nan, loss) for loss in losses(theta))
    smooth = fenchel_young(wins, options=FenchelYoungOptions(low=-BOUND, high=BOUND)).ratings
    sharp = sigmoidal_program(wins, low=-BOUND, high=BOUND).ratings
    sharp = sharp - sharp.mean()
    wide = sigmoidal_program(wins, low=-10 * BOUND, high=10 * BOUND).ratings
    here, there = float(losses(sharp)[0]), float(losses(wide)[0])
    figure, axes = grid(1, 2, 8.6, 3.9)
    _contours(axes[0], fenchel, smooth - smooth.mean(), "Fenchel-Young loss")
    _contours(axes[1], sigmoid, theta[np.unravel_index(np.nanargmin(sigmoid), sigmoid.shape)], "sigmoid loss")
    return Output(
        [
            equal("order at the Fenchel-Young minimum", "ACB", order(smooth)),
            equal("order at the sigmoid minimum", "CAB", order(sharp)),
            claim(
                "Fenchel-Young loss", "strictly convex", "convex on the grid" if convex(fenchel) else "not convex", holds=convex(fenchel)
            ),
            claim("sigmoid loss", "not convex", "convex on the grid" if convex(sigmoid) else "not convex", holds=not convex(sigmoid)),
            claim("sigmoid loss in a box ten times as wide", "smaller", f"{here:.3f}, then {there:.3f}", holds=there < here),
        ],
        [
            Drawn(
                "landscapes",
                "Losses on the plane of ratings with sum 0 in the box [-1.5, 1.5]. The star is the minimum in the box.",
                figure,
            )
        ],
        note="""The votes are those of equation 11. A dark colour is a small loss. The orders are those of the minima in the box of
ratings, without the condition on their sum: the library's fit, and sigmoidal programming for the sigmoid loss. The stars are the minima
on the drawn plane.""",
    )


def _contours(axes: Axes, loss: Floats, best: Floats, title: str) -> None:
    side = np.linspace(-BOUND, BOUND, _STEPS)
    axes.contourf(side, side, loss, levels=24, cmap=SEQUENTIAL)
    axes.contour(side, side, loss, levels=24, colors="white", linewidths=0.3)
    axes.plot(best[0], best[1], "*", color="#D55E00", markersize=14, markeredgecolor="white", clip_on=False)
    axes.grid(visible=False)
    axes.set(xlabel="rating of A", ylabel="rating of B", title=title, aspect="equal")

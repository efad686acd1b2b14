"""Figure 1 of Marris et al. 2025: populations of mixed strategies of the biased Shapley game."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from benchmarks.papers.deviation.paper import PAPER
from benchmarks.papers.deviation.shapley import payoffs, symmetric
from benchmarks.papers.figures import SEQUENTIAL, grid
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from ratings_core.equilibria import cce, deviation, uniform
from ratings_core.equilibria.options import CCEOptions
from ratings_core.solution import Floats

TOLERANCE: Final = 1e-6
CORNERS: Final = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
"""Places of R, P and S in the drawn triangle."""
PURE: Final = np.eye(3)


def _limited(mixes: Floats, most: Floats) -> Floats:
    return mixes[(mixes <= most).all(axis=1)]


def unbiased(rng: np.random.Generator, size: int) -> Floats:
    """The pure strategies and uniform mixtures."""
    return np.vstack([PURE, rng.dirichlet([1, 1, 1], size - 3)])


def biased(rng: np.random.Generator, size: int) -> Floats:
    """The pure strategies and mixtures that mostly play paper."""
    return np.vstack([PURE, rng.dirichlet([1, 8, 1], size - 3)])


def restricted(rng: np.random.Generator, size: int) -> Floats:
    """Mixtures in the triangle with a share of at most 0.8 of each strategy, its corners included."""
    corners = 0.8 * PURE + 0.1 * (1 - PURE)
    return np.vstack([corners, rng.dirichlet([1, 1, 1], size - 3) @ corners])


def few_scissors(rng: np.random.Generator, size: int) -> Floats:
    """Mixtures with at most a fifth of scissors, with rock and paper themselves."""
    return np.vstack([PURE[:2], _limited(rng.dirichlet([1, 1, 1], 40 * size), np.array([1.0, 1.0, 0.2]))[: size - 2]])


def round_hull(rng: np.random.Generator, size: int) -> Floats:
    """Mixtures in a disc around the middle of the triangle, which has no corners."""
    mixes = rng.dirichlet([1, 1, 1], 40 * size)
    return np.asarray(mixes[np.linalg.norm(mixes - 1 / 3, axis=1) <= 0.3][:size], np.float64)


POPULATIONS: Final[Mapping[str, Callable[[np.random.Generator, int], Floats]]] = {
    "a: unbiased": unbiased,
    "b: biased to P": biased,
    "c: restricted": restricted,
    "d: few S": few_scissors,
    "e: without corners": round_hull,
}


def population_payoffs(mixes: Floats) -> Floats:
    """Payoffs of the first player between mixtures of R, P and S (n, 3)."""
    return np.asarray(mixes @ payoffs(3) @ mixes.T, np.float64)


def _best(mixes: Floats, ratings: Floats) -> str:
    """The strategy that the best-rated mixture plays most."""
    return "RPS"[int(mixes[ratings.argmax()].argmax())]


@PAPER.item("figure-1", "Figure 1 (section 5.1)", "Ratings of populations of mixtures")
def figure_1(run: Run) -> Output:
    size = run.pick(24, 60)
    figure, axes = grid(2, len(POPULATIONS), 12.0, 5.4)
    spread, best, masses = {}, {}, {}
    seeds = run.seeds(len(POPULATIONS))
    for place, (name, drawn) in enumerate(POPULATIONS.items()):
        mixes = drawn(np.random.default_rng(seeds[place]), size)
        game = symmetric(population_payoffs(mixes))
        average, rated = uniform(game).ratings, deviation(game)
        mass = cce(game, target="even", options=CCEOptions(eps=1e-6)).marginals[0]
        spread[name[0]], best[name[0]], masses[name[0]] = float(np.ptp(rated.ratings)), _best(mixes, average), (mixes, mass, rated.ratings)
        _scatter(axes[place], mixes, average, np.full(size, 1 / size), name)
        _scatter(axes[len(POPULATIONS) + place], mixes, rated.ratings, mass, "")
    axes[0].set_ylabel("uniform")
    axes[len(POPULATIONS)].set_ylabel("deviation")
    bar = figure.colorbar(ScalarMappable(cmap=SEQUENTIAL), ax=axes, ticks=[0, 0.5, 1], shrink=0.6, aspect=30)
    bar.set_ticklabels(["lowest", "middle, or\nall equal", "highest"])
    bar.set_label("rating within its panel")
    caption = (
        "Mixtures of rock (left), paper (right) and scissors (top). Fill: rating, from the lowest to the highest of its panel; the middle "
        "colour if all are equal. Area: probability in the largest-entropy CCE (below)."
    )
    return Output(_compared(spread, best, masses), [Drawn("populations", caption, figure)], note=_NOTE.format(size=size))


_NOTE: Final = """Five populations of {size} mixtures. The paper shows them as pictures; here are populations of the same kinds, drawn
anew, and the paper's statements about them."""


def _compared(spread: Mapping[str, float], best: Mapping[str, str], masses: Mapping[str, tuple[Floats, Floats, Floats]]) -> list[Value]:
    values = [
        claim(f"{name}: deviation ratings", "all equal", f"they differ by {spread[name]:.1e}", holds=spread[name] <= TOLERANCE)
        for name in "abc"
    ]
    values += [
        claim("a: best by the uniform rating", "R", best["a"], holds=best["a"] == "R"),
        claim("b: best by the uniform rating", "S", best["b"], holds=best["b"] == "S"),
    ]
    mixes, mass, rated = masses["d"]
    playing = mass @ mixes
    values += [
        claim("d: the equilibrium plays", "both R and P", f"R {playing[0]:.2f}, P {playing[1]:.2f}", holds=bool(min(playing[:2]) > 0.1)),
        claim(
            "d: deviation rating of P and R",
            "P at least R",
            f"{rated[1]:.3f}, {rated[0]:.3f}",
            holds=bool(rated[1] >= rated[0] - TOLERANCE),
        ),
        unprinted("e: deviation ratings differ by", round(spread["e"], 4)),
    ]
    return values


def _scatter(axes: Axes, mixes: Floats, ratings: Floats, mass: Floats, title: str) -> None:
    x, y = (mixes @ CORNERS).T
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color="#999999", linewidth=0.8)
    spread = float(np.ptp(ratings))
    level = (ratings - ratings.min()) / spread if spread > TOLERANCE else np.full(len(ratings), 0.5)
    axes.scatter(x, y, c=level, s=14 + 900 * mass, cmap=SEQUENTIAL, vmin=0, vmax=1, edgecolors="black", linewidths=0.5, alpha=0.9)
    for name, (left, up), shift in zip("RPS", CORNERS, ((-0.13, -0.08), (0.13, -0.08), (0.0, 0.15)), strict=True):
        axes.text(left + shift[0], up + shift[1], name, ha="center", va="center")
    axes.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(-0.2, 1.2), ylim=(-0.2, 1.1))
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)

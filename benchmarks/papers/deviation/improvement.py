"""Figure 3 of Marris et al. 2025: populations of policies that are improved by discarding the worst-rated ones."""

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from benchmarks.papers.deviation.game_tree import GameTree
from benchmarks.papers.deviation.paper import PAPER
from benchmarks.papers.figures import band, grid, line
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from ratings_core.equilibria import cce, deviation, uniform
from ratings_core.equilibria.options import CCEOptions, DeviationOptions
from ratings_core.games import NormalForm
from ratings_core.games.tilted import TiltedJoint
from ratings_core.solution import Floats

GAMES: Final = {
    "Kuhn poker": "kuhn_poker(players=3)",
    "Sheriff": "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items=10,num_rounds=2,sheriff_penalty=1.0)",
}
"""Games with the parameters of appendix C.1: three-player Kuhn poker is zero-sum, Sheriff is not."""
RATINGS: Final = ("uniform", "deviation")
POLICIES: Final = 8
DISCARDED: Final = POLICIES // 4
EVERY: Final = 5
_EPS: Final = 1e-3
"""Largest gain that the distribution of the gap leaves, in payoffs; it only speeds up the solve."""


def rated(game: NormalForm, rating: str) -> tuple[Floats, ...]:
    """Ratings of every player's policies."""
    if rating == "uniform":
        return uniform(game).by_player
    return deviation(game, options=DeviationOptions(accept_approximate=True)).by_player


def improved(name: str, rating: str, seed: int, iterations: int) -> dict[str, list[float]]:
    """One run of the loop. Returns the CCE gap of the whole game and the players' mean payoff at every `EVERY`-th iteration, from 0 on."""
    tree, rng = GameTree.load(GAMES[name]), np.random.default_rng(seed)
    policies = [np.array([seat.random_policy(rng) for _ in range(POLICIES)]) for seat in tree.seats]
    gaps, payoffs = [], []
    for step in range(iterations + 1):
        game = NormalForm.of(tree.payoffs(policies))
        if step % EVERY == 0:
            play = cce(game, target="even", options=CCEOptions(eps=_EPS, accept_approximate=True)).play
            gaps.append(tree.gap(policies, dense(play, game.shape)))
            payoffs.append(float(np.mean([own.mean() for own in game.payoffs])))
        if step < iterations:
            for seat, own, ratings in zip(tree.seats, policies, rated(game, rating), strict=True):
                for worst in np.argsort(ratings, kind="stable")[:DISCARDED]:
                    own[worst] = seat.random_policy(rng)
    return {"gap": gaps, "payoff": payoffs}


def dense(play: TiltedJoint, shape: tuple[int, ...]) -> Floats:
    """Probability of every combination of strategies, a tensor of the game's shape."""
    joints = np.indices(shape).reshape(len(shape), -1).T
    return np.asarray(play.probability(joints).reshape(shape), np.float64)


@PAPER.item("figure-3", "Figure 3 (section 5.3, C.1)", "Improvement of policies by ratings")
def figure_3(run: Run) -> Output:
    iterations, seeds = run.pick(10, 100), run.seeds(run.pick(1, 6))
    cells = [(name, rating, seed) for name in GAMES for rating in RATINGS for seed in seeds]
    parts = (
        (f"{name}-{rating}-{seed}".replace(" ", "-"), partial(improved, name, rating, seed, iterations)) for name, rating, seed in cells
    )
    found = dict(zip(cells, run.each(parts, len(cells)), strict=True))
    curves = {
        (name, rating): {key: np.array([found[name, rating, seed][key] for seed in seeds]) for key in ("gap", "payoff")}
        for name in GAMES
        for rating in RATINGS
    }
    note = f"""{len(seeds)} runs of {iterations} iterations for each rating, both ratings from the same first policies. The paper states
neither, and shows curves. A reduction is the mean of the last quarter of the iterations below the first population's gap. Policies have
weights drawn uniformly from 0 to 1 in each information set. The distribution over the population is the CCE of largest entropy (MECCE),
with gains up to {_EPS:g}."""
    compared = [unprinted("claims", "not compared", "short runs decide none of them")] if run.quick else _compared(curves)
    return Output(compared, [_drawn(curves)], note=note)


Curves = Mapping[tuple[str, str], Mapping[str, Floats]]
"""(game, rating) -> gap and payoff, each (runs, measured iterations)."""


def _change(curves: Mapping[str, Floats]) -> tuple[float, float]:
    """Mean change of the gap from the first population to the last quarter, and its standard error."""
    gaps = curves["gap"]
    change = gaps[:, -max(1, gaps.shape[1] // 4) :].mean(axis=1) - gaps[:, 0]
    return float(change.mean()), float(change.std() / np.sqrt(len(change)))


SETTLED: Final = 25
"""Iteration after which the reason of Sheriff's claim compares the gap again."""
_OTHER_RUNS: Final = (
    f"other random policies, whose first gap is {{first:.1f}}; it falls in the first {SETTLED} iterations under both ratings; "
    "from there to the last quarter it changes by {even:+.1f} under uniform ratings and by {strict:+.1f} under deviation ratings"
)


def _later(curves: Mapping[str, Floats]) -> float:
    """Mean change of the gap from iteration `SETTLED` to the last quarter."""
    gaps = curves["gap"]
    return float((gaps[:, -max(1, gaps.shape[1] // 4) :].mean(axis=1) - gaps[:, SETTLED // EVERY]).mean())


def _compared(curves: Curves) -> list[Value]:
    values = []
    for name in GAMES:
        (even, even_error), (strict, strict_error) = (_change(curves[name, rating]) for rating in RATINGS)
        first = float(curves[name, "deviation"]["gap"][:, 0].mean())
        later = [_later(curves[name, rating]) for rating in RATINGS]
        text = f"{strict:+.3f} (error {strict_error:.3f}), first gap {first:.3f}"
        values.append(claim(f"{name}: gap under deviation ratings", "falls", text, holds=strict < 0))
        text, falls = f"{even:+.3f} (error {even_error:.3f})", name == "Kuhn poker"
        values.append(
            claim(
                f"{name}: gap under uniform ratings",
                "falls" if falls else "does not fall",
                text,
                holds=(even < 0) == falls,
                other_input=_OTHER_RUNS.format(first=first, even=later[0], strict=later[1]),
            )
        )
        values.append(unprinted(f"{name}: fall under deviation beyond that under uniform ratings", round(even - strict, 3)))
    return values


def _drawn(curves: Curves) -> Drawn:
    figure, axes = grid(1, 2, 9.0, 3.8)
    for one, name in zip(axes, GAMES, strict=True):
        other = one.twinx()
        for number, rating in enumerate(RATINGS):
            gaps, payoffs = (curves[name, rating][key] for key in ("gap", "payoff"))
            step, mean = EVERY * np.arange(gaps.shape[1]), gaps.mean(axis=0)
            error = 1.96 * gaps.std(axis=0) / np.sqrt(len(gaps))
            line(one, number, step, mean, f"gap, {rating}", markers=False)
            band(one, number, step, mean - error, mean + error)
            line(other, number + 2, step, payoffs.mean(axis=0), f"payoff, {rating}", markers=False)
        one.set(title=name, xlabel="iteration", ylabel="CCE gap of the whole game")
        if name == "Kuhn poker":  # zero-sum, so the mean is 0 up to rounding
            other.set_ylim(-1, 1)
        other.set_ylabel("mean payoff")
        other.grid(visible=False)
        other.spines["right"].set_visible(True)
        one.legend(*(a + b for a, b in zip(one.get_legend_handles_labels(), other.get_legend_handles_labels(), strict=True)), loc="best")
    return Drawn(
        "improvement", "Gap of the whole game (left axis, lower is better) and mean payoff (right axis). Bands are 95 % intervals.", figure
    )

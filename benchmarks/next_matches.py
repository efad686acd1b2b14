"""Votes needed until the top k is known: drawn by `next_matches`, evenly, and by weights set by hand as arenas do.

Simulated agents with normal strengths. Batches of votes; after each, ratings are fitted and the policy is asked again. The figure is
the number of votes after which the share of the true top k that is found, a mean over runs, stays at 90 %; ratio above 1: fewer votes.
By hand: a pair of agents both among the present top 2k is drawn four times as often as another.

And measurements until one agent's deviation rating (agents against tasks) is as near to the true one as evenly spread ones bring it, root
mean square over runs. By hand: the agent's own cells are drawn four times as often as others.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.common import Row, arguments, header, show
from ratings_core.analysis.next_cells import next_cells
from ratings_core.analysis.next_matches import next_matches, top
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.equilibria import DeviationOptions, deviation
from ratings_core.games import agent_vs_task
from ratings_core.tallies.pair_counts import PairCounts

Floats: TypeAlias = NDArray[np.float64]
Policy: TypeAlias = Callable[[Floats, int, int], Floats]
"""From wins (m, m), k and the size of the next batch to the probability of each pair a < b."""

_PRIOR: Final = 0.5
_FOUND: Final = 0.9
_SPREAD: Final = 0.7
_NOISE: Final = 0.3
"""Of one measurement of a score from 0 to 1."""


def design(wins: Floats, k: int, batch: int) -> Floats:
    return next_matches(PairCounts.from_dense(wins), len(wins), top(k), games=batch, floor=0.1, prior=_PRIOR).rate


def even(wins: Floats, _k: int, _batch: int) -> Floats:
    pairs = len(wins) * (len(wins) - 1) // 2
    return np.full(pairs, 1 / pairs)


def by_hand(wins: Floats, k: int, _batch: int) -> Floats:
    high = np.isin(np.arange(len(wins)), best(wins, 2 * k))
    first, second = np.triu_indices(len(wins), 1)
    weight = np.where(high[first] & high[second], 4.0, 1.0)
    return np.asarray(weight / weight.sum())


def best(wins: Floats, k: int) -> NDArray[np.int64]:
    """The k agents rated best."""
    return np.argsort(-bradley_terry(wins, options=BradleyTerryOptions(prior=_PRIOR)).ratings, kind="stable")[:k]


def played(theta: Floats, wins: Floats, rate: Floats, batch: int, rng: np.random.Generator) -> Floats:
    """Wins with `batch` more votes drawn at these rates."""
    first, second = np.triu_indices(len(theta), 1)
    votes = rng.multinomial(batch, rate)
    won = rng.binomial(votes, expit(theta[first] - theta[second]))
    after = wins.copy()
    after[first, second] += won
    after[second, first] += votes - won
    return after


def found(policy: Policy, m: int, k: int, batch: int, batches: int, seed: int) -> Floats:
    """Share of the true top k among the rated top k after each batch, the first one drawn evenly."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, _SPREAD, m)
    true, wins, shares = set(np.argsort(-theta)[:k].tolist()), np.zeros((m, m)), []
    for number in range(batches):
        wins = played(theta, wins, policy(wins, k, batch) if number else even(wins, k, batch), batch, rng)
        shares.append(len(true & set(best(wins, k).tolist())) / k)
    return np.array(shares)


def needed(policy: Policy, m: int, k: int, batch: int, batches: int, runs: int) -> float | None:
    """Votes after which the mean share stays at the level; None where it does not get there."""
    mean = np.mean([found(policy, m, k, batch, batches, seed) for seed in range(runs)], axis=0)
    below = np.flatnonzero(mean < _FOUND)
    reached = int(below[-1]) + 1 if below.size else 0
    return None if reached == batches else float((reached + 1) * batch)


def compare(quick: bool) -> None:
    sizes = [(10, 3, 100, 30, 4)] if quick else [(30, 5, 250, 80, 20), (60, 10, 500, 80, 10)]
    for m, k, batch, batches, runs in sizes:
        size = f"top {k} of {m}, batches of {batch}, {runs} runs"
        ours = needed(design, m, k, batch, batches, runs)
        for name, policy in (("evenly", even), ("by hand", by_hand)):
            theirs = needed(policy, m, k, batch, batches, runs)
            if ours is not None:
                reference = name if theirs is not None else f"{name}, not within {batch * batches:,}"
                show(Row(f"votes until {_FOUND:.0%} of the top are found", size, ours, reference, theirs, "votes"))


def moved_by(means: Floats, agent: int) -> Floats:
    """How far the agent's deviation rating moves with each mean score, the equilibrium held."""
    play = deviation(agent_vs_task(means, merge=False).game, options=DeviationOptions(merge=False)).play
    moved = np.zeros_like(means)
    for (a, t), share in zip(play.joints.tolist(), play.probability.tolist(), strict=True):
        moved[a, t] -= share
        moved[agent, t] += share
    return moved


def designed_cells(means: Floats, count: Floats, agent: int, batch: int) -> Floats:
    return next_cells(moved_by(means, agent), np.full(means.shape, _NOISE**2), count, measurements=batch, floor=0.1).rate


def even_cells(means: Floats, _count: Floats, _agent: int, _batch: int) -> Floats:
    return np.full(means.shape, 1 / means.size)


def own_cells(means: Floats, _count: Floats, agent: int, _batch: int) -> Floats:
    weight = np.ones(means.shape)
    weight[agent] = 4.0
    return np.asarray(weight / weight.sum())


def rating(means: Floats, agent: int) -> float:
    return float(deviation(agent_vs_task(means, merge=False).game, options=DeviationOptions(merge=False)).ratings[agent])


def errors(policy: Callable[[Floats, Floats, int, int], Floats], agents: int, tasks: int, batch: int, batches: int, seed: int) -> Floats:
    """Of one agent's rating after each batch, squared; two measurements of each cell come first."""
    rng = np.random.default_rng(seed)
    true = rng.beta(0.5, 0.5, (agents, tasks))
    agent = seed % agents
    count, right, found = np.full(true.shape, 2.0), rating(true, agent), []
    total = 2 * true + _NOISE * np.sqrt(2) * rng.normal(size=true.shape)
    for _ in range(batches):
        more = rng.multinomial(batch, policy(total / count, count, agent, batch).ravel()).reshape(true.shape)
        total += more * true + _NOISE * np.sqrt(more) * rng.normal(size=true.shape)
        count += more
        found.append((rating(total / count, agent) - right) ** 2)
    return np.array(found)


def compare_cells(quick: bool) -> None:
    agents, tasks, batch, batches, runs = (5, 4, 40, 6, 6) if quick else (12, 10, 120, 30, 40)
    mean, needed = {}, {}
    for name, policy in {"designed": designed_cells, "evenly": even_cells, "by hand": own_cells}.items():
        mean[name] = np.mean([errors(policy, agents, tasks, batch, batches, seed) for seed in range(runs)], axis=0)
    for name, values in mean.items():
        above = np.flatnonzero(values > mean["evenly"][-1])
        needed[name] = float((int(above[-1]) + 2 if above.size else 1) * batch)
    size = f"{agents} x {tasks}, batches of {batch}, {runs} runs"
    for name in ("evenly", "by hand"):
        within = needed[name] <= batch * batches
        reference = name if within else f"{name}, not within {batch * batches:,}"
        what = "measurements until a deviation rating is as near"
        show(Row(what, size, needed["designed"], reference, needed[name] if within else None, "votes"))


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("Votes needed to know the top", argv)
    header("Next matches", ("numpy", "scipy"))
    compare(options.quick)
    compare_cells(options.quick)


if __name__ == "__main__":
    main()

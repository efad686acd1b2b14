"""What a start from the last answer saves, when the scores have moved a little or an agent has joined.

`python -m benchmarks.warm_starts [--quick]`. Ours starts from the answer before the change, the reference is the same solve afresh; a
row per method, size and change. `differ` is how far the two answers' ratings are apart. CPU seconds, one thread; about two minutes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

from typing import TypeAlias

import numpy as np
from scipy import sparse

from benchmarks.common import Row, header, parser, seconds, stream
from benchmarks.deviation import scores
from benchmarks.workloads import battles, free_for_alls, pairs_of, preferences, random_margins
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.equilibria import CCE, Deviation, cce, deviation, nash_average
from ratings_core.games import AgentAgentTask, KingOfTheHill
from ratings_core.solution import Floats, Solution
from ratings_core.voting import maximal_lottery

PRIOR = 0.1
"""Tied games of each agent: large tallies have agents that won or lost everything."""
Played: TypeAlias = AgentAgentTask | KingOfTheHill
Solve: TypeAlias = Callable[..., CCE | Deviation]


def named(table: np.ndarray) -> AgentAgentTask:
    agents, tasks = table.shape
    return AgentAgentTask.of(table, [f"agent {i}" for i in range(agents)], [f"task {i}" for i in range(tasks)])


def changes(table: np.ndarray) -> Iterator[tuple[str, Played]]:
    """The same scores, noise on all of them, one more agent."""
    rng = np.random.default_rng(1)
    yield "nothing new", named(table)
    for noise in (1e-4, 1e-2):
        yield f"noise {noise:g}", named(table + noise * rng.normal(size=table.shape))
    yield "an agent more", named(np.vstack([table, rng.beta(0.5, 0.5, size=table.shape[1])]))


def hills(prompts: int, models: int) -> tuple[Played, Iterator[tuple[str, Played]]]:
    u = preferences(prompts, models)
    game = KingOfTheHill.of(u)

    def changed() -> Iterator[tuple[str, Played]]:
        for noise in (1e-4, 1e-2):
            moved = noise * np.random.default_rng(1).normal(size=u.shape)
            yield f"noise {noise:g}", KingOfTheHill.of(u + (moved - moved.transpose(0, 2, 1)))

    return game, changed()


def rows(name: str, solve: Solve, size: str, game: Played, changed: Iterator[tuple[str, Played]], repeats: int) -> Iterator[Row]:
    start = solve(game).start
    for what, now in changed:
        fresh, warm = solve(now), solve(now, start=start)
        apart = max(float(np.abs(own - other).max()) for own, other in zip(fresh.by_player, warm.by_player, strict=True))
        ours, theirs = seconds(lambda: solve(now, start=start), repeats), seconds(lambda: solve(now), repeats)  # noqa: B023 - called here
        yield Row(name, f"{size}, {what}, differ {apart:.0e}", ours, "afresh", theirs)


def compared(name: str, size: str, solve: Callable[..., Solution], data: object, start: object, repeats: int) -> Row:
    """Of a method that starts from ratings or mixes."""
    apart = float(np.nanmax(np.abs(solve(data).ratings - solve(data, start=start).ratings)))
    ours, theirs = seconds(lambda: solve(data, start=start), repeats), seconds(lambda: solve(data), repeats)
    return Row(name, f"{size}, differ {apart:.0e}", ours, "afresh", theirs)


def fits(winner: np.ndarray, loser: np.ndarray, m: int, repeats: int) -> Iterator[Row]:
    """The first 90 % of the games in random order, then a few of the others besides."""
    order = np.random.default_rng(1).permutation(len(winner))
    first = int(0.9 * len(order))

    def counts(n: int) -> MetPairs:
        some = order[:n]
        return pair_counts(sparse.csr_array(sparse.coo_array((np.ones(n), (winner[some], loser[some])), shape=(m, m))))

    fit = partial(bradley_terry, prior=PRIOR)
    before = fit(counts(first)).ratings
    for more in (1e-4, 1e-2, 0.1):
        size = f"{m} agents, {first} results, {more:.2%} more"
        yield compared("Bradley-Terry", size, fit, counts(int(first * (1 + more))), before, repeats)


def lotteries(m: int, repeats: int) -> Iterator[Row]:
    """A random tournament, the hardest: half of all agents in the support."""
    M, rng = random_margins(m, 1, odd=True), np.random.default_rng(2)
    before = maximal_lottery(M).lottery
    for noise in (1e-6, 1e-4, 1e-2):
        drawn = np.triu(noise * np.abs(M).max() * rng.normal(size=M.shape), 1)
        yield compared("maximal lottery", f"{m} agents, noise {noise:g}", maximal_lottery, M + drawn - drawn.T, before, repeats)


def nash_averages(table: Floats, repeats: int) -> Iterator[Row]:
    before = nash_average(table)
    start = (before.agent_dist, before.task_dist)
    for noise in (1e-4, 1e-3, 1e-2):
        now = table + noise * np.random.default_rng(1).normal(size=table.shape)
        yield compared("Nash average", f"{table.shape}, noise {noise:g}", nash_average, now, start, repeats)


def main(argv: Sequence[str] | None = None) -> None:
    given = parser(__doc__ or "").parse_args(argv)
    header("Solves that start from the last answer", ("highspy", "numpy", "numba"))
    small = named(scores(3, 2))
    deviation(small)  # compiles
    cce(small)
    cce(KingOfTheHill.of(preferences(4, 3)))
    repeats = min(given.repeats, 3)
    for agents, tasks in ((8, 6),) if given.quick else ((20, 18), (60, 18), (100, 54)):
        table, size = scores(agents, tasks), f"({agents}, {tasks})"
        stream(rows("deviation", deviation, size, named(table), changes(table), repeats))
        stream(rows("CCE, eps 0", cce, size, named(table), changes(table), repeats))
    for prompts, models in ((20, 5),) if given.quick else ((200, 30), (1_500, 17)):
        game, changed = hills(prompts, models)
        stream(rows("CCE of king of the hill, eps 0", cce, f"{prompts} x {models}^2", game, changed, repeats))
    for n, m in ((20_000, 100),) if given.quick else ((200_000, 100), (200_000, 500)):
        stream(fits(*battles(n, m), m, repeats))
    if not given.quick:
        stream(fits(*pairs_of(free_for_alls()), 52_958, 1))
    for m in (100,) if given.quick else (500, 1_000):
        stream(lotteries(m, repeats))
    for agents, tasks in ((20, 18),) if given.quick else ((100, 54), (500, 200)):
        stream(nash_averages(scores(agents, tasks), repeats))


if __name__ == "__main__":
    main()

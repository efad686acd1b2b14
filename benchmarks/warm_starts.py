"""What a start from the last answer saves, when the scores have moved a little or an agent has joined.

`python -m benchmarks.warm_starts [--quick]`. Ours starts from the answer before the change, the reference is the same solve afresh; a
row per method, size and change. `differ` is how far the two answers' ratings are apart. CPU seconds, one thread; about a minute.
"""

import os
from collections.abc import Callable, Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

from typing import TypeAlias

import numpy as np

from benchmarks.common import Row, header, parser, seconds, stream
from benchmarks.deviation import scores
from benchmarks.workloads import preferences
from ratings_core.equilibria import CCE, Deviation, cce, deviation
from ratings_core.games import AgentAgentTask, KingOfTheHill

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


if __name__ == "__main__":
    main()

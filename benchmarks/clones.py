"""What copies do to ratings: how far each method's move when an agent or a task is copied ten times, and when the copies are only near.

`python -m benchmarks.clones [--quick]`. Scores are of 20 agents on 18 tasks. A figure is the largest move of an agent's own rating
over the spread of that method's ratings, the worst over the agent, or task, that is copied; of lotteries the move of a class's
total. 0 is invariant up to rounding. Near copies have normal noise of a given size added to every score, in the scores' unit; they
are where a method that is exactly invariant shows how gracefully it fails: with the exact kernel near copies are strategies of their
own in the targets, at any noise above 0, and CCE and LLE move as targets do; deviation ratings and soft kernels move with the noise.
All takes about a minute on a quiet core. Which figure is being made goes to stderr.
"""

import os
from collections.abc import Callable, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import sys
import time

import numpy as np

from benchmarks.common import arguments, machine
from benchmarks.deviation import scores
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.equilibria import AffinityTarget, LLEOptions, cce, deviation, lle, nash_average, nash_average_agents, uniform
from ratings_core.errors import SolverError
from ratings_core.games import agent_vs_agent, agent_vs_agent_vs_task
from ratings_core.solution import Floats, Solution
from ratings_core.tallies import PairCounts
from ratings_core.tallies.task_ballots import ballot_pairs
from ratings_core.voting.lotteries import maximal_lottery

COPIES = 10
SOFT = AffinityTarget(sigma=0.03)
"""Of scores from 0 to 1: strategies this near count as one, those that merely resemble each other do not."""
LONGEST = 20.0
"""Seconds that a path may be followed, a small part of one as a rule; after it the figure is `fails`."""
NOISES = (1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1)


def ballots(table: Floats) -> PairCounts:
    agent, task = np.nonzero(np.ones(table.shape))
    return ballot_pairs(agent.astype(np.int32), task.astype(np.int32), table[agent, task])


def of_agents(table: Floats) -> Floats:
    made = agent_vs_agent(ballots(table), len(table), payoff="win_rate")
    return made.of_agents(nash_average_agents(made.game.payoffs[0]).ratings)


def in_game(method: Callable[..., Solution]) -> Callable[[Floats], Floats]:
    """Of the game of two agents and a task."""

    def rate(table: Floats) -> Floats:
        made = agent_vs_agent_vs_task(table)
        return made.of_agents(method(made.game).ratings)

    return rate


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "deviation, 3 players": in_game(deviation),
    "CCE, exact kernel": in_game(cce),
    "CCE, kernel of width 0.03": in_game(lambda game: cce(game, target=SOFT)),
    "LLE, exact kernel": in_game(lambda game: lle(game, options=LLEOptions(max_seconds=LONGEST))),
    "LLE, kernel of width 0.03": in_game(lambda game: lle(game, target=SOFT, options=LLEOptions(max_seconds=LONGEST))),
    "Nash average": lambda table: nash_average(table).ratings,
    "Nash average of agents": of_agents,
    "maximal lottery": lambda table: maximal_lottery(ballots(table).margins(len(table))).ratings,
    "Elo (Bradley-Terry)": lambda table: bradley_terry(*ballots(table).dense(len(table)), options=BradleyTerryOptions(prior=0.1)).ratings,
    "uniform": lambda table: uniform(agent_vs_agent_vs_task(table, merge=False).game).ratings,
}
SHARES = {"maximal lottery"}


def moved(name: str, table: Floats, *, agent: int | None, task: int | None, noise: float, seed: int) -> float:
    """Largest move of a rating of the table's own agents, over their spread."""
    rate, rng = METHODS[name], np.random.default_rng(seed)
    before = rate(table)
    if agent is not None:
        near = table[agent] + noise * rng.normal(size=(COPIES, table.shape[1]))
        after = rate(np.vstack([table, near]))
    else:
        near = table[:, [task]] + noise * rng.normal(size=(len(table), COPIES))
        after = rate(np.hstack([table, near]))
    own = after[: len(table)].copy()
    if name in SHARES and agent is not None:
        own[agent] += after[len(table) :].sum()
    return float(np.abs(own - before).max() / (np.ptp(before) or 1.0))


def worst(name: str, table: Floats, what: str, noise: float, most: int) -> str:
    """The figure; `fails` where a solve did not reach its tolerance."""
    chosen = range(0, table.shape[0 if what == "agent" else 1], max(1, table.shape[0] // most))
    print(f"  {time.strftime('%H:%M:%S')} {name}, copies of a {what}, noise {noise:g}", file=sys.stderr, flush=True)
    place = {"agent": {"task": None}, "task": {"agent": None}}[what]
    try:
        return f"{max(moved(name, table, **{what: i}, **place, noise=noise, seed=i) for i in chosen):.1e}"  # type: ignore[arg-type]
    except SolverError:
        return "fails"


def show(table: Floats, noises: Sequence[float], most: int) -> None:
    head = "".join(f"{'exact' if not noise else f'{noise:g}':>10}" for noise in (0.0, *noises))
    print(f"{'method':28}{'copied':>8}{head}")
    print("-" * (36 + 10 * (len(noises) + 1)))
    for what in ("agent", "task"):
        for name in METHODS:
            figures = "".join(f"{worst(name, table, what, noise, most):>10}" for noise in (0.0, *noises))
            print(f"{name:28}{what:>8}{figures}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    print(f"\nLargest move of a rating, over the ratings' spread, when {COPIES} copies are added; near copies by their noise\n{machine()}")
    table = scores(8, 6) if options.quick else scores(20, 18)
    show(table, NOISES[::2] if options.quick else NOISES, 3 if options.quick else 5)


if __name__ == "__main__":
    main()

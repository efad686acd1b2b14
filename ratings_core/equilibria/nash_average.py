"""Nash averaging: agents rated against the equilibrium mix of tasks, or of agents (Balduzzi et al. 2018, sec. 3 and 4).

Agents against tasks is a zero-sum game: one player mixes agents for a high expected score, the other mixes tasks for a low expected score.
Each side plays its equilibrium strategy of largest entropy over classes of exact duplicates. An agent's Nash average is its expected score
under the tasks' mix, so copied or irrelevant agents and tasks do not change it.
"""

import time
from dataclasses import dataclass
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.equilibria.record import GameRatings, facts
from ratings_core.errors import InputError
from ratings_core.games.clones import split_evenly
from ratings_core.games.face import entropy
from ratings_core.games.gamify import Missing, Normalise, agent_vs_task
from ratings_core.games.rules import ZeroSumOptions, begin, classes_by, judged
from ratings_core.games.supports import played_before
from ratings_core.games.zero_sum import symmetric_within, zero_sum_within
from ratings_core.options import option
from ratings_core.solution import Certificate, Floats, Status

Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NashAverage(GameRatings):
    """Nash averages of agents against tasks, the two players. ratings: expected score of each agent against task_dist, in the (normalised)
    score's unit; NaN for agents dropped. Marginals and support refer to the agents and tasks of the given table.

    spread: largest minus smallest of the (normalised) scores used; agent_entropy, task_entropy: nats, over classes of duplicates;
    agent_unique, task_unique: True if proven to be the only optimal mix of the merged game; dropped_agents, dropped_tasks: ids left out by
    the `missing` policy; constant_tasks: ids left out because their normalisation is undefined; imputed: share of the used cells that were
    filled in.
    certificate: ``exploitability``, best rating minus worst expected score over tasks, over the spread of the scores used.
    """

    spread: float
    agent_entropy: float
    task_entropy: float
    agent_unique: bool
    task_unique: bool
    dropped_agents: Ids
    dropped_tasks: Ids
    constant_tasks: Ids
    imputed: float

    @property
    def task_ratings(self) -> Floats:
        """Minus the expected score of agent_dist on each task, so harder tasks are rated higher; NaN where dropped."""
        return self.by_player[1]

    @property
    def agent_dist(self) -> Floats:
        """The agents' equilibrium mix, 0 where dropped."""
        return self.marginals[0]

    @property
    def task_dist(self) -> Floats:
        """The tasks' equilibrium mix, 0 where dropped."""
        return self.marginals[1]

    @property
    def value(self) -> float:
        """The expected score between the mixes: the highest rating, which all agents in agent_dist have."""
        return float(self.payoffs[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class NashAverageAgents(GameRatings):
    """Nash averages of agents against agents, two players with the same mix p. ratings: A p, the expected payoff against the mix, at most
    0, and 0 for the best agents; entropy: of the mix, nats, over classes of duplicates; unique: True if proven to be the only optimal
    mix of the merged game.

    certificate: ``exploitability``, -(least entry of A'p), at least 0, over the largest |A|.
    """

    entropy: float
    unique: bool

    @property
    def agent_dist(self) -> Floats:
        """The mix p."""
        return self.marginals[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class NashAverageOptions(ZeroSumOptions):
    """Options of `nash_average`."""

    normalise: Normalise = option("none", "how scores of tasks are put on one scale", choices=get_args(Normalise))
    missing: Missing = option("refuse", "cells not measured", choices=get_args(Missing))


_DEFAULTS: Final = NashAverageOptions()
_OF_AGENTS: Final = ZeroSumOptions()


def nash_average(
    scores: ArrayLike,
    *,
    options: NashAverageOptions = _DEFAULTS,
    start: tuple[ArrayLike, ArrayLike] | None = None,
) -> NashAverage:
    """Nash averages of agents on tasks.

    scores: (agents, tasks), higher is better, within +-1e150, NaN where not measured; options.normalise, options.missing: as for
    `agent_vs_task`; options.merge: equal rows and equal columns share a probability evenly, both those of the given table before
    normalisation and those of the game after it; start: agent_dist and task_dist of a similar table, tried first. If their supports are
    proven to have the only equilibrium here, no path is followed.

    Raises `InputError` for invalid scores or policies, `SolverError` (with the result) beyond the tolerance. Adding a number to all scores
    adds it to ratings and value; scaling scales them.
    """
    NashAverageOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    table = agent_vs_task(scores, normalise=options.normalise, missing=options.missing, merge=options.merge)
    S = table.game.payoffs[0]
    rows, columns = classes_by(rules.options, S), classes_by(rules.options, S.T)
    guess = None
    if start is not None:
        if len(checks.sequence("start", start)) != 2:
            raise InputError("start", len(start), "must contain two mixes: of agents and of tasks")
        guess = (
            played_before("start[0]", start[0], table.agent_side.in_classes(rows.member), len(rows)),
            played_before("start[1]", start[1], table.task_side.in_classes(columns.member), len(columns)),
        )
    game = zero_sum_within(S[np.ix_(rows.first, columns.first)], rules, guess)
    agent_dist, task_dist = split_evenly(game.row, rows), split_evenly(game.column, columns)
    least, gains = float(S.min()), S - S.min()  # subtract the minimum: scores far from 0 would lose digits
    for_agent, on_task = gains @ task_dist, agent_dist @ gains
    exploitability = max(0.0, float(for_agent.max() - on_task.min())) / (float(gains.max()) or 1.0)
    value = float(agent_dist @ for_agent)
    ratings, task_ratings = table.of_agents(least + for_agent), table.of_tasks(-(least + on_task))
    solution = NashAverage(
        ratings=ratings,
        certificate=Certificate("exploitability", exploitability),
        status=game.status if exploitability <= options.tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={
            **game.stats,
            "merged_agents": len(rows.member) - len(rows) + table.agent_side.merged,
            "merged_tasks": len(columns.member) - len(columns) + table.task_side.merged,
        },
        by_player=(ratings, task_ratings),
        **facts(
            (table.agent_side.shares(agent_dist), table.task_side.shares(task_dist)),
            np.array([least + value, -(least + value)]),
            np.maximum([for_agent.max() - value, value - on_task.min()], 0.0),
        ),
        spread=float(gains.max()),
        agent_entropy=entropy(game.row),
        task_entropy=entropy(game.column),
        agent_unique=game.row_unique,
        task_unique=game.column_unique,
        dropped_agents=table.dropped_agents,
        dropped_tasks=table.dropped_tasks,
        constant_tasks=table.constant_tasks,
        imputed=table.imputed,
    )
    return judged(solution, options, "the Nash equilibrium", "payoffs")


def nash_average_agents(payoffs: ArrayLike, *, options: ZeroSumOptions = _OF_AGENTS, start: ArrayLike | None = None) -> NashAverageAgents:
    """Nash averages of agents who meet each other: payoffs A (m, m), antisymmetric, finite, such as logits of win rates.

    Arguments and errors as for `nash_average`; start: one mix. Win rates and their logits have different equilibria.
    """
    ZeroSumOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    A = checks.antisymmetric("payoffs", payoffs)
    classes = classes_by(rules.options, A)
    guess = None if start is None else played_before("start", start, classes.member, len(classes))
    game = symmetric_within(A[np.ix_(classes.first, classes.first)], rules, guess)
    mix = split_evenly(game.strategy, classes)
    ratings = A @ mix
    worth = float(mix @ ratings)
    exploitability = max(0.0, float(ratings.max())) / (float(np.abs(A).max()) or 1.0)
    solution = NashAverageAgents(
        ratings=ratings,
        certificate=Certificate("exploitability", exploitability),
        status=game.status if exploitability <= options.tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={**game.stats, "merged_agents": len(A) - len(classes)},
        by_player=(ratings, ratings.copy()),
        **facts((mix, mix.copy()), np.array([worth, worth]), np.full(2, max(0.0, float(ratings.max()) - worth))),
        entropy=game.entropy,
        unique=game.unique,
    )
    return judged(solution, options, "the Nash equilibrium", "payoffs")

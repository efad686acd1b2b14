"""Nash averaging: agents rated against the equilibrium mix of tasks, or of agents (Balduzzi et al. 2018, sec. 3 and 4).

Agents against tasks is a zero-sum game: one player mixes agents for a high expected score, the other mixes tasks for a low one.
Each side plays its equilibrium strategy of largest entropy over classes of exact duplicates; an agent's Nash average is its
expected score under the tasks' mix, so agents and tasks copied or irrelevant do not move it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.games.clones import CloneClasses, clone_classes, singletons, split_evenly
from ratings_core.games.face import entropy
from ratings_core.games.zero_sum import LARGEST, shortfall, solve_symmetric, solve_zero_sum
from ratings_core.solution import Certificate, Floats, Solution, Status

Normalise: TypeAlias = Literal["none", "minmax"]
Missing: TypeAlias = Literal["refuse", "drop_tasks", "drop_agents"]
Ids: TypeAlias = NDArray[np.int64]
SolutionT = TypeVar("SolutionT", bound=Solution)


@dataclass(frozen=True, slots=True, kw_only=True)
class NashAverage(Solution):
    """Agents against tasks. ratings: expected score of each agent against task_dist, in the (normalised) score's unit; NaN for
    agents dropped. task_ratings: minus the expected score of agent_dist on each task, so higher is harder; NaN where dropped.

    agent_dist, task_dist: equilibrium mixes, 0 where dropped; value: the expected score between them, which every agent's
    rating is at most and those of agent_dist equal; spread: largest minus smallest of the (normalised) scores used;
    agent_entropy, task_entropy: nats, over classes of duplicates;
    agent_unique, task_unique: proven to be the only optimal mix of the merged game; dropped_agents, dropped_tasks: ids left out
    by the `missing` policy; constant_tasks: ids left out because min-max normalisation is undefined on them.
    certificate: ``exploitability``, best rating minus worst expected score over tasks, over the spread of the scores used.
    """

    task_ratings: Floats
    agent_dist: Floats
    task_dist: Floats
    value: float
    spread: float
    agent_entropy: float
    task_entropy: float
    agent_unique: bool
    task_unique: bool
    dropped_agents: Ids
    dropped_tasks: Ids
    constant_tasks: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class NashAverageAgents(Solution):
    """Agents against agents. ratings: A p, expected payoff against the mix, 0 for the best and never above; agent_dist: the mix
    p; entropy, unique: as above; certificate: ``exploitability``, -(least entry of A'p), at least 0, over the largest |A|.
    """

    agent_dist: Floats
    entropy: float
    unique: bool


def nash_average(
    scores: ArrayLike,
    *,
    normalise: Normalise = "none",
    missing: Missing = "refuse",
    merge: bool = True,
    tolerance: float = 1e-9,
    close: float = 1e-6,
    max_iterations: int = 100,
    accept_approximate: bool = False,
) -> NashAverage:
    """Nash averages of agents on tasks.

    scores: (agents, tasks), higher is better, within +-1e150, NaN where not measured; normalise: ``minmax`` maps each task's
    scores to 0..1 over the agents kept (tasks on which all agree are left out), ``none`` takes scores as one common unit;
    missing: with NaN cells either ``refuse``, or drop every task or every agent that has one; merge: equal rows and equal
    columns of the table solved share one's probability evenly; tolerance, close, max_iterations, accept_approximate: as for
    `maximal_lottery`.

    Raises `InputError` for bad scores or policies, `SolverError` (with the result) beyond the tolerance. Shifting all scores by
    a number shifts ratings and value by it; scaling scales them.
    """
    started = time.perf_counter()
    table = _Table.of(scores, normalise, missing)
    rows, columns = _classes(table.scores, merge), _classes(table.scores.T, merge)
    game = solve_zero_sum(
        table.scores[np.ix_(rows.first, columns.first)], tolerance=tolerance, close=close, max_iterations=max_iterations
    )
    agent_dist, task_dist = split_evenly(game.row, rows), split_evenly(game.column, columns)
    least, gains = float(table.scores.min()), table.scores - table.scores.min()  # far from 0 only differences keep their digits
    for_agent, on_task = gains @ task_dist, agent_dist @ gains
    exploitability = max(0.0, float(for_agent.max() - on_task.min())) / (float(gains.max()) or 1.0)
    found = NashAverage(
        ratings=table.of_agents(least + for_agent, np.nan),
        certificate=Certificate("exploitability", exploitability),
        status=game.status if exploitability <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={**game.stats, "merged_agents": len(rows.member) - len(rows), "merged_tasks": len(columns.member) - len(columns)},
        task_ratings=table.of_tasks(-(least + on_task), np.nan),
        agent_dist=table.of_agents(agent_dist, 0.0),
        task_dist=table.of_tasks(task_dist, 0.0),
        value=least + float(agent_dist @ for_agent),
        spread=float(gains.max()),
        agent_entropy=entropy(game.row),
        task_entropy=entropy(game.column),
        agent_unique=game.row_unique,
        task_unique=game.column_unique,
        dropped_agents=table.dropped_agents,
        dropped_tasks=table.dropped_tasks,
        constant_tasks=table.constant_tasks,
    )
    return found if accept_approximate else _accepted(found, tolerance)


def nash_average_agents(
    payoffs: ArrayLike,
    *,
    merge: bool = True,
    tolerance: float = 1e-9,
    close: float = 1e-6,
    max_iterations: int = 100,
    accept_approximate: bool = False,
) -> NashAverageAgents:
    """Nash averages of agents who meet each other: payoffs A (m, m), antisymmetric, finite, such as logits of win rates.

    Arguments and errors as for `nash_average`. What the payoffs mean matters: win rates and their logits have different
    equilibria.
    """
    started = time.perf_counter()
    A = checks.antisymmetric("payoffs", payoffs)
    classes = _classes(A, merge)
    game = solve_symmetric(A[np.ix_(classes.first, classes.first)], tolerance=tolerance, close=close, max_iterations=max_iterations)
    mix = split_evenly(game.strategy, classes)
    ratings = A @ mix
    exploitability = max(0.0, float(ratings.max())) / (float(np.abs(A).max()) or 1.0)
    found = NashAverageAgents(
        ratings=ratings,
        certificate=Certificate("exploitability", exploitability),
        status=game.status if exploitability <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={**game.stats, "merged_agents": len(A) - len(classes)},
        agent_dist=mix,
        entropy=game.entropy,
        unique=game.unique,
    )
    return found if accept_approximate else _accepted(found, tolerance)


@dataclass(frozen=True, slots=True)
class _Table:
    """The complete, normalised part of a score table, and where it lies in the caller's."""

    scores: Floats
    agents: NDArray[np.bool_]
    tasks: NDArray[np.bool_]
    dropped_agents: Ids
    dropped_tasks: Ids
    constant_tasks: Ids

    @classmethod
    def of(cls, scores: ArrayLike, normalise: Normalise, missing: Missing) -> "_Table":
        given = _matrix(scores)
        agents, tasks = _complete(given, _chosen("missing", missing, get_args(Missing)))
        kept = given[np.ix_(agents, tasks)]
        moving = _NORMALISERS[_chosen("normalise", normalise, get_args(Normalise))]
        normal, defined = moving(kept)
        used = tasks.copy()
        used[tasks] = defined
        return cls(
            scores=normal,
            agents=agents,
            tasks=used,
            dropped_agents=np.flatnonzero(~agents),
            dropped_tasks=np.flatnonzero(~tasks),
            constant_tasks=np.flatnonzero(tasks & ~used),
        )

    def of_agents(self, values: Floats, otherwise: float) -> Floats:
        return _spread_out(values, self.agents, otherwise)

    def of_tasks(self, values: Floats, otherwise: float) -> Floats:
        return _spread_out(values, self.tasks, otherwise)


def _matrix(scores: ArrayLike) -> Floats:
    given = checks.real("scores", scores)
    if given.ndim != 2 or not given.size:
        raise InputError("scores", given.shape, "must be a matrix of agents x tasks with at least one of each")
    if (beyond := np.argwhere(np.abs(given) > LARGEST)).size:
        agent, task = (int(i) for i in beyond[0])
        raise InputError(f"scores[{agent}, {task}]", given[agent, task].item(), f"must be within +-{LARGEST:g}, or NaN where not measured")
    return given


def _chosen(argument: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InputError(argument, value, f"must be one of {', '.join(allowed)}")
    return value


def _complete(scores: Floats, missing: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Agents and tasks to keep so that no NaN is left."""
    absent = np.isnan(scores)
    some_agents, some_tasks = np.asarray(absent.any(axis=1), bool), np.asarray(absent.any(axis=0), bool)
    if absent.any() and missing == "refuse":
        agent, task = (int(i) for i in np.argwhere(absent)[0])
        raise InputError(f"scores[{agent}, {task}]", np.nan, "must be measured, or pass missing='drop_tasks' or 'drop_agents'")
    agents = ~some_agents if missing == "drop_agents" else np.ones(len(some_agents), bool)
    tasks = ~some_tasks if missing == "drop_tasks" else np.ones(len(some_tasks), bool)
    if not (agents.any() and tasks.any()):
        other = "drop_agents" if missing == "drop_tasks" else "drop_tasks"
        raise InputError("missing", missing, f"must leave something to rate; every line has a NaN, try {other!r} or fewer agents or tasks")
    return agents, tasks


def _unchanged(scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    return scores, np.ones(scores.shape[1], bool)


def _min_max(scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    low, high = scores.min(axis=0), scores.max(axis=0)
    defined = np.asarray(high > low, bool)
    if not defined.any():
        raise InputError("normalise", "minmax", "needs at least one task on which agents differ, or pass 'none'")
    return (scores[:, defined] - low[defined]) / (high - low)[defined], defined


_NORMALISERS: Final[dict[str, Callable[[Floats], tuple[Floats, NDArray[np.bool_]]]]] = {"none": _unchanged, "minmax": _min_max}


def _classes(rows: Floats, merge: bool) -> CloneClasses:
    return clone_classes(rows) if merge else singletons(len(rows))


def _spread_out(values: Floats, kept: NDArray[np.bool_], otherwise: float) -> Floats:
    whole = np.full(len(kept), otherwise)
    whole[kept] = values
    return whole


def _accepted(found: SolutionT, tolerance: float) -> SolutionT:
    if found.status is Status.OPTIMAL:
        return found
    raise SolverError(
        f"the Nash equilibrium is not certain to tolerance {tolerance:g}: {shortfall(found)}; "
        "raise tolerance or max_iterations, rescale payoffs of very different size, or pass accept_approximate=True",
        found,
    )

"""Games from a table of scores: agents against tasks, and agents against agents on tasks.

Which cells count is said by name: a table with cells not measured is refused unless told to drop the tasks or the agents that
have them, and what was dropped is part of the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.normal_form import LARGEST, Names, NormalForm, names_or_numbers
from ratings_core.solution import Floats

Normalise: TypeAlias = Literal["none", "minmax"]
Missing: TypeAlias = Literal["refuse", "drop_tasks", "drop_agents"]
Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
GameT = TypeVar("GameT")


@dataclass(frozen=True, slots=True)
class Gamified(Generic[GameT]):
    """A game and where its strategies stand in the table it came from.

    agents, tasks: bool over the table's rows and columns, True where in the game, in the same order; constant_tasks: ids left out
    because min-max normalisation is undefined where all agents agree; dropped_agents, dropped_tasks: ids left out by `missing`.
    """

    game: GameT
    agents: Mask
    tasks: Mask
    dropped_agents: Ids
    dropped_tasks: Ids
    constant_tasks: Ids

    def of_agents(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Values of the game's agents on the table's rows, `otherwise` where left out."""
        return _spread_out(values, self.agents, otherwise)

    def of_tasks(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Values of the game's tasks on the table's columns, `otherwise` where left out."""
        return _spread_out(values, self.tasks, otherwise)


def agent_vs_task(
    scores: ArrayLike,
    *,
    normalise: Normalise = "none",
    missing: Missing = "refuse",
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[NormalForm]:
    """The zero-sum game in which an agent gets its score and the task loses it (Balduzzi et al. 2018, sec. 3.3).

    scores: (agents, tasks), higher is better, within +-1e150, NaN where not measured; normalise: ``minmax`` maps each task's scores
    to 0..1 over the agents kept, ``none`` takes scores as one common unit; missing: with NaN cells either ``refuse``, or drop
    every task or every agent that has one; agents, tasks: names, by default numbers. Raises `InputError`.
    """
    part = _Part.of(scores, normalise, missing)
    rows, columns = part.names(agents, tasks)
    return part.gamified(NormalForm.of((part.scores, -part.scores), (rows, columns), ("agent", "task")))


def agent_vs_agent_vs_task(
    scores: ArrayLike,
    *,
    normalise: Normalise = "none",
    missing: Missing = "refuse",
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[AgentAgentTask]:
    """The game of two agents and a task that tells them apart (Marris et al., sec. 5.2). Arguments as for `agent_vs_task`."""
    part = _Part.of(scores, normalise, missing)
    rows, columns = part.names(agents, tasks)
    return part.gamified(AgentAgentTask.of(part.scores, rows, columns))


@dataclass(frozen=True, slots=True)
class _Part:
    """The complete, normalised part of a table. agents, measured, used: of the table, kept, kept before and after normalising."""

    scores: Floats
    agents: Mask
    measured: Mask
    used: Mask

    @classmethod
    def of(cls, scores: ArrayLike, normalise: Normalise, missing: Missing) -> "_Part":
        given = _matrix(scores)
        agents, measured = _complete(given, _chosen("missing", missing, get_args(Missing)))
        normaliser = _NORMALISERS[_chosen("normalise", normalise, get_args(Normalise))]
        normal, defined = normaliser(given[np.ix_(agents, measured)])
        used = measured.copy()
        used[measured] = defined
        return cls(normal, agents, measured, used)

    def names(self, agents: Sequence[str] | None, tasks: Sequence[str] | None) -> tuple[Names, Names]:
        rows = names_or_numbers("agents", agents, len(self.agents))
        columns = names_or_numbers("tasks", tasks, len(self.used))
        return _kept(rows, self.agents), _kept(columns, self.used)

    def gamified(self, game: GameT) -> Gamified[GameT]:
        return Gamified(
            game=game,
            agents=self.agents,
            tasks=self.used,
            dropped_agents=np.flatnonzero(~self.agents),
            dropped_tasks=np.flatnonzero(~self.measured),
            constant_tasks=np.flatnonzero(self.measured & ~self.used),
        )


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


def _complete(scores: Floats, missing: str) -> tuple[Mask, Mask]:
    """Agents and tasks to keep so that no NaN is left."""
    absent = np.isnan(scores)
    if absent.any() and missing == "refuse":
        agent, task = (int(i) for i in np.argwhere(absent)[0])
        raise InputError(f"scores[{agent}, {task}]", np.nan, "must be measured, or pass missing='drop_tasks' or 'drop_agents'")
    agents = ~absent.any(axis=1) if missing == "drop_agents" else np.ones(len(scores), bool)
    tasks = ~absent.any(axis=0) if missing == "drop_tasks" else np.ones(scores.shape[1], bool)
    if not (agents.any() and tasks.any()):
        other = "drop_agents" if missing == "drop_tasks" else "drop_tasks"
        raise InputError("missing", missing, f"must leave something to rate; every line has a NaN, try {other!r} or fewer agents or tasks")
    return np.asarray(agents, bool), np.asarray(tasks, bool)


def _unchanged(scores: Floats) -> tuple[Floats, Mask]:
    return scores, np.ones(scores.shape[1], bool)


def _min_max(scores: Floats) -> tuple[Floats, Mask]:
    low, high = scores.min(axis=0), scores.max(axis=0)
    defined = np.asarray(high > low, bool)
    if not defined.any():
        raise InputError("normalise", "minmax", "needs at least one task on which agents differ, or pass 'none'")
    return (scores[:, defined] - low[defined]) / (high - low)[defined], defined


_NORMALISERS: Final[dict[str, Callable[[Floats], tuple[Floats, Mask]]]] = {"none": _unchanged, "minmax": _min_max}


def _kept(names: Names, kept: Mask) -> Names:
    return tuple(name for name, keep in zip(names, kept.tolist(), strict=True) if keep)


def _spread_out(values: Floats, kept: Mask, otherwise: float) -> Floats:
    whole = np.full(len(kept), otherwise)
    whole[kept] = values
    return whole

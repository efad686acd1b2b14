"""Limits of a generation on its numbers of agents and tasks. The limits are checked for many outcomes at once.

An outcome is refused if it has more new names than the limit leaves room for, after the outcomes before it were folded. Folding k new
names reduces the room by k, and the number of new names of another outcome by at most k. So an outcome that exceeds the room now also
exceeds it later. All such outcomes of a call are refused in one step.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.records.roster import UNKNOWN, Roster
from services.control.records import FoldSettings
from services.wire.refusals import Reason

Rule = tuple[Reason, str, str]
"""Reason, field and rule of a refusal."""
_AGENTS_FIELD: Final = {Games: "sides", TaskScores: "scores"}


class PoolLimits:
    """Compares outcomes with the limits of a generation, given the agents and tasks that its pool has."""

    def __init__(self, fold: FoldSettings, agents: Roster, tasks: Roster) -> None:
        self._fold, self._agents, self._tasks = fold, agents, tasks

    def broken(self, columns: Games | TaskScores) -> Rule | None:
        """The limit that all `columns` together exceed; None if they fit. For a single outcome, the rule that refuses it."""
        if not _fits(self._agents, columns.names, self._fold.max_agents):
            rule = f"would give the pool more than {self._fold.max_agents} agents"
            return Reason.TOO_MANY_AGENTS, _AGENTS_FIELD[type(columns)], rule
        if isinstance(columns, TaskScores) and not _fits(self._tasks, Coded.of(columns.tasks), self._fold.max_tasks):
            return Reason.TOO_MANY_TASKS, "task", f"would give the pool more than {self._fold.max_tasks} tasks"
        return None

    def hopeless(self, columns: Games | TaskScores) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Outcomes that exceed a limit already by themselves, so that they are refused in any order of folding.

        Returns:
            bool (n,): outcomes that exceed the limit of agents. bool (n,): outcomes without new agents that exceed the limit of tasks.
        """
        n = len(columns)
        start = columns.agent_start[columns.side_start] if isinstance(columns, Games) else columns.start
        new_agents = _new_names(self._agents, columns.names, np.repeat(np.arange(n), np.diff(start)), n)
        by_agents = new_agents > self._fold.max_agents - len(self._agents)
        by_tasks = np.zeros(n, np.bool_)
        if isinstance(columns, TaskScores):
            new_tasks = _new_names(self._tasks, Coded.of(columns.tasks), np.arange(n), n)
            by_tasks = (new_tasks > self._fold.max_tasks - len(self._tasks)) & (new_agents == 0)
        return by_agents, by_tasks


def _new_names(roster: Roster, names: Coded, outcome: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Number of distinct new names in each of `n` outcomes: int64 (n,). outcome: index of the outcome of each of `names`."""
    new = np.flatnonzero(roster.lookup_coded(names) == UNKNOWN)
    ids = Roster().intern_coded(names.take(new)).astype(np.int64)
    pairs = np.unique(outcome[new] * (len(new) + 1) + ids)
    return np.bincount(pairs // (len(new) + 1), minlength=n)


def _fits(roster: Roster, names: Coded, most: int) -> bool:
    return len(roster) + len(names) <= most or len(roster) + roster.count_new(names) <= most

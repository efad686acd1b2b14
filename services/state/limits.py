"""Limits of a generation on agents and tasks: which outcomes of a call fit, decided for many at once.

An outcome is refused where it would add more names than are left, given what was folded before it. Folding k new names takes k from
what is left and at most k from what another outcome would add. So an outcome that adds too many now will do so later too, and can be
refused with all of its kind in one step.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.coded import Coded
from ratings_core.records.roster import UNKNOWN, Roster
from services.control.records import FoldSettings
from services.wire.columns import GameColumns, ScoreColumns
from services.wire.events import Reason

Rule = tuple[Reason, str, str]
"""Reason, field and rule of a refusal."""
_AGENTS_FIELD: Final = {GameColumns: "sides", ScoreColumns: "scores"}


class Limits:
    """Compares outcomes with the limits of a generation, given the agents and tasks that its pool has."""

    def __init__(self, fold: FoldSettings, agents: Roster, tasks: Roster) -> None:
        self._fold, self._agents, self._tasks = fold, agents, tasks

    def broken(self, columns: GameColumns | ScoreColumns) -> Rule | None:
        """The limit that the names in `columns` may exceed together; None where they cannot exceed any."""
        if not _fits(self._agents, columns.names, self._fold.max_agents):
            rule = f"would give the pool more than {self._fold.max_agents} agents"
            return Reason.TOO_MANY_AGENTS, _AGENTS_FIELD[type(columns)], rule
        if isinstance(columns, ScoreColumns) and not _fits(self._tasks, Coded.of(columns.tasks), self._fold.max_tasks):
            return Reason.TOO_MANY_TASKS, "task", f"would give the pool more than {self._fold.max_tasks} tasks"
        return None

    def hopeless(self, columns: GameColumns | ScoreColumns) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Outcomes (n,) that exceed the limit of agents whatever is folded before them, and those that exceed the limit of tasks alone."""
        n = len(columns)
        start = columns.agent_start[columns.side_start] if isinstance(columns, GameColumns) else columns.start
        new_agents = _new_names(self._agents, columns.names, np.repeat(np.arange(n), np.diff(start)), n)
        by_agents = new_agents > self._fold.max_agents - len(self._agents)
        by_tasks = np.zeros(n, np.bool_)
        if isinstance(columns, ScoreColumns):
            new_tasks = _new_names(self._tasks, Coded.of(columns.tasks), np.arange(n), n)
            by_tasks = (new_tasks > self._fold.max_tasks - len(self._tasks)) & (new_agents == 0)
        return by_agents, by_tasks


def _new_names(roster: Roster, names: Coded, outcome: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """How many different names each of `n` outcomes has that the roster does not know. outcome: of each of `names`."""
    new = np.flatnonzero(roster.lookup_coded(names) == UNKNOWN)
    ids = Roster().intern_coded(names.take(new)).astype(np.int64)
    pairs = np.unique(outcome[new] * (len(new) + 1) + ids)
    return np.bincount(pairs // (len(new) + 1), minlength=n)


def _fits(roster: Roster, names: Coded, most: int) -> bool:
    return len(roster) + len(names) <= most or len(roster) + roster.count_new(names) <= most

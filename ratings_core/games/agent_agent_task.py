"""Agent against agent on a task, from a table of scores: three players whose cube of payoffs is never stored.

Two players each choose an agent, the third a task: G_A(a, b, t) = T(a, t) - T(b, t), G_B = -G_A and G_T = |G_A|, so the task
player looks for tasks that tell the chosen agents apart (Marris et al., sec. 5.2). The table is all there is to store: 1,000
tasks for 200 agents are 1.6 MB here and 960 MB as three cubes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.normal_form import LARGEST, Joints, Names, NormalForm, names_or_numbers
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class AgentAgentTask:
    """The game of players ``agent``, ``opponent`` and ``task``. scores: T, float64 (agents, tasks), complete, higher is better."""

    scores: Floats
    agents: Names
    tasks: Names

    @classmethod
    def of(cls, scores: ArrayLike, agents: Sequence[str] | None = None, tasks: Sequence[str] | None = None) -> "AgentAgentTask":
        """From finite scores within +-1e150; names are numbers from 0 where not given. Raises `InputError`."""
        table = checks.finite("scores", scores)
        if table.ndim != 2 or not table.size:
            raise InputError("scores", table.shape, "must be a matrix of agents x tasks with at least one of each")
        if (beyond := np.argwhere(np.abs(table) > LARGEST)).size:
            agent, task = (int(i) for i in beyond[0])
            raise InputError(f"scores[{agent}, {task}]", table[agent, task].item(), f"must be within +-{LARGEST:g}")
        return cls(table, names_or_numbers("agents", agents, len(table)), names_or_numbers("tasks", tasks, table.shape[1]))

    @property
    def players(self) -> Names:
        """Names of the players."""
        return ("agent", "opponent", "task")

    @property
    def strategies(self) -> tuple[Names, ...]:
        """Names of each player's strategies."""
        return (self.agents, self.agents, self.tasks)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many strategies each player has."""
        agents, tasks = self.scores.shape
        return agents, agents, tasks

    def payoffs_at(self, joints: Joints) -> Floats:
        """What each player gets at each joint, (k, 3)."""
        ahead = self.scores[joints[:, 0], joints[:, 2]] - self.scores[joints[:, 1], joints[:, 2]]
        return np.column_stack([ahead, -ahead, np.abs(ahead)])

    def deviations_at(self, joints: Joints) -> Iterator[Floats]:
        """Player by player: what each own strategy would get against the others of each joint, (k, shape[p])."""
        agent, opponent, task = joints.T
        on_task = self.scores.T[task]
        yield on_task - self.scores[opponent, task][:, None]
        yield on_task - self.scores[agent, task][:, None]
        yield np.abs(self.scores[agent] - self.scores[opponent])

    def payoffs_against(self, mixes: Sequence[Floats]) -> tuple[Floats, ...]:
        """Player by player: expected payoff of each own strategy while all others mix independently."""
        agent, opponent, task = mixes
        strength = self.scores @ task
        return strength - opponent @ strength, strength - agent @ strength, self._expected_distances(agent, opponent)

    def _expected_distances(self, agent: Floats, opponent: Floats) -> Floats:
        """E |T(a, t) - T(b, t)| for each task: between two neighbouring scores, the chance that they lie on different sides.

        Sorting takes it from the square of the agents to their number, and no term is negative, so nothing cancels.
        """
        order = np.argsort(self.scores, axis=0, kind="stable")
        steps = np.diff(np.take_along_axis(self.scores, order, axis=0), axis=0)
        below, other_below = np.cumsum(agent[order], axis=0)[:-1], np.cumsum(opponent[order], axis=0)[:-1]
        apart = below * (1 - other_below) + other_below * (1 - below)
        return np.asarray((steps * apart).sum(axis=0), np.float64)

    def normal_form(self) -> NormalForm:
        """The same game with its three cubes stored: for small games, and to compare with."""
        ahead = self.scores[:, None, :] - self.scores[None, :, :]
        return NormalForm.of((ahead, -ahead, np.abs(ahead)), self.strategies, self.players)

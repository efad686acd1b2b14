"""Agent against agent on a task, from a table of scores: a game of three players whose payoff tensors are never stored.

Two players each choose an agent and the third chooses a task: G_A(a, b, t) = T(a, t) - T(b, t), G_B = -G_A and G_T = |G_A|. So the task
player prefers tasks that separate the two chosen agents (Marris et al., sec. 5.2). Only the table is stored: 1,000 tasks and 200 agents
take 1.6 MB instead of 960 MB for three tensors.
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
        """Build the game from finite scores within +-1e150. Names are by default the numbers from 0. Raises `InputError`."""
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
        """Number of strategies of each player."""
        agents, tasks = self.scores.shape
        return agents, agents, tasks

    def payoffs_at(self, joints: Joints) -> Floats:
        """Payoff of each player at each joint, (k, 3)."""
        ahead = self.scores[joints[:, 0], joints[:, 2]] - self.scores[joints[:, 1], joints[:, 2]]
        return np.column_stack([ahead, -ahead, np.abs(ahead)])

    def deviations_at(self, joints: Joints) -> Iterator[Floats]:
        """For each player, the payoffs of all its strategies against the other players' strategies in each joint, (k, shape[p])."""
        agent, opponent, task = joints.T
        on_task = self.scores.T[task]
        yield on_task - self.scores[opponent, task][:, None]
        yield on_task - self.scores[agent, task][:, None]
        yield np.abs(self.scores[agent] - self.scores[opponent])

    def payoffs_against(self, mixes: Sequence[Floats]) -> tuple[Floats, ...]:
        """For each player, the expected payoff of each of its strategies while the other players mix independently."""
        agent, opponent, task = mixes
        strength = self.scores @ task
        return strength - opponent @ strength, strength - agent @ strength, self._expected_distances(agent, opponent)

    def _expected_distances(self, agent: Floats, opponent: Floats) -> Floats:
        """Expected |T(a, t) - T(b, t)| of each task, (tasks,).

        It is the sum over neighbouring scores of their difference times the probability that the two agents lie on different sides. Sorting
        the scores reduces the cost per task from agents^2 to agents log agents. All terms are nonnegative, so no digits cancel.
        """
        order = np.argsort(self.scores, axis=0, kind="stable")
        steps = np.diff(np.take_along_axis(self.scores, order, axis=0), axis=0)
        below, other_below = np.cumsum(agent[order], axis=0)[:-1], np.cumsum(opponent[order], axis=0)[:-1]
        apart = below * (1 - other_below) + other_below * (1 - below)
        return np.asarray((steps * apart).sum(axis=0), np.float64)

    def normal_form(self) -> NormalForm:
        """The same game with its three payoff tensors stored, for small games and for comparisons."""
        ahead = self.scores[:, None, :] - self.scores[None, :, :]
        return NormalForm.of((ahead, -ahead, np.abs(ahead)), self.strategies, self.players)

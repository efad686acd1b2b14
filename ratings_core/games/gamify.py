"""Games from a table of scores: agents against tasks, and agents against agents on tasks.

The argument `missing` names the policy for cells that were not measured; the default refuses them. The result lists what was dropped and
the share of cells that were filled in. By default, equal rows and equal columns are merged into one strategy.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.gamified import Gamified
from ratings_core.games.normal_form import NormalForm
from ratings_core.games.normalise import Normalise
from ratings_core.games.score_part import Missing, ScorePart
from ratings_core.solution import Floats

__all__ = ["Gamified", "Missing", "Normalise", "agent_vs_agent_vs_task", "agent_vs_task", "bipartite_matrix", "skill_matrix"]


def agent_vs_task(
    scores: ArrayLike,
    *,
    normalise: Normalise = "none",
    missing: Missing = "refuse",
    merge: bool = True,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[NormalForm]:
    """The zero-sum game in which an agent gets its score and the task loses it (Balduzzi et al. 2018, appendix D).

    scores: (agents, tasks), higher is better, within +-1e150, NaN where not measured; normalise: as in `games.normalise`, over the agents
    kept; missing: policy for NaN cells, as in `ScorePart.of`: ``refuse`` them, ``drop_tasks`` or ``drop_agents`` that have one, or fill in
    the additive ``prior`` or ``zero``; merge: merge equal rows and equal columns; agents, tasks: names, by default numbers. Raises
    `InputError`.
    """
    part = ScorePart.of(scores, normalise, missing, merge, agents, tasks)
    return part.gamified(NormalForm.of((part.scores, -part.scores), part.names(agents, tasks), ("agent", "task")))


def agent_vs_agent_vs_task(
    scores: ArrayLike,
    *,
    normalise: Normalise = "none",
    missing: Missing = "refuse",
    merge: bool = True,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[AgentAgentTask]:
    """The game of two agents and a task that separates them (Marris et al., sec. 5.2). Arguments as for `agent_vs_task`."""
    part = ScorePart.of(scores, normalise, missing, merge, agents, tasks)
    return part.gamified(AgentAgentTask.of(part.scores, *part.names(agents, tasks)))


def skill_matrix(scores: ArrayLike) -> Floats:
    """Agents and tasks as players of one antisymmetric matrix, (n + t, n + t): Balduzzi et al. 2018, sec. 3.3, equation 14.

    S is the scores minus their overall mean, s the agents' means of S, and d minus the tasks' means of S. Agent a has payoff s_a - s_b
    against agent b and S_at against task t. Task t has payoff d_t - d_u against task u. The matrix has rank 2 exactly if S_at = s_a - d_t.
    scores: complete. Raises `InputError`.
    """
    S = _complete(scores)
    S = S - S.mean()
    skill, difficulty = S.mean(axis=1), -S.mean(axis=0)
    between = np.subtract.outer(skill, skill), np.subtract.outer(difficulty, difficulty)
    return np.block([[between[0], S], [-S.T, between[1]]])


def bipartite_matrix(scores: ArrayLike) -> Floats:
    """Like `skill_matrix`, but agents only meet tasks, and scores are not centred: appendix D, equation 32.

    This is the zero-sum game of `agent_vs_task` played in both roles, because its players mix agents and tasks separately.
    """
    S = _complete(scores)
    n, t = S.shape
    return np.block([[np.zeros((n, n)), S], [-S.T, np.zeros((t, t))]])


def _complete(scores: ArrayLike) -> Floats:
    given = checks.finite("scores", scores)
    if given.ndim != 2 or not given.size:
        raise InputError("scores", given.shape, "must be a matrix of agents x tasks with at least one of each")
    return given

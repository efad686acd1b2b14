"""Games from a table of scores: agents against tasks, and agents against agents on tasks.

Which cells count is said by name: a table with cells not measured is refused unless told what to drop or fill in, and what
was dropped and filled in is part of the result. Equal rows and equal columns are one strategy unless told otherwise.
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

    scores: (agents, tasks), higher is better, within +-1e150, NaN where not measured; normalise: as in `games.normalise`, over the
    agents kept; missing: with NaN cells ``refuse``, ``drop_tasks`` or ``drop_agents`` that have one, or fill in the additive
    ``prior`` or ``zero``, as in `ScorePart.of`; merge: equal rows and equal columns are one strategy; agents, tasks: names, by
    default numbers. Raises `InputError`.
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
    """The game of two agents and a task that tells them apart (Marris et al., sec. 5.2). Arguments as for `agent_vs_task`."""
    part = ScorePart.of(scores, normalise, missing, merge, agents, tasks)
    return part.gamified(AgentAgentTask.of(part.scores, *part.names(agents, tasks)))


def skill_matrix(scores: ArrayLike) -> Floats:
    """Agents and tasks as players of one antisymmetric matrix, (n + t, n + t): Balduzzi et al. 2018, sec. 3.3, equation 14.

    With S the scores less their mean, s the agents' mean scores and d minus the tasks': an agent has s_a - s_b over another agent and S_at
    over a task, a task d_t - d_u over another task. It has rank 2 exactly where S_at = s_a - d_t. scores: complete. Raises `InputError`.
    """
    S = _complete(scores)
    S = S - S.mean()
    skill, difficulty = S.mean(axis=1), -S.mean(axis=0)
    between = np.subtract.outer(skill, skill), np.subtract.outer(difficulty, difficulty)
    return np.block([[between[0], S], [-S.T, between[1]]])


def bipartite_matrix(scores: ArrayLike) -> Floats:
    """As `skill_matrix`, but agents meet tasks only, and scores are taken as they are: appendix D, equation 32.

    Its players mix agents and tasks apart from each other, which makes it the zero-sum game of `agent_vs_task` played in both roles.
    """
    S = _complete(scores)
    n, t = S.shape
    return np.block([[np.zeros((n, n)), S], [-S.T, np.zeros((t, t))]])


def _complete(scores: ArrayLike) -> Floats:
    given = checks.finite("scores", scores)
    if given.ndim != 2 or not given.size:
        raise InputError("scores", given.shape, "must be a matrix of agents x tasks with at least one of each")
    return given

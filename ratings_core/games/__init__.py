"""Games: normal form, games made from score tables, exact zero-sum solvers, and exact duplicates of strategies."""

from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.agent_vs_agent import AgentVsAgentOptions, agent_vs_agent
from ratings_core.games.clones import CloneClasses, clone_classes, split_evenly
from ratings_core.games.duels import Duels, Preferences, duel_for_the_hill, duel_on_task, duelist_vs_task, preferences
from ratings_core.games.gamified import Gamified
from ratings_core.games.gamify import agent_vs_agent_vs_task, agent_vs_task, bipartite_matrix, skill_matrix
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import (
    Game,
    JointDistribution,
    NormalForm,
    cce_gap,
    deviation_gains,
    expected_payoffs,
    mix_regrets,
    regrets,
    uniform_mixes,
)
from ratings_core.games.rules import PathOptions, ZeroSumOptions
from ratings_core.games.zero_sum import GameSolution, SymmetricSolution, solve_symmetric, solve_zero_sum

__all__ = [
    "AgentAgentTask",
    "AgentVsAgentOptions",
    "CloneClasses",
    "Duels",
    "Game",
    "GameSolution",
    "Gamified",
    "JointDistribution",
    "KingOfTheHill",
    "NormalForm",
    "PathOptions",
    "Preferences",
    "SymmetricSolution",
    "ZeroSumOptions",
    "agent_vs_agent",
    "agent_vs_agent_vs_task",
    "agent_vs_task",
    "bipartite_matrix",
    "cce_gap",
    "clone_classes",
    "deviation_gains",
    "duel_for_the_hill",
    "duel_on_task",
    "duelist_vs_task",
    "expected_payoffs",
    "mix_regrets",
    "preferences",
    "regrets",
    "skill_matrix",
    "solve_symmetric",
    "solve_zero_sum",
    "split_evenly",
    "uniform_mixes",
]

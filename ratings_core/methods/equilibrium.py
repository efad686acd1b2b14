"""Ratings at one selected equilibrium: a coarse correlated equilibrium (`cce`) or a limiting logit equilibrium (`lle`).

This module makes the game of a problem, and the fields that boards of these methods add.
"""

from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from ratings_core.equilibria import CCEOptions, LLEOptions
from ratings_core.equilibria.affinity import AffinityTarget
from ratings_core.equilibria.cce import CCE, cce
from ratings_core.equilibria.lle import LLE, lle
from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.duels import Duels, duel_for_the_hill
from ratings_core.games.gamified import Gamified
from ratings_core.games.gamify import agent_vs_agent_vs_task
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.methods.games import KAPPA, OF_THE_TASK, SCALES, OnTasks, kappa_of, left_out, mixes_by_name, most_cells, on_all
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.methods.parameters import chosen_options
from ratings_core.options import Parameter, parameters_of
from ratings_core.problems.inputs import ScoresInput
from ratings_core.solution import Start

Played: TypeAlias = KingOfTheHill | AgentAgentTask

_AGENTS: Final = 500
_LISTED: Final = 1e-6
"""Strategies of at least this probability are listed."""


def equilibrium_game(problem: OnTasks, parameters: dict[str, Any]) -> Gamified[Played]:
    """The game that the parameters choose: king of the hill, or agent against agent on a task.

    For games, the second one is king of the hill without penalty, so both are stored as the same tensor.
    Raises `InputError` if the game is too large, or if a parameter does not fit it.
    """
    names: dict[str, Any] = {"agents": problem.names, "tasks": problem.tasks}
    policy = {"missing": parameters["missing"], "merge": parameters["merge"]}
    hill = parameters["game"] == "king_of_the_hill"
    if isinstance(problem, ScoresInput) and not hill:
        return agent_vs_agent_vs_task(problem.scores, normalise=parameters["normalise"], **policy, **names)  # type: ignore[return-value]
    if parameters["normalise"] != "none":
        raise InputError("normalise", parameters["normalise"], "must be none, except for scores with game=agent_agent_task")
    most_cells(problem)
    n = len(problem.names)
    duels = Duels.of_scores(problem.scores) if isinstance(problem, ScoresInput) else Duels.of_counts(problem.by_task, n)
    penalty = parameters["penalty"] if hill else 0.0
    return duel_for_the_hill(duels, penalty=penalty, kappa=kappa_of(parameters), **policy, **names)  # type: ignore[return-value]


def _cce(problem: OnTasks, parameters: dict[str, Any], start: Start | None) -> Rated:
    made = equilibrium_game(problem, parameters)
    result = cce(made.game, target=_target(parameters), start=start, options=chosen_options(CCEOptions, parameters))
    joints, probability = result.play.likeliest(parameters["joints"]) if parameters["joints"] else (np.empty((0, 3), int), np.empty(0))
    extra: dict[str, object] = {
        "eps": result.eps,
        "relative_entropy": result.relative_entropy,
        "marginals": mixes_by_name(made.game, result.marginals, _LISTED),
        "likeliest": [
            {"joint": [names[i] for names, i in zip(made.game.strategies, joint, strict=True)], "probability": share}
            for joint, share in zip(joints.tolist(), probability.tolist(), strict=True)
        ],
    }
    return replace(_rated(problem, made, result, extra), start=result.start)


def _lle(problem: OnTasks, parameters: dict[str, Any]) -> Rated:
    made = equilibrium_game(problem, parameters)
    result = lle(made.game, target=_target(parameters), options=chosen_options(LLEOptions, parameters))
    extra: dict[str, object] = {
        "beta": result.beta,
        "finished": result.finished,
        "branch": result.branch,
        "bifurcations": list(result.bifurcations),
        "mixes": mixes_by_name(made.game, result.mixes, _LISTED),
    }
    return _rated(problem, made, result, extra)


def _target(parameters: dict[str, Any]) -> Any:
    if parameters["target"] == "even":
        return "even"
    return AffinityTarget(sigma=parameters["sigma"] or None, floor=parameters["floor"], p=parameters["p"])


def _rated(problem: OnTasks, made: Gamified[Played], result: CCE | LLE, extra: dict[str, object]) -> Rated:
    players = made.game.players
    of_agents = 1 if isinstance(made.game, KingOfTheHill) else 0
    both: dict[str, object] = {
        "payoffs": dict(zip(players, result.payoffs.tolist(), strict=True)),
        "regrets": dict(zip(players, result.regrets.tolist(), strict=True)),
        "least_target": result.least_target,
        **extra,
        **left_out(made, problem),
    }
    tasks = made.of_tasks(result.by_player[0 if of_agents else 2])
    return Rated(solution=on_all(result, made), unit=float(result.units[of_agents]), task_ratings=tasks, extra=both)


_GAME: Final = (
    Parameter("game", "king_of_the_hill", "game that is solved", choices=("king_of_the_hill", "agent_agent_task")),
    Parameter("penalty", 1.0, "payoff that the rebel loses if it plays the king's agent", 0.0, 1e6),
    Parameter("normalise", "none", "how scores are normalised to one scale, with game=agent_agent_task", choices=SCALES),
    Parameter(
        "missing",
        "refuse",
        "what to do with pairs that were not compared on a task",
        choices=("refuse", "drop_tasks", "drop_agents", "prior", "zero"),
    ),
    *KAPPA,
    Parameter("target", "affinity", "target of the equilibrium, or start of the path", choices=("affinity", "even")),
    Parameter("sigma", 0.0, "width of the kernel in units of payoff; 0: only equal payoffs are similar", 0.0, 1e6),
    Parameter("p", 1.0, "order of the affinity entropy, if sigma is above 0", 0.01, 1.0),
    Parameter("floor", 1e-3, "share of the uniform distribution in an affinity target", 0.0, 1.0),
)
REGISTERED: Final = (
    Method(
        name="cce",
        takes=Takes.TASK_PAIRS,
        run=_cce,
        cost=3,
        tie_tolerance=1e-6,
        most_agents=_AGENTS,
        starts=True,
        parameters=(
            *_GAME,
            *parameters_of(CCEOptions, leave_out=OF_THE_TASK),
            Parameter("joints", 20, "number of most probable joint strategies listed", 0, 10_000),
        ),
    ),
    Method(
        name="lle",
        takes=Takes.TASK_PAIRS,
        run=_lle,
        cost=3,
        tie_tolerance=1e-5,
        most_agents=_AGENTS,
        parameters=(*_GAME, *parameters_of(LLEOptions, leave_out=OF_THE_TASK)),
    ),
)

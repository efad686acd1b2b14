"""Methods that take ratings from the play in an equilibrium or a chain: payoff and mass ratings, and alpha-Rank."""

import math
from dataclasses import replace
from typing import Any, Final, assert_never, cast

import numpy as np

from ratings_core.equilibria import AlphaRankOptions, CCEOptions, DeviationOptions, LLEOptions
from ratings_core.equilibria.alpharank import MOST_PROFILES, AlphaRank, alpharank, alpharank_symmetric
from ratings_core.equilibria.cce import cce
from ratings_core.equilibria.deviation import deviation
from ratings_core.equilibria.lle import lle
from ratings_core.equilibria.payoff import FromEquilibrium, mass_ratings, payoff_ratings
from ratings_core.errors import InputError
from ratings_core.games.gamified import Gamified, Mask, Side
from ratings_core.games.normal_form import JointDistribution, NormalForm
from ratings_core.methods.games import (
    DEVIATION_AGENTS,
    OF_THE_TASK,
    PAIRS,
    TASKS,
    OnTasks,
    Pairs,
    Played,
    against_each_other,
    joints_by_name,
    left_out,
    mixes_by_name,
    on_all,
    on_tasks,
)
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.methods.parameters import chosen_options
from ratings_core.options import Parameter, parameters_of
from ratings_core.solution import Floats

_CHAIN_AGENTS: Final = 1_000
_LIKELIEST: Final = 20
"""Number of likeliest profiles that a result lists."""
_SHARE: Final = 0.1
"""Equilibria are solved with this fraction of the allowed regret as tolerance, because the regrets of all players are added."""


def _payoff(problem: OnTasks, parameters: dict[str, Any]) -> Rated:
    made = on_tasks(problem, parameters)
    play, description = _equilibrium(made.game, parameters)
    result = _read(made.game, parameters, play)
    extra: dict[str, object] = {
        "payoffs": dict(zip(made.game.players, result.payoffs.tolist(), strict=True)),
        "regrets": dict(zip(made.game.players, result.regrets.tolist(), strict=True)),
        **description,
        **left_out(made, problem),
    }
    if parameters["rating"] == "mass":
        return _masses(made, result, extra)
    return Rated(solution=on_all(result, made), unit=result.unit, task_ratings=made.of_tasks(result.by_player[-1]), extra=extra)


def _equilibrium(game: Played, parameters: dict[str, Any]) -> tuple[Any, dict[str, object]]:
    """The play in the equilibrium that the parameter `equilibrium` names, and its description for `extra`.

    `cce` and `lle` use the affinity target in which only equal payoffs are alike (their defaults).
    """
    merge, tolerance = parameters["merge"], parameters["tolerance"]
    match parameters["equilibrium"]:
        case "deviation":
            strict = deviation(game, options=DeviationOptions(merge=merge, tolerance=tolerance)).play
            return strict, {"equilibrium": joints_by_name(game, strict)}
        case "cce":
            near = cce(game, options=CCEOptions(merge=merge, tolerance=_SHARE * tolerance))
            return near.play, {"marginals": mixes_by_name(game, near.marginals)}
        case "lle":
            end = lle(game, options=LLEOptions(merge=merge, tolerance=_SHARE * tolerance))
            return end.marginals, {"marginals": mixes_by_name(game, end.marginals)}
        case other:
            assert_never(other)


def _read(game: Played, parameters: dict[str, Any], play: Any) -> FromEquilibrium:
    if parameters["rating"] == "mass":
        return mass_ratings(game, play, tolerance=parameters["tolerance"])
    against = "recommended" if parameters["rating"] == "payoff_if_played" else "others"
    return payoff_ratings(game, play, against=against, tolerance=parameters["tolerance"])  # type: ignore[arg-type]


def _masses(made: Gamified[Any], result: FromEquilibrium | AlphaRank, extra: dict[str, object]) -> Rated:
    """Ratings that are probabilities of agents, and of tasks if tasks play. Exact duplicates share their probability equally."""
    agents = _shares(made.agent_side, made.agents, result.by_player[0])
    tasks = _shares(made.task_side, made.tasks, result.by_player[-1]) if len(result.by_player) > 1 else None
    return Rated(solution=replace(result, ratings=agents), task_ratings=tasks, extra=extra)


def _shares(side: Side, there: Mask, mix: Floats) -> Floats:
    return np.where(there, side.shares(mix), np.nan)


def _alpharank(problem: Pairs, parameters: dict[str, Any]) -> Rated:
    made, about = against_each_other(problem, parameters, "win_rate")
    result = alpharank_symmetric(made.game.payoffs[0], options=_chain(parameters))
    return _masses(made, result, about)


def _alpharank_tasks(problem: OnTasks, parameters: dict[str, Any]) -> Rated:
    if not parameters["merge"] and parameters["normalise"] == "none" and parameters["missing"] not in ("drop_tasks", "drop_agents"):
        _few_profiles(len(problem.names) * len(problem.tasks))  # the size is known before the game is built
    made = on_tasks(problem, {**parameters, "players": 2})
    game = cast("NormalForm", made.game)  # a game of two players is stored
    _few_profiles(math.prod(game.shape))
    result = alpharank(game, options=_chain(parameters))
    return _masses(made, result, {"likeliest": _likeliest(game, result.play), **left_out(made, problem)})


def _few_profiles(profiles: int) -> None:
    """Raise `InputError` if the chain would have too many states."""
    if profiles > MOST_PROFILES:
        raise InputError("agents x tasks", profiles, f"must be at most {MOST_PROFILES}, because the chain has a state for each of them")


def _likeliest(game: NormalForm, play: JointDistribution) -> list[dict[str, object]]:
    """The profiles that the chain visits most often, with their probabilities."""
    first = np.argsort(-play.probability, kind="stable")[:_LIKELIEST]
    return joints_by_name(game, JointDistribution(play.joints[first], play.probability[first]))


def _chain(parameters: dict[str, Any]) -> AlphaRankOptions:
    alpha = math.inf if parameters["infinite"] else parameters["alpha"]
    return chosen_options(AlphaRankOptions, {**parameters, "alpha": alpha})


_CHAIN: Final = (
    *parameters_of(AlphaRankOptions, leave_out=OF_THE_TASK),
    Parameter("infinite", False, "use the limit of strong selection, without alpha and population"),
)
_MERGE: Final = Parameter("merge", False, "treat exact duplicates as one member of the chain")
REGISTERED: Final = (
    Method(
        name="payoff",
        takes=Takes.TASK_PAIRS,
        run=_payoff,
        cost=3,
        tie_tolerance=1e-7,
        most_agents=DEVIATION_AGENTS,
        parameters=(
            Parameter("equilibrium", "deviation", "method whose equilibrium is used", choices=("deviation", "cce", "lle")),
            Parameter("rating", "payoff", "quantity that is the rating", choices=("payoff", "payoff_if_played", "mass")),
            *TASKS,
            Parameter("tolerance", 1e-6, "largest regret, divided by the spread of payoffs", 1e-14, 1e-2),
        ),
    ),
    Method(
        name="alpharank",
        takes=Takes.PAIRS,
        run=_alpharank,
        cost=3,
        tie_tolerance=1e-9,
        most_agents=_CHAIN_AGENTS,
        parameters=(*_CHAIN, *PAIRS, _MERGE),
    ),
    Method(
        name="alpharank_tasks",
        takes=Takes.TASK_PAIRS,
        run=_alpharank_tasks,
        cost=3,
        tie_tolerance=1e-9,
        most_agents=_CHAIN_AGENTS,
        parameters=(*_CHAIN, *(one for one in TASKS if one.name not in ("players", "merge")), _MERGE),
    ),
)

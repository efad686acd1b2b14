"""The game-theoretic methods of the registry: the games that are made of problems, and the fields that boards of these methods add."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from ratings_core.analysis.contributions import contributions
from ratings_core.equilibria import DeviationOptions
from ratings_core.equilibria.deviation import deviation
from ratings_core.equilibria.nash_average import NashAverageOptions, nash_average, nash_average_agents
from ratings_core.equilibria.uniform import uniform
from ratings_core.errors import InputError
from ratings_core.games import ZeroSumOptions
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.agent_vs_agent import AgentVsAgentOptions, agent_vs_agent
from ratings_core.games.clones import clone_classes, singletons
from ratings_core.games.duels import Duels, duel_on_task, duelist_vs_task
from ratings_core.games.gamified import Gamified, Side
from ratings_core.games.gamify import agent_vs_agent_vs_task, agent_vs_task
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import JointDistribution, NormalForm
from ratings_core.margins import PosteriorMargins
from ratings_core.methods.lotteries import LOTTERY
from ratings_core.methods.margins import MARGINS, chosen, report
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.methods.parameters import chosen_options
from ratings_core.methods.starts import by_name, nonzero, of_names
from ratings_core.options import Parameter, parameters_of
from ratings_core.problems.inputs import GamesInput, PairsInput, ProfileInput, ScoresInput
from ratings_core.solution import Floats, Solution, Start

OnTasks: TypeAlias = ScoresInput | GamesInput
Pairs: TypeAlias = PairsInput | ProfileInput | ScoresInput
Played: TypeAlias = NormalForm | AgentAgentTask

_DENSE_AGENTS: Final = 5_000
DEVIATION_AGENTS: Final = 500
_STORED_CELLS: Final = 50_000_000
"""Largest number of cells (agents x agents x tasks) of a game of results, which is stored as a tensor."""


def on_tasks(problem: OnTasks, parameters: dict[str, Any]) -> Gamified[Played]:
    """The game of agent against task (2 players), or of agent against agent on a task (3 players). The task is the last player.

    Raises `InputError` if the game is too large, or if a parameter does not fit the problem.
    """
    names: dict[str, Any] = {"agents": problem.names, "tasks": problem.tasks}
    three, difference = parameters["players"] == 3, parameters.get("difference", "observed")
    if difference != "observed" and not (three and isinstance(problem, GamesInput)):
        rule = "must be observed except for games with players=3, where the payoff of a task is a noisy absolute difference"
        raise InputError("difference", difference, rule)
    if isinstance(problem, ScoresInput):
        table = {name: parameters[name] for name in ("normalise", "missing", "merge")}
        return agent_vs_agent_vs_task(problem.scores, **table, **names) if three else agent_vs_task(problem.scores, **table, **names)  # type: ignore[return-value]
    if parameters["normalise"] != "none":
        raise InputError("normalise", parameters["normalise"], "must be none for games: wins and losses have one unit on all tasks")
    most_cells(problem)
    duels = Duels.of_counts(problem.by_task, len(problem.names))
    policy = {"missing": parameters["missing"], "merge": parameters["merge"], "kappa": kappa_of(parameters)}
    return duel_on_task(duels, difference=difference, **policy, **names) if three else duelist_vs_task(duels, **policy, **names)  # type: ignore[return-value]


def most_cells(problem: OnTasks) -> None:
    """Raise `InputError` if the game of a problem is too large to store."""
    if (cells := len(problem.tasks) * len(problem.names) ** 2) > _STORED_CELLS:
        raise InputError("tasks x agents x agents", cells, f"must be at most {_STORED_CELLS}")


def kappa_of(parameters: dict[str, Any]) -> Any:
    """The value of kappa, or `held-out` if it is fitted; None unless the policy for missing results is `prior`."""
    if parameters["missing"] != "prior":
        return None
    return "held-out" if parameters["fit_kappa"] else parameters["kappa"]


def left_out(made: Gamified[Any], problem: Pairs | OnTasks) -> dict[str, object]:
    """Fields of `extra`: names of dropped agents and tasks and of constant tasks, and how much of the game was imputed."""
    tasks = problem.tasks if isinstance(problem, ScoresInput | GamesInput) else ()
    return {
        "dropped_agents": [problem.names[i] for i in made.dropped_agents.tolist()],
        "dropped_tasks": [tasks[i] for i in made.dropped_tasks.tolist()],
        "constant_tasks": [tasks[i] for i in made.constant_tasks.tolist()],
        "imputed": made.imputed,
        **({"kappa": made.kappa} if made.kappa else {}),
    }


def _nash_average(problem: OnTasks, parameters: dict[str, Any], start: Start | None) -> Rated:
    made = on_tasks(problem, {**parameters, "players": 2})
    agents, tasks = made.game.strategies
    before = None if start is None else (by_name(start, 0, "agents", agents, 0.0), by_name(start, 1, "tasks", tasks, 0.0))
    solved = {parameter.name: parameters[parameter.name] for parameter in LOTTERY}  # the scores are normalised already
    result = nash_average(made.game.payoffs[0], options=NashAverageOptions(**solved), start=before)  # type: ignore[union-attr]
    extra: dict[str, object] = {
        "value": result.value,
        "agent_dist": support_by_name(problem.names, made.agent_side.shares(result.agent_dist)),
        "task_dist": support_by_name(problem.tasks, made.task_side.shares(result.task_dist)),
        "agent_entropy": result.agent_entropy,
        "task_entropy": result.task_entropy,
        "unique": result.agent_unique and result.task_unique,
        **left_out(made, problem),
    }
    after = of_names("nash_average", {"agents": nonzero(agents, result.agent_dist), "tasks": nonzero(tasks, result.task_dist)})
    ratings = made.of_tasks(result.task_ratings)
    return Rated(solution=on_all(result, made), unit=result.spread, task_ratings=ratings, extra=extra, start=after)


def against_each_other(problem: Pairs, parameters: dict[str, Any], payoff: str) -> tuple[Gamified[NormalForm], dict[str, object]]:
    """The game of agent against agent, and the fields of `extra` about its margins and about what was left out.

    payoff: `win_rate` or `logit`.
    """
    margins = chosen(problem, parameters).posterior
    made = _of_observed(problem, parameters, payoff) if margins is None else _of_posterior(problem, margins, payoff, parameters["merge"])
    return made, {**left_out(made, problem), "margins": report(margins)}


def _of_observed(problem: Pairs, parameters: dict[str, Any], payoff: str) -> Gamified[NormalForm]:
    options, kappa = chosen_options(AgentVsAgentOptions, parameters), kappa_of(parameters)
    return agent_vs_agent(problem.counts, len(problem.names), payoff=payoff, kappa=kappa, agents=problem.names, options=options)  # type: ignore[arg-type]


def _of_posterior(problem: Pairs, margins: PosteriorMargins, payoff: str, merge: bool) -> Gamified[NormalForm]:
    """The game of agent against agent on posterior margins. Every pair has a margin, and duplicates are equal to the last bit."""
    ahead = margins.dense()
    classes = clone_classes(ahead) if merge else singletons(len(margins))
    ahead = ahead[np.ix_(classes.first, classes.first)]
    payoffs = 2 * np.arctanh(ahead) if payoff == "logit" else ahead
    everybody = np.ones(len(classes), bool)
    agents = Side.of(classes, everybody, everybody)
    names = agents.named(problem.names)
    tasks = Side.of(singletons(1), everybody[:1], everybody[:1])
    game = NormalForm.of((payoffs, -payoffs), (names, names), ("agent", "opponent"))
    return Gamified(game, agents, tasks, "none", "posterior", 0.0)


def _nash_average_agents(problem: Pairs, parameters: dict[str, Any], start: Start | None) -> Rated:
    made, about = against_each_other(problem, parameters, parameters["payoff"])
    payoffs = made.game.payoffs[0]
    agents = made.game.strategies[0]
    before = None if start is None else by_name(start, 0, "agents", agents, 0.0)
    result = nash_average_agents(payoffs, options=chosen_options(ZeroSumOptions, parameters), start=before)
    extra: dict[str, object] = {
        "agent_dist": support_by_name(problem.names, made.agent_side.shares(result.agent_dist)),
        "entropy": result.entropy,
        "unique": result.unique,
        **about,
    }
    after = of_names("nash_average_agents", {"agents": nonzero(agents, result.agent_dist)})
    return Rated(solution=on_all(result, made), unit=float(np.abs(payoffs).max()) or 1.0, extra=extra, start=after)


def _deviation(problem: OnTasks, parameters: dict[str, Any], start: Start | None) -> Rated:
    made = on_tasks(problem, parameters)
    result = deviation(made.game, start=start, options=chosen_options(DeviationOptions, parameters))
    extra: dict[str, object] = {
        "payoffs": dict(zip(made.game.players, result.payoffs.tolist(), strict=True)),
        "cce_gap": result.gap,
        "equilibrium": joints_by_name(made.game, result.play),
        **left_out(made, problem),
    }
    if parameters["explain"]:
        extra["contributions"] = _explained(made.game, result.play, parameters["explain"])
    tasks = made.of_tasks(result.by_player[-1])
    return Rated(solution=on_all(result, made), unit=result.unit, task_ratings=tasks, extra=extra, start=result.start)


def _explained(game: Played, play: JointDistribution, most: int) -> dict[str, dict[str, float]]:
    """Agent -> the `most` tasks with the largest absolute contributions to its rating, largest first, with the contributions."""
    parts = contributions(game, play)
    large = np.argsort(-np.abs(parts.values), axis=1, kind="stable")[:, :most]
    rows = zip(parts.strategies, large.tolist(), parts.values, strict=True)
    return {agent: {parts.parts[i]: float(row[i]) for i in ids} for agent, ids, row in rows}


def _uniform(problem: OnTasks, parameters: dict[str, Any]) -> Rated:
    made = on_tasks(problem, parameters)
    result = uniform(made.game)
    spread = max(float(np.ptp(own)) for own in result.by_player) or 1.0
    extra = left_out(made, problem)
    return Rated(solution=on_all(result, made), unit=spread, task_ratings=made.of_tasks(result.by_player[-1]), extra=extra)


def support_by_name(names: Sequence[str], mix: Floats) -> dict[str, float]:
    """Name -> probability, for probabilities other than 0."""
    return {names[i]: float(mix[i]) for i in np.flatnonzero(mix).tolist()}


def mixes_by_name(game: Played | KingOfTheHill, mixes: Sequence[Floats], least: float = 0.0) -> dict[str, dict[str, float]]:
    """Player -> strategy -> probability, for probabilities above 0 and at least `least`. Duplicates are listed as the first of them."""
    named = zip(game.players, game.strategies, mixes, strict=True)
    return {player: support_by_name(names, np.where(mix >= least, mix, 0.0)) for player, names, mix in named}


def joints_by_name(game: Played, play: JointDistribution) -> list[dict[str, object]]:
    """The joint strategies of an equilibrium, by name, with their probabilities."""
    return [
        {"joint": [names[i] for names, i in zip(game.strategies, joint, strict=True)], "probability": share}
        for joint, share in zip(play.joints.tolist(), play.probability.tolist(), strict=True)
    ]


def on_all(found: Solution, made: Gamified[Any]) -> Solution:
    """The solution with a rating for every agent of the problem: NaN for an agent that is not in the game."""
    return replace(found, ratings=made.of_agents(found.ratings))


OF_THE_TASK: Final = ("max_seconds", "accept_approximate")
"""Options that users of a service cannot set: each solve has the service's deadline, and an approximate answer is an error."""
_POLICIES: Final = ("refuse", "drop_tasks", "drop_agents", "prior", "zero")
SCALES: Final = ("none", "minmax", "z", "rank", "winrate")
_NORMALISE: Final = Parameter("normalise", "none", "how scores of tasks are normalised to one scale", choices=SCALES)
_MISSING: Final = Parameter("missing", "refuse", "what to do with cells that were not measured, or pairs without games", choices=_POLICIES)
KAPPA: Final = (
    Parameter("kappa", 1.0, "number of results that the prediction is worth, with missing=prior", 1e-6, 1e6),
    Parameter("fit_kappa", False, "as many as games held out speak for, instead of kappa; of whole games"),
)
_MERGE: Final = Parameter("merge", True, "solve exact duplicates as one strategy")
TASKS: Final = (
    Parameter("players", 3, "number of players. 2: agent against task; 3: agent against agent on a task", 2, 3),
    _NORMALISE,
    _MISSING,
    *KAPPA,
    _MERGE,
)
PAIRS: Final = (
    *parameters_of(AgentVsAgentOptions, choices={"missing": ("refuse", "drop_agents", "prior", "zero")}, leave_out=("merge",)),
    *KAPPA,
    *MARGINS,
)
REGISTERED: Final = (
    Method(
        name="nash_average",
        starts=True,
        takes=Takes.TASK_PAIRS,
        run=_nash_average,
        cost=2,
        tie_tolerance=1e-7,
        parameters=(_NORMALISE, _MISSING, *KAPPA, *LOTTERY),
    ),
    Method(
        name="nash_average_agents",
        starts=True,
        takes=Takes.PAIRS,
        run=_nash_average_agents,
        cost=2,
        tie_tolerance=1e-7,
        most_agents=_DENSE_AGENTS,
        parameters=(
            Parameter("payoff", "win_rate", "payoff of an agent against another one", choices=("win_rate", "logit")),
            *PAIRS,
            *LOTTERY,
        ),
    ),
    Method(
        name="deviation",
        takes=Takes.TASK_PAIRS,
        run=_deviation,
        cost=3,
        tie_tolerance=1e-7,
        most_agents=DEVIATION_AGENTS,
        starts=True,
        parameters=(
            *TASKS,
            Parameter(
                "difference",
                "observed",
                "payoff of a task: absolute difference as observed, or with noise subtracted",
                choices=("observed", "denoised"),
            ),
            *parameters_of(DeviationOptions, leave_out=("merge", *OF_THE_TASK)),
            Parameter("explain", 0, "number of tasks listed per agent, with their contributions to its rating", 0, 10_000),
        ),
    ),
    Method(name="uniform", takes=Takes.TASK_PAIRS, run=_uniform, cost=2, tie_tolerance=1e-9, most_agents=_DENSE_AGENTS, parameters=TASKS),
)

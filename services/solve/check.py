"""Checks of results against the reference programs of the papers (`ratings_core.reference`), for small inputs.

A check builds the method's margins or game again and solves it with the reference program. The method and the reference share no solver.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import msgspec
import numpy as np

from ratings_core import reference
from ratings_core.equilibria.cce import CCE
from ratings_core.errors import InputError
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import NormalForm
from ratings_core.methods import registry
from ratings_core.methods.equilibrium import equilibrium_game
from ratings_core.methods.games import against_each_other, on_tasks
from ratings_core.methods.margins import chosen
from ratings_core.methods.registry import Parameters, Taken
from ratings_core.problems.inputs import Problem, sparse_margins, wins
from ratings_core.reference.programs import ENTROPY_ERROR
from ratings_core.solution import Floats
from services.boards.result import SolveResult

LINEAR_ERROR: Final = 1e-7
"""Tolerance of ratings that are computed by linear programs alone, as a fraction of the largest absolute gain."""
LOSS_ERROR: Final = 1e-5
"""Tolerance of a loss outside of the reference's bounds, as a fraction of the sum of absolute margins."""


class Check(msgspec.Struct, frozen=True):
    """Comparison of a result with the reference program of its method, shown as `extra.check` of the result.

    Attributes:
        source: Paper and equation that the program follows.
        program: Name of the reference function.
        compared: Which numbers are compared.
        difference: Largest absolute difference.
        tolerance: Largest difference that the accuracies of both solvers explain.
        agrees: Whether difference <= tolerance.
    """

    source: str
    program: str
    compared: str
    difference: float
    tolerance: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class _Subject:
    """How results of one method are checked.

    Attributes:
        source: Paper and equation that the reference program follows.
        program: Name of the reference function.
        compared: Which numbers are compared.
        unit: What `size` counts.
        most: Largest size that the reference program takes.
        tolerance: Largest difference of a result that agrees, as a fraction of the scale that `compare` returns.
        size: Returns the size of the input.
        compare: Returns the largest absolute difference and the scale of the numbers compared.
    """

    source: str
    program: str
    compared: str
    unit: str
    most: int
    tolerance: float
    size: Callable[[Taken], int]
    compare: Callable[[Taken, SolveResult], tuple[float, float]]


def check(method: str, problem: Problem, parameters: Parameters, result: SolveResult) -> Check:
    """Compare a result with the reference program of its method.

    Args:
        method: Name of the method.
        problem: The problem that was solved.
        parameters: Parameters of the solve.
        result: Result of the solve.

    Returns:
        The comparison.

    Raises:
        InputError: The method has no reference program, the input is too large for it, or the reference program does not support the
            parameters.
        MissingExtraError: cvxpy is not installed.
        SolverError: The solver did not solve the reference program.
    """
    if method not in _SUBJECTS:
        raise InputError("check", method, f"must be a method with a reference program: {', '.join(_SUBJECTS)}")
    subject, taken = _SUBJECTS[method], registry.taken(method, problem, parameters)
    if (size := subject.size(taken)) > subject.most:
        rule = f"must be at most {subject.most} {subject.unit} for the reference program of {method}; remove --check"
        raise InputError("check", size, rule)
    difference, unit = subject.compare(taken, result)
    tolerance = subject.tolerance * unit
    return Check(subject.source, subject.program, subject.compared, difference, tolerance, difference <= tolerance)


def _difference(names: tuple[str, ...], ratings: Floats, result: SolveResult) -> float:
    """Largest absolute difference of ratings; infinite if an agent is rated by only one of the two programs."""
    rating_of = {row.agent: np.nan if row.rating is None else row.rating for row in result.agents}
    answered = np.array([rating_of[name] for name in names])
    if (np.isnan(answered) != np.isnan(ratings)).any():
        return float("inf")
    return float(np.nanmax(np.abs(answered - ratings), initial=0.0))


def _margins(taken: Taken) -> Floats:
    if taken.values.get("mode") == "any":
        raise InputError("mode", "any", "must be auto or maxent with --check: with mode any, several lotteries are correct")
    posterior = chosen(taken.problem, taken.values).posterior
    return np.asarray(sparse_margins(taken.problem).toarray(), np.float64) if posterior is None else posterior.dense()


def _lottery(program: Callable[..., Floats], taken: Taken, result: SolveResult) -> tuple[float, float]:
    """Compare lotteries or levels of lotteries. program: The reference program."""
    ratings = program(_margins(taken), merge=bool(taken.values["merge"]))
    return _difference(taken.problem.names, ratings, result), 1.0


def _nash_average(taken: Taken, result: SolveResult) -> tuple[float, float]:
    made = on_tasks(_any(taken.problem), {**taken.values, "players": 2})
    scores = _dense(made.game)[0]
    averages = reference.nash_average(scores, merge=bool(taken.values["merge"]))
    return _difference(taken.problem.names, made.of_agents(averages.agents), result), float(np.ptp(scores)) or 1.0


def _nash_average_agents(taken: Taken, result: SolveResult) -> tuple[float, float]:
    made, _ = against_each_other(_any(taken.problem), taken.values, str(taken.values["payoff"]))
    payoffs = made.game.payoffs[0]
    ratings, _ = reference.nash_average_agents(payoffs, merge=bool(taken.values["merge"]))
    return _difference(taken.problem.names, made.of_agents(ratings), result), float(np.abs(payoffs).max()) or 1.0


def _deviation(taken: Taken, result: SolveResult) -> tuple[float, float]:
    made = on_tasks(_any(taken.problem), taken.values)
    payoffs = _dense(made.game)
    ratings = reference.deviation_ratings(payoffs)[0]
    return _difference(taken.problem.names, made.of_agents(ratings), result), _largest_gain(payoffs)


def _cce(taken: Taken, result: SolveResult) -> tuple[float, float]:
    made, solved = equilibrium_game(_any(taken.problem), taken.values), cast("CCE", taken.rated().solution)
    payoffs = _dense(made.game)
    nearest = reference.nearest_equilibrium(payoffs, solved.targets, solved.eps)
    of_agents = 1 if isinstance(made.game, KingOfTheHill) else 0
    return _difference(taken.problem.names, made.of_agents(nearest.by_player[of_agents]), result), _largest_gain(payoffs)


def _sco_fit(taken: Taken, result: SolveResult) -> tuple[float, float]:
    if taken.values["prior"]:
        raise InputError("prior", taken.values["prior"], "must be 0 with --check: the paper's program has no prior")
    posterior = chosen(taken.problem, taken.values).posterior
    won = wins(taken.problem) if posterior is None else np.maximum(posterior.dense(), 0.0)
    least = reference.least_sigmoid_loss(won, **{name: float(taken.values[name]) for name in ("tau", "low", "high")})
    loss = float(str(result.extra["loss"]))
    return max(0.0, loss - least.upper, least.lower - loss), float(np.abs(won - won.T).sum()) / 2 or 1.0


def _any(problem: Problem) -> Any:
    """The problem without its static type. `registry.taken` has already checked that the method accepts it."""
    return problem


def _dense(game: Any) -> tuple[Floats, ...]:
    stored = game if isinstance(game, NormalForm) else game.normal_form()
    return tuple(stored.payoffs)


def _largest_gain(payoffs: tuple[Floats, ...]) -> float:
    return float(np.abs(reference.gains(payoffs)).max()) or 1.0


def _agents(taken: Taken) -> int:
    return len(taken.problem.names)


def _agents_and_tasks(taken: Taken) -> int:
    return _agents(taken) + len(_any(taken.problem).tasks)


def _joints_on_tasks(taken: Taken) -> int:
    """Number of joint strategies of the method's game, where one player is the task. Methods without the parameter `players` have three."""
    return int(_agents(taken) ** (int(taken.values.get("players", 3)) - 1)) * len(_any(taken.problem).tasks)


_LOTTERY_SOURCE: Final = "Lanctot et al. 2023, sec. 3.1.1 and C.2.9"
_SUBJECTS: Final = {
    "maximal_lottery": _Subject(
        _LOTTERY_SOURCE, "maximal_lottery", "probabilities", "agents", 60, ENTROPY_ERROR, _agents,
        partial(_lottery, reference.maximal_lottery)
    ),
    "iterated_maximal_lotteries": _Subject(
        f"{_LOTTERY_SOURCE}, Algorithm 1", "iterated_maximal_lotteries", "ratings", "agents", 30, ENTROPY_ERROR, _agents,
        partial(_lottery, reference.iterated_maximal_lotteries)
    ),
    "nash_average": _Subject(
        "Balduzzi et al. 2018, sec. 4", "nash_average", "ratings", "agents and tasks", 100, ENTROPY_ERROR, _agents_and_tasks, _nash_average
    ),
    "nash_average_agents": _Subject(
        "Balduzzi et al. 2018, sec. 3", "nash_average_agents", "ratings", "agents", 60, ENTROPY_ERROR, _agents, _nash_average_agents
    ),
    "deviation": _Subject(
        "Marris et al., Algorithm 1 and eq. 4", "deviation_ratings", "ratings", "joints", 2_000, LINEAR_ERROR, _joints_on_tasks, _deviation
    ),
    "cce": _Subject(
        "Liu et al. 2025, sec. 3.2 and 3.3", "nearest_equilibrium", "ratings", "joints", 2_000, ENTROPY_ERROR, _joints_on_tasks, _cce
    ),
    "sco_fit": _Subject(
        "Lanctot et al. 2025, eq. 8 and appendix C", "least_sigmoid_loss", "loss", "agents", 5, LOSS_ERROR, _agents, _sco_fit
    ),
}  # fmt: skip

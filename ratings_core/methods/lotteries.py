"""The lotteries of the registry.

By default, large pools get any certified maximal lottery of sparse margins; smaller pools get the one of largest entropy.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from ratings_core.errors import InputError
from ratings_core.games import ZeroSumOptions
from ratings_core.margins import PosteriorMargins, posterior_lottery
from ratings_core.methods.margins import MARGINS, chosen, on_margins
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.methods.starts import by_name, nonzero, of_names
from ratings_core.options import Parameter, parameters_of
from ratings_core.problems.inputs import Problem, sparse_margins
from ratings_core.solution import Floats, Solution, Start
from ratings_core.voting.lotteries import LotteryOptions, iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.lottery_records import MaximalLottery

_MAXENT_AGENTS: Final = 5_000
"""Most agents for a lottery of largest entropy with mode=auto. For more agents it takes minutes and hundreds of megabytes."""


def _maximal_lottery(problem: Problem, parameters: dict[str, Any], start: Start | None) -> Rated:
    margins = chosen(problem, parameters)
    if margins.posterior is not None:
        return margins.reported(_posterior_lottery(problem, margins.posterior, margins.rest, start))
    options = _options(problem, margins.rest)
    lottery = maximal_lottery(sparse_margins(problem), options=options, start=_before(start, problem))
    return margins.reported(_elected(problem, lottery, options))


def _posterior_lottery(problem: Problem, margins: PosteriorMargins, parameters: dict[str, Any], start: Start | None) -> Rated:
    """The maximal lottery of posterior margins, for any number of agents.

    Dense margins are computed only for the agents that can be in the lottery; `extra.dense_agents` is their number.
    """
    if parameters["mode"] == "any":
        raise InputError("mode", "any", "must be auto or maxent with posterior margins, or set margins=observed")
    options = LotteryOptions(**{**parameters, "mode": "maxent"})
    lottery = posterior_lottery(margins, options=options, start=_before(start, problem))
    rated = _elected(problem, lottery, options)
    proof = lottery.excluded_by if np.isfinite(lottery.excluded_by) else None
    return replace(rated, extra={**rated.extra, "dense_agents": len(lottery.candidates), "excluded_by": proof})


def _elected(problem: Problem, lottery: MaximalLottery, options: LotteryOptions) -> Rated:
    support = [problem.names[i] for i in lottery.support.tolist()]
    extra: dict[str, object] = {"mode": options.mode, "support": support, "entropy": lottery.entropy, "unique": lottery.unique}
    return Rated(solution=lottery, extra=extra, start=_next("maximal_lottery", problem, lottery, options))


def _iterated_maximal_lotteries(problem: Problem, parameters: dict[str, Any], start: Start | None) -> Rated:
    options = _options(problem, parameters)
    solution = iterated_maximal_lotteries(sparse_margins(problem), options=options, start=_before(start, problem))
    levels = [
        {
            "lottery": {problem.names[i]: share for i, share in zip(level.agents.tolist(), level.lottery.tolist(), strict=True)},
            "exploitability": level.exploitability,
            "status": level.status.value,
        }
        for level in solution.levels
    ]
    after = _next("iterated_maximal_lotteries", problem, solution, options)
    return Rated(solution=solution, extra={"mode": options.mode, "levels": levels}, start=after)


def _before(start: Start | None, problem: Problem) -> Floats | None:
    """Ratings of the previous answer, 0 for agents that were not elected or are new; None without a start."""
    return None if start is None else by_name(start, 0, "ratings", problem.names, 0.0)


def _next(method: str, problem: Problem, solution: Solution, options: LotteryOptions) -> Start | None:
    """The start of the next solve; None unless the lottery is the one of largest entropy."""
    return of_names(method, {"ratings": nonzero(problem.names, solution.ratings)}) if options.mode == "maxent" else None


def _options(problem: Problem, parameters: dict[str, Any]) -> LotteryOptions:
    largest = "maxent" if len(problem.names) <= _MAXENT_AGENTS else "any"
    return LotteryOptions(**{**parameters, "mode": largest if parameters["mode"] == "auto" else parameters["mode"]})


_POSTERIOR_AGENTS: Final = 1_000
"""Most agents for iterated lotteries of posterior margins. These margins are never all 0, so there is about one level for each agent, and
many levels have a cycle to solve.
"""
LOTTERY: Final = parameters_of(ZeroSumOptions, leave_out=("close", "max_seconds", "accept_approximate"))
_PARAMETERS: Final = (
    Parameter(
        "mode",
        "auto",
        "choice among several optimal lotteries: largest entropy, any, or (auto) any above 5,000 agents",
        choices=("auto", "maxent", "any"),
    ),
    *parameters_of(LotteryOptions, leave_out=("close", "max_seconds", "mode")),
    *MARGINS,
)
REGISTERED: Final = (
    Method(
        name="maximal_lottery",
        starts=True,
        takes=Takes.MARGINS,
        run=_maximal_lottery,
        cost=2,
        tie_tolerance=1e-7,
        parameters=_PARAMETERS,
    ),
    Method(
        name="iterated_maximal_lotteries",
        starts=True,
        takes=Takes.MARGINS,
        run=on_margins(_iterated_maximal_lotteries),
        dense_agents=_POSTERIOR_AGENTS,
        cost=3,
        tie_tolerance=1e-7,
        parameters=_PARAMETERS,
    ),
)

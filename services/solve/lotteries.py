"""The lotteries of the registry, and how large pools get one: some certified lottery of margins that stay sparse."""

from typing import Any, Final

from ratings_core.voting.lotteries import iterated_maximal_lotteries, maximal_lottery
from services.solve.inputs import Problem, sparse_margins
from services.solve.method import Method, Rated, Takes
from services.solve.parameters import Parameter

_MAXENT_AGENTS: Final = 5_000
"""A larger pool's lottery of largest entropy takes minutes and hundreds of megabytes."""


def _maximal_lottery(problem: Problem, parameters: dict[str, Any]) -> Rated:
    options = _options(problem, parameters)
    found = maximal_lottery(sparse_margins(problem), **options)
    support = [problem.names[i] for i in found.support.tolist()]
    return Rated(solution=found, extra={"mode": options["mode"], "support": support, "entropy": found.entropy, "unique": found.unique})


def _iterated_maximal_lotteries(problem: Problem, parameters: dict[str, Any]) -> Rated:
    options = _options(problem, parameters)
    found = iterated_maximal_lotteries(sparse_margins(problem), **options)
    levels = [
        {
            "lottery": {problem.names[i]: share for i, share in zip(level.agents.tolist(), level.lottery.tolist(), strict=True)},
            "exploitability": level.exploitability,
            "status": level.status.value,
        }
        for level in found.levels
    ]
    return Rated(solution=found, extra={"mode": options["mode"], "levels": levels})


def _options(problem: Problem, parameters: dict[str, Any]) -> dict[str, Any]:
    if parameters["mode"] != "auto":
        return parameters
    return {**parameters, "mode": "maxent" if len(problem.names) <= _MAXENT_AGENTS else "any"}


LOTTERY: Final = (
    Parameter("merge", True, "exact duplicates share one agent's probability"),
    Parameter("tolerance", 1e-9, "largest exploitability called optimal", 1e-14, 1e-2),
    Parameter("max_iterations", 100, "of the interior point", 1, 10_000),
)
_PARAMETERS: Final = (
    Parameter("mode", "auto", "largest entropy, any, or any above 5,000 agents", choices=("auto", "maxent", "any")),
    *LOTTERY,
    Parameter("accept_approximate", False, "a lottery beyond the tolerance, with how far"),
)
LOTTERIES: Final = (
    Method(
        name="maximal_lottery",
        takes=Takes.MARGINS,
        run=_maximal_lottery,
        cost=2,
        tie_tolerance=1e-7,
        parameters=_PARAMETERS,
    ),
    Method(
        name="iterated_maximal_lotteries",
        takes=Takes.MARGINS,
        run=_iterated_maximal_lotteries,
        cost=3,
        tie_tolerance=1e-7,
        parameters=_PARAMETERS,
    ),
)

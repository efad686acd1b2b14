"""The margins that a pairwise method is solved on: posterior means, or observed margins.

Posterior margins are the default for games, because most pairs of a platform never met, and a single game is little evidence. Observed
margins are the default for ballots, scores and tables of margins. `extra.margins` of every result names the margins used.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.errors import InputError
from ratings_core.margins import PosteriorMargins, posterior_margins
from ratings_core.methods.method import Rated
from ratings_core.options import Parameter
from ratings_core.problems.inputs import MarginsInput, PairsInput, Problem
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts

PESSIMISM: Final = 2.0
"""Posterior standard deviations that are subtracted from a strength. The true strength is higher with a probability of about 97.5 %."""
MARGINS: Final = (
    Parameter(
        "margins",
        "auto",
        "posterior means, or wins less losses as observed; auto: posterior for games, observed for ballots, scores and margins",
        choices=("auto", "posterior", "observed"),
    ),
    Parameter(
        "margins_kappa", 0.0, "games that the predicted margin of a pair counts for, posterior margins; 0: found from data", 0.0, 1e12
    ),
    Parameter(
        "margins_prior",
        1.0,
        "prior of posterior margins: number of games that each agent is assumed to have tied with an average agent",
        1e-6,
        1e6,
    ),
    Parameter("pessimism", PESSIMISM, "number of standard deviations subtracted from each strength, for posterior margins", 0.0, 100.0),
)
"""Parameters that every pairwise method has."""
_NAMES: Final = frozenset(parameter.name for parameter in MARGINS)


@dataclass(frozen=True, slots=True)
class ChosenMargins:
    """The margins that parameters choose.

    Attributes:
        posterior: Posterior margins of the problem's agents; None if margins are observed.
        rest: The method's parameters without those of margins.
    """

    posterior: PosteriorMargins | None
    rest: dict[str, Any]

    def reported(self, rated: Rated) -> Rated:
        """`rated` with a description of these margins in `extra.margins`."""
        return replace(rated, extra={**rated.extra, "margins": report(self.posterior)})


def is_posterior(problem: Problem, parameters: dict[str, Any]) -> bool:
    """Whether these parameters ask for posterior margins of this problem.

    Raises:
        InputError: Posterior margins are requested for a table of margins, which has no numbers of games; or together with a policy for
            missing observed margins.
    """
    asked = parameters["margins"]
    policy = next((name for name in ("missing", "pseudo_count") if parameters.get(name) not in (None, "refuse", 0.0)), None)
    if asked == "posterior" and isinstance(problem, MarginsInput):
        raise InputError("margins", asked, "must be observed for a table of margins, because it has no number of games")
    if asked == "posterior" and policy is not None:
        raise InputError(policy, parameters[policy], "must be left out with margins=posterior, which has a margin for every pair")
    return asked == "posterior" or (asked == "auto" and policy is None and isinstance(problem, PairsInput))


def chosen(problem: Problem, parameters: dict[str, Any]) -> ChosenMargins:
    """The margins that the parameters choose for a problem. Raises `InputError` and `SolverError`."""
    rest = {name: value for name, value in parameters.items() if name not in _NAMES}
    if not is_posterior(problem, parameters) or isinstance(problem, MarginsInput):
        return ChosenMargins(None, rest)
    return ChosenMargins(fitted(of_tally(problem.counts, len(problem.names)), parameters), rest)


def fitted(counts: MetPairs, parameters: dict[str, Any]) -> PosteriorMargins:
    """Compute posterior margins of pairs with a method's parameters. Raises `InputError` and `SolverError`."""
    kappa = parameters["margins_kappa"] or None
    return posterior_margins(counts, kappa=kappa, prior=parameters["margins_prior"], pessimism=parameters["pessimism"])


def one_game_each(margins: Floats) -> PairCounts:
    """Results with one game for every pair, whose result is the expected score that follows from the margin, float64 (n, n)."""
    first, second = np.triu_indices(len(margins), 1)
    won = (1 + margins[first, second]) / 2
    return PairCounts(first.astype(np.int32), second.astype(np.int32), won, 1 - won, np.zeros_like(won))


def on_margins(run: Callable[..., Rated]) -> Callable[..., Rated]:
    """Wrap a method that works on margins only: if its parameters choose posterior margins, it gets a table of these margins."""

    def solve(problem: Problem, parameters: dict[str, Any], **warm: Any) -> Rated:
        margins = chosen(problem, parameters)
        given = problem if margins.posterior is None else MarginsInput(problem.names, margins.posterior.dense())
        return margins.reported(run(given, margins.rest, **warm))

    return solve


def report(margins: PosteriorMargins | None) -> dict[str, object]:
    """Description of margins for `extra.margins`. Infinite numbers become None, because JSON has no infinity."""
    if margins is None:
        return {"kind": "observed"}
    estimate = margins.concentration
    return {
        "kind": "posterior",
        "kappa": _finite(margins.kappa),
        "kappa_low": _finite(estimate.low),
        "kappa_high": _finite(estimate.high),
        "evidence": estimate.evidence,
        "p_value": estimate.p_value,
        "pairs_of_several_decided_games": estimate.pairs,
        "dependence": estimate.dependence,
        "nu": _finite(margins.nu),
        "pessimism": margins.pessimism,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

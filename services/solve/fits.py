"""Fits of the registry: the batch forms of soft Condorcet optimisation. Live boards of the same losses have the names without `_fit`."""

from typing import Any, Final

import numpy as np

from ratings_core.batch.fenchel_young import fenchel_young
from ratings_core.batch.soft_condorcet import soft_condorcet
from services.solve.inputs import MarginsInput, PairsInput, Problem, ProfileInput, ScoresInput
from services.solve.method import Method, Rated, Takes
from services.solve.parameters import Parameter


def _sco_fit(problem: Problem, parameters: dict[str, Any]) -> Rated:
    wins = np.maximum(problem.margins, 0.0) if isinstance(problem, MarginsInput) else problem.counts.sparse(len(problem.names))[0]
    found = soft_condorcet(wins, **parameters)
    winner = None if found.winner is None else problem.names[found.winner]
    extra: dict[str, object] = {"loss": found.loss, "bound": found.bound, "condorcet_winner": winner}
    return Rated(solution=found, unit=found.tau, ranking=found.ranking, extra=extra)


def _fenchel_young_fit(problem: PairsInput | ProfileInput | ScoresInput, parameters: dict[str, Any]) -> Rated:
    found = fenchel_young(*problem.counts.sparse(len(problem.names)), **parameters)
    return Rated(solution=found, unit=found.sigma, extra={"at_bound": int(found.at_bound.sum())})


_BOX: Final = (
    Parameter("low", 0.0, "least rating", -1e9, 1e9),
    Parameter("high", 100.0, "largest rating", -1e9, 1e9),
)
FITS: Final = (
    Method(
        name="sco_fit",
        takes=Takes.MARGINS,
        run=_sco_fit,
        cost=2,
        tie_tolerance=None,
        parameters=(
            Parameter("tau", 1.0, "temperature: differences beyond a few of it hardly matter", 1e-6, 1e9),
            *_BOX,
            Parameter("prior", 0.0, "pull of each rating to the middle of the box", 0.0, 1e6),
            Parameter("tolerance", 1e-6, "largest projected gradient", 1e-14, 0.25),
            Parameter("max_iterations", 2_000, "of L-BFGS at the last temperature", 1, 1_000_000),
            Parameter("accept_approximate", True, "a point above the tolerance"),
        ),
    ),
    Method(
        name="fenchel_young_fit",
        takes=Takes.PAIRS,
        run=_fenchel_young_fit,
        cost=1,
        tie_tolerance=1e-6,
        parameters=(
            Parameter("sigma", 1.0, "scale of the noise, in points", 1e-6, 1e9),
            *_BOX,
            Parameter("prior", 0.0, "votes that tie each agent with one held in the middle", 0.0, 1e6),
            Parameter("tolerance", 1e-8, "largest projected gradient", 1e-14, 1e-2),
            Parameter("max_iterations", 1_000, "of Newton's method", 1, 1_000_000),
            Parameter("accept_approximate", True, "a point above the tolerance"),
        ),
    ),
)

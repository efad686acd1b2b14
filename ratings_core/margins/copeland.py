"""Copeland's rule on posterior margins of any number of agents, by sorting strengths and visiting the pairs that met."""

import time

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import SolverError
from ratings_core.margins.posterior import PosteriorMargins
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.copeland import Copeland

_WIDEST = 1_000.0
"""Difference of strengths, in logits, beyond which every prediction is certain to the last bit."""


def posterior_copeland(margins: PosteriorMargins, *, tie_tolerance: float = 0.0) -> Copeland:
    """Copeland's scores of posterior margins: one point for each agent beaten, half a point for each tied one.

    Args:
        margins: Of m agents.
        tie_tolerance: Margins within it of 0 are ties.

    Returns:
        As `voting.copeland`. Pairs that never met are counted by sorting, so time grows with m log m and the pairs that met.

    Raises:
        InputError: The tolerance is negative, or `margins` are no posterior margins.
        SolverError: Victories and defeats do not add up, which is a bug.
    """
    begun = time.perf_counter()
    tolerance = checks.number("tie_tolerance", tie_tolerance, low=0.0)
    checks.instance("margins", margins, PosteriorMargins)
    beaten, lost = _beaten(margins, tolerance), _lost(margins, tolerance)
    tied = len(margins) - 1 - beaten - lost
    difference = float(abs(int(beaten.sum()) - int(lost.sum())))
    if difference != 0 or tied.min(initial=0) < 0:
        raise SolverError(f"the numbers of victories and defeats differ by {difference:g}; report this bug of the library or a dependency")
    scores = beaten + tied / 2
    return Copeland(
        ratings=scores,
        certificate=Certificate("exact", difference),
        status=Status.OPTIMAL,
        seconds=time.perf_counter() - begun,
        beaten=beaten,
        lost=lost,
        tied=tied,
        ranking=Ranking.from_scores(scores),
    )


def _beaten(margins: PosteriorMargins, tolerance: float) -> NDArray[np.int64]:
    """Number of agents that each agent beats: counted by strength alone, then corrected at the pairs that met."""
    strength, lead = margins.strength, _lead(margins, tolerance)
    by_strength = np.searchsorted(np.sort(strength), strength - lead, side="left")
    met = margins.correction.tocoo()
    predicted = strength[met.col] < strength[met.row] - lead
    change = _met(margins) > tolerance
    return np.asarray(by_strength + np.bincount(met.row, change.astype(float) - predicted, len(margins)), np.int64)


def _lost(margins: PosteriorMargins, tolerance: float) -> NDArray[np.int64]:
    """Number of agents that beat each agent, counted independently of `_beaten`."""
    strength, lead = margins.strength, _lead(margins, tolerance)
    winners = np.sort(strength - lead)
    by_strength = len(margins) - np.searchsorted(winners, strength, side="right")
    met = margins.correction.tocoo()
    predicted = strength[met.col] - lead > strength[met.row]
    change = -_met(margins) > tolerance
    return np.asarray(by_strength + np.bincount(met.row, change.astype(float) - predicted, len(margins)), np.int64)


def _met(margins: PosteriorMargins) -> Floats:
    """Margins at the stored pairs, in the order of the correction's coordinates."""
    met = margins.correction.tocoo()
    return np.asarray(margins.predicted(margins.strength[met.row] - margins.strength[met.col]) + met.data, np.float64)


def _lead(margins: PosteriorMargins, tolerance: float) -> float:
    """Difference of strengths, in logits, beyond which the prediction alone is a victory."""
    if float(margins.predicted(np.array(_WIDEST))) <= tolerance:  # also if all games were ties: every prediction is 0 then
        return float("inf")
    if tolerance == 0:
        return 0.0
    return float(scipy.optimize.brentq(lambda gap: float(margins.predicted(np.array(gap))) - tolerance, 0.0, _WIDEST, xtol=1e-15))

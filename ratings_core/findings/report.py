"""The parts of an insight that outcomes alone determine, for pools, and for games and scores of a caller of the library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ratings_core.analysis.insight import insight
from ratings_core.findings import parts
from ratings_core.findings import records as findings
from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.methods import registry
from ratings_core.methods.rosters import playing
from ratings_core.problems.inputs import GamesInput, ScoresInput

MOST_AGENTS: Final = 100_000
"""Largest number of agents of an insight: the most active ones."""


@dataclass(frozen=True, slots=True)
class OutcomeFindings:
    """What outcomes determine.

    Attributes:
        taken: The games or scores of the agents that were taken, in order of their names.
        left_out: Number of less active agents that were left out.
        parts: Name of a field of `findings.Findings` -> the part: connectivity, cyclicity, order, cycles, clones, top.
        divergence: Certificate of the decomposition behind `cyclicity`; None if there are too few outcomes.
    """

    taken: GamesInput | ScoresInput
    left_out: int
    parts: dict[str, Any]
    divergence: float | None


def of_outcomes(problem: GamesInput | ScoresInput, outcomes: int, standings: Sequence[RankedBoard] = ()) -> OutcomeFindings:
    """Find what outcomes determine.

    Args:
        problem: The games or scores.
        outcomes: Number of outcomes that they count.
        standings: Boards whose leaders are looked at.

    Raises:
        InputError: The problem is invalid.
        SolverError: A computation did not reach its accuracy.
    """
    taken = problem.by_name()
    if isinstance(taken, GamesInput):
        taken = playing(taken)
    n = len(taken.names)
    if n > MOST_AGENTS:
        taken = taken.take(np.sort(np.argsort(-taken.activity, kind="stable")[:MOST_AGENTS]))
    found, divergence = _of_all(taken, outcomes, standings)
    return OutcomeFindings(taken, n - len(taken.names), found, divergence)


def _of_all(taken: GamesInput | ScoresInput, outcomes: int, standings: Sequence[RankedBoard]) -> tuple[dict[str, Any], float | None]:
    """The parts that are computed from outcomes, and the divergence of the decomposition (None if there are too few outcomes)."""
    if lacking := _too_little(taken):
        kinds = (findings.Connectivity, findings.Cyclicity, findings.Order, findings.Cycles, findings.Clones, findings.Top)
        return {kind.__name__.lower(): kind(not_applicable=lacking) for kind in kinds}, None
    two_sided = isinstance(taken, GamesInput) and bool((taken.places.sides == 2).all())
    thin = parts.Thin(taken.counts, len(taken.names))
    weights = parts.other_weights(taken, outcomes)
    analysis = insight(taken.counts, len(taken.names), two_sided=two_sided, unit_weights=weights is None, radius=parts.RADIUS)
    order = parts.order(taken)
    return {
        "connectivity": parts.connectivity(analysis.connectivity, taken.names, thin, standings),
        "cyclicity": parts.cyclicity(analysis, order, two_sided=two_sided),
        "order": order,
        "cycles": parts.cycles(analysis, taken, weights),
        "clones": parts.clones(analysis, taken, thin),
        "top": parts.top(taken, analysis.flip, weights, standings),
    }, analysis.divergence


def _too_little(taken: GamesInput | ScoresInput) -> str:
    if len(taken.names) < 2:
        return f"needs two agents at least, there are {len(taken.names)}"
    if len(taken.counts):
        return ""
    return "no task measured two agents" if isinstance(taken, ScoresInput) else registry.NO_PAIRS

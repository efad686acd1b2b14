"""Intervals that need no refits: sandwich intervals of Bradley-Terry and Davidson ratings, computed with the solve itself."""

from collections.abc import Sequence
from math import isinf
from typing import Final

import msgspec
import numpy as np

from ratings_core.analysis.normal_intervals import NORMAL_AGENTS, normal_intervals
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.errors import SolverError
from ratings_core.methods import registry
from ratings_core.methods.registry import Parameters, Taken
from ratings_core.methods.resampling import assumed
from ratings_core.problems.inputs import GamesInput, PairsInput, Problem
from ratings_core.solution import Floats
from services.boards.result import Intervals, SolveResult

NORMAL_METHODS: Final = frozenset({"bradley_terry", "davidson"})


def with_normal_intervals(method: str, problem: Problem, parameters: Parameters, result: SolveResult) -> SolveResult | None:
    """A result with its sandwich intervals.

    Args:
        method: The solved method.
        problem: The problem that was solved, with groups of games if the pool keeps them.
        parameters: Parameters of the solve.
        result: Result of the solve.

    Returns:
        The same result with intervals; None if the method, the size of the pool or the kind of data has no such intervals, or the
        method computes its own intervals.
    """
    if method not in NORMAL_METHODS or isinstance(result.intervals, Intervals) or not result.agents:
        return None
    taken = registry.taken(method, problem, parameters)
    pairs = taken.problem
    if not isinstance(pairs, PairsInput) or len(pairs.names) > NORMAL_AGENTS:
        return None
    groups = tuple(of_tally(group, len(pairs.names)) for group in pairs.groups) if isinstance(pairs, GamesInput) else ()
    counts = of_tally(pairs.counts, len(pairs.names))
    integral = all((column == np.floor(column)).all() for column in (counts.won, counts.tied, counts.lost))
    if not groups and not integral:  # fractional counts: games do not all weigh 1
        return None
    return _with_rows(result, taken, counts, groups)


def _with_rows(result: SolveResult, taken: Taken, counts: MetPairs, groups: Sequence[MetPairs]) -> SolveResult | None:
    names, scale, centre = taken.problem.names, float(taken.values["scale"]), float(taken.values["centre"])
    by_name = {row.agent: row.rating for row in result.agents}
    theta = np.array([np.nan if by_name[name] is None else (by_name[name] - centre) / scale for name in names])  # type: ignore[operator]
    try:
        intervals = normal_intervals(counts, theta, nu=_nu(result), prior=float(taken.values["prior"]), groups=groups)
    except SolverError:
        return None
    at = {name: i for i, name in enumerate(names)}
    ends = (centre + scale * intervals.low, centre + scale * intervals.high)
    rows = [
        msgspec.structs.replace(
            row,
            **_ends(ends, at[row.agent]),
            rank_low=int(intervals.rank_low[at[row.agent]]),
            rank_high=int(intervals.rank_high[at[row.agent]]),
        )
        for row in result.agents
    ]
    description = Intervals(kind="clustered" if groups else "sandwich", assumes=assumed(taken.problem, taken.method), settled=True)
    return msgspec.structs.replace(result, agents=rows, intervals=description)


def _ends(ends: tuple[Floats, Floats], i: int) -> dict[str, float | None]:
    low, high = (float(side[i]) if np.isfinite(side[i]) else None for side in ends)
    return {"low": low, "high": high}


def _nu(result: SolveResult) -> float | None:
    """Davidson's tie parameter; None for Bradley-Terry, and if all games or no games are tied."""
    nu = result.extra.get("nu")
    return float(nu) if isinstance(nu, float) and not isinf(nu) and nu > 0 else None

"""Answers of solved methods as `Rating`, with intervals if they are wanted."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from math import isinf
from typing import Final

import numpy as np

from ratings_core.analysis.normal_intervals import NORMAL_AGENTS, normal_intervals
from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import SolverError
from ratings_core.front.rating import Rating
from ratings_core.methods.method import Rated
from ratings_core.methods.refits import LEVEL, Refits, around, reach_of, sample
from ratings_core.methods.registry import Taken, ranking_of, taken
from ratings_core.methods.resampling import assumed, has_differences, normal_reach, possible_ratings, resampling
from ratings_core.options import Value
from ratings_core.problems.inputs import GamesInput, PairsInput, Problem
from ratings_core.words import counted

_NORMAL: Final = frozenset({"bradley_terry", "davidson"})
"""Methods with normal intervals, which need no replicates."""


def solved(method: str, problem: Problem, options: Mapping[str, Value], interval_seconds: float | None = None) -> Rating:
    """Solve a problem.

    Args:
        method: Name of a solved method.
        problem: The problem.
        options: Options of the method by name.
        interval_seconds: Time limit of draws or refits for intervals; None for no intervals.

    Raises:
        InputError: An option is unknown, or the method does not apply to the problem.
        SolverError: The method did not reach its accuracy.
    """
    run = taken(method, problem, options)
    rated = run.rated()
    rating = _rating(run, rated)
    if interval_seconds is None or rating.level is not None:
        return rating
    return _with_normal(run, rating) or _with_replicates(run, rating, interval_seconds)


def _rating(run: Taken, rated: Rated) -> Rating:
    solution = rated.solution
    return Rating(
        method=run.method.name,
        names=run.problem.names,
        ratings=solution.ratings,
        ranking=ranking_of(run.method, rated),
        games=run.problem.activity,
        certificate=solution.certificate,
        status=solution.status.value,
        low=rated.low,
        high=rated.high,
        rank_low=rated.rank_low,
        rank_high=rated.rank_high,
        level=None if rated.low is None else float(rated.extra["interval"]),  # type: ignore[arg-type]
        extra={**run.about, **rated.extra, **_own_intervals(run, rated), **_seed(run)},
        seconds=solution.seconds,
        chances=getattr(solution, "lottery", None),
        expects=getattr(solution, "expected_score", None),
    )


def _own_intervals(run: Taken, rated: Rated) -> dict[str, str]:
    """What the method made its own intervals of, by its name in `extra`; empty without intervals."""
    if rated.low is None:
        return {}
    replicates = int(run.values.get("replicates", 0))
    return {"intervals": counted(replicates, "refit") if replicates else f"normal ({run.values['standard_errors']})"}


def _seed(run: Taken) -> dict[str, Value]:
    """The random seed that the method used, by its name in `extra`; empty without one."""
    is_used = "seed" in run.values and run.values.get("tie_rule", "seed") == "seed"
    return {"seed": run.values["seed"]} if is_used else {}


def _with_normal(run: Taken, rating: Rating) -> Rating | None:
    """The rating with sandwich intervals; None if the method or the data have none."""
    problem = run.problem
    if run.method.name not in _NORMAL or not isinstance(problem, PairsInput) or len(problem.names) > NORMAL_AGENTS:
        return None
    groups = tuple(of_tally(group, len(problem.names)) for group in problem.groups) if isinstance(problem, GamesInput) else ()
    counts = of_tally(problem.counts, len(problem.names))
    if not groups and not all((column == np.floor(column)).all() for column in (counts.won, counts.tied, counts.lost)):
        return None
    scale, centre, nu = float(run.values["scale"]), float(run.values["centre"]), rating.extra.get("nu")
    try:
        ends = normal_intervals(
            counts,
            (rating.ratings - centre) / scale,
            nu=float(nu) if isinstance(nu, float) and not isinf(nu) and nu > 0 else None,
            prior=float(run.values["prior"]),
            groups=groups,
        )
    except SolverError:
        return None
    return replace(
        rating,
        low=centre + scale * ends.low,
        high=centre + scale * ends.high,
        rank_low=ends.rank_low,
        rank_high=ends.rank_high,
        level=LEVEL,
        extra={**rating.extra, "intervals": "normal (sandwich)", "assumes": assumed(problem, run.method)},
    )


def _with_replicates(run: Taken, rating: Rating, seconds: float) -> Rating:
    """The rating with intervals from draws or refits. `extra` says how many, or why there are no intervals if there were too few."""
    source = resampling(run.problem, run.method, run.values)
    differences = has_differences(run.method)
    replicates = Refits(rating.ratings, rating.ranking.ids, seconds, units=source.units, differences=differences, kind=source.kind)
    seed = int.from_bytes(blake2b(run.method.name.encode(), digest_size=8).digest(), "little")
    while not replicates.done:
        first, most = replicates.next
        replicates.add(sample(run, source, seed, first, most, replicates.left))
    if (why := replicates.why_not) is not None:
        return replace(rating, extra={**rating.extra, "no_intervals_because": why})
    ends = replicates.intervals()
    reach, possible = reach_of(ends, normal_reach(run.method, source)), possible_ratings(run.method, len(run.problem.names))
    low, high = around(rating.ratings, ends, reach, possible)
    rank = rating.ranking.rank
    about = {"intervals": replicates.count, "assumes": source.assumes, "interval_seed": seed}
    return replace(
        rating,
        low=low,
        high=high,
        rank_low=np.minimum(ends.rank_low, rank),
        rank_high=np.maximum(ends.rank_high, rank),
        level=LEVEL,
        extra={**rating.extra, **about},
    )

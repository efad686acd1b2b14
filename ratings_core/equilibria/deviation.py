"""Deviation ratings: what a strategy would gain by itself in the strictest coarse correlated equilibrium (Marris et al.).

Of all joint distributions take those whose largest deviation gain is least, of those the ones whose next largest is least, and
so on (their Algorithm 1). Many distributions may be left, but the gains they give are unique, and are the ratings: at most 0
(equation 4, properties 1 to 3). Clones and what a player gets whatever it plays (offsets) change nothing (properties 5 and 6),
and a strategy that is always at least as good as another is rated at least as high (property 4).

Two more hold with conditions that the paper does not state. A strategy that mixes others changes nothing where those have equal
ratings, or where the first step leaves no choice of gains; elsewhere it may (property 7), as its row competes for the next place
once some of its parts have theirs. In two-player zero-sum games the ratings are the Nash averages minus the value where the
equilibrium is unique (property 8); of several equilibria this choice need not be the one of largest entropy.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import Deadline
from ratings_core.equilibria import starts
from ratings_core.equilibria.lexicographic import LeastGains, least_gains
from ratings_core.equilibria.options import DeviationOptions
from ratings_core.equilibria.record import GameRatings, facts_of_joint
from ratings_core.errors import InputError, SolverError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.gain_matrix import GainMatrix
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import JointDistribution, NormalForm, deviation_gains
from ratings_core.games.symmetry import Reduction, reduced
from ratings_core.solution import Certificate, Floats, Status

_NAME = "deviation"
LARGEST_UNIT_RATIO: Final = 1e6
"""Largest unit of a player over the smallest one up to which ratings are called optimal. Gains are rounded in the largest unit, so
beyond it the certificate misses errors (seen: 8e-5 of the largest unit at a ratio of 1e9)."""


_DEFAULTS: Final = DeviationOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation(GameRatings):
    """ratings: of the first player's strategies, in its payoffs' unit, at most 0 up to rounding.

    play: a distribution that has these gains, one of possibly many, on clones' first members; marginals, payoffs, support: of it, which
    other distributions need not share; unit: the largest difference that a player's own choice can make to its payoff, 1 where there is
    none; start: for a later solve of a like game; its array `joints` (k, N) has the joints that
    the programs came down to.
    certificate: ``rating_error`` over `unit`: the largest error of a level's program, summed along the levels that each one was built
    on with their multipliers (to first order), plus the largest difference of the ratings from the gains of `play` in the
    game as given.
    """

    play: JointDistribution
    unit: float
    start: starts.Start


def deviation(
    game: NormalForm | AgentAgentTask | KingOfTheHill, *, options: DeviationOptions = _DEFAULTS, start: starts.Start | None = None
) -> Deviation:
    """Deviation ratings of all players' strategies.

    game: any number of players, general sum; one factor scales all players' payoffs alike, as the ratings depend on how their
    units compare (at most `LARGEST_UNIT_RATIO` apart);
    options.merge: exact clones are taken out first and rated as their first, which changes no rating; options.max_solves: a few for each
    strategy are needed; start: of the answer for a like game, whose strategies are found by name; it saves work and changes no rating.

    Raises `InputError` for bad arguments, `SolverError` (with the ratings found) beyond the tolerance.
    """
    DeviationOptions.require(options)
    started = time.perf_counter()
    deadline, tolerance = Deadline.within(options.max_seconds), options.tolerance
    small = reduced(game, merge=options.merge)
    least = _certain(small.gains, tolerance, options.max_solves, _joints(start, game, small), deadline)
    by_player = tuple(small.unit * ratings for ratings in small.of_strategies(least.gains))
    play = small.play(least.ids, least.probability)
    error = float(least.errors.max()) + _difference(deviation_gains(game, play), by_player) / small.unit
    certain = least.complete and error <= tolerance and small.unit_ratio <= LARGEST_UNIT_RATIO
    found = Deviation(
        ratings=by_player[0],
        certificate=Certificate("rating_error", error),
        status=Status.OPTIMAL if certain else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={**least.stats, "merged": small.merged, "unit_ratio": small.unit_ratio},
        by_player=by_player,
        play=play,
        unit=small.unit,
        **facts_of_joint(game, play),
        start=starts.Start(_NAME, game.strategies, {"joints": small.joints(least.used)}),
    )
    return found if options.accept_approximate else _accepted(found, least, tolerance)


def _certain(gains: GainMatrix, tolerance: float, max_solves: int, start: NDArray[np.int64] | None, deadline: Deadline) -> LeastGains:
    """The better of two searches where one is not certain enough: the second begins with the joints that the first came down to.

    Near copies make the first one's programs ill-conditioned while it finds its joints; those alone leave mostly a better basis.
    """
    first = least_gains(gains, max_solves=max_solves, start=start, deadline=deadline)
    left = max_solves - int(first.stats["solves"])
    if not first.complete or first.errors.max() <= tolerance or left < 1:
        return first
    try:
        second = least_gains(gains, max_solves=left, start=first.used, deadline=deadline)
    except SolverError:
        return first  # a program that no method could solve says nothing against what the first search found
    better = second if second.complete and second.errors.max() < first.errors.max() else first
    work = {name: first.stats[name] + second.stats[name] for name in ("solves", "iterations", "cold_starts")}
    return replace(better, stats={**better.stats, **work, "searches": 2})


def _joints(given: starts.Start | None, game: NormalForm | AgentAgentTask | KingOfTheHill, small: Reduction) -> NDArray[np.int64] | None:
    """Those of a start whose strategies are all still there, as joints of the reduced game."""
    start = starts.accepted(given, _NAME, game)
    if start is None:
        return None
    places = starts.places(start, game)
    joints = starts.array(start, "joints", (None, len(places)))
    if not np.issubdtype(joints.dtype, np.integer) or (joints < 0).any() or (joints >= [len(own) for own in places]).any():
        raise InputError("start.joints", joints.dtype.name, "must be ids of its strategies")
    now = np.column_stack([own[joints[:, p]] for p, own in enumerate(places)])
    return small.ids(now[(now >= 0).all(axis=1)])


def _difference(gains: tuple[Floats, ...], ratings: tuple[Floats, ...]) -> float:
    return max(float(np.abs(own - rated).max()) for own, rated in zip(gains, ratings, strict=True))


def _accepted(found: Deviation, least: LeastGains, tolerance: float) -> Deviation:
    if found.status is Status.OPTIMAL:
        return found
    ratio = found.stats["unit_ratio"]
    if ratio > LARGEST_UNIT_RATIO:
        raise SolverError(
            f"deviation ratings are not certain: the players' payoffs have units {ratio:.2g} apart, and at most {LARGEST_UNIT_RATIO:g} "
            "can be certified; scale the payoffs of the players, or pass accept_approximate=True",
            found,
        )
    why = f"they may be off by {found.certificate.value:.2g}" if least.complete else f"{found.stats['solves']:.0f} programs were not enough"
    raise SolverError(
        f"deviation ratings are not certain to tolerance {tolerance:g} of the payoffs' spread: {why}; raise tolerance, max_solves or "
        "max_seconds, round the payoffs, or pass accept_approximate=True",
        found,
    )

"""Deviation ratings: the gain of always playing a strategy in the strictest coarse correlated equilibrium (Marris et al.).

Take the joint distributions that minimise the largest deviation gain, among these the ones that minimise the second largest gain, and so on
(their Algorithm 1). Many distributions may remain, but their gains are unique. These gains are the ratings, at most 0 (equation 4,
properties 1 to 3). Clones and offsets (parts of a payoff that do not depend on the player's choice) change no rating (properties 5 and 6).
A strategy that is always at least as good as another is rated at least as high (property 4).

Two more properties hold with conditions that the paper does not state. A strategy that mixes other strategies changes no rating if those
have equal ratings, or if the first step determines all gains. Otherwise it may change ratings (property 7), because its row competes for
the next level when some of its parts are already fixed. In two-player zero-sum games, the ratings are the Nash averages minus the value if
the equilibrium is unique (property 8). Among several equilibria, the method need not choose the equilibrium of largest entropy.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import Deadline
from ratings_core.equilibria import starts
from ratings_core.equilibria.exact_gains import least_gains_exactly
from ratings_core.equilibria.lexicographic import LeastGains, least_gains
from ratings_core.equilibria.options import DeviationOptions
from ratings_core.equilibria.record import GameRatings, facts_of_joint
from ratings_core.equilibria.unit_ratio import LARGEST_UNIT_RATIO, units_too_far_apart
from ratings_core.errors import InputError, SolverError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.gain_matrix import GainMatrix
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import JointDistribution, NormalForm, deviation_gains
from ratings_core.games.symmetry import Reduction, reduced
from ratings_core.solution import Certificate, Floats, Start, Status

_NAME = "deviation"
EXACT_ENTRIES: Final = 2000
"""Games of at most so many strategies times joints, without copies, are solved in whole numbers, in up to some tens of milliseconds."""


_DEFAULTS: Final = DeviationOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation(GameRatings):
    """ratings: of the first player's strategies, in its payoffs' unit, at most 0 up to rounding.

    play: a distribution with these gains, possibly one of many, on clones' first members; marginals, payoffs, support: of play; other
    distributions may have other ones; unit: the largest difference that a player's own choice can make to its payoff, 1 if no choice
    matters; start: for a later solve of a similar game; its array `joints` (k, N) has the joints with positive probability at the optimum
    of some level.
    certificate: ``rating_error`` over `unit`: the largest error of a level's program, including the errors of the levels that it depends
    on, weighted with their multipliers (to first order), plus the largest difference between the ratings and the gains of `play` in the
    original game. Games of at most `EXACT_ENTRIES` have exact levels (`stats.exact`). In larger games, the first order misses errors where
    strategies differ by less than about 1e-8 of `unit`: they can be rated as exact copies.
    """

    play: JointDistribution
    unit: float
    start: Start


def deviation(
    game: NormalForm | AgentAgentTask | KingOfTheHill, *, options: DeviationOptions = _DEFAULTS, start: Start | None = None
) -> Deviation:
    """Deviation ratings of all players' strategies.

    game: any number of players, general sum. One factor scales all players' payoffs, because the ratings depend on the ratio of their units
    (at most `LARGEST_UNIT_RATIO`);
    options.merge: exact clones are removed first and get the rating of the first, which changes no rating; options.max_solves: a few for
    each strategy are needed; start: from the answer for a similar game, whose strategies are matched by name. It saves work in games that
    are not solved exactly, and changes no rating.

    Raises `InputError` for invalid arguments, `SolverError` (with the ratings) beyond the tolerance.
    """
    DeviationOptions.require(options)
    started = time.perf_counter()
    deadline, tolerance = Deadline.within(options.max_seconds), options.tolerance
    small = reduced(game, merge=options.merge)
    joints = _joints(start, game, small)
    if small.gains.rows * small.gains.joint_count <= EXACT_ENTRIES:
        least = least_gains_exactly(small.gains, small.whole, max_solves=options.max_solves, deadline=deadline)
    else:
        least = _certain(small.gains, tolerance, options.max_solves, joints, deadline)
    by_player = tuple(small.unit * ratings for ratings in small.of_strategies(least.gains))
    play = small.play(least.ids, least.probability)
    error = float(least.errors.max()) + _difference(deviation_gains(game, play), by_player) / small.unit
    certain = least.complete and error <= tolerance and small.unit_ratio <= LARGEST_UNIT_RATIO
    result = Deviation(
        ratings=by_player[0],
        certificate=Certificate("rating_error", error),
        status=Status.OPTIMAL if certain else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={**least.stats, "merged": small.merged, "unit_ratio": small.unit_ratio},
        by_player=by_player,
        play=play,
        unit=small.unit,
        **facts_of_joint(game, play),
        start=Start(_NAME, game.strategies, {"joints": small.joints(least.used)}),
    )
    return result if options.accept_approximate else _accepted(result, least, tolerance)


def _certain(gains: GainMatrix, tolerance: float, max_solves: int, start: NDArray[np.int64] | None, deadline: Deadline) -> LeastGains:
    """The result of a search, or the better of two searches if the first is not certain enough.

    The second search starts with the joints that the first one used. Near copies make programs ill-conditioned while joints are added; the
    final joints alone usually give a better basis.
    """
    first = least_gains(gains, max_solves=max_solves, start=start, deadline=deadline)
    left = max_solves - int(first.stats["solves"])
    if not first.complete or first.errors.max() <= tolerance or left < 1:
        return first
    try:
        second = least_gains(gains, max_solves=left, start=first.used, deadline=deadline)
    except SolverError:
        return first  # the first result is still valid if the second search meets a program that cannot be solved
    better = second if second.complete and second.errors.max() < first.errors.max() else first
    work = {name: first.stats[name] + second.stats[name] for name in ("solves", "iterations", "cold_starts")}
    return replace(better, stats={**better.stats, **work, "searches": 2})


def _joints(given: Start | None, game: NormalForm | AgentAgentTask | KingOfTheHill, small: Reduction) -> NDArray[np.int64] | None:
    """Joints of a start as ids of joints of the reduced game, without joints of removed strategies. None without a start."""
    start = starts.accepted(given, _NAME, game)
    if start is None:
        return None
    places = starts.places(start, game)
    joints = starts.array(start, "joints", (None, len(places)))
    if not np.issubdtype(joints.dtype, np.integer) or (joints < 0).any() or (joints >= [len(own) for own in places]).any():
        raise InputError("start.joints", joints.dtype.name, "must contain ids of the game's strategies")
    now = np.column_stack([own[joints[:, p]] for p, own in enumerate(places)])
    return small.ids(now[(now >= 0).all(axis=1)])


def _difference(gains: tuple[Floats, ...], ratings: tuple[Floats, ...]) -> float:
    return max(float(np.abs(own - rated).max()) for own, rated in zip(gains, ratings, strict=True))


def _accepted(result: Deviation, least: LeastGains, tolerance: float) -> Deviation:
    if result.status is Status.OPTIMAL:
        return result
    ratio = result.stats["unit_ratio"]
    if ratio > LARGEST_UNIT_RATIO:
        raise units_too_far_apart("deviation ratings", ratio, result)
    unfinished = f"{result.stats['solves']:.0f} programs did not determine all ratings"
    why = f"their error may be {result.certificate.value:.2g}" if least.complete else unfinished
    raise SolverError(
        f"deviation ratings do not reach tolerance {tolerance:g} of the payoffs' spread: {why}; raise tolerance, max_solves or "
        "max_seconds, round the payoffs, or pass accept_approximate=True",
        result,
    )

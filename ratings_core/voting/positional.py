"""Scoring rules: plurality, approval of the first k, and Borda's count, from votes or from counts of places.

Tied alternatives of a vote share the points of their places equally, so ties do not change the total points of a vote.
"""

import time
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.records.outcomes import MAX_PLACE
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.tallies.place_tally import PlaceCounts
from ratings_core.voting.profile import Profile, Unlisted
from ratings_core.voting.ties import TieRule, Voted, settled

Votes: TypeAlias = Profile | PlaceCounts

UnlistedPairs: TypeAlias = Literal["none", "half"]
"""Points that two alternatives receive for each other from a vote that lists neither."""

_ROUNDING = 1e-12


def plurality(votes: Votes, *, agents: int | None = None, ties: TieRule = "keep") -> Voted:
    """Plurality (VasE, app. C.2.2): one point for the top alternative of each vote.

    votes: a profile, or counts of places; counts need the number of agents, `agents`. The ratings are points, in votes. The rule is
    population consistent, but not clone consistent: a clone of the winner divides its votes. The certificate (``exact``) is the difference
    of the points summed by agent and by vote, divided by all points. Raises `InputError`.
    """
    begun = time.perf_counter()
    places, m = _places(votes, agents)
    return _scored(places, m, approval_points(places, 1), ties, begun)


def approval(votes: Votes, k: int, *, agents: int | None = None, ties: TieRule = "keep") -> Voted:
    """k-approval (VasE, app. C.2.1): one point for each of the first k alternatives of a vote; k = 1 is plurality.

    Alternatives tied across place k share the points of the places up to k. A vote with fewer than k alternatives approves all of them.
    Other arguments, result and errors as for `plurality`.
    """
    begun = time.perf_counter()
    limit = min(checks.count("k", k, low=1), MAX_PLACE)
    places, m = _places(votes, agents)
    return _scored(places, m, approval_points(places, limit), ties, begun)


def borda(
    votes: Votes,
    *,
    unlisted: Unlisted = "last",
    unlisted_pairs: UnlistedPairs = "none",
    agents: int | None = None,
    ties: TieRule = "keep",
) -> Voted:
    """Borda's count (VasE, app. C.2.3): a point for each other alternative below in a vote, half a point for each tied one.

    With the default options the score is the row sum of N plus half the ties, so it uses the same data as every pairwise method.

    Args:
        votes: As in `plurality`.
        unlisted: With ``last`` a listed alternative also gets a point for each unlisted one. With ``unknown``, and always for places of
            games, a vote compares listed alternatives only, so alternatives in few or short votes get low scores (app. E).
        unlisted_pairs: Points for two alternatives that a vote does not list. ``none``: no points. ``half``: half a point each, as if they
            were tied below the listed ones; every vote then gives the same number of points.
        agents: As in `plurality`.
        ties: As in `plurality`.

    Raises:
        InputError: An option is invalid, or ``half`` is combined with votes whose unlisted alternatives do not come last.
    """
    begun = time.perf_counter()
    places, m = _places(votes, agents)
    checks.choice("unlisted", unlisted, get_args(Unlisted))
    checks.choice("unlisted_pairs", unlisted_pairs, get_args(UnlistedPairs))
    last = unlisted == "last" and isinstance(votes, Profile)
    if unlisted_pairs == "half" and not last:
        raise InputError("unlisted_pairs", unlisted_pairs, "must be none, unless ballots have unlisted alternatives that come last")
    compared = m if last else places.sides
    points = borda_points(places, compared)
    if unlisted_pairs == "none":
        return _scored(places, m, points, ties, begun)
    total = m * (m - 1) / 2 * float((places.weight / places.sides).sum())
    return _scored(places, m, points, ties, begun, more=unlisted_points(places, m), total=total)


def approval_points(places: PlaceCounts, k: int) -> Floats:
    """Points of each row of `places` for a unit of weight under `approval` (rows,); k = 1: under `plurality`."""
    return np.asarray(np.clip((k - places.ahead) / places.tied, 0.0, 1.0), np.float64)


def borda_points(places: PlaceCounts, compared: Any) -> Floats:
    """Points of each row of `places` for a unit of weight under `borda` with `unlisted_pairs` none (rows,).

    compared: number of alternatives that a vote compares: of each row, or the same for all.
    """
    return np.asarray(compared - 1 - places.ahead - (places.tied - 1) / 2, np.float64)


def unlisted_points(places: PlaceCounts, m: int) -> Floats:
    """Points (m,) from votes that do not list an alternative: half a point for each other unlisted alternative of the vote."""
    half = places.weight * (m - places.sides - 1) / 2
    of_every_vote = float((half / places.sides).sum())  # a vote with s alternatives has s rows
    return np.asarray(of_every_vote - np.bincount(places.agent, half, m), np.float64)


def _places(votes: Votes, agents: int | None) -> tuple[PlaceCounts, int]:
    if isinstance(votes, Profile):
        if agents is not None and checks.count("agents", agents) != len(votes.names):
            raise InputError("agents", agents, f"must be left out, or {len(votes.names)} as in the profile")
        return votes.place_counts(), len(votes.names)
    checks.instance("votes", votes, Profile, PlaceCounts)
    least = int(votes.agent.max(initial=0)) + 1
    return votes, checks.count("agents", agents, low=least, high=checks.MAX_IDS)


def _scored(
    places: PlaceCounts, m: int, points: Floats, ties: TieRule, begun: float, more: Floats | None = None, total: float | None = None
) -> Voted:
    """The result of a scoring rule. points: of each row of `places`, per unit of weight.

    more: points of each agent (m,) in addition to those of the rows; total: points of all votes, by default the sum over rows.
    """
    given = places.weight * points
    scores = np.asarray(np.bincount(places.agent, given, m), np.float64)
    if more is not None:
        scores += more
    if total is None:
        total = float(given.sum())
    difference = abs(float(scores.sum()) - total) / (total or 1.0)
    ranking, broken = settled(Ranking.from_scores(scores, _ROUNDING * float(scores.max())), ties)
    return Voted(
        ratings=scores,
        certificate=Certificate("exact", difference),
        status=Status.OPTIMAL if difference <= 1e-9 else Status.FAILED,
        seconds=time.perf_counter() - begun,
        ranking=ranking,
        ties=ties,
        broken=broken,
    )

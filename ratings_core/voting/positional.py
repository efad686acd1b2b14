"""Scoring rules: plurality, approval of the first k, and Borda's count, from votes or from counts of places.

A tie inside a vote shares the points of the places it takes up evenly, so every vote gives the same points in all.
"""

import time
from typing import Literal, TypeAlias, get_args

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
"""What two alternatives get from a vote that lists neither of them."""

_ROUNDING = 1e-12


def plurality(votes: Votes, *, agents: int | None = None, ties: TieRule = "keep") -> Voted:
    """Plurality (VasE, app. C.2.2): one point for the top of each vote.

    votes: a profile, or counts of places, which need `agents`, how many there are. ratings: points, in votes. Population
    consistent; a clone of the winner takes its votes away. The certificate (``exact``) is the largest difference between points
    counted by agent and by place, over all points. Raises `InputError`.
    """
    begun = time.perf_counter()
    places, m = _places(votes, agents)
    return _scored(places, m, (places.ahead == 0) / places.tied, ties, begun)


def approval(votes: Votes, k: int, *, agents: int | None = None, ties: TieRule = "keep") -> Voted:
    """k-approval (VasE, app. C.2.1): one point for each of the first k of a vote; k = 1 is plurality.

    Members of a tie across place k share the places up to k. A vote of fewer than k alternatives approves all it lists. Otherwise
    as `plurality`.
    """
    begun = time.perf_counter()
    limit = min(checks.count("k", k, low=1), MAX_PLACE)
    places, m = _places(votes, agents)
    return _scored(places, m, np.clip((limit - places.ahead) / places.tied, 0.0, 1.0), ties, begun)


def borda(
    votes: Votes,
    *,
    unlisted: Unlisted = "last",
    unlisted_pairs: UnlistedPairs = "none",
    agents: int | None = None,
    ties: TieRule = "keep",
) -> Voted:
    """Borda's count (VasE, app. C.2.3): a point for each other alternative below in a vote, half a point for each tied one.

    With the default options this is the row sum of N plus half the ties, so it sees what every pairwise method sees.

    Args:
        votes: As in `plurality`.
        unlisted: With ``last`` a listed alternative also gets a point for each unlisted one. With ``unknown`` a vote compares what it
            lists only (places of games always do), and alternatives in few or short votes score low for that alone (app. E).
        unlisted_pairs: What two alternatives get that a vote does not list. ``none``: nothing, as the vote says nothing of them.
            ``half``: half a point each, as if tied below the listed ones. Then every vote gives the same number of points.
        agents: As in `plurality`.
        ties: As in `plurality`.

    Raises:
        InputError: For invalid options, and for ``half`` where unlisted alternatives do not come last.
    """
    begun = time.perf_counter()
    places, m = _places(votes, agents)
    checks.choice("unlisted", unlisted, get_args(Unlisted))
    checks.choice("unlisted_pairs", unlisted_pairs, get_args(UnlistedPairs))
    last = unlisted == "last" and isinstance(votes, Profile)
    if unlisted_pairs == "half" and not last:
        raise InputError("unlisted_pairs", unlisted_pairs, "must be none, unless ballots have unlisted alternatives that come last")
    compared = m if last else places.sides
    points = compared - 1 - places.ahead - (places.tied - 1) / 2
    if unlisted_pairs == "none":
        return _scored(places, m, points, ties, begun)
    total = m * (m - 1) / 2 * float((places.weight / places.sides).sum())
    return _scored(places, m, points, ties, begun, more=_of_unlisted_pairs(places, m), total=total)


def _of_unlisted_pairs(places: PlaceCounts, m: int) -> Floats:
    """For each alternative, half a point for each other unlisted one from every vote that does not list it. Shape (m,)."""
    half = places.weight * (m - places.sides - 1) / 2
    of_every_vote = float((half / places.sides).sum())  # a vote has `sides` rows
    return np.asarray(of_every_vote - np.bincount(places.agent, half, m), np.float64)


def _places(votes: Votes, agents: int | None) -> tuple[PlaceCounts, int]:
    if isinstance(votes, Profile):
        if agents is not None and checks.count("agents", agents) != len(votes.names):
            raise InputError("agents", agents, f"must be left out, or {len(votes.names)} as in the profile")
        return votes.place_counts(), len(votes.names)
    checks.instance("votes", votes, Profile, PlaceCounts)
    least = int(votes.agent.max(initial=0)) + 1
    return votes, checks.count("agents", agents, low=least)


def _scored(
    places: PlaceCounts, m: int, points: Floats, ties: TieRule, begun: float, more: Floats | None = None, total: float | None = None
) -> Voted:
    """more: points of each agent that no row of `places` gives, shape (m,); total: points of all votes, by default the sum of the rows."""
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

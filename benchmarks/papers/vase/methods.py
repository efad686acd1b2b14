"""The voting methods of VasE by name, and tables of printed scores."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.papers.items import Match, Value, equal
from ratings_core.solution import Floats
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.copeland import copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from ratings_core.voting.ties import TieRule

Scores = Sequence[float] | Sequence[str]
Method = Callable[[Profile, TieRule], Scores]
ORDERS: Final = 60
"""Orders of ties that are tried for a method's printed scores."""


def methods(approved: int, winners: int) -> Mapping[str, Method]:
    """Scores of all alternatives by each of the paper's methods. approved: k of approval; winners: seats of STV."""
    return {
        "approval": lambda profile, _: _listed(approval(profile, approved).ratings),
        "borda": lambda profile, _: _listed(borda(profile).ratings),
        "copeland": lambda profile, _: _listed(copeland(profile.margins()).ratings),
        "kemeny_young": lambda profile, ties: _listed(kemeny(profile.preferences(), ties=ties).ratings),
        "iml": lambda profile, _: _listed(iterated_maximal_lotteries(profile.margins()).ratings),
        "plurality": lambda profile, _: _listed(plurality(profile).ratings),
        "ranked_pairs": lambda profile, ties: _listed(ranked_pairs(profile.margins(), ties=ties).ratings),
        "schulze": lambda profile, ties: _listed(schulze(profile.preferences(), ties=ties).ratings),
        "stv": lambda profile, ties: list(stv(profile, winners, surplus="in_order", ties=ties).scores),
    }


WINNERS: Final[Mapping[str, Callable[[Profile], frozenset[int]]]] = {
    "approval": lambda profile: frozenset(approval(profile, 2).ranking.levels[0]),
    "borda": lambda profile: frozenset(borda(profile).ranking.levels[0]),
    "plurality": lambda profile: frozenset(plurality(profile).ranking.levels[0]),
    "stv": lambda profile: frozenset(stv(profile, 1).ranking.levels[0]),
    "copeland": lambda profile: frozenset(copeland(profile.margins()).ranking.levels[0]),
    "ranked_pairs": lambda profile: frozenset(ranked_pairs(profile.margins()).ranking.levels[0]),
    "kemeny_young": lambda profile: frozenset(kemeny(profile.preferences()).ranking.levels[0]),
    "schulze": lambda profile: frozenset(schulze(profile.preferences()).ranking.levels[0]),
    "maximal_lotteries": lambda profile: frozenset(maximal_lottery(profile.margins()).support.tolist()),
}
"""Winners by each method, with all ties kept. Of lotteries: all alternatives that a maximal lottery elects."""


@dataclass(frozen=True)
class Resolved:
    """Scores of a method that equal the printed ones, or those with ties kept; how ties were resolved, in words."""

    scores: Scores
    how: str


def printed_table(path: Path, **where: str) -> dict[str, dict[str, str]]:
    """Printed scores of a file: method -> alternative -> score as text. where: columns that a row must have with this value."""
    table: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            if all(row[column] == value for column, value in where.items()):
                table.setdefault(row["method"], {})[row["agent"]] = row.get("score") or row["score_as_printed"]
    return table


def compared(
    method: str,
    score: Method,
    profiles: Iterable[tuple[str, Profile]],
    printed: Mapping[str, str],
    *,
    tolerance: float = 0.0,
    reason: str = "",
    expected: Scores | None = None,
) -> Value:
    """Compare a method's scores with the printed ones for some resolution of ties.

    Args:
        method: Name for the label.
        score: The method.
        profiles: Profiles that differ in how tied scores became votes, each with words that say how. The first is used if none matches.
        printed: Alternative -> printed score.
        tolerance: Half a unit of the last printed digit; 0 for whole numbers.
        reason: Why the printed scores do not reproduce.
        expected: The scores that the reason predicts.
    """
    given = list(profiles)
    names = given[0][1].names
    wanted: list[float] | list[str] = [printed[name] for name in names] if method == "stv" else [float(printed[name]) for name in names]
    found = _resolved(score, given, wanted, tolerance)
    label = f"{method}: {', '.join(names)}"
    value = equal(label, wanted, found.scores, tolerance=tolerance, reason=reason, expected=expected)
    return Value(value.label, value.printed, value.ours, value.match, found.how if value.match is Match.YES else value.why)


def _resolved(
    score: Method, profiles: Sequence[tuple[str, Profile]], wanted: Sequence[float] | Sequence[str], tolerance: float
) -> Resolved:
    """The first resolution of ties that gives the wanted scores."""
    for how, profile in profiles:
        for ties in ("keep", "order", *range(ORDERS)):
            scores = score(profile, ties)
            if equal("", wanted, scores, tolerance=tolerance).match is Match.YES:
                order = "" if ties == "keep" else "; equal scores in one order of ties"
                return Resolved(scores, f"{how}{order}".strip("; "))
            if ties == "keep" and scores == score(profile, "order"):
                break  # the method has no tie to resolve here
    how, profile = profiles[0]
    return Resolved(score(profile, "keep"), how)


def _listed(ratings: Floats) -> list[float]:
    return [float(rating) for rating in np.round(ratings, 9)]

"""Why a fit of pairs gives agents no rating: words for people."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.problems.inputs import GamesInput, PairsInput, ProfileInput, ScoresInput
from ratings_core.solution import Floats
from ratings_core.words import amount

_REMEDY: Final = "play more games, or solve with prior=1"


def unrated_because(problem: PairsInput | ProfileInput | ScoresInput, agents: NDArray[np.int64]) -> str:
    """Why agents have no rating: they won or lost all their games, or wins do not link them to others. The remedy follows.

    Args:
        problem: The results of pairs that were fitted.
        agents: Ids of one or more agents, none of which is in a strongly connected component with another agent.

    Returns:
        Words after a colon: "it won all its 15 games; play more games, or solve with prior=1", or the same of several agents. A game of
        more than two sides, a ballot, and a task compare several pairs; then results of pairs are counted in place of games.
    """
    counts, n = problem.counts, len(problem.names)
    won, lost, tied = (
        (np.bincount(counts.first, first, n) + np.bincount(counts.second, second, n))[agents]
        for first, second in ((counts.wins, counts.losses), (counts.losses, counts.wins), (counts.ties, counts.ties))
    )
    total, unit = won + lost + tied, _unit(problem)
    kinds = {"won": (won > 0) & (won == total), "lost": (lost > 0) & (lost == total), "none": total == 0}
    kinds["unlinked"] = ~np.logical_or.reduce(list(kinds.values()))
    found = {kind: total[chosen] for kind, chosen in kinds.items() if chosen.any()}
    said = [_said(kind, totals, unit, alone=len(found) == 1) for kind, totals in found.items()]
    return f"{', '.join(said)}; {_REMEDY}"


def _unit(problem: PairsInput | ProfileInput | ScoresInput) -> str:
    duels = isinstance(problem, PairsInput) and not (isinstance(problem, GamesInput) and (problem.places.sides > 2).any())
    return "game" if duels else "result"


def _said(kind: str, totals: Floats, unit: str, *, alone: bool) -> str:
    """A clause about agents of one kind. totals: Number of results of each of them. alone: Whether all unrated agents are of this kind."""
    one = len(totals) == 1
    subject = ("it" if one else "they") if alone else str(len(totals))
    match kind:
        case "none":
            return f"{subject} {'has' if one else 'have'} no {unit}s that the method counts"
        case "unlinked":
            return f"{subject} {'is' if one else 'are'} linked to no other agent by chains of wins in both directions"
        case _:
            return f"{subject} {kind} {_all_of_one(totals[0], unit) if one else _all_of_each(totals, unit)}"


def _all_of_one(total: float, unit: str) -> str:
    return f"its only {unit}" if total == 1 else f"all its {amount(total)} {unit}s"


def _all_of_each(totals: Floats, unit: str) -> str:
    least, most = totals.min(), totals.max()
    each = amount(most) if least == most else f"{amount(least)} to {amount(most)}"
    return f"all their {unit}s ({each} each)"

"""How many votes the top of a pool hangs on, in the pool's own terms: outcomes of games, or tasks."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ratings_core.analysis.flips import Flip, flip_top
from services.boards import findings
from services.solve.problems.inputs import GamesInput, ScoresInput, sparse_margins

_LARGEST_TABLE: Final = 20_000
"""Agents times tasks up to which the tasks themselves are chosen; beyond, margins alone bound their number."""
_SHOWN: Final = 20


def top(taken: GamesInput | ScoresInput, of_margins: Flip | None, outcomes: int) -> findings.Top:
    """What the top hangs on. of_margins: as margins alone tell; outcomes: how many the pool counts."""
    if (weighed := _weighed(taken, outcomes)) is not None:
        return findings.Top(not_applicable=weighed)
    found, unit, votes = of_margins, "outcomes", list[str]()
    if isinstance(taken, ScoresInput):
        unit = "tasks"
        if taken.scores.size <= _LARGEST_TABLE:
            found = flip_top(taken.profile)
            measured = np.flatnonzero(~np.isnan(taken.scores).all(axis=0))
            votes = [taken.tasks[measured[vote]] for vote in (found.votes if found else ())]
    leaders = _unbeaten(taken)
    if found is None:
        return findings.Top(not_applicable="everybody is at the top: nobody beats anybody")
    names = taken.names
    return findings.Top(
        agents=[names[i] for i in leaders[:_SHOWN]],
        agents_total=len(leaders),
        rival=names[found.agent],
        low=found.low,
        high=found.high,
        unit=unit,
        votes=votes[:_SHOWN],
    )


def _weighed(taken: GamesInput | ScoresInput, outcomes: int) -> str | None:
    """Why votes cannot be counted by margins; None where every outcome weighs 1, as far as tallies tell."""
    if isinstance(taken, ScoresInput):
        return None
    counts = taken.counts
    games = counts.wins + counts.losses + counts.ties
    whole = all((column == np.floor(column)).all() for column in (counts.wins, counts.losses, counts.ties))
    two_sided = bool((taken.places.sides == 2).all())
    if whole and not (two_sided and games.sum() > outcomes):
        return None
    return "outcomes do not all weigh 1, so margins do not say how many there are"


def _unbeaten(taken: GamesInput | ScoresInput) -> Sequence[int]:
    """Who loses to nobody and beats somebody."""
    margins = sparse_margins(taken)
    lost = np.asarray((margins < 0).sum(axis=1)).ravel()
    won = np.asarray((margins > 0).sum(axis=1)).ravel()
    return [int(i) for i in np.flatnonzero((lost == 0) & (won > 0))]

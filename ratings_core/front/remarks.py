"""Lines below a table of ratings: how the rows were used, which agents have no rating and why, and which ratings do not compare."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.findings.records import FEW_GAMES
from ratings_core.solution import Floats
from ratings_core.words import amount

_NAMED: Final = 3
"""Largest number of leaders that a line names."""


def remarks(extra: Mapping[str, Any], unrated: int) -> list[str]:
    """Lines about how the rows were used, agents without a rating, and groups whose ratings do not compare. Each cause has one line.

    Args:
        extra: Further findings of the method.
        unrated: Number of agents without a rating.
    """
    lines = list(extra.get("notes", ()))
    if unrated:
        lines.append(f"{unrated} without a rating: {unrated_because(extra)}")
    separate, components = (value if isinstance(value := extra.get(name), int) else 0 for name in ("separate_groups", "components"))
    if separate > 1:
        lines.append(f"{separate} groups of agents that never met: no game orders them against each other")
    groups = components - unrated  # an agent without a rating is a component of its own, and has its line above
    if groups > max(1, separate):
        lines.append(f"{groups} groups without wins in both directions between them: ratings compare only within a group")
    return lines


def unrated_because(extra: Mapping[str, Any]) -> str:
    """Why agents have no rating. extra: Further findings of the method."""
    return str(extra.get("unrated_because") or "the data do not determine one")


def left_out_lines(left_out: Mapping[str, int]) -> list[str]:
    """Lines about rows and games that do not count. left_out: Reason -> their number."""
    return [f"left out: {count}, {reason}" for reason, count in left_out.items()]


def few_games_lead(names: Sequence[str], ratings: Floats, ranks: NDArray[np.int64], games: Floats, *, by_age: bool) -> list[str]:
    """A line about agents in first place that few games rate; none if there are none.

    Games are few if they weigh less than `FEW_GAMES`, and less than half of what the rated agents have on average: in a small pool nobody
    has many.

    Args:
        names: Names of n agents.
        ratings: float64 (n,), NaN without a rating.
        ranks: int (n,), their ranks from 1.
        games: float64 (n,), total weight of each agent's games, older ones with less if `by_age`.
        by_age: Whether older games weigh less.
    """
    rated = ~np.isnan(ratings)
    if not rated.any():
        return []
    mean = float(games[rated].mean())
    ids = np.flatnonzero(rated & (ranks == 1) & (games < min(FEW_GAMES, mean / 2))).tolist()
    if not ids:
        return []
    low, high = amount(games[ids].min()), amount(games[ids].max())
    who = ", ".join(names[i] for i in ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
    has = f"{low}" if low == high else f"{low} to {high}"
    weighted = ", weighted by age" if by_age else ""
    return [f"{who} {'leads' if len(ids) == 1 else 'lead'} on few games: {has}, where agents have {mean:.4g} on average{weighted}"]

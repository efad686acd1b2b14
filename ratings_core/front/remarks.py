"""Lines below a table of ratings: how the rows were used, which agents have no rating and why, and which ratings do not compare."""

from collections.abc import Mapping
from typing import Any


def remarks(extra: Mapping[str, Any], unrated: int, agents: int) -> list[str]:
    """Lines about how the rows were used, about agents without a rating, and about groups between which ratings do not compare.

    Args:
        extra: Further findings of the method.
        unrated: Number of agents without a rating.
        agents: Number of agents.
    """
    lines = list(extra.get("notes", ()))
    if unrated:
        lines.append(f"{unrated} without a rating: {extra.get('unrated_because') or 'the data do not determine one'}")
    if isinstance(groups := extra.get("separate_groups"), int):
        lines.append(f"{groups} groups of agents that never met: no game orders them against each other")
    components = extra.get("components")
    if isinstance(components, int) and components > 1 and unrated < agents:
        lines.append(f"{components} groups without wins in both directions between them: ratings compare only within a group")
    return lines

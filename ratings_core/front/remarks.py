"""Lines below a table of ratings: how the rows were used, which agents have no rating and why, and which ratings do not compare."""

from collections.abc import Mapping
from typing import Any


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

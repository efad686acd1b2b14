"""The papers, in order of their years."""

from typing import Final

from benchmarks.papers import deviation, equilibrium, nash_averaging, soft_condorcet, vase
from benchmarks.papers.items import Paper
from ratings_core.errors import InputError

PAPERS: Final[tuple[Paper, ...]] = (nash_averaging.PAPER, vase.PAPER, soft_condorcet.PAPER, deviation.PAPER, equilibrium.PAPER)


def chosen(names: list[str]) -> list[Paper]:
    """Papers by name, all if none is named. Raises `InputError` for an unknown name."""
    known = {paper.name: paper for paper in PAPERS}
    for name in names:
        if name not in known:
            raise InputError("NAME", name, f"must be a paper: {', '.join(known)}")
    return [known[name] for name in names] if names else list(PAPERS)

"""The papers, in order of their years."""

from typing import Final

from benchmarks.papers import nash_averaging, vase
from benchmarks.papers.items import Paper
from ratings_core.errors import InputError

PAPERS: Final[tuple[Paper, ...]] = (nash_averaging.PAPER, vase.PAPER)


def chosen(names: list[str]) -> list[Paper]:
    """Papers by name, all if none is named. Raises `InputError` for an unknown name."""
    known = {paper.name: paper for paper in PAPERS}
    for name in names:
        if name not in known:
            raise InputError("NAME", name, f"must be a paper: {', '.join(known)}")
    return [known[name] for name in names] if names else list(PAPERS)

"""The papers, in order of their years."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks.papers import deviation, equilibrium, nash_averaging, soft_condorcet, vase
from benchmarks.papers.items import Paper
from ratings_core.errors import InputError

PAPERS: Final[tuple[Paper, ...]] = (nash_averaging.PAPER, vase.PAPER, soft_condorcet.PAPER, deviation.PAPER, equilibrium.PAPER)


def chosen(names: Sequence[str]) -> list[Paper]:
    """Papers with the named items, in the order of the names; all papers if none is named.

    Args:
        names: PAPER for all items of a paper, or PAPER/ITEM for one.

    Raises:
        InputError: A paper or an item is unknown.
    """
    return [_chosen(name) for name in names] if names else list(PAPERS)


def _chosen(name: str) -> Paper:
    known = {paper.name: paper for paper in PAPERS}
    of, mark, item = name.partition("/")
    if of not in known:
        raise InputError("NAME", name, f"must be a paper, or PAPER/ITEM: {', '.join(known)}")
    paper = known[of]
    if not mark:
        return paper
    items = [one for one in paper.items if one.name == item]
    if not items:
        raise InputError("NAME", name, f"must name an item of {of}: {', '.join(one.name for one in paper.items)}")
    return replace(paper, items=items)

"""Lanctot et al. 2025, "Soft Condorcet Optimization for Ranking of General Agents". One file a section; `ORDER` is the paper's order."""

from typing import Final

from benchmarks.papers.soft_condorcet import games, landscapes, posterior, preflib, tournaments, warmup
from benchmarks.papers.soft_condorcet.paper import PAPER

__all__ = ["MODULES", "PAPER"]
MODULES: Final = (warmup, preflib, tournaments, landscapes, posterior, games)
ORDER: Final = (
    "figure-1",
    "warm-up",
    "table-3",
    "table-2",
    "missing-pairs",
    "figure-2",
    "figure-3",
    "figure-4",
    "figure-5",
    "figure-6",
)
PAPER.items.sort(key=lambda item: ORDER.index(item.name))

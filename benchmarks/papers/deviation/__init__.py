"""Marris et al. 2025, "Deviation Ratings". One file a study; `ORDER` is the paper's order."""

from typing import Final

from benchmarks.papers.deviation import atari, contributions, improvement, populations, shapley
from benchmarks.papers.deviation.paper import PAPER

__all__ = ["MODULES", "PAPER"]
MODULES: Final = (shapley, populations, contributions, improvement, atari)
ORDER: Final = ("table-1", "table-2", "figure-1", "figure-2", "figure-3", "figure-4")
PAPER.items.sort(key=lambda item: ORDER.index(item.name))

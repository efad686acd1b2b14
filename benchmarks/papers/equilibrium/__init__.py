"""Liu et al. 2025, "Re-evaluating Open-Ended Evaluation of Large Language Models". One file a study; `ORDER` is the paper's order."""

from typing import Final

from benchmarks.papers.equilibrium import clones, dominance, improvement, interpretation, path, redundancy
from benchmarks.papers.equilibrium.paper import PAPER

__all__ = ["MODULES", "PAPER"]
MODULES: Final = (clones, path, improvement, redundancy, interpretation, dominance)
ORDER: Final = ("game", "equation-3", "clones", "figure-1", "figure-3", "figure-4", "figure-5", "risk-dominance")
PAPER.items.sort(key=lambda item: ORDER.index(item.name))

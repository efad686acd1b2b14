"""Balduzzi et al. 2018, "Re-evaluating Evaluation". One file a subject; `ORDER` is the paper's order."""

from typing import Final

from benchmarks.papers.nash_averaging import algebra, averages, elo, evaluation
from benchmarks.papers.nash_averaging.paper import PAPER

__all__ = ["MODULES", "PAPER"]
MODULES: Final = (algebra, averages, elo, evaluation)
ORDER: Final = (
    "propositions", "cyclic-agents", "go", "latent-skills", "example-1", "theorem-1", "example-2", "atari", "atari-20", "appendix-a",
    "theorem-2", "appendix-e", "appendix-f",
)  # fmt: skip
PAPER.items.sort(key=lambda item: ORDER.index(item.name))

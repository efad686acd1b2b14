"""Lanctot et al. 2023, "Evaluating Agents using Social Choice Theory" (VasE). One file a subject; `ORDER` is the paper's order."""

from typing import Final

from benchmarks.papers.vase import atari, diplomacy, language_models, pentathlon, properties
from benchmarks.papers.vase.paper import PAPER

__all__ = ["MODULES", "PAPER"]
MODULES: Final = (atari, diplomacy, language_models, pentathlon, properties)
ORDER: Final = (
    "pentathlon", "elo", "figure-2", "tables-1-4", "table-2", "table-5", "table-6", "table-7", "atari-nash", "alpha-rank", "agentbench",
    "diplomacy", "small-league", "table-8", "figure-12", "chatbot-arena", "table-17", "helm",
)  # fmt: skip
PAPER.items.sort(key=lambda item: ORDER.index(item.name))

"""What is said of the paper, and where its published numbers are."""

from pathlib import Path
from typing import Final

from benchmarks.papers.items import Paper

GOLDEN: Final = Path(__file__).parents[3] / "tests" / "golden" / "sco"
PAPER: Final = Paper(
    name="soft_condorcet",
    title="Lanctot et al. 2025: Soft Condorcet Optimization",
    reference="M. Lanctot et al.: *Soft Condorcet Optimization for Ranking of General Agents*. AAMAS 2025, arXiv 2411.00119.",
    about="""Soft Condorcet optimisation (SCO) finds ratings whose order agrees with as many votes as possible. Its sigmoid loss is a smooth
count of wrongly ordered pairs, so its optimum approximates Kemeny's order and has a Condorcet winner on top. Its Fenchel-Young loss is
convex and weights win rates, like Elo. The paper minimises both by stochastic gradient descent (Algorithm 1).""",
)

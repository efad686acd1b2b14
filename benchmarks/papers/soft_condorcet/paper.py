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
convex and weights win rates, like Elo. The paper minimises both by stochastic gradient descent (Algorithm 1).

The noise of table 2 is that of the difference of two means: the printed one is over the N profiles of the paper, ours over the n of
them that we have. Both are taken as samples of the same elections, so the noise is three standard errors, 3 s sqrt(1/n + 1/N). For the
share of profiles with the Condorcet winner on top, s² is p (1 - p) with the printed share p, at most 1 - 1/(2N), and the noise is at
least 1/n, one profile. For the distance to Kemeny's order, which is a share of wrong pairs, s is the standard deviation of our
distances, and at least sqrt(p / pairs), the one of pairs that are wrong independently of each other with the printed share p. The noise
of table 3 is described there.""",
)

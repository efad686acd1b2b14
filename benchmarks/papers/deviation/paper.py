"""What is said of the paper, and where its published numbers are."""

from pathlib import Path
from typing import Final

from benchmarks.papers.items import Paper

GOLDEN: Final = Path(__file__).parents[3] / "tests" / "golden" / "deviation"
PAPER: Final = Paper(
    name="deviation",
    title="Marris et al. 2025: Deviation Ratings",
    reference="L. Marris et al.: *Deviation Ratings: A General, Clone Invariant Rating Method*. ICLR 2025, arXiv 2502.11645.",
    about="""A deviation rating is the gain from always playing a strategy instead of following the strictest coarse correlated
equilibrium (CCE): the one that minimises the largest gain, then the second largest, and so on. It exists and is unique in every game of
any number of players, and copies of strategies do not change it.""",
)

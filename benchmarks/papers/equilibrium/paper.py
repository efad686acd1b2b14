"""What is said of the paper, and where its numbers are."""

from pathlib import Path
from typing import Final

from benchmarks.papers.items import Paper

GOLDEN: Final = Path(__file__).parents[3] / "tests" / "golden" / "equilibrium"
PAPER: Final = Paper(
    name="equilibrium",
    title="Liu et al. 2025: Re-evaluating Open-Ended Evaluation of Large Language Models",
    reference="S. Liu et al.: *Re-evaluating Open-Ended Evaluation of Large Language Models*. ICLR 2025, arXiv 2502.20170.",
    about="""The paper rates models and prompts by a game of three players, king of the hill: a prompt player looks for prompts that
separate a king from a rebel. A rating is the regret at an equilibrium: the limiting logit equilibrium (NE) or the coarse correlated
equilibrium (CCE) nearest to a target. Targets of largest affinity entropy count copies of a strategy as one. The paper prints few
numbers: its results are pictures of a simulation and of arena-hard with a private judge. Here its statements are checked on the same
simulation and on synthetic preferences.""",
)

"""Lanctot et al. 2023, "Evaluating Agents using Social Choice Theory" (VasE): tasks as voters."""

from benchmarks.papers.items import Output, Paper, Run, equal
from ratings_core.voting.positional import plurality
from ratings_core.voting.profile import Profile

PAPER = Paper(
    name="vase",
    title="Lanctot et al. 2023: Evaluating Agents using Social Choice Theory",
    reference="M. Lanctot, K. Larson, Y. Bachrach and others: *Evaluating Agents using Social Choice Theory*. arXiv 2312.03121v2.",
    about="""The paper takes each task as a voter that ranks agents (Voting as Evaluation, VasE), compares voting methods by their
consistency, and recommends maximal lotteries, solved repeatedly for a full ranking (iterative maximal lotteries, IML).""",
)
AGENTS = ("A", "B", "C")
PENTATHLON = Profile.from_orders([[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]], [1, 1, 2, 1], AGENTS)
"""Votes of the five events of Figure 1, from the counts of Figure 4 and appendix C.2."""


@PAPER.item("pentathlon", "Figures 1, 3 and 4, appendix C.2", "The pentathlon by every method")
def pentathlon(_: Run) -> Output:
    return Output([equal("plurality", (2, 1, 2), plurality(PENTATHLON).ratings)])

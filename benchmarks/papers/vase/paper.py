"""What the page says of the paper."""

from benchmarks.papers.items import Paper

PAPER = Paper(
    name="vase",
    title="Lanctot et al. 2023: Evaluating Agents using Social Choice Theory",
    reference="M. Lanctot, K. Larson, Y. Bachrach and others: *Evaluating Agents using Social Choice Theory*. arXiv 2312.03121v2.",
    about="""The paper takes each task as a voter that ranks agents (Voting as Evaluation, VasE), compares voting methods by their
consistency, and recommends maximal lotteries, solved repeatedly for a full ranking (iterative maximal lotteries, IML).""",
)

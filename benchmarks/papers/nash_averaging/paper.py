"""What the page says of the paper."""

from benchmarks.papers.items import Paper

PAPER = Paper(
    name="nash_averaging",
    title="Balduzzi et al. 2018: Re-evaluating Evaluation",
    reference="D. Balduzzi, K. Tuyls, J. Perolat, T. Graepel: *Re-evaluating Evaluation*. NeurIPS 2018, arXiv 1806.02643.",
    about="""The paper defines multidimensional Elo (mElo), which predicts cycles, and Nash averaging, which rates agents against an
equilibrium of the agents (or tasks) themselves, so that copies change nothing.""",
)

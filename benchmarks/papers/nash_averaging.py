"""Balduzzi et al. 2018, "Re-evaluating Evaluation": mElo, Nash averaging, and the algebra of antisymmetric matrices."""

import numpy as np

from benchmarks.papers.items import Output, Paper, Run, claim, equal
from ratings_core.equilibria import nash_average_agents
from ratings_core.solution import Floats

PAPER = Paper(
    name="nash_averaging",
    title="Balduzzi et al. 2018: Re-evaluating Evaluation",
    reference="D. Balduzzi, K. Tuyls, J. Perolat, T. Graepel: *Re-evaluating Evaluation*. NeurIPS 2018, arXiv 1806.02643.",
    about="""The paper defines multidimensional Elo (mElo), which predicts cycles, and Nash averaging, which rates agents against an
equilibrium of the agents (or tasks) themselves, so that copies change nothing.""",
)
CYCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])


def cloned(matrix: Floats, agent: int) -> Floats:
    """The matrix with one more copy of an agent, as last row and column."""
    order = [*range(len(matrix)), agent]
    return matrix[np.ix_(order, order)]


@PAPER.item("example-1", "Example 1", "A copy of an agent")
def example_1(_: Run) -> Output:
    A = 4.6 * CYCLE
    with_copy = cloned(A, 2)
    plain, copied = nash_average_agents(A), nash_average_agents(with_copy)
    third, sixth = 1 / 3, 1 / 6
    return Output(
        [
            equal("maxent Nash of A", (third, third, third), plain.agent_dist, tolerance=1e-9),
            equal("maxent Nash with a copy of C", (third, third, sixth, sixth), copied.agent_dist, tolerance=1e-9),
            equal("uniform average of A", (0.0, 0.0, 0.0), A.mean(axis=1), tolerance=1e-9),
            equal("uniform average with the copy", (-1.15, 1.15, 0.0, 0.0), with_copy.mean(axis=1), tolerance=1e-9),
            equal("Nash average of A", (0.0, 0.0, 0.0), plain.ratings, tolerance=1e-9),
            equal("Nash average with the copy", (0.0, 0.0, 0.0, 0.0), copied.ratings, tolerance=1e-9),
            claim(
                "no agent is better than the rest", "Nash averages agree", "Nash averages agree", holds=bool(np.ptp(copied.ratings) < 1e-9)
            ),
        ],
        note="A is a cycle of three agents with log odds of 4.6. The second matrix has a copy of agent C.",
    )

"""Matrices of the examples, and how they are changed."""

import numpy as np

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.solution import Floats

CYCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
LADDER = np.array([[0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [-2.0, -1.0, 0.0]])
T = np.subtract.outer(np.arange(4.0), np.arange(4.0)).T
"""The transitive matrix of appendix F."""
C = np.array([[0.0, 1.0, 0.0, -1.0], [-1.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0], [1.0, 0.0, -1.0, 0.0]])
"""The cyclic matrix of appendix F."""
EXACT = 1e-9


def cloned(matrix: Floats, agent: int) -> Floats:
    """The matrix with one more copy of an agent, as last row and column."""
    order = [*range(len(matrix)), agent]
    return matrix[np.ix_(order, order)]


def centred_elo(chances: Floats) -> Floats:
    """Ratings of batch Elo, centred, in points, from chances to win of all pairs."""
    off_diagonal = chances * (1 - np.eye(len(chances)))
    return bradley_terry(off_diagonal, options=BradleyTerryOptions(centre=0.0)).ratings


def antisymmetric(rng: np.random.Generator, m: int) -> Floats:
    """A random antisymmetric matrix of normal deviates."""
    upper = np.triu(rng.normal(size=(m, m)), 1)
    return np.asarray(upper - upper.T)

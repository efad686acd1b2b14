"""Computations of the items of Balduzzi et al. 2018: the parts of a matrix."""

import numpy as np

from benchmarks.papers.nash_averaging.algebra import cyclic_part
from benchmarks.papers.nash_averaging.matrices import C, T
from ratings_core.analysis.hodge import hodge


def test_the_cyclic_part_of_a_sum_is_the_cyclic_matrix():
    part = cyclic_part(hodge(T + C))
    np.testing.assert_allclose(part, C, atol=1e-12)
    np.testing.assert_array_equal(part, -part.T)

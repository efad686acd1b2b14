"""Components against reachability found by squaring the relation, and their canonical labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.graphs.components import members, strong_components, weak_components

arcs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


def reachable(relation):
    closed = relation | np.eye(len(relation), dtype=bool)
    for _ in range(3):
        closed = closed @ closed
    return closed


def partition(equal):
    return sorted({tuple(np.flatnonzero(row).tolist()) for row in equal})


@given(arcs)
def test_components_are_mutual_reachability(pairs):
    tails, heads = (np.array(column, np.int64) for column in (zip(*pairs, strict=True) if pairs else ([], [])))
    relation = np.zeros((7, 7), bool)
    relation[tails, heads] = True
    to = reachable(relation)
    strong, weak = strong_components(tails, heads, 7), weak_components(tails, heads, 7)
    assert [tuple(group) for group in members(strong)] == partition(to & to.T)
    assert [tuple(group) for group in members(weak)] == partition(reachable(relation | relation.T))


def test_labels_follow_the_smallest_member():
    assert strong_components(np.array([4, 1]), np.array([1, 4]), 5).tolist() == [0, 1, 2, 3, 1]

"""Components against reachability found by squaring the relation, and their canonical labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.graphs import members, strong_components, weak_components

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


@pytest.mark.parametrize("components", [strong_components, weak_components])
@pytest.mark.parametrize("kinds", [("uint64", "uint64"), ("int32", "uint64"), ("uint8", "int64"), ("int16", "uint16")])
def test_ids_are_whole_numbers_of_every_type(components, kinds):
    tails, heads = (np.array(column, kind) for column, kind in zip(([0, 1, 3], [1, 0, 4]), kinds, strict=True))
    assert components(tails, heads, 5)[:3].tolist() == [0, 0, 1]


def test_no_nodes_have_no_components():
    assert strong_components([], [], 0).tolist() == []
    assert members(np.array([], np.int64)) == []


@pytest.mark.parametrize("components", [strong_components, weak_components])
@pytest.mark.parametrize(
    ("tails", "heads", "size", "argument", "rule"),
    [
        ([0], [1], 1, "heads", "must be one-dimensional, with integers from 0 to 0"),
        ([-1], [1], 2, "tails", "must be one-dimensional, with integers from 0 to 1"),
        ([0.5], [1], 2, "tails", "must hold whole numbers"),
        ([0, 1], [1], 2, "heads", "must have the length of tails, 2"),
        ([0], [1], -1, "size", "must be a whole number, at least 0"),
        ([0], [1], 2**31 + 1, "size", "must be at most 2147483648"),
    ],
)
def test_arcs_that_are_not_between_nodes_are_refused(components, tails, heads, size, argument, rule):
    with pytest.raises(InputError) as refused:
        components(np.array(tails), np.array(heads), size)
    assert (refused.value.argument, refused.value.rule) == (argument, rule)


@pytest.mark.parametrize("labels", [[0, 2], [-1, 0], [0.0, 1.0], [[0, 1]], 2, "01", None])
def test_labels_that_are_not_of_components_are_refused(labels):
    with pytest.raises(InputError, match=r"^labels must"):
        members(labels)

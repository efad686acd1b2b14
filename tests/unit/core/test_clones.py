"""Exact duplicates: found whatever their order, shared evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.games import clone_classes, split_evenly
from ratings_core.games.clones import singletons

few_rows = st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=1, max_size=12).map(lambda rows: np.array(rows, float))


@given(few_rows)
def test_classes_are_those_of_numpy(rows):
    classes = clone_classes(rows)
    assert len(classes) == len(np.unique(rows, axis=0))
    same = (rows[:, None] == rows[None]).all(axis=2)
    assert (np.equal.outer(classes.member, classes.member) == same).all()
    assert (classes.first == [same[i].argmax() for i in classes.first]).all()
    assert (np.diff(classes.first) > 0).all()
    assert classes.size.sum() == len(rows)


@given(few_rows)
def test_shares_of_a_class_add_up_to_its_total(rows):
    classes = clone_classes(rows)
    totals = np.arange(1.0, len(classes) + 1)
    shares = split_evenly(totals, classes)
    assert np.bincount(classes.member, shares) == pytest.approx(totals)
    assert all(np.ptp(shares[classes.member == k]) == 0 for k in range(len(classes)))


def test_zero_has_one_sign():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert len(clone_classes(rows)) == 1
    assert np.signbit(rows[1, 0]), "the caller's array is left as it was"


def test_rows_that_only_nearly_agree_are_different():
    assert len(clone_classes(np.array([[1.0], [np.nextafter(1.0, 2)]]))) == 2


def test_columns_are_rows_of_the_transpose():
    assert clone_classes(np.array([[1, 2, 1], [3, 4, 3]], float).T).member.tolist() == [0, 1, 0]


def test_singletons_merge_nothing():
    classes = singletons(3)
    assert split_evenly(np.array([0.5, 0.25, 0.25]), classes).tolist() == [0.5, 0.25, 0.25]


def test_rows_within_a_tolerance_join_the_first_they_are_near():
    rows = np.array([[0.0], [0.09], [0.18], [0.0], [np.nan]])
    assert clone_classes(rows, within=0.1).member.tolist() == [0, 0, 1, 0, 2]
    assert clone_classes(rows).member.tolist() == [0, 1, 2, 0, 3]


def test_what_was_not_measured_is_equal():
    rows = np.array([[np.nan, 1.0], [-np.nan, 1.0], [0.0, 1.0]])
    assert clone_classes(rows).member.tolist() == [0, 0, 1]
    assert clone_classes(rows, within=1e-9).member.tolist() == [0, 0, 1]

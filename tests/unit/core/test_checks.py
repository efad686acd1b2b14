"""Checks name the offending entry, change nothing, and let nothing non-finite through."""

import numpy as np
import pytest
from scipy import sparse

from ratings_core import checks
from ratings_core.errors import InputError

DENSE_REFUSALS = [
    (checks.real, [["a"]], "must hold real numbers", "m"),
    (checks.real, [[1j]], "must hold real numbers", "m"),
    (checks.real, [[1], [1, 2]], "array of real numbers", "m"),
    (checks.real, sparse.csr_array(np.eye(2)), "must be dense", "m"),
    (checks.finite, [0.0, np.nan], "must be finite", "m[1]"),
    (checks.finite, [None], "must be finite", "m[0]"),
    (checks.ids, np.array(1.5), "must hold whole numbers", "m"),
    (checks.finite, np.inf, "must be finite", "m"),
    (checks.square, np.zeros((2, 3)), "square matrix", "m"),
    (checks.square, np.zeros((0, 0)), "at least one row", "m"),
    (checks.square, [1.0, 2.0], "square matrix", "m"),
    (checks.nonnegative, [[0, 1], [-1, 0]], "must be nonnegative", "m[1, 0]"),
    (checks.nonnegative, [[0, np.nan], [1, 0]], "must be finite", "m[0, 1]"),
    (checks.symmetric, [[0, 1], [2, 0]], "must equal its transpose", "m[0, 1]"),
    (checks.antisymmetric, [[0, 1], [1, 0]], "must be minus its transpose", "m[0, 1]"),
    (checks.antisymmetric, [[0, 1], [-1, 3]], "must be minus its transpose", "m[1, 1]"),
    (checks.antisymmetric, [[0, 0], [0, 1e308]], "must be minus its transpose", "m[1, 1]"),
    (checks.symmetric, [[0, 1e308], [-1e308, 0]], "must equal its transpose", "m[0, 1]"),
    (checks.antisymmetric, [[0, np.inf], [-np.inf, 0]], "must be finite", "m[0, 1]"),
]
SPARSE_REFUSALS = [
    (checks.sparse_square, sparse.csr_array((2, 3)), "square matrix", "m"),
    (checks.sparse_square, sparse.csr_array(np.array([[0, 1j], [0, 0]])), "must hold real numbers", "m"),
    (checks.sparse_square, sparse.csr_array([[0.0, np.nan], [0.0, 0.0]]), "must be finite", "m[0, 1]"),
    (checks.sparse_nonnegative, sparse.coo_array([[0.0, 0.0], [-2.0, 0.0]]), "must be nonnegative", "m[1, 0]"),
    (checks.sparse_symmetric, sparse.csr_array([[0.0, 1.0], [2.0, 0.0]]), "must be 0", "m - transpose[0, 1]"),
    (checks.sparse_antisymmetric, sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), "must be 0", "m + transpose[0, 1]"),
]


@pytest.mark.parametrize(("check", "matrix", "rule", "argument"), DENSE_REFUSALS + SPARSE_REFUSALS)
def test_refuses_and_names_the_entry(check, matrix, rule, argument):
    with pytest.raises(InputError, match=rule) as caught:
        check("m", matrix)
    assert caught.value.argument == argument


def test_accepts_whole_numbers_as_float64():
    accepted = checks.antisymmetric("m", np.array([[0, 3], [-3, 0]]))
    assert accepted.dtype == np.float64
    assert accepted.tolist() == [[0, 3], [-3, 0]]
    assert checks.nonnegative("m", [[True]]).tolist() == [[1.0]]


def test_tolerance_is_on_the_sum_of_the_two_entries():
    matrix = [[0, 1.0], [-1.0 + 1e-9, 0]]
    assert checks.antisymmetric("m", matrix, 1e-8)[0, 1] == 1.0
    with pytest.raises(InputError):
        checks.antisymmetric("m", matrix, 1e-10)


def test_sparse_is_cleaned_and_the_callers_matrix_left_alone():
    given = sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    accepted = checks.sparse_nonnegative("m", given)
    assert accepted.nnz == 1
    assert accepted[0, 1] == 3.0
    assert given.nnz == 3


def test_sparse_in_any_format_and_the_old_matrix_class():
    for kind in (sparse.csc_array, sparse.lil_array, sparse.csr_matrix, sparse.dok_array):
        assert checks.sparse_antisymmetric("m", kind(np.array([[0, 2], [-2, 0]])))[0, 1] == 2.0


def test_diagonal():
    checks.zero_diagonal("m", np.zeros((2, 2)))
    for matrix in (np.diag([0.0, 1.0]), sparse.csr_array(np.diag([0.0, 1.0]))):
        with pytest.raises(InputError, match=r"m\[1, 1\] must be 0"):
            checks.zero_diagonal("m", matrix)


@pytest.mark.parametrize(
    ("value", "bounds"),
    [(-1, {"low": 0}), (0, {"above": 0}), (2, {"high": 1}), (np.nan, {}), (np.inf, {}), ("x", {}), (None, {})],
)
def test_number_refuses(value, bounds):
    with pytest.raises(InputError, match="must be a"):
        checks.number("n", value, **bounds)


def test_number_and_count_accept():
    assert checks.number("n", np.float32(0.5), low=0, high=1) == 0.5
    assert checks.count("n", np.int64(3), low=3) == 3


@pytest.mark.parametrize("value", [True, 1.0, 0, "1"])
def test_count_refuses(value):
    with pytest.raises(InputError, match="whole number, at least 1"):
        checks.count("n", value, low=1)


def test_masked_numbers_are_refused():
    with pytest.raises(InputError, match="must not be masked"):
        checks.finite("scores", np.ma.array([1.0, 2.0], mask=[False, True]))

"""The digest: equal for equal arrays however they are stored, different for any difference."""

import hashlib

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError

BASE = {"x": np.arange(6, dtype=np.int64).reshape(2, 3), "y": np.array([0.0, 1.5])}

DIFFERENT = {
    "value": {**BASE, "y": np.array([0.0, 1.25])},
    "name": {"x": BASE["x"], "z": BASE["y"]},
    "shape": {**BASE, "x": BASE["x"].reshape(3, 2)},
    "dtype": {**BASE, "x": BASE["x"].astype(np.int32)},
    "signedness": {**BASE, "x": BASE["x"].astype(np.uint64)},
    "sign of zero": {**BASE, "y": np.array([-0.0, 1.5])},
    "one more, empty": {**BASE, "z": np.zeros(0)},
    "one less": {"x": BASE["x"]},
    "swapped": {"x": BASE["y"], "y": BASE["x"]},
    "transposed": {**BASE, "x": BASE["x"].T},
}


@pytest.mark.parametrize("change", DIFFERENT)
def test_every_difference_shows(change: str) -> None:
    assert digest(DIFFERENT[change]) != digest(BASE)


def test_storage_does_not_show() -> None:
    big_endian = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in BASE.items()}
    fortran = {name: np.asfortranarray(array) for name, array in BASE.items()}
    strided = {name: np.repeat(array, 2, axis=-1)[..., ::2] for name, array in BASE.items()}
    backwards = dict(reversed(BASE.items()))
    assert {digest(arrays) for arrays in (big_endian, fortran, strided, backwards)} == {digest(BASE)}


def test_the_bytes_hashed_are_the_ones_documented() -> None:
    fields = [b"a", b"<i2", b"3"]
    by_hand = b"".join(len(field).to_bytes(8, "little") + field for field in fields) + b"\x01\x00\x02\x00\xff\xff"
    assert digest({"a": np.array([1, 2, -1], np.int16)}) == hashlib.sha256(by_hand).hexdigest()


def test_shapes_without_values_differ() -> None:
    empty = [np.zeros(shape) for shape in [(0,), (0, 1), (1, 0), (0, 2)]]
    scalars = [np.zeros(()), np.zeros(1)]
    assert len({digest({"a": array}) for array in [*empty, *scalars]}) == 6


def test_nan_is_taken_by_its_bits() -> None:
    nan = np.array([np.nan])
    other = (nan.view(np.uint64) | np.uint64(1)).view(np.float64)
    assert digest({"a": nan}) == digest({"a": nan.copy()})
    assert digest({"a": nan}) != digest({"a": other})


def test_booleans_are_portable() -> None:
    assert digest({"a": np.array([True, False])}) != digest({"a": np.array([1, 0], np.uint8)})


@pytest.mark.parametrize(
    "array", [np.array([{}]), np.array(["a"]), np.array([b"a"]), np.zeros(1, np.longdouble), np.zeros(1, "M8[s]"), np.zeros(1, complex)]
)
def test_dtypes_without_portable_bytes_are_refused(array: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"arrays\['a'\] must hold booleans, integers or floats"):
        digest({"a": array})

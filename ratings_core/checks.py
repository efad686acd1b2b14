"""Checks of arguments, shared by all solvers. Each returns the checked value, or raises `InputError` with the invalid entry.

Every matrix check includes the checks of `square`. Inputs are never changed. Without a conversion, the result is the caller's array itself,
so solvers treat it as read-only.
"""

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, SupportsFloat, TypeAlias, TypeVar, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ratings_core.errors import InputError
from ratings_core.solution import Floats

Sparse: TypeAlias = "scipy.sparse.csr_array[Any]"
Matrix: TypeAlias = "Floats | scipy.sparse.csr_array[Any]"
T = TypeVar("T")

MAX_IDS: Final = 2**31
"""Largest number of ids. An id is an int32, from 0 to 2**31 - 1."""
LARGEST_WEIGHT: Final = 1e150
"""Largest accepted weight. Sums of larger weights could overflow."""


def is_sparse(matrix: object) -> bool:
    """Whether `matrix` is a scipy sparse array or matrix of any format."""
    return "scipy.sparse" in sys.modules and bool(scipy.sparse.issparse(matrix))


def real(argument: str, values: ArrayLike) -> Floats:
    """`values` as float64 of any shape. Raises `InputError` unless they are real numbers (not text, complex, ragged, masked or sparse)."""
    if is_sparse(values):
        raise InputError(argument, values, "must be dense")
    if np.ma.is_masked(values):
        raise InputError(argument, values, "must not be masked, because masked values would be used")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise InputError(argument, array.dtype, "must hold real numbers")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(argument, values, f"must be an array of real numbers ({error})") from error


def integers(argument: str, values: ArrayLike) -> NDArray[Any]:
    """`values` as an array of integers of any shape. Raises `InputError` for other types, including floats and bools."""
    if np.ma.is_masked(values):
        raise InputError(argument, values, "must not be masked, because masked values would be used")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(argument, values, f"must be an array of whole numbers ({error})") from error
    if array.dtype.kind not in "iu":
        raise InputError(argument, array.dtype, "must hold whole numbers")
    return array


def ids(argument: str, values: ArrayLike) -> NDArray[Any]:
    """`integers` for ids. An empty list, tuple or array is accepted, although NumPy gives an empty list a float type."""
    if values.shape[:1] == (0,) if isinstance(values, np.ndarray) else isinstance(values, list | tuple) and not values:
        return np.zeros(np.shape(values), np.int32)
    return integers(argument, values)


def finite(argument: str, values: ArrayLike) -> Floats:
    """`values` as float64 of any shape, all finite."""
    array = real(argument, values)
    return _all_of(argument, array, np.isfinite(array), "must be finite")


def square(argument: str, matrix: ArrayLike) -> Floats:
    """`matrix` as float64 of shape (m, m), m >= 1. The entries are not checked."""
    array = real(argument, matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise InputError(argument, array.shape, "must be a square matrix with at least one row")
    return array


def nonnegative(argument: str, matrix: ArrayLike) -> Floats:
    """`matrix` as float64 of shape (m, m), all entries finite and >= 0."""
    array = finite(argument, square(argument, matrix))
    return _all_of(argument, array, array >= 0, "must be nonnegative")


def symmetric(argument: str, matrix: ArrayLike, tolerance: float = 0.0) -> Floats:
    """`matrix` as float64 of shape (m, m), finite, with |M[a, b] - M[b, a]| <= tolerance."""
    array = finite(argument, square(argument, matrix))
    with np.errstate(over="ignore"):
        off = np.abs(array - array.T)
    return _all_of(argument, array, off <= tolerance, "must equal its transpose")


def antisymmetric(argument: str, matrix: ArrayLike, tolerance: float = 0.0) -> Floats:
    """`matrix` as float64 of shape (m, m), finite, with |M[a, b] + M[b, a]| <= tolerance, including the diagonal."""
    array = finite(argument, square(argument, matrix))
    with np.errstate(over="ignore"):
        off = np.abs(array + array.T)
    return _all_of(argument, array, off <= tolerance, "must be minus its transpose (margins of a over b and b over a)")


def zero_diagonal(argument: str, matrix: Matrix) -> None:
    """Raises `InputError` unless the diagonal of a square matrix, dense or sparse, is 0: agents do not meet themselves."""
    diagonal = np.asarray(matrix.diagonal())
    if (bad := np.flatnonzero(diagonal != 0)).size:
        raise InputError(f"{argument}[{bad[0]}, {bad[0]}]", diagonal[bad[0]].item(), "must be 0, because no agent plays itself")


def sparse_square(argument: str, matrix: Any) -> Sparse:
    """A scipy sparse `matrix` as CSR float64 of shape (m, m), finite, duplicates summed, explicit zeros dropped, indices sorted."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise InputError(argument, matrix.shape, "must be a square matrix with at least one row")
    if matrix.dtype.kind not in "biuf":
        raise InputError(argument, matrix.dtype, "must hold real numbers")
    csr = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    _all_stored(argument, csr, np.isfinite(csr.data), "must be finite")
    return csr


def sparse_nonnegative(argument: str, matrix: Any) -> Sparse:
    """`sparse_square` with all entries >= 0."""
    csr = sparse_square(argument, matrix)
    _all_stored(argument, csr, csr.data >= 0, "must be nonnegative")
    return csr


def sparse_symmetric(argument: str, matrix: Any) -> Sparse:
    """`sparse_square` with M[a, b] = M[b, a]."""
    csr = sparse_square(argument, matrix)
    excess = scipy.sparse.csr_array(csr - csr.T)
    _all_stored(f"{argument} - transpose", excess, excess.data == 0, "must be 0 (both agents of a pair have the same entry)")
    return csr


def sparse_antisymmetric(argument: str, matrix: Any, tolerance: float = 0.0) -> Sparse:
    """`sparse_square` with |M[a, b] + M[b, a]| <= tolerance."""
    csr = sparse_square(argument, matrix)
    total = scipy.sparse.csr_array(csr + csr.T)
    _all_stored(f"{argument} + transpose", total, np.abs(total.data) <= tolerance, "must be 0 (margins of a over b and b over a)")
    return csr


def number(argument: str, value: SupportsFloat, *, low: float = -math.inf, above: float = -math.inf, high: float = math.inf) -> float:
    """`value` as a finite float with low <= value <= high and value > above. Raises `InputError`, including for bools and text."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise InputError(argument, value, "must be a number")
    try:
        given = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(argument, value, "must be a number") from error
    if not (math.isfinite(given) and low <= given <= high and given > above):
        raise InputError(argument, value, "must be a finite number" + _bounds(low, above, high))
    return given


def positive(argument: str, value: SupportsFloat, rule: str) -> float:
    """`value` as a float above 0, possibly infinite. Raises `InputError` with the text `rule`."""
    try:
        return math.inf if value == math.inf else number(argument, value, above=0.0)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(argument, value, rule) from error


def count(argument: str, value: object, *, low: int = 0, high: float = math.inf) -> int:
    """`value` as an int with low <= value <= high. Raises `InputError`, including for bools and floats."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(argument, value, f"must be a whole number, at least {low}")
    if value > high:
        raise InputError(argument, value, f"must be at most {high}")
    return int(value)


def whole(argument: str, value: object, *, low: int = 0) -> int:
    """`count` that also accepts a float with a whole value, because settings files may contain 30.0 for 30."""
    return count(argument, int(value) if isinstance(value, float) and value.is_integer() else value, low=low)


def switch(argument: str, value: object) -> bool:
    """Return `value` if it is True or False. Raises `InputError` for other values, even if they are true in Python, such as "no"."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(argument, value, "must be True or False")
    return bool(value)


def choice(argument: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`. Raises `InputError`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(argument, value, f"must be one of {', '.join(choices)}{similar(value, choices)}")
    return value


def instance(argument: str, value: object, *kinds: type[T]) -> T:
    """Return `value` if it is an instance of one of `kinds`. Raises `InputError`."""
    if not isinstance(value, kinds):
        raise InputError(argument, value, f"must be a {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def sequence(argument: str, values: Any) -> Sequence[Any]:
    """Return `values` if they are a sequence: a list, tuple or array of one or more axes, not a text or mapping. Raises `InputError`."""
    if isinstance(values, np.ndarray) and values.ndim:
        return cast("Sequence[Any]", values)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InputError(argument, values, "must be a list")
    return values


def iterable(argument: str, values: Any) -> Iterable[Any]:
    """An iterator over `values`, which can be any iterable. Raises `InputError` if they are not iterable."""
    try:
        return cast("Iterable[Any]", iter(values))
    except TypeError as error:
        raise InputError(argument, values, "must be iterable") from error


def named_arrays(argument: str, arrays: object, names: Collection[str]) -> None:
    """Raises `InputError` unless `arrays` is a mapping of exactly `names` to NumPy arrays."""
    if not isinstance(arrays, Mapping) or arrays.keys() != set(names):
        raise InputError(argument, sorted(arrays) if isinstance(arrays, Mapping) else arrays, f"must be {sorted(names)}")
    for name in names:
        instance(f"{argument}[{name!r}]", arrays[name], np.ndarray)


def _bounds(low: float, above: float, high: float) -> str:
    if math.isfinite(low) and math.isfinite(high):
        return f" from {low:g} to {high:g}"
    named = ((">=", low), (">", above), ("<=", high))
    return " and".join(f" {sign} {bound:g}" for sign, bound in named if math.isfinite(bound))


def _all_of(argument: str, array: Floats, fits: NDArray[np.bool_], rule: str) -> Floats:
    if not fits.all():
        place = tuple(int(i) for i in np.argwhere(~np.asarray(fits))[0])
        raise InputError(_entry(argument, place), array[place].item(), rule)
    return array


def _all_stored(argument: str, csr: Sparse, fits: NDArray[np.bool_], rule: str) -> None:
    if fits.all():
        return
    at = int(np.flatnonzero(~fits)[0])
    row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
    raise InputError(_entry(argument, (row, int(csr.indices[at]))), cast("float", csr.data[at].item()), rule)


def _entry(argument: str, place: tuple[int, ...]) -> str:
    return f"{argument}[{', '.join(map(str, place))}]" if place else argument


def similar(name: object, known: Sequence[str]) -> str:
    """The most similar known names, as the end of a rule; empty if none is similar. Case, hyphens and spaces make no difference."""
    import difflib  # noqa: PLC0415 - only for errors

    spelled: dict[str, list[str]] = {}
    for one in known:
        spelled.setdefault(_spelling(one), []).append(one)
    wanted = _spelling(str(name))
    spellings = [wanted] if wanted in spelled else difflib.get_close_matches(wanted, spelled, 3)
    close = [one for spelling in spellings for one in spelled[spelling]][:3]
    return f" (did you mean {', '.join(close)}?)" if close else ""


def _spelling(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")

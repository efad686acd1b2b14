"""Decorators that compile kernels with the same settings, so that arithmetic has the same meaning in all kernels of a fold."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ratings_core.kernels.cache import KernelCache

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])
_REGROUPED = {"reassoc", "nnan", "nsz"}


def kernel(function: FunctionT) -> FunctionT:
    """Compile `function` by numba and cache the machine code on disk. Its type stays the same for the type checker.

    Without fastmath and parallel, every operation is rounded separately and in order. Division by zero gives inf or NaN as in IEEE 754 and
    does not raise, because a check would add a branch to every division. Machine code is cached by the hash of its sources (`KernelCache`),
    so an edit of any called function takes effect.
    """
    return _compiled(function, fastmath=False, forceinline=False)


def unlocked(function: FunctionT) -> FunctionT:
    """As `kernel`, but the kernel releases the GIL, so other Python threads run. It must not use arrays that another thread changes."""
    return _compiled(function, fastmath=False, forceinline=False, nogil=True)


def inlined(function: FunctionT) -> FunctionT:
    """As `kernel`, for functions that hot loops call. They are always inlined, because a call with arrays counts references."""
    return _compiled(function, fastmath=False, forceinline=True)


def template(function: FunctionT) -> FunctionT:
    """As `inlined`, for functions with functions as arguments: compiled again in each calling kernel, and cached only with that kernel."""
    return cast("FunctionT", njit(error_model="numpy", fastmath=False, forceinline=True)(function))


def reducing(function: FunctionT) -> FunctionT:
    """As `kernel`, but sums may be regrouped into vector instructions. For solvers, whose answers are certified; never for folds.

    Arguments must not contain NaN. Kernels that it calls keep their own rounding, because they set fastmath=False; without this, numba
    would let them inherit the setting.
    """
    return _compiled(function, fastmath=_REGROUPED, forceinline=False)


def reducing_inlined(function: FunctionT) -> FunctionT:
    """As `reducing`, for functions that hot loops call. They are always inlined."""
    return _compiled(function, fastmath=_REGROUPED, forceinline=True)


def _compiled(function: FunctionT, **options: Any) -> FunctionT:
    # A function inherits settings that it does not set from the first caller that compiles it, so every decorator sets all three.
    dispatcher = njit(error_model="numpy", **options)(function)
    dispatcher._cache = KernelCache(function)  # noqa: SLF001 - what `cache=True` does with numba's own cache
    return cast("FunctionT", dispatcher)

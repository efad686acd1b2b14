"""How kernels are compiled: one decorator, so that no kernel of a fold differs in what its arithmetic means."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from ratings_core.kernels.cache import KernelCache

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])
_REGROUPED = {"reassoc", "nnan", "nsz"}


def kernel(function: FunctionT) -> FunctionT:
    """Compile `function` by numba and cache the machine code on disk. Its type stays the same for the type checker.

    Neither fastmath nor parallel: every operation is rounded alone and in order. Division by zero gives inf or NaN as IEEE 754 says and
    does not raise, because a check would cost a branch in every division. Machine code is cached by the hash of its sources
    (`KernelCache`), so that an edit of any function it calls takes effect.
    """
    return _compiled(function, fastmath=False, forceinline=False)


def unlocked(function: FunctionT) -> FunctionT:
    """As `kernel`, and other Python threads run meanwhile: for kernels that touch no array which another thread changes."""
    return _compiled(function, fastmath=False, forceinline=False, nogil=True)


def inlined(function: FunctionT) -> FunctionT:
    """As `kernel`, for functions that hot loops call: always inlined there, because passing arrays to a call counts references."""
    return _compiled(function, fastmath=False, forceinline=True)


def template(function: FunctionT) -> FunctionT:
    """As `inlined`, for functions that take functions: compiled again into each kernel that calls it, and cached with that kernel only."""
    return cast("FunctionT", njit(error_model="numpy", fastmath=False, forceinline=True)(function))


def reducing(function: FunctionT) -> FunctionT:
    """As `kernel`, but sums may be regrouped into vector instructions: for solvers, which prove their answers; never for folds.

    Arguments must hold no NaN. Kernels that it calls keep their own rounding: they say fastmath=False, else numba would let them
    inherit it.
    """
    return _compiled(function, fastmath=_REGROUPED, forceinline=False)


def reducing_inlined(function: FunctionT) -> FunctionT:
    """As `reducing`, for functions that hot loops call: always inlined there."""
    return _compiled(function, fastmath=_REGROUPED, forceinline=True)


def _compiled(function: FunctionT, **options: Any) -> FunctionT:
    # A function inherits what it does not set from the caller that has it compiled first; so every decorator sets all three.
    dispatcher = njit(error_model="numpy", **options)(function)
    dispatcher._cache = KernelCache(function)  # noqa: SLF001 - what `cache=True` does with numba's own cache
    return cast("FunctionT", dispatcher)

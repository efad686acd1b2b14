"""How kernels are compiled: one decorator, so that no kernel of a fold differs in what its arithmetic means."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


def kernel(function: FunctionT) -> FunctionT:
    """`function` compiled by numba, cached on disk, keeping its type for the type checker.

    Neither fastmath nor parallel: every operation is rounded alone and in order. Division by zero gives inf or NaN as IEEE 754
    says and does not raise, since a check would cost a branch in every division. The cache of a kernel is renewed when its own
    file changes, not when one that it calls from does: clear `__pycache__` after editing shared kernels.
    """
    return cast("FunctionT", njit(cache=True, error_model="numpy", fastmath=False)(function))


def inlined(function: FunctionT) -> FunctionT:
    """As `kernel`, for what hot loops call: always inlined there, since passing arrays to a call counts references."""
    return cast("FunctionT", njit(cache=True, error_model="numpy", fastmath=False, forceinline=True)(function))


def template(function: FunctionT) -> FunctionT:
    """As `inlined`, for what takes functions: compiled anew into each kernel that hands it some, and cached with that kernel only."""
    return cast("FunctionT", njit(error_model="numpy", fastmath=False, forceinline=True)(function))


def reducing(function: FunctionT) -> FunctionT:
    """As `kernel`, but sums may be regrouped, so that they become vector instructions: for solvers, which prove their answers; never
    for folds. Arguments must hold no NaN. Kernels that it calls keep their own rounding (they say fastmath=False, else numba would let
    them inherit it).
    """
    return cast("FunctionT", njit(cache=True, error_model="numpy", fastmath={"reassoc", "nnan", "nsz"})(function))


def reducing_inlined(function: FunctionT) -> FunctionT:
    """As `reducing`, for what hot loops call: always inlined there."""
    compiled = njit(cache=True, error_model="numpy", fastmath={"reassoc", "nnan", "nsz"}, forceinline=True)
    return cast("FunctionT", compiled(function))

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
    return cast("FunctionT", njit(cache=True, error_model="numpy")(function))


def inlined(function: FunctionT) -> FunctionT:
    """As `kernel`, for what hot loops call: always inlined there, since passing arrays to a call counts references."""
    return cast("FunctionT", njit(cache=True, error_model="numpy", forceinline=True)(function))


def template(function: FunctionT) -> FunctionT:
    """As `inlined`, for what takes functions: compiled anew into each kernel that hands it some, and cached with that kernel only."""
    return cast("FunctionT", njit(error_model="numpy", forceinline=True)(function))

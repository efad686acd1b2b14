"""Recognize machine code whose results differ between machines."""

import re
from typing import Any, Final

from numba import njit

FORBIDDEN: Final = re.compile(r"v?fn?m(add|sub)|[$\s](exp2?|expm1|log2?|log1p|pow|fma)\b")
"""Fused multiply-add instructions, and calls of functions of the system's math library."""


def fresh(function: Any) -> Any:
    """The kernel compiled again: what comes from the cache cannot be inspected."""
    options = {name: value for name, value in function.targetoptions.items() if name != "nopython"}
    return njit(**options)(function.py_func)

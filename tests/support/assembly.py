"""Machine code that differs between machines."""

import re
from typing import Final

FORBIDDEN: Final = re.compile(r"v?fn?m(add|sub)|[$\s](exp2?|expm1|log2?|log1p|pow|fma)\b")
"""Fused operations, and calls of the machine's library of mathematics."""

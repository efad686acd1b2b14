"""Recognize machine code whose results differ between machines."""

import re
from typing import Final

FORBIDDEN: Final = re.compile(r"v?fn?m(add|sub)|[$\s](exp2?|expm1|log2?|log1p|pow|fma)\b")
"""Fused multiply-add instructions, and calls of functions of the system's math library."""

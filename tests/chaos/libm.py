"""A planted bug, run as a process of its own: the fold's digest with libm's exp in place of ours. Prints it."""

import math
import sys

import ratings_core.kernels.portable as portable
from ratings_core.kernels.compile import inlined


@inlined
def exp(x: float) -> float:
    return math.exp(x)


portable.exp = exp  # type: ignore[assignment]  # before any kernel that calls it is compiled

if __name__ == "__main__":
    from tests.support.fold_digest import fold_digest

    sys.stdout.write(fold_digest())

"""Time limits of solvers. A solver checks its deadline between steps, so it can exceed the limit by the duration of a step.

A result that a deadline interrupted is judged by its certificate, like every result that did not converge.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ratings_core import checks


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time limit. until: value of `clock`, in seconds, at which the time is over; ``math.inf`` for no limit."""

    until: float = math.inf
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(cls, max_seconds: float | None, clock: Callable[[], float] = time.perf_counter) -> "Deadline":
        """Deadline in `max_seconds` (> 0) from now; None for no limit. Raises `InputError`."""
        return NEVER if max_seconds is None else cls(clock() + checks.number("max_seconds", max_seconds, above=0.0), clock)

    @classmethod
    def within(cls, max_seconds: float) -> "Deadline":
        """Deadline in `max_seconds` (> 0) from now; ``math.inf`` for no limit. Raises `InputError`."""
        seconds = checks.positive("max_seconds", max_seconds, "must be above 0 seconds, or infinite")
        return cls.after(None if math.isinf(seconds) else seconds)

    def passed(self) -> bool:
        """Whether the time is over."""
        return self.until < math.inf and self.clock() > self.until

    def left(self) -> float:
        """Remaining seconds, at least 0; ``math.inf`` without a limit."""
        return max(0.0, self.until - self.clock()) if self.until < math.inf else math.inf


NEVER: Final = Deadline()

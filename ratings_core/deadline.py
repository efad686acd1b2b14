"""How long a solver may take: asked between its steps, so it may be passed by as much as one step takes.

An answer that a deadline cut short is judged like any other that did not converge: by its certificate.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ratings_core import checks


@dataclass(frozen=True, slots=True)
class Deadline:
    """until: what `clock`, in seconds, says when time is up; ``math.inf`` for never."""

    until: float = math.inf
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(cls, max_seconds: float | None, clock: Callable[[], float] = time.perf_counter) -> "Deadline":
        """`max_seconds` from now, > 0, or never. Raises `InputError`."""
        return NEVER if max_seconds is None else cls(clock() + checks.number("max_seconds", max_seconds, above=0.0), clock)

    @classmethod
    def within(cls, max_seconds: float) -> "Deadline":
        """As `after`, infinite for never. Raises `InputError`."""
        seconds = checks.positive("max_seconds", max_seconds, "must be above 0 seconds, or infinite")
        return cls.after(None if math.isinf(seconds) else seconds)

    def passed(self) -> bool:
        """Whether time is up."""
        return self.until < math.inf and self.clock() > self.until

    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(0.0, self.until - self.clock()) if self.until < math.inf else math.inf


NEVER: Final = Deadline()

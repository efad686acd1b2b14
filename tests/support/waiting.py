"""Wait in tests for what has to happen. The bound says that it will not happen; no machine is too slow for it."""

import time
from collections.abc import Callable
from typing import Any, Final

PATIENCE: Final = 240.0
"""Seconds after which something is not going to happen. Less than the limit of a test, so that the failure says what was awaited."""


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Call `condition` until its result is true, and return the result. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"did not happen within {seconds:g} s: {what}"
        time.sleep(0.02)
    return found

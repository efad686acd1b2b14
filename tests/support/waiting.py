"""Wait for a condition. One generous bound serves all tests, so no test depends on the speed of the machine."""

import time
from collections.abc import Callable
from typing import Any, Final

PATIENCE: Final = 240.0
"""Seconds after which a wait fails. Only a test that fails waits that long."""


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Call `condition` until its result is true, and return the result.

    Args:
        condition: What is waited for.
        what: Names the condition in the failure.
        seconds: The wait fails after this time. Another value than `PATIENCE` is for work that takes minutes on any machine.

    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"did not happen within {seconds:g} s: {what}"
        time.sleep(0.02)
    return found

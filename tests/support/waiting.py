"""Wait for a condition. One generous bound serves all tests, so no test depends on the speed of the machine."""

import time
from collections.abc import Callable
from typing import Any, Final

PATIENCE: Final = 600.0
"""Seconds after which a wait fails. Only a test that fails waits that long."""


def until(condition: Callable[[], Any], what: str | Callable[[], str], seconds: float = PATIENCE) -> Any:
    """Call `condition` until its result is true, and return the result. Pauses between calls are as long as a call, and at least 20 ms.

    Args:
        condition: What is waited for.
        what: Names the condition in the failure. A function is called when the wait fails.
        seconds: The wait fails after this time. Another value than `PATIENCE` is for work that takes minutes on any machine.

    """
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := condition():
            return found
        ended = time.monotonic()
        assert ended < deadline, f"did not happen within {seconds:g} s: {what if isinstance(what, str) else what()}"
        time.sleep(max(0.02, ended - began))

"""The pools as readers know them, where the log does not answer."""

import threading
import time

from services.api.directory import Directory
from services.control.records import ControlState, PoolCreated
from services.wire.pools import Kind


class Control:
    """A control log that hangs until it is let go."""

    def __init__(self) -> None:
        self.go, self.state = threading.Event(), ControlState()
        self.asked = 0

    def refresh(self) -> ControlState:
        self.asked += 1
        assert self.go.wait(120.0)
        return self.state


def test_a_log_that_hangs_holds_no_reader_up() -> None:
    control = Control()
    now = [0.0]
    directory = Directory(control, lambda: now[0])
    began = time.monotonic()
    for second in range(5):
        now[0] = 10.0 * second
        assert directory.seen() == {}
    assert time.monotonic() - began < 60.0
    assert control.asked == 1, "one thread asks, however many read"
    made = PoolCreated(pool="blitz", kind=Kind.GAMES, time=0.0)
    control.state.apply(0, made)
    control.go.set()
    while "blitz" not in directory.seen():
        assert time.monotonic() - began < 120.0
        now[0] += 10.0
        time.sleep(0.001)

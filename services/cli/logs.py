"""The logs of the installation that a command is about."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from services.backends import open_log
from services.control.log import ControlLog
from services.control.log import control_state as read_control
from services.control.records import ControlState
from services.log.protocol import Log
from services.runtime.settings import Settings


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[Log, ControlLog]]:
    """All logs, and the control log to read and append. Raises `LogError` if there is no log."""
    with closing(open_log(settings, create=False)) as log, closing(ControlLog(log.control)) as control:
        yield log, control


def control_state(settings: Settings) -> ControlState:
    """What the control log says now. Raises `LogError`."""
    with closing(open_log(settings, create=False)) as log:
        return read_control(log.control)

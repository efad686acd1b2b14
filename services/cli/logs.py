"""The logs of the installation that a command works on."""

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
    """The logs of an installation, and its control log for reading and appending. Raises `LogError` if there is no log."""
    with closing(open_log(settings, create=False)) as log, closing(ControlLog(log.control)) as control:
        yield log, control


def control_state(settings: Settings) -> ControlState:
    """The present state of the control log. Raises `LogError`."""
    with closing(open_log(settings, create=False)) as log:
        return read_control(log.control)

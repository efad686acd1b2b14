"""The logs of the installation that a command works on."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.log import control_state as read_control
from services.control.records import ControlState
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings

if TYPE_CHECKING:
    from services.shard.generations.past_states import PastStates


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[Log, ControlLog]]:
    """The logs of an installation, and its control log for reading and appending. Raises `LogError` if there is no log."""
    with closing(open_log(settings, create=False)) as log, closing(ControlLog(log.control)) as control:
        yield log, control


def control_state(settings: Settings) -> ControlState:
    """The present state of the control log. Raises `LogError`."""
    with closing(open_log(settings, create=False)) as log:
        return read_control(log.control)


@contextmanager
def past_contents(settings: Settings, files: CheckpointStore) -> "Iterator[PastStates | None]":
    """What folds pools again up to past positions. None if the log cannot be opened here: then only kept states can be read."""
    from services.shard.generations.past_states import PastStates  # noqa: PLC0415 - imports kernels, which takes time

    with ExitStack() as held:
        try:
            log, control = held.enter_context(opened(settings))
        except LogError:
            yield None
            return
        yield PastStates(log, control.refresh, files, most=None)

"""What commands say of a pool that readers see nothing of."""

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.store.protocol import LiveReader
from services.control.records import ControlState
from services.log.protocol import LogError
from services.runtime.settings import Settings


def no_pool(settings: Settings, boards: LiveReader, pool: str) -> InputError:
    """That nobody made it, or that nothing of it was folded yet. Raises `StoreError`."""
    known = ", ".join(head.pool for head in boards.pools()) or "none yet"
    try:
        there = pool in control_state(settings).pools
    except LogError:  # the store alone can be read from here
        there = False
    if there:
        return InputError("--pool", pool, f"must have outcomes: this pool is there, and none was folded yet (others: {known})")
    return InputError("--pool", pool, f"must be a pool that has outcomes (there are: {known})")


def control_state(settings: Settings) -> ControlState:
    """What the control log says now. Raises `LogError`."""
    from services.control.log import ControlLog  # noqa: PLC0415 - with numba, which readers of boards need not wait for

    log = open_log(settings, create=False)
    control = ControlLog(log.control)
    try:
        return control.refresh()
    finally:
        control.close()
        log.close()

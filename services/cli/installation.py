"""The installation that a command is about: its settings, and its store where that answers."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ratings_core.errors import InputError
from services.backends import open_store
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.log.protocol import LogError
from services.runtime.settings import Settings


def settings_of(data: Path | None) -> Settings:
    """The settings of the environment. data: the data folder, in place of the environment's; None for the environment's."""
    return Settings(data=data) if data else Settings()


@contextmanager
def reached(settings: Settings, identity: str) -> Iterator[RedisStore | None]:
    """The store, None if it does not answer. identity: of the log, as the store may still show what another one left."""
    with ExitStack() as held:
        try:
            store = held.enter_context(closing(open_store(settings, identity)))
            store.ping()
        except StoreError:
            yield None
        else:
            yield store


def no_pool(settings: Settings, boards: LiveBoards, pool: str) -> InputError:
    """What to say of a pool that readers see nothing of: nobody made it, or nothing of it was folded yet. Raises `StoreError`."""
    from services.cli.logs import control_state  # noqa: PLC0415 - with numba, which readers of boards need not wait for

    known = ", ".join(head.pool for head in boards.pools() if head.pool != pool) or "none yet"
    try:
        there = pool in control_state(settings).pools
    except LogError:  # the store alone can be read from here
        there = False
    if there:
        return InputError(
            "--pool", pool, f"must have outcomes: this pool is there, and none was folded yet; try again in some seconds (others: {known})"
        )
    return InputError("--pool", pool, f"must be a pool that has outcomes (there are: {known})")

"""The installation that a command works on: its settings, and its store if that answers."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ratings_core.errors import InputError
from services.backends import open_store
from services.boards.slice_boards import SliceName, slice_text
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.log.protocol import LogError
from services.runtime.settings import Settings

Data: TypeAlias = Annotated[Path | None, typer.Option(help="Data folder (EQUIRANK_DATA).")]
"""Option of a command that works on an installation."""


def settings_of(data: Path | None) -> Settings:
    """The settings from the environment. data: The data folder instead of the environment's; None for the environment's."""
    return Settings(data=data) if data else Settings()


@contextmanager
def reached(settings: Settings, identity: str) -> Iterator[RedisStore | None]:
    """The store of a log; None if it does not answer.

    identity: Identity of the log. It is needed because the store may also hold boards of other logs.
    """
    with ExitStack() as held:
        try:
            store = held.enter_context(closing(open_store(settings, identity)))
            store.ping()
        except StoreError:
            yield None
        else:
            yield store


def head_of(settings: Settings, boards: LiveBoards, pool: str, argument: str = "--pool") -> PoolHead:
    """The head of a pool that readers see.

    Args:
        settings: Settings of the installation.
        boards: The live boards.
        pool: Name of the pool.
        argument: What the command calls the name, for the error.

    Raises:
        InputError: The pool does not exist, or none of its outcomes is folded yet.
        StoreError: The store does not answer.
    """
    if (head := boards.head(pool)) is not None:
        return head
    from services.cli.logs import control_state  # noqa: PLC0415 - imports numba, which takes time and only this path needs

    known = ", ".join(head.pool for head in boards.pools() if head.pool != pool) or "none yet"
    try:
        there = pool in control_state(settings).pools
    except LogError:  # only the store can be read from this machine
        there = False
    if there:
        rule = f"must have outcomes: this pool exists, but none was folded yet; try again in some seconds (other pools: {known})"
    else:
        rule = f"must be a pool that has outcomes (there are: {known})"
    raise InputError(argument, pool, rule)


def slice_in(head: PoolHead, part: str | None) -> str:
    """The slice that `--slice` names; empty for None, which is all outcomes. Raises `InputError` with the pool's slices for another one."""
    text = slice_text(part)
    if not head.has_slice(text):
        slices = [str(SliceName(tag, known.value)) for tag, found in head.slices.items() for known in found.values]
        raise InputError("--slice", text, f"must be a slice of pool {head.pool}: {', '.join(slices) or 'it has none'}")
    return text

"""`equirank verify`: compare a new fold of the log with checkpoints and store, solved boards with files, and the archive with its hash."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from services.admin.verify import Finding, verify_partition
from services.admin.verify_archive import verify_archive
from services.admin.verify_solved import verify_solved
from services.backends import open_log, open_store
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.installation import settings_of
from services.log.protocol import Log
from services.runtime.memory import set_up_memory
from services.runtime.settings import Settings


def verify(
    data: Annotated[Path | None, typer.Option(help="Data folder (EQUIRANK_DATA).")] = None,
) -> None:
    """Compare the log folded again with checkpoints and live boards; solved boards with files; the archive with its hash.

    Status 1 on a difference.
    """
    set_up_memory()
    settings = settings_of(data)
    console = Console(soft_wrap=True)
    compared = differences = 0
    with closing(open_log(settings, create=False)) as log:
        for finding in _findings(settings, log, _store(settings, log.outcomes.identity, console)):
            verdict = "equal" if finding.difference is None else f"[bold red]differs[/]: {escape(finding.difference)}"
            pool = "" if finding.pool is None else f" {finding.pool}"
            line = f"partition {finding.partition}{pool} {finding.what} at {finding.position}: {verdict}"
            console.print(line, highlight=False)
            compared += 1
            differences += finding.difference is not None
    if compared:
        console.print(f"{compared} comparisons, {differences or 'no'} difference{'s' * (differences > 1)}")
    else:
        console.print("nothing to compare: there is no checkpoint and no board yet")
    sys.exit(1 if differences else 0)


def _findings(settings: Settings, log: Log, store: RedisStore | None) -> Iterator[Finding]:
    """All comparisons, each when it is made. store: None to compare checkpoints only."""
    checkpoints = CheckpointStore(settings.checkpoint_url)
    for number in range(log.outcomes.partitions):
        yield from verify_partition(number, log, checkpoints, None if store is None else store.live)
    if store is not None:
        yield from verify_solved(log, checkpoints, store)
    if settings.archive is not None:
        yield from verify_archive(settings.archive, log)


def _store(settings: Settings, identity: str, console: Console) -> RedisStore | None:
    try:
        store = open_store(settings, identity)
        store.ping()
    except StoreError as error:
        console.print(f"checkpoints only, as the store does not answer: {error}")
        return None
    return store

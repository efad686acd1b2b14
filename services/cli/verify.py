"""`equirank verify`: compare a new fold of log and archive with checkpoints and store, and solved boards with files; check the archive."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

from rich.console import Console
from rich.markup import escape

from services.admin.verify import Finding, verify_partition
from services.admin.verify_archive import unarchived, verify_archive
from services.admin.verify_solved import verify_solved
from services.backends import open_log, open_store, store_url
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.installation import Data, settings_of
from services.log.protocol import Log
from services.runtime.memory import set_up_memory
from services.runtime.settings import Settings


def verify(
    data: Data = None,
) -> None:
    """Check the installation: checkpoints and live boards against log and archive, solved boards against files, the archive for lost rows.

    The exit status is 1 if something differs or could not be compared.
    """
    set_up_memory()
    settings = settings_of(data)
    console = Console(soft_wrap=True)
    verdicts: Counter[str] = Counter()
    with closing(open_log(settings, create=False)) as log:
        for finding in _findings(settings, log, console):
            verdict = "equal" if finding.difference is None else "differs" if finding.made else "not compared"
            why = "" if finding.difference is None else f": {escape(finding.difference)}"
            console.print(f"{escape(str(finding))}: {f'[bold red]{verdict}[/]' if why else verdict}{why}", highlight=False)
            verdicts[verdict] += 1
        written = any(map(log.outcomes.end, range(log.outcomes.partitions)))
    differences, unmade = verdicts["differs"], verdicts["not compared"]
    if unmade:
        console.print(f"{verdicts.total() - unmade} comparisons, {differences} of them differ; {unmade} were not possible")
    elif verdicts:
        console.print(f"{verdicts.total()} comparisons, {differences or 'no'} difference{'s' * (differences > 1)}")
    elif written:
        where = f"there is no board, and no checkpoint at {settings.checkpoint_url}"
        console.print(
            f"nothing was compared: {where}; start the engine, or set EQUIRANK_CHECKPOINTS to the engine's value, and verify again"
        )
    else:
        console.print("nothing to compare: the log is empty")
    sys.exit(1 if differences or unmade or (written and not verdicts) else 0)


def _findings(settings: Settings, log: Log, console: Console) -> Iterator[Finding]:
    """All comparisons, each when it is made."""
    checkpoints, store = CheckpointStore(settings.checkpoint_url), None
    try:
        store = _store(settings, log.outcomes.identity, console)
    except StoreError as error:
        what_to_do = "start Redis, or set EQUIRANK_REDIS to the readers' Redis, and verify again"
        yield Finding(partition=None, pool=None, what="boards", position=0, difference=f"{error}; {what_to_do}", made=False)
    for number in range(log.outcomes.partitions):
        yield from verify_partition(number, log, checkpoints, None if store is None else store.live)
    if store is not None:
        yield from verify_solved(log, checkpoints, store)
    if settings.archive_url is not None:
        yield from verify_archive(settings.archive_url, log, is_copy=settings.archive_is_copy)
    if settings.archive_is_copy and (missing := unarchived(log)):
        console.print(f"not archived yet: partitions {missing}; the log has their outcomes", highlight=False)


def _store(settings: Settings, identity: str, console: Console) -> RedisStore | None:
    """The store; None where no `equirank up` runs: readers see no boards then. Raises `StoreError` where it does not answer."""
    try:
        store_url(settings)
    except StoreError as error:
        console.print(f"boards are not compared, because the store does not answer: {error}")
        return None
    store = open_store(settings, identity)
    store.ping()
    return store

"""`equirank verify`: folds the log again and compares it with checkpoints and store, and solved boards with their files."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from services.admin.verify import Finding, verify_partition
from services.admin.verify_solved import verify_solved
from services.backends import open_log, open_store
from services.boards.store.protocol import StoreError, StoreReader
from services.checkpoints.checkpoint import CheckpointStore
from services.runtime.settings import Settings


def verify(
    data: Annotated[Path | None, typer.Option(help="Data folder (EQUIRANK_DATA).")] = None,
) -> None:
    """Fold the log again, and compare it with the newest checkpoints and every live board; and solved boards with their files.

    Status 1 on a difference.
    """
    settings = Settings(data=data) if data else Settings()
    log, checkpoints = open_log(settings, create=False), CheckpointStore(settings.checkpoint_url)
    console = Console(soft_wrap=True)
    store = _store(settings, console)
    findings: list[Finding] = []
    for number in range(log.outcomes.partitions):
        for finding in verify_partition(number, log, checkpoints, None if store is None else store.live):
            findings.append(finding)
            _tell(console, finding)
    if store is not None:
        for finding in verify_solved(log, checkpoints, store):
            findings.append(finding)
            _tell(console, finding)
    log.close()
    differences = sum(finding.difference is not None for finding in findings)
    if findings:
        console.print(f"{len(findings)} comparisons, {differences or 'no'} difference{'s' * (differences > 1)}")
    else:
        console.print("nothing to compare: there is no checkpoint and no board yet")
    sys.exit(1 if differences else 0)


def _store(settings: Settings, console: Console) -> StoreReader | None:
    try:
        store = open_store(settings)
        store.ping()
    except StoreError as error:
        console.print(f"checkpoints only, as the store does not answer: {error}")
        return None
    return store


def _tell(console: Console, finding: Finding) -> None:
    verdict = "equal" if finding.difference is None else f"[bold red]differs[/]: {escape(finding.difference)}"
    if finding.since is not None:
        verdict += f" (verified from {finding.since})"
    console.print(f"partition {finding.partition} {finding.pool} {finding.what} at {finding.position}: {verdict}", highlight=False)

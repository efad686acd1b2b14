"""`equirank restore`: a data folder from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from services.admin import backup as backups
from services.cli.installation import settings_of


def restore(
    source: Annotated[Path, typer.Argument(help="Folder that `equirank backup` made.")],
    data: Annotated[Path | None, typer.Option(help="Data folder to make (EQUIRANK_DATA); it must not hold a log.")] = None,
) -> None:
    """Make a data folder from a backup, and its archive in EQUIRANK_ARCHIVE; `equirank up` goes on from there."""
    settings = settings_of(data)
    folder = settings.data
    done = backups.restore(source, folder, settings.archive, settings.checkpoints)
    typer.echo(f"{folder}: {done.outcomes} records, checkpoints of {done.checkpoints} partitions; `equirank verify` compares them")

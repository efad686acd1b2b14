"""`equirank restore`: a data folder from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from services.admin import backup as backups
from services.cli.installation import settings_of


def restore(
    source: Annotated[Path, typer.Argument(help="Folder created by `equirank backup`.")],
    data: Annotated[Path | None, typer.Option(help="Data folder to create (EQUIRANK_DATA). It must not contain a log.")] = None,
) -> None:
    """Create a data folder from a backup, with its archive in this folder or in EQUIRANK_ARCHIVE. Then start `equirank up`."""
    settings = settings_of(data)
    folder = settings.data
    done = backups.restore(source, folder, settings.archive_url, settings.checkpoints)
    typer.echo(f"{folder}: {done.outcomes} records, checkpoints of {done.checkpoints} partitions; `equirank verify` compares them")

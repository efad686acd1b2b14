"""`equirank backup`: a copy of an embedded data folder, taken while it runs."""

from pathlib import Path
from typing import Annotated

import typer

from ratings_core.errors import InputError
from services.admin import backup as backups
from services.archive.location import folder_of
from services.cli.installation import Data, settings_of


def backup(
    target: Annotated[Path, typer.Argument(help="New folder for the backup. It must not exist.")],
    data: Data = None,
) -> None:
    """Copy the log, the local archive, the newest checkpoints and the results into a new folder. `equirank up` may be running."""
    settings = settings_of(data)
    if not settings.embedded:
        raise InputError("EQUIRANK_KAFKA", settings.kafka, "must not be set: back up a Kafka log with the tools of Kafka")
    archive = settings.archive_url
    done = backups.back_up(settings.data, target, archive, settings.checkpoints, archive_is_copy=settings.archive_is_copy)
    what = f"{done.outcomes} records, {done.archived} archived outcomes, checkpoints of {done.checkpoints} partitions"
    typer.echo(f"{target}: {what}, {done.size / 1e6:.1f} MB")
    if archive is not None and folder_of(archive) is None:
        typer.echo(f"not copied: the archive {archive}; back it up with the tools of the object store")
    if done.left_out is not None:
        typer.echo(f"not copied: the archive {archive}, because it cannot be copied ({done.left_out}); the copied log has all outcomes")

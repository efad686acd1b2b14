"""Verify that the archive is readable and holds each row once. `verify_partition` folds its rows and compares the results."""

import time
from collections.abc import Iterator
from typing import Final

from ratings_core import extras
from services.admin.verify import WRITING_SECONDS, Finding
from services.archive.history import ArchiveFails
from services.archive.location import table_uri
from services.log.protocol import Log

_NONE: Final = "has no rows of it: set EQUIRANK_ARCHIVE to the engine's value; a new archive has its first rows within a minute"


def verify_archive(url: str, log: Log, *, is_copy: bool = False) -> Iterator[Finding]:
    """Verify the archive of each partition. Every row is read.

    Args:
        url: URL of the archive.
        log: The log of the archived outcomes.
        is_copy: The archive is a copy. A partition whose log dropped nothing then lacks nothing, also if it is not archived yet.

    Returns:
        A finding for each partition, except empty partitions without an archive. A damaged archive is a difference.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        OSError: The archive does not answer.
        LogError: The log cannot be read.
    """
    exceptions = extras.load("deltalake.exceptions", "archive", "reading the archive")
    for number in range(log.outcomes.partitions):
        try:
            position, difference = _compared(url, number, log.outcomes.identity)
            if difference is not None:  # an archive that is being written or erased looks damaged for a moment
                time.sleep(WRITING_SECONDS)
                position, difference = _compared(url, number, log.outcomes.identity)
        except exceptions.TableNotFoundError:
            if log.outcomes.end(number) and not (is_copy and not log.outcomes.begin(number)):
                yield Finding(partition=number, pool=None, what="archive", position=0, difference=f"{url} {_NONE}", made=False)
            continue
        if difference is not None and is_copy and not log.outcomes.begin(number):
            folder = table_uri(url, number)
            difference += f"; the log has all its rows: stop `equirank up`, remove {folder}, and the next start writes it again"
        yield Finding(partition=number, pool=None, what="archive", position=position, difference=difference)


def unarchived(log: Log) -> list[int]:
    """Partitions with records, of which the log dropped none, and without an archive. Raises `LogError`."""
    topic = log.outcomes
    kept = [number for number in range(topic.partitions) if topic.end(number) and not topic.begin(number)]
    return [number for number in kept if not _has_archive(log, number)]


def _has_archive(log: Log, number: int) -> bool:
    try:
        return log.archived is not None and log.archived.archived_to(number) is not None
    except ArchiveFails:
        return True  # `verify_archive` reports it


def _compared(url: str, number: int, identity: str) -> tuple[int, str | None]:
    """Position of a partition's archive, and its difference or None. Raises `TableNotFoundError` without an archive.

    identity: identity of the log.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415 - needs the extra `archive`

    from services.archive.reader import ArchiveDamagedError, open_reader  # noqa: PLC0415 - as above

    position = 0
    try:
        archive = open_reader(url, number)
        position = archive.position
        if archive.log != identity:
            return position, f"it belongs to log {archive.log}, and this is log {identity}: set EQUIRANK_ARCHIVE to the archive of this log"
        for _ in archive.read():  # checks row numbers
            pass
    except TableNotFoundError:
        raise
    except ArchiveDamagedError as error:
        return position, str(error)
    except (DeltaError, FileNotFoundError) as error:
        one_line = str(error).partition("\n")[0]
        return position, f"it cannot be read: {one_line}"
    return position, None

"""Verification of the archive: its rows are those that were appended, by the hash chained over them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ratings_core import extras
from services.admin.verify import Finding
from services.log.protocol import Log

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader


def verify_archive(url: str, log: Log) -> Iterator[Finding]:
    """One finding for each partition that has an archive. Reads every row.

    Args:
        url: URL of the archive.
        log: The log whose outcomes it holds.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        DeltaError, OSError: The archive cannot be read.
    """
    missing = extras.load("deltalake.exceptions", "archive", "reading the archive").TableNotFoundError
    from services.archive.reader import open_reader  # noqa: PLC0415 - needs the extra `archive`

    for number in range(log.outcomes.partitions):
        try:
            archive = open_reader(url, number)
        except missing:
            continue
        difference = _difference(archive, log.outcomes.identity, number)
        yield Finding(partition=number, pool=None, what="archive", position=archive.position, difference=difference)


def _difference(archive: "ArchiveReader", identity: str, number: int) -> str | None:
    """Why the rows are not those that were appended; None where they are."""
    from services.archive.chain import ChainBrokenError, genesis, verify  # noqa: PLC0415 - as above
    from services.archive.reader import ArchiveDamagedError  # noqa: PLC0415 - as above

    if archive.log != identity:
        return f"it belongs to log {archive.log}, and this is log {identity}"
    try:
        verify(genesis(archive.log, number), archive.read())
    except (ArchiveDamagedError, ChainBrokenError) as error:
        return str(error)
    return None

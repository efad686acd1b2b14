"""Verify the archive: the hash chain shows whether its rows are those that were appended."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from ratings_core import extras
from services.admin.verify import WRITING_SECONDS, Finding
from services.control.erasures import ErasureRecords
from services.control.log import ControlLog
from services.log.partition import partition_of
from services.log.protocol import Log, Topic

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader

_NONE: Final = "has no rows of it: set EQUIRANK_ARCHIVE to the engine's value; a new archive has its first rows within a minute"


def verify_archive(url: str, log: Log) -> Iterator[Finding]:
    """Verify the archive of each partition. Every row is read.

    Args:
        url: URL of the archive.
        log: The log of the archived outcomes.

    Returns:
        A finding for each partition, except empty partitions without an archive. A damaged archive is a difference.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        OSError: The archive does not answer.
        LogError: The control log cannot be read.
    """
    exceptions = extras.load("deltalake.exceptions", "archive", "reading the archive")
    with closing(ControlLog(log.control)) as control:
        erasures = control.refresh().erasures
    for number in range(log.outcomes.partitions):
        try:
            position, difference = _compared(url, number, log.outcomes, erasures)
            if difference is not None:  # an archive that is being written or erased looks damaged for a moment
                time.sleep(WRITING_SECONDS)
                position, difference = _compared(url, number, log.outcomes, erasures)
        except exceptions.TableNotFoundError:
            if log.outcomes.end(number):
                yield Finding(partition=number, pool=None, what="archive", position=0, difference=f"{url} {_NONE}", made=False)
            continue
        yield Finding(partition=number, pool=None, what="archive", position=position, difference=difference)


def _compared(url: str, number: int, topic: Topic, erasures: ErasureRecords) -> tuple[int, str | None]:
    """Position of a partition's archive, and its difference or None. Raises `TableNotFoundError` without an archive."""
    from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415 - needs the extra `archive`

    from services.archive.reader import open_reader  # noqa: PLC0415 - as above

    position = 0
    try:
        archive = open_reader(url, number)
        position = archive.position
        return position, _difference(archive, topic.identity, number) or _other_link(archive, topic, number, erasures)
    except TableNotFoundError:
        raise
    except (DeltaError, FileNotFoundError) as error:
        one_line = str(error).partition("\n")[0]
        return position, f"it cannot be read: {one_line}"


def _difference(archive: "ArchiveReader", identity: str, number: int) -> str | None:
    """Reason why the rows are not those that were appended to the archive of this log; None if they are."""
    from services.archive.chain import ChainBrokenError, genesis, verify  # noqa: PLC0415 - as above
    from services.archive.reader import ArchiveDamagedError  # noqa: PLC0415 - as above

    if archive.log != identity:
        return f"it belongs to log {archive.log}, and this is log {identity}: set EQUIRANK_ARCHIVE to the archive of this log"
    try:
        verify(genesis(archive.log, number), archive.read())
    except (ArchiveDamagedError, ChainBrokenError) as error:
        return str(error)
    return None


def _other_link(archive: "ArchiveReader", topic: Topic, number: int, erasures: ErasureRecords) -> str | None:
    """Difference between the archive's chain and the link that the newest erasure noted; None if they agree.

    While an erasure is pending, the chain may change, so the links are not compared.
    """
    noted = [(note.token, note.change(number, partition_of(note.pool, topic.partitions))) for note in erasures.notes]
    changes = [(token, change) for token, change in noted if change is not None]
    if not changes or not all(map(erasures.is_done, erasures.requests)):
        return None
    token, change = changes[-1]
    if archive.rows < change.covered:
        return f"it holds {archive.rows} rows, and the erasure {token} noted {change.covered}"
    found = archive.link(number, change.covered).link.hex()
    if found == change.after:
        return None
    return f"its first {change.covered} rows have the link {found}, and the erasure {token} noted {change.after}"

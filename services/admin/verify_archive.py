"""Verify that the archive is readable and holds each row once, and that a copy has the rows that the log gives.

`verify_partition` folds the rows of an archive that is no copy, and compares the results.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ratings_core import extras
from services.admin.verify import WRITING_SECONDS, Finding
from services.archive.history import ArchiveFails
from services.archive.location import table_uri
from services.control.erasures import matchers
from services.control.log import control_state
from services.log.protocol import Log, Ranges
from services.log.skipping import open_reader as open_log_reader

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader

_NONE: Final = "has no rows of it: set EQUIRANK_ARCHIVE to the engine's value; a new archive has its first rows within a minute"
_WINDOW_BYTES: Final = 16 << 20
"""Approximate bytes of records that are encoded and compared at once."""


class _Compared(NamedTuple):
    """Result of a comparison. position: that of the archive. rows: number of compared rows. difference: None without one."""

    position: int
    rows: int
    difference: str | None


def verify_archive(url: str, log: Log, *, is_copy: bool = False) -> Iterator[Finding]:
    """Verify the archive of each partition. Every row is read. Rows of a copy are compared with the records that the log still has.

    Args:
        url: URL of the archive.
        log: The log of the archived outcomes.
        is_copy: The archive is a copy. A partition whose log dropped nothing then lacks nothing, also if it is not archived yet.

    Returns:
        A finding for each partition, except empty partitions without an archive; and one for the rows of a copy that can be read. A
        damaged archive is a difference.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        OSError: The archive does not answer.
        LogError: The log cannot be read.
    """
    exceptions = extras.load("deltalake.exceptions", "archive", "reading the archive")
    for number in range(log.outcomes.partitions):
        found: list[tuple[str, _Compared]] = []
        try:
            found.append(("archive", _twice(partial(_compared, url, number, log, _check_rows))))
            if is_copy and found[0][1].difference is None:
                against = _twice(partial(_compared, url, number, log, _compare_rows))
                found.append((f"{against.rows} archived rows against the log", against))
        except exceptions.TableNotFoundError:
            if log.outcomes.end(number) and not (is_copy and not log.outcomes.begin(number)):
                yield Finding(partition=number, pool=None, what="archive", position=0, difference=f"{url} {_NONE}", made=False)
            continue
        for what, (position, _, difference) in found:
            remedy = ""
            if difference is not None and is_copy and not log.outcomes.begin(number):
                folder = table_uri(url, number)
                remedy = f"; the log has all its rows: stop `equirank up`, remove {folder}, and the next start writes it again"
            said = None if difference is None else difference + remedy
            yield Finding(partition=number, pool=None, what=what, position=position, difference=said)


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


def _twice(compare: Callable[[], _Compared]) -> _Compared:
    """The result of a comparison, which is made again after a pause if it differs: what is written or erased looks damaged for a moment."""
    result = compare()
    if result.difference is not None:
        time.sleep(WRITING_SECONDS)
        result = compare()
    return result


def _compared(url: str, number: int, log: Log, compare: Callable[[int, "ArchiveReader", Log], tuple[int, str | None]]) -> _Compared:
    """Open a partition's archive and compare it. An archive that cannot be read is a difference. Raises `TableNotFoundError` without one.

    compare: returns the number of compared rows, and the difference or None.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415 - needs the extra `archive`

    from services.archive.reader import ArchiveDamagedError, open_reader  # noqa: PLC0415 - as above

    position, identity = 0, log.outcomes.identity
    try:
        archive = open_reader(url, number)
        position = archive.position
        if archive.log != identity:
            other = f"it belongs to log {archive.log}, and this is log {identity}: set EQUIRANK_ARCHIVE to the archive of this log"
            return _Compared(position, 0, other)
        return _Compared(position, *compare(number, archive, log))
    except TableNotFoundError:
        raise
    except ArchiveDamagedError as error:
        return _Compared(position, 0, str(error))
    except (DeltaError, FileNotFoundError) as error:
        one_line = str(error).partition("\n")[0]
        return _Compared(position, 0, f"it cannot be read: {one_line}")


def _check_rows(number: int, archive: "ArchiveReader", log: Log) -> tuple[int, str | None]:  # noqa: ARG001 - as `_compare_rows`
    """Read all rows, which checks their numbers."""
    return sum(map(len, archive.read())), None


def _compare_rows(number: int, archive: "ArchiveReader", log: Log) -> tuple[int, str | None]:
    """Compare the rows with those that the log's records give, window by window. Names that are erased, or to be erased, are tokens."""
    import pyarrow as pa  # noqa: PLC0415 - needs the extra `archive`

    from services.archive.encode import rows  # noqa: PLC0415 - as above
    from services.archive.erased_rows import erased  # noqa: PLC0415 - as above
    from services.archive.follow import read_records  # noqa: PLC0415 - as above
    from services.archive.schema import CONTENT, fields  # noqa: PLC0415 - as above

    control, topic, compared = control_state(log.control), log.outcomes, 0
    names, skipped = matchers(control.erasures.requests), control.partitions.skipped
    if (end := topic.end(number)) < archive.position:
        return 0, f"it holds records below offset {archive.position}, and the log ends at {end}"
    begin = max(archive.begin, topic.begin(number))
    with closing(open_log_reader(topic, {number: begin}, skipped)) as reader:
        while begin < archive.position:
            records = read_records(topic, reader, number, archive.position, _WINDOW_BYTES)
            reached = archive.position if not records else max(reader.position(number), records[-1].offset + 1)
            reached = min(reached, archive.position)
            expected = erased(rows(records), names)[0] if records else fields(CONTENT).empty_table()
            kept = pa.concat_tables([fields(CONTENT).empty_table(), *archive.read(begin, reached, columns=CONTENT)])
            kept = erased(_without(kept, skipped.get(number, ())), names)[0]
            if (difference := _first_difference(kept, expected.select(CONTENT).cast(fields(CONTENT)))) is not None:
                return compared, difference
            compared, begin = compared + len(kept), reached
    return compared, None


def _without(rows: Any, skipped: Ranges) -> Any:
    """Rows outside of the skipped ranges of offsets."""
    offset = rows["offset"].to_numpy()
    kept = np.ones(len(rows), np.bool_)
    for begin, end in skipped:
        kept &= (offset < begin) | (offset >= end)
    return rows if kept.all() else rows.filter(kept)


def _first_difference(kept: Any, expected: Any) -> str | None:
    """Description of the first row that differs; None if all rows are equal."""
    if kept.equals(expected):
        return None
    equal, different = 0, min(len(kept), len(expected)) + 1  # numbers of first rows that are equal, and that are not
    while equal + 1 < different:
        middle = (equal + different) // 2
        equal, different = (middle, different) if kept.slice(0, middle).equals(expected.slice(0, middle)) else (equal, middle)
    if equal == min(len(kept), len(expected)):
        longer = kept if len(kept) > equal else expected
        which = "the log lacks" if longer is kept else "it lacks"
        return f"{which} the row of offset {longer['offset'][equal].as_py()}, item {longer['item'][equal].as_py()}"
    columns = [name for name in kept.column_names if kept[name][equal].as_py() != expected[name][equal].as_py()]
    where = f"offset {expected['offset'][equal].as_py()}, item {expected['item'][equal].as_py()}"
    return f"its row of {where} differs from the record of the log in {', '.join(columns)}"

"""The archive beside the log after a run: it has each record of the log up to its position, each item once, and no other record."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from deltalake.exceptions import TableNotFoundError

from services.archive.reader import ArchiveDamagedError, open_reader
from tests.chaos.oracle import Record


def compare(url: str, partitions: int, records: Iterable[Record], skipped: Collection[tuple[int, int]]) -> tuple[int, list[str]]:
    """Number of records in the archive, and a complaint for each partition whose archive is not the log's records.

    Args:
        url: URL of the archive.
        partitions: Number of partitions of the log.
        records: All records of the log.
        skipped: Partition and offset of records that an operator skipped.

    """
    logged: dict[int, list[int]] = defaultdict(list)
    for partition, offset, _ in records:
        if (partition, offset) not in skipped:
            logged[partition].append(offset)
    found = [_compare(url, number, logged[number]) for number in range(partitions)]
    return sum(count for count, _ in found), [complaint for _, complaint in found if complaint]


def _compare(url: str, partition: int, logged: list[int]) -> tuple[int, str]:
    try:
        archive = open_reader(url, partition)
        places = [place for table in archive.read(columns=["offset", "item"]) for place in _places(table.to_pydict())]
    except TableNotFoundError:
        return 0, ""
    except ArchiveDamagedError as error:
        return 0, str(error)
    below = [offset for offset in logged if offset < archive.position]
    offsets = list(dict.fromkeys(offset for offset, _ in places))
    if len(set(places)) != len(places):
        return len(offsets), f"the archive of partition {partition} holds items twice"
    if offsets != below:
        differing = sorted(set(offsets) ^ set(below))[:5]
        return len(offsets), f"the archive of partition {partition} holds {len(offsets)} of {len(below)} records; not in both: {differing}"
    return len(offsets), ""


def _places(columns: dict[str, list[int]]) -> Iterable[tuple[int, int]]:
    return zip(columns["offset"], columns["item"], strict=True)

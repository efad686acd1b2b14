"""The archive beside the log after a run: it holds each item of each record, as its JSON says it, and nothing else.

Rows are compared with the records' JSON as it is, so that no encoder or decoder under test takes part.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import msgspec
from deltalake.exceptions import TableNotFoundError

from services.archive.reader import ArchiveDamagedError, ArchiveReader, open_reader
from tests.chaos.oracle import Record, mark

Row = Mapping[str, Any]
Refused = Mapping[bytes, Mapping[int, str]]
"""Mark of a record's value -> item (-1 for the record) -> reason of its dead letter."""
_COLUMNS: Final = (
    "offset", "item", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta", "tags",
    "raw",
)  # fmt: skip
_FIELDS: Final = ("pool", "id", "time", "weight", "task", "retracts")


def position(url: str, partition: int) -> int:
    """First offset that the archive of a partition does not hold."""
    try:
        return open_reader(url, partition).position
    except TableNotFoundError:
        return 0


def compare(
    url: str, partitions: int, records: Iterable[Record], refused: Refused, skipped: Collection[tuple[int, int]]
) -> tuple[int, list[str]]:
    """Number of records in the archive, and complaints about what is not as the log has it.

    Args:
        url: URL of the archive, which has come to the log's end.
        partitions: Number of partitions of the log.
        records: All records of the log.
        refused: Reasons of dead letters.
        skipped: Partition and offset of records that an operator skipped.

    """
    logged: dict[int, dict[int, bytes]] = defaultdict(dict)
    for partition, offset, value in records:
        if (partition, offset) not in skipped:
            logged[partition][offset] = value
    found = [_compare(url, number, logged[number], refused) for number in range(partitions)]
    return sum(count for count, _ in found), [complaint for _, complaint in found if complaint]


def _compare(url: str, partition: int, logged: Mapping[int, bytes], refused: Refused) -> tuple[int, str]:
    try:
        archive = open_reader(url, partition)
        archived = dict(_by_offset(archive))
    except TableNotFoundError:
        return 0, f"partition {partition} has {len(logged)} records and no archive" if logged else ""
    except ArchiveDamagedError as error:
        return 0, str(error)
    name = f"the archive of partition {partition}"
    if list(archived) != list(logged):
        differing = sorted(archived.keys() ^ logged.keys())[:5]
        held = f"ends at {archive.position} and holds {len(archived)} of {len(logged)} records"
        return len(archived), f"{name} {held}; not in both, or not in order: {differing}"
    wrong = [offset for offset, value in logged.items() if archived[offset] != _rows(value, offset, refused.get(mark(value), {}))]
    if wrong:
        offset = wrong[0]
        what = f"differs from the log in {len(wrong)} records, such as {offset}: it holds {archived[offset]}, the log {logged[offset]!r}"
        return len(archived), f"{name} {what}"[:2000]
    return len(archived), ""


def _by_offset(archive: ArchiveReader) -> Iterator[tuple[int, list[Row]]]:
    rows = (row for table in archive.read(columns=_COLUMNS) for row in table.to_pylist())
    yield from ((offset, list(group)) for offset, group in groupby(rows, lambda row: row["offset"]))


def _rows(value: bytes, offset: int, reasons: Mapping[int, str]) -> list[Row]:
    """The rows that a record has to give. reasons: of its items that are refused."""
    if -1 in reasons:
        return [_row(offset, -1, _unread(value))]
    read = msgspec.json.decode(value)
    items = enumerate(read if isinstance(read, list) else [read])
    return [
        _row(offset, at, _unread(msgspec.json.encode(item)) if reasons.get(at) == "bad_field" else _outcome(item)) for at, item in items
    ]


def _row(offset: int, item: int, cells: Row) -> Row:
    return dict.fromkeys(_COLUMNS) | {"offset": offset, "item": item} | cells


def _unread(raw: bytes) -> Row:
    return {"kind": "unread", "raw": raw}


def _outcome(item: Mapping[str, Any]) -> Row:
    """The cells of an outcome or retraction, of its JSON object."""
    cells = {name: item[name] for name in _FIELDS if name in item}
    if "retracts" in item:
        return {"kind": "retraction", **cells}
    cells = {"weight": 1.0} | cells
    if item.get("tags"):
        cells["tags"] = json.dumps(dict(sorted(item["tags"].items())), ensure_ascii=False, separators=(",", ":"))
    if "scores" in item:
        return {"kind": "scores", **cells, "agents": list(item["scores"]), "scores": list(item["scores"].values())}
    members = [(agent, number, side["place"]) for number, side in enumerate(item["sides"]) for agent in side["agents"]]
    agents, sides, places = map(list, zip(*members, strict=True))
    return {"kind": "game", **cells, "agents": agents, "sides": sides, "places": places}

"""Divide the files of a segment into pieces, so that a reader holds some rows of the segment in memory instead of all."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from services.archive.schema import ORDER

_ROWS: Final = 1 << 18
"""Rows up to which short row groups are joined to one piece. A fold is slower for many short tables."""


class Piece(NamedTuple):
    """Row groups that are read together.

    begin, end: Every row from number `begin` up to but not including `end` that the segment has is in these row groups.
    groups: Parquet fragments with one row group each.
    """

    begin: int
    end: int
    groups: list[Any]


def pieces(files: Iterable[Any], begin: int, end: int) -> list[Piece]:
    """Divide files by the numbers of their rows.

    Row groups whose ranges overlap are in one piece. After a compaction, a segment is usually one piece, because files are merged in any
    order.

    Args:
        files: Parquet files of a dataset.
        begin: Number of the segment's first row.
        end: Number after the segment's last possible row.

    Returns:
        The pieces in the order of their rows.
    """
    joined: list[Piece] = []
    ranges = [(*_range(group, begin, end), group) for file in files for group in file.split_by_row_group()]
    for first, after, group in sorted(ranges, key=lambda entry: entry[:2]):
        if joined and (first < joined[-1].end or after - joined[-1].begin <= _ROWS):
            last = joined[-1]
            joined[-1] = Piece(last.begin, max(last.end, after), [*last.groups, group])
        else:
            joined.append(Piece(first, after, [group]))
    return joined


def _range(group: Any, begin: int, end: int) -> tuple[int, int]:
    """First row number of a row group, and the number after the last one; `begin` and `end` if the file has no statistics of them."""
    rows = (group.row_groups[0].statistics or {}).get(ORDER)
    return (begin, end) if rows is None else (rows["min"], rows["max"] + 1)

"""Columns of one value, by the statistics of Parquet files: they need not be read."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from services.archive.schema import STEADY

_VARIES: Final = object()


def constants(fragments: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Columns among `names` whose cells are all equal in all files, each with its value, None for null.

    fragments: Parquet files of a dataset. A list counts only as null. Long texts are cut in statistics, and then count as different.
    """
    found: dict[str, Any] = {}
    for fragment in fragments:
        for number in range(fragment.metadata.num_row_groups):
            group = fragment.metadata.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                name, _, in_list = column.path_in_schema.partition(".")
                if name in STEADY and name in names:
                    value = _value(column.num_values, column.statistics, in_list=bool(in_list))
                    found[name] = value if found.setdefault(name, value) == value else _VARIES
    return {name: value for name, value in found.items() if value is not _VARIES}


def _value(cells: int, statistics: Any, *, in_list: bool) -> Any:
    """The value of all cells of a column in a row group."""
    if statistics is None or not statistics.has_null_count:
        return _VARIES
    if statistics.null_count == cells:
        return None
    is_one = not in_list and statistics.null_count == 0 and statistics.has_min_max and statistics.min == statistics.max
    return statistics.min if is_one else _VARIES

"""Find columns with a constant value by the statistics of Parquet files, so that these columns need not be read."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from services.archive.schema import STEADY

_VARIES: Final = object()


def constants(fragments: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Find the columns whose cells are equal in all files.

    A column of lists is constant only if all lists are null. A column of long texts is not constant, because statistics hold shortened
    texts.

    Args:
        fragments: Parquet files of a dataset.
        names: Columns to examine; only columns of `STEADY` can be constant.

    Returns:
        Name of a constant column -> its value; None if all cells are null.
    """
    values_by_column: defaultdict[str, set[Any]] = defaultdict(set)
    for fragment in fragments:
        for group in map(fragment.metadata.row_group, range(fragment.metadata.num_row_groups)):
            absent = {name for name in names if name in STEADY}
            for column in map(group.column, range(group.num_columns)):
                name, _, in_list = column.path_in_schema.partition(".")
                absent.discard(name)
                if name in STEADY and name in names:
                    values_by_column[name].add(_value(column, in_list=bool(in_list)))
            for name in absent:  # a file of an earlier release: readers get null
                values_by_column[name].add(None)
    return {name: values.pop() for name, values in values_by_column.items() if len(values) == 1 and _VARIES not in values}


def _value(column: Any, *, in_list: bool) -> Any:
    """Value of all cells of a column in a row group; `_VARIES` if they differ or if statistics are missing."""
    cells, statistics = column.num_values, column.statistics
    if statistics is None or not statistics.has_null_count:
        return _VARIES
    is_one = not in_list and statistics.null_count == 0 and statistics.has_min_max and statistics.min == statistics.max
    return None if statistics.null_count == cells else statistics.min if is_one else _VARIES

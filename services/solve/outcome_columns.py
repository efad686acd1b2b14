"""Columns of outcomes by which `equirank solve` chooses and slices those of a pool or of a file of the wire schema.

A column is one of `COLUMNS`, `meta.FIELD`, or the key of a tag. The module imports nothing that takes time to load.
"""

from typing import Any, Final

from ratings_core.errors import InputError

COLUMNS: Final = ("id", "time", "weight", "task", "offset")
"""Columns for `--where` and `--slice-by`, besides `meta.FIELD` and keys of tags."""
META: Final = "meta."
"""Prefix of a field of `meta`."""


def check_column(column: str) -> None:
    """Raise `InputError` unless `column` names a column of outcomes."""
    from ratings_core.records.tags import key_rule  # noqa: PLC0415 - loads msgspec and NumPy

    if not (column in COLUMNS or (column.startswith(META) and column != META) or key_rule(column) is None):
        rule = f"must be one of {', '.join(COLUMNS)}, meta.FIELD for a field of meta, or the key of a tag"
        raise InputError("column", column, rule)


def cell_text(value: Any) -> str:
    """Text of a value for comparison: empty for None, `true` or `false` for bools."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def field_text(meta: Any, column: str) -> str:
    """Text of the field `column` of the decoded `meta` of an outcome; empty without this field. column: with `META` before it."""
    return cell_text(meta.get(column.removeprefix(META))) if isinstance(meta, dict) else ""

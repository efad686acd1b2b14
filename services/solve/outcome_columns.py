"""Columns of outcomes by which `equirank solve` chooses and slices those of a pool or of a file of the wire schema.

A column is one of `COLUMNS`, `meta.FIELD`, or the key of a tag, also as `tags.KEY`. Only the latter finds a tag whose key is one of
`COLUMNS`, such as `tags.time`. The module imports nothing that takes time to load.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from ratings_core.errors import InputError

COLUMNS: Final = ("id", "time", "weight", "task", "offset")
"""Columns for `--where` and `--slice-by`, besides `meta.FIELD` and keys of tags."""
META: Final = "meta."
"""Prefix of a field of `meta`."""
TAGS: Final = "tags."
"""Prefix of the key of a tag, which no key contains."""


def tag_key(column: str) -> str | None:
    """The key of the tag that a column names; None for another column."""
    return None if column in COLUMNS or column.startswith(META) else column.removeprefix(TAGS)


def check_tags(columns: Iterable[str], keys: Collection[str]) -> None:
    """Raise `InputError` for a column that is neither one of outcomes nor the key of a tag that an outcome has.

    Args:
        columns: Names of columns.
        keys: Keys of the tags of all outcomes.
    """
    for column in columns:
        if column == META or ((key := tag_key(column)) is not None and key not in keys):
            tags = f"the key of a tag, also as tags.KEY: {', '.join(sorted(keys)) or 'no outcome has tags'}"
            raise InputError("column", column, f"must be one of {', '.join(COLUMNS)}, meta.FIELD for a field of meta, or {tags}")


def cell_text(value: Any) -> str:
    """Text of a value for comparison: empty for None, `true` or `false` for bools."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def field_text(meta: Any, column: str) -> str:
    """Text of the field `column` of the decoded `meta` of an outcome; empty without this field. column: with `META` before it."""
    return cell_text(meta.get(column.removeprefix(META))) if isinstance(meta, dict) else ""

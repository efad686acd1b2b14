"""Options that commands which read files share."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Final, TypeAlias

import typer

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, ResultColumns
from ratings_core.formats.results import Unplayed
from ratings_core.formats.table import checked_delimiter
from services.imports.files import FileOptions

_COLUMNS: Final = tuple(one.name for one in fields(ResultColumns))

Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help=f"Column of a results table, as name=header; names are {', '.join(_COLUMNS)} (time= for none); may be repeated."),
]
Delimiter: TypeAlias = Annotated[str, typer.Option(help="What parts the cells of a table.")]


def file_options(
    kind: FileKind | None, unplayed: Unplayed, columns: Sequence[str] | None, delimiter: str, time: float | None = None
) -> FileOptions:
    """How a file is read. Columns given make it one of results. Raises `InputError`."""
    if columns and kind not in (None, FileKind.RESULTS):
        raise InputError("column", columns[0], f"must be left out for {kind}: only results have columns to name")
    named = _columns(columns) if columns else None
    return FileOptions(FileKind.RESULTS if named else kind, unplayed, named, checked_delimiter(delimiter), time)


def _columns(given: Sequence[str]) -> ResultColumns:
    named: dict[str, str | None] = {}
    for text in given:
        field, equals, header = text.partition("=")
        if not equals or field not in _COLUMNS or field in named or not (header or field == "time"):
            raise InputError("column", text, f"must be name=header, each of {', '.join(_COLUMNS)} once")
        named[field] = header or None
    return replace(ResultColumns(time=None), **named)  # type: ignore[arg-type]

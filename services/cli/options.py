"""Options of the commands that read files."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Final, Literal, TypeAlias

import typer

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, ResultColumns, RowRules
from ratings_core.formats.features import Feature
from ratings_core.formats.results import Unplayed
from ratings_core.formats.rows import PLAIN
from ratings_core.formats.table import checked_delimiter
from services.imports.files import FileOptions

_COLUMNS: Final = tuple(one.name for one in fields(ResultColumns))

BadRows: TypeAlias = Literal["refuse", "skip"]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Column of a results table, as name=header. Names: {', '.join(_COLUMNS)} (time= for no time). Repeatable. "
        "task=header is the column with the tasks of results or battles."
    ),
]
Delimiter: TypeAlias = Annotated[str, typer.Option(help="Separator of a table's cells.")]


def file_options(
    kind: FileKind | None,
    unplayed: Unplayed,
    columns: Sequence[str] | None,
    delimiter: str,
    time: float | None = None,
    rules: RowRules = PLAIN,
) -> FileOptions:
    """The options for reading a file. Named columns other than `task` mean a file of results. Raises `InputError`.

    Args:
        kind: Kind of the file; None to guess it.
        unplayed: Whether games without a result are left out, or refuse the file.
        columns: Texts `name=header`.
        delimiter: Separator of a table's cells.
        time: Time of all outcomes in seconds since 1970; None for the times of the rows.
        rules: How rows are read.
    """
    task, given = _task(columns or ())
    if given and kind not in (None, FileKind.RESULTS):
        raise InputError("column", given[0], f"must be left out for {kind}: only task=header is allowed; other columns are for results")
    named = _columns(given) if given else None
    return FileOptions(FileKind.RESULTS if named else kind, unplayed, named, checked_delimiter(delimiter), time, replace(rules, task=task))


def row_rules(*, trim: bool, where: Sequence[str], slice_by: str | None = None, features: Sequence[str] = ()) -> RowRules:
    """The rules for reading single rows. Raises `InputError` for a `where` other than column=value, and for an invalid feature."""
    return RowRules(
        keep_bad=True,
        trim=trim,
        where=tuple(name_and_value(text, "where", "must be column=value") for text in where),
        slice_by=slice_by,
        features=tuple(Feature.parsed(text) for text in features),
    )


def name_and_value(text: str, option: str, rule: str) -> tuple[str, str]:
    """Name and value of `name=value`. Raises `InputError` with `rule` for another form."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(option, text, rule)
    return name, value


def _task(given: Sequence[str]) -> tuple[str | None, list[str]]:
    """The column of tasks, and the other columns. Raises `InputError`."""
    tasks = [text.partition("=")[2] for text in given if text.partition("=")[0] == "task"]
    if len(tasks) > 1 or "" in tasks:
        raise InputError("column", "task", "must be task=header, once")
    return (tasks[0] if tasks else None), [text for text in given if text.partition("=")[0] != "task"]


def _columns(given: Sequence[str]) -> ResultColumns:
    named: dict[str, str | None] = {}
    for text in given:
        field, equals, header = text.partition("=")
        if not equals or field not in _COLUMNS or field in named or not (header or field == "time"):
            raise InputError("column", text, f"must be name=header, each of {', '.join(_COLUMNS)} once")
        named[field] = header or None
    return replace(ResultColumns(time=None), **named)  # type: ignore[arg-type]

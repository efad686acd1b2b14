"""Options of the commands that read files."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Final, Literal, TypeAlias

import typer

from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import MEANINGS, Decimal, ReadOptions, Unplayed
from ratings_core.formats.roles import Roles
from ratings_core.records.names import FIRST_SIDE

_ROLES: Final = tuple(role.name for role in fields(Roles))
Format: TypeAlias = Literal["json", "table"]
BadRows: TypeAlias = Literal["refuse", "skip"]
BadRowsOption: TypeAlias = Annotated[
    BadRows, typer.Option("--bad-rows", help="Invalid rows: refuse the file and show the first 20 of them, or skip and count them.")
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column", help=f"Column of a table of games, as role=header. Roles: {', '.join(_ROLES)} (time= for no time). Repeatable."
    ),
]
Values: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--value", help=f"Word of a column of results, as meaning=word. Meanings: {', '.join(MEANINGS)}. Repeatable."),
]
Delimiter: TypeAlias = Annotated[
    str | None, typer.Option("--delimiter", help="Separator of a table's cells, such as ; or \\t. By default it is recognized.")
]
UnplayedOption: TypeAlias = Annotated[
    Unplayed,
    typer.Option(
        "--unplayed", help="Games without a result: skip and count them, or refuse the file. last: in tables of places, agents without a "
        "place share the last one."
    ),
]  # fmt: skip
Trim: TypeAlias = Annotated[bool, typer.Option("--trim", help="Strip white space from the cells.")]
Where: TypeAlias = Annotated[list[str] | None, typer.Option("--where", help="Only rows of games with column=value. Repeatable.")]
Tags: TypeAlias = Annotated[
    list[str] | None, typer.Option("--tag", help="Column of a tag of the outcomes, as key=header, such as language=lang. Repeatable.")
]
Features: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--feature", help="Covariate of a game, first side minus second: COLUMN, A:B (a - b), A~B ((a - b) / (a + b)) or "
        f"{FIRST_SIDE}. Repeatable."
    ),
]  # fmt: skip
TimeFormat: TypeAlias = Annotated[
    str | None, typer.Option("--time-format", help="Format of times, such as %d/%m/%Y. By default it is recognized.")
]
DecimalOption: TypeAlias = Annotated[
    Decimal | None,
    typer.Option("--decimal", help="Decimal mark of numbers: a comma or a point. The other one can divide thousands. Default: recognized."),
]
Sort: TypeAlias = Annotated[bool, typer.Option("--sort", help="Take games in the order of their times, instead of that of the rows.")]


def read_options(
    kind: FileKind | None,
    *,
    unplayed: Unplayed = "skip",
    columns: Sequence[str] | None = None,
    values: Sequence[str] | None = None,
    delimiter: str | None = None,
    trim: bool = False,
    where: Sequence[str] | None = None,
    slice_by: str | None = None,
    features: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
) -> ReadOptions:
    """The options for reading a file.

    Args:
        kind: Kind of the file; None to guess it.
        unplayed: As in `ReadOptions`.
        columns: Texts role=header.
        values: Texts meaning=word.
        delimiter: One character, or a name of a tab; None to recognize it.
        trim: As in `ReadOptions`.
        where: Texts column=value.
        slice_by: As in `ReadOptions`.
        features: Texts of features.
        tags: Texts key=header.
        time_format: As in `ReadOptions`.
        decimal: As in `ReadOptions`.

    Raises:
        InputError: A text has another form, or names a role or a meaning that does not exist.
    """
    return ReadOptions(
        kind=kind,
        roles=_roles(columns or ()),
        values=_values(values or ()),
        delimiter=delimiter if delimiter is None else checked_delimiter(delimiter),
        unplayed=unplayed,
        trim=trim,
        where=tuple(name_and_value(text, "where", "must be column=value") for text in where or ()),
        slice_by=slice_by,
        features=tuple(Feature.parsed(text) for text in features or ()),
        tags=tuple(name_and_value(text, "tag", "must be key=header") for text in tags or ()),
        time_format=time_format,
        decimal=decimal,
    )


def name_and_value(text: str, option: str, rule: str) -> tuple[str, str]:
    """Name and value of `name=value`. Raises `InputError` with `rule` for another form."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(option, text, rule)
    return name, value


def checked_delimiter(delimiter: str) -> str:
    r"""A delimiter of one character; `\t` and `tab` mean a tab. Raises `InputError`."""
    character = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(character) != 1 or character in '\r\n"' or not character.isascii():
        raise InputError("delimiter", delimiter, "must be one character, such as , or ; or a tab")
    return character


def _roles(given: Sequence[str]) -> Roles:
    named: dict[str, str] = {}
    for text in given:
        role, equals, header = text.partition("=")
        if not equals or role not in _ROLES or role in named or not (header or role == "time"):
            raise InputError("column", text, f"must be role=header, each role once: {', '.join(_ROLES)}")
        named[role] = header
    return Roles(**named)


def _values(given: Sequence[str]) -> dict[str, str]:
    words: dict[str, str] = {}
    for text in given:
        meaning, word = name_and_value(text, "value", f"must be meaning=word, such as first=L; meanings are {', '.join(MEANINGS)}")
        words[word] = meaning
    return words

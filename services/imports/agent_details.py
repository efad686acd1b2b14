"""Changes of agents' details as CSV, JSON lines or a JSON array, and details as these forms.

A CSV file has the column `agent` and any of `display_name`, `country`, `organisation`, `licence`, `url`, `hidden`, and `tags.KEY` for each
tag. An absent column keeps what is known, and an empty cell removes it. In JSON, an absent field keeps it, and null removes it.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from services.control.details import TEXT_FIELDS, AgentDetails, DetailsChange, check_tag_key
from services.wire import schema

_AGENT: Final = "agent"
_HIDDEN: Final = "hidden"
_TAG: Final = "tags."
_HIDDEN_CELLS: Final = {"true": True, "false": False, "": None}


class AgentChange(DetailsChange, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A change of the details of one agent.

    Attributes:
        agent: Name of the agent.
        display_name: As in `AgentDetails`.
        country: As in `AgentDetails`.
        organisation: As in `AgentDetails`.
        tags: As in `DetailsChange`.
        licence: As in `AgentDetails`.
        url: As in `AgentDetails`.
        hidden: As in `AgentDetails`; null is false.
    """

    agent: Annotated[str, msgspec.Meta(extra_json_schema=schema.known_name())]


_decode_line = msgspec.json.Decoder(AgentChange).decode
_decode_array = msgspec.json.Decoder(list[AgentChange]).decode


def changes_of_csv(data: bytes) -> dict[str, DetailsChange]:
    """Agent -> change, by a CSV file in UTF-8. Raises `InputError` with the row and the column."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("file", f"byte {error.start}", "must be UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    changes: dict[str, DetailsChange] = {}
    try:
        header = next(reader, [])
        _check_header(header)
        for row in reader:
            if row:
                _add(changes, *_of_row(header, row, reader.line_num), reader.line_num)
    except csv.Error as error:
        raise FormatError(reader.line_num, None, str(error), "must be CSV by RFC 4180") from error
    return changes


def changes_of_json_lines(data: bytes) -> dict[str, DetailsChange]:
    """Agent -> change, by one JSON object a line. Empty lines are skipped. Raises `InputError` with the line."""
    changes: dict[str, DetailsChange] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            change = _decode_line(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(number, None, line[:100], f"must be an object with `agent` and details ({error})") from error
        _add(changes, change.agent, _without_agent(change), number)
    return changes


def changes_of_json(data: bytes) -> dict[str, DetailsChange]:
    """Agent -> change, by a JSON array of objects. Raises `InputError`."""
    try:
        array = _decode_array(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("body", data[:100], f"must be an array of objects with `agent` and details ({error})") from error
    changes: dict[str, DetailsChange] = {}
    for number, change in enumerate(array, 1):
        _add(changes, change.agent, _without_agent(change), number)
    return changes


def csv_of(agents: Iterable[tuple[str, AgentDetails]]) -> Iterator[str]:
    """Details as a CSV file that `changes_of_csv` reads, a row at a time. Every cell is written, so a load removes what is not known."""
    listed = sorted(agents)
    keys = sorted({key for _, details in listed for key in details.tags})
    yield _row([_AGENT, *TEXT_FIELDS, _HIDDEN, *(f"{_TAG}{key}" for key in keys)])
    for agent, details in listed:
        texts = [getattr(details, name) or "" for name in TEXT_FIELDS]
        yield _row([agent, *texts, "true" if details.hidden else "", *(details.tags.get(key, "") for key in keys)])


def json_lines_of(agents: Iterable[tuple[str, AgentDetails]]) -> Iterator[str]:
    """Details as JSON lines that `changes_of_json_lines` reads."""
    for agent, details in sorted(agents):
        yield msgspec.json.encode({_AGENT: agent, **msgspec.to_builtins(details)}).decode() + "\n"


def _row(cells: list[str]) -> str:
    line = io.StringIO(newline="")
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _check_header(header: list[str]) -> None:
    """Raise `FormatError` for a header without `agent`, with another column, or with a column twice."""
    known = {_AGENT, *TEXT_FIELDS, _HIDDEN}
    unknown = [name for name in header if name not in known and not name.startswith(_TAG)]
    if _AGENT not in header or unknown or len(set(header)) < len(header):
        rule = f"must have {_AGENT} and any of {', '.join([*TEXT_FIELDS, _HIDDEN])}, and {_TAG}KEY, each once"
        raise FormatError(1, None, ",".join(header)[:200], rule)
    for name in header:
        if name.startswith(_TAG):
            check_tag_key(name.removeprefix(_TAG))


def _of_row(header: list[str], row: list[str], line: int) -> tuple[str, DetailsChange]:
    if len(row) != len(header):
        raise FormatError(line, None, len(row), f"must have {len(header)} cells, as the header")
    cells = dict(zip(header, row, strict=True))
    fields: dict[str, Any] = {name: cells[name] or None for name in TEXT_FIELDS if name in cells}
    tags = {name.removeprefix(_TAG): cell or None for name, cell in cells.items() if name.startswith(_TAG)}
    if tags:
        fields["tags"] = tags
    if _HIDDEN in cells:
        if cells[_HIDDEN] not in _HIDDEN_CELLS:
            raise FormatError(line, _HIDDEN, cells[_HIDDEN], "must be true, false or empty")
        fields[_HIDDEN] = _HIDDEN_CELLS[cells[_HIDDEN]]
    return cells[_AGENT], DetailsChange(**fields)


def _without_agent(change: AgentChange) -> DetailsChange:
    return DetailsChange(**{name: getattr(change, name) for name in DetailsChange.__struct_fields__})


def _add(changes: dict[str, DetailsChange], agent: str, change: DetailsChange, row: int) -> None:
    if agent in changes:
        raise FormatError(row, _AGENT, agent, "must be there once")
    changes[agent] = change


READERS: Final[Mapping[str, Any]] = {".csv": changes_of_csv, ".jsonl": changes_of_json_lines, ".json": changes_of_json}
"""Ending of a file's name -> the function that reads it."""

"""CSV files of aliases, bans and initial ratings, as `equirank pools settings` reads them."""

from pathlib import Path
from typing import Final

from ratings_core.errors import InputError
from ratings_core.formats.table import FormatError, Table, name, number, read_table
from services.files import read_text

_AGENT: Final = "agent"


def read_aliases(path: Path) -> dict[str, str]:
    """Columns alias and agent: the name in outcomes, and the agent that it counts for. Raises `InputError`."""
    table = _table(path, "alias", _AGENT)
    found: dict[str, str] = {}
    at = table.column("alias"), table.column(_AGENT)
    for row, line in zip(table.rows, table.lines, strict=True):
        alias = name(row[at[0]], line, "alias")
        if alias in found:
            raise FormatError(line, "alias", alias, "must be told once")
        found[alias] = name(row[at[1]], line, _AGENT)
    return found


def read_bans(path: Path) -> list[str]:
    """Column agent: whose games do not count. Raises `InputError`."""
    table = _table(path, _AGENT)
    return [name(row[0], line, _AGENT) for row, line in zip(table.rows, table.lines, strict=True)]


def read_initial(path: Path) -> dict[str, dict[str, float]]:
    """Column agent and one column a method: ratings to begin with, by method and agent; an empty cell is none. Raises `InputError`."""
    table = read_table(read_text(path))
    agent = table.column(_AGENT)
    found: dict[str, dict[str, float]] = {method: {} for method in table.header if method != _AGENT}
    if not found:
        raise FormatError(1, None, table.header, "must name agent and at least one online method")
    seen: set[str] = set()
    for row, line in zip(table.rows, table.lines, strict=True):
        who = name(row[agent], line, _AGENT)
        if who in seen:
            raise FormatError(line, _AGENT, who, "must be told once")
        seen.add(who)
        for method, cell in zip(table.header, row, strict=True):
            if method != _AGENT and cell.strip():
                found[method][who] = number(cell, line, method)
    return found


def _table(path: Path, *columns: str) -> Table:
    table = read_table(read_text(path))
    if sorted(table.header) != sorted(columns):
        raise InputError(str(path), ",".join(table.header), f"must have the header {','.join(columns)}")
    return table

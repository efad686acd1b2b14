"""CSV files of aliases, bans and initial ratings, as `equirank pools settings` reads them."""

from pathlib import Path
from typing import Final

from ratings_core.formats.checked import name, number
from ratings_core.formats.errors import FormatError
from ratings_core.formats.source import FileSource
from ratings_core.formats.tables.block import each_row
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.online import RATERS

_AGENT: Final = "agent"


def read_aliases(path: Path) -> dict[str, str]:
    """Read a CSV file with the columns `alias` (name in outcomes) and `agent` (the agent that it counts for). Raises `InputError`."""
    aliases: dict[str, str] = {}
    with FileSource(path) as source:
        table = _table(source, "alias", _AGENT)
        alias_at, agent_at = table.header.index("alias"), table.header.index(_AGENT)
        for line, row in each_row(table):
            alias = name(row[alias_at], line, "alias")
            if alias in aliases:
                raise FormatError(line, "alias", alias, "must be there once")
            aliases[alias] = name(row[agent_at], line, _AGENT)
    return aliases


def read_bans(path: Path) -> list[str]:
    """Read a CSV file with the column `agent`: agents whose games do not count. Raises `InputError`."""
    with FileSource(path) as source:
        return [name(row[0], line, _AGENT) for line, row in each_row(_table(source, _AGENT))]


def read_initial(path: Path) -> dict[str, dict[str, float]]:
    """Read a CSV file of initial ratings, with the column `agent` and one column for each online method. Empty cells set nothing.

    Returns method -> agent -> rating. Raises `InputError`.
    """
    with FileSource(path) as source:
        table = CsvTable(source.reader(), ",")
        if _AGENT not in table.header:
            raise FormatError(1, _AGENT, table.header, "must be a column of the header")
        agent = table.header.index(_AGENT)
        ratings: dict[str, dict[str, float]] = {method: {} for method in table.header if method != _AGENT}
        if not ratings or not ratings.keys() <= RATERS.keys():
            rule = f"must name agent and at least one online method ({', '.join(RATERS)}), and nothing else"
            raise FormatError(1, None, ",".join(table.header), rule)
        seen: set[str] = set()
        for line, row in each_row(table):
            who = name(row[agent], line, _AGENT)
            if who in seen:
                raise FormatError(line, _AGENT, who, "must be there once")
            seen.add(who)
            for method, cell in zip(table.header, row, strict=True):
                if method != _AGENT and cell.strip():
                    ratings[method][who] = number(cell, line, method)
    return ratings


def _table(source: FileSource, *columns: str) -> CsvTable:
    table = CsvTable(source.reader(), ",")
    if sorted(table.header) != sorted(columns):
        raise FormatError(1, None, ",".join(table.header), f"must have the header {','.join(columns)}")
    return table

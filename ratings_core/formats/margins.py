"""Reader for square matrices of margins, with names in the header and in the first column."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.checked import name, number
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import Source
from ratings_core.formats.tables.block import Table, each_row
from ratings_core.formats.tables.csv_table import opened_csv
from ratings_core.solution import Floats

_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class MarginTable:
    """A matrix. names: of n agents; margins: float64 (n, n), exactly antisymmetric; entry (a, b) is by how much a beats b."""

    names: tuple[str, ...]
    margins: Floats


def read_margins(source: Source, delimiter: str = ",") -> MarginTable:
    """Read a matrix from the text of a CSV file or from a stream. See `margins_of`."""
    return margins_of(opened_csv(source, delimiter))


def margins_of(table: Table) -> MarginTable:
    """Read a matrix from a table. The first cell of the header is ignored; rows may be in any order.

    Printed numbers are rounded. The two entries of a pair may therefore add up to at most 1e-9 of the largest entry instead of 0; half
    their difference is used. Raises `FormatError` with row and column.
    """
    header = table.header
    names = tuple(name(agent, 1, agent) for agent in header[1:])
    position = {agent: i for i, agent in enumerate(names)}
    lines = [0] * len(names)
    read: dict[int, Floats] = {}  # allocate the matrix only after all rows: a long header alone must not use n*n memory
    for line, row in each_row(table):
        i = _row_of(row[0], line, position)
        if lines[i]:
            raise FormatError(line, header[0], row[0], "must have one row per agent")
        read[i], lines[i] = np.array([_margin(cell, line, agent) for cell, agent in zip(row[1:], names, strict=True)]), line
    _check_complete(names, lines)
    return MarginTable(names, _antisymmetric(np.array([read.pop(i) for i in range(len(names))]), names, lines))


def _margin(cell: str, line: int, agent: str) -> float:
    margin = number(cell, line, agent)
    if abs(margin) > checks.LARGEST_WEIGHT:
        raise FormatError(line, agent, cell, f"must be within +-{checks.LARGEST_WEIGHT:g}")
    return margin


def _row_of(agent: str, line: int, position: dict[str, int]) -> int:
    if agent not in position:
        raise FormatError(line, "1", agent, "must be an agent of the header")
    return position[agent]


def _check_complete(names: tuple[str, ...], lines: list[int]) -> None:
    lacking = [agent for agent, line in zip(names, lines, strict=True) if not line]
    if lacking or not names:
        raise InputError("margins", lacking[:3], "must have a row for every agent of the header")


def _antisymmetric(matrix: Floats, names: tuple[str, ...], lines: list[int]) -> Floats:
    off = np.abs(matrix + matrix.T) > _TOLERANCE * float(np.abs(matrix).max())
    if off.any():
        i, j = (int(axis[0]) for axis in np.nonzero(off))
        rule = f"must be minus the margin of {names[j]!r} over {names[i]!r} ({matrix[j, i]:g})"
        raise FormatError(lines[i], names[j], float(matrix[i, j]), rule)
    return np.asarray((matrix - matrix.T) / 2, np.float64)

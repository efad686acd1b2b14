"""Square matrices of margins: names in the header and in the first column."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.table import Table, distinct, number, read_table
from ratings_core.solution import Floats

_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class MarginTable:
    """names: of agents; margins: float64 (n, n), exactly antisymmetric, by how much a beats b."""

    names: tuple[str, ...]
    margins: Floats


def read_margins(text: str, delimiter: str = ",") -> MarginTable:
    """The matrix of a CSV whose first cell is ignored, rows in any order of the header's names.

    Entries may differ from minus their transpose by 1e-9 of the largest, as printed numbers do; half their difference is taken.
    Raises `FormatError` naming row and column.
    """
    table = read_table(text, delimiter)
    names = distinct(table.header[1:], 1, "agent")
    position = {agent: i for i, agent in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for row, line in zip(table.rows, table.lines, strict=True):
        i = _row_of(row[0], line, position)
        if not np.isnan(matrix[i]).all():
            raise FormatError(line, table.header[0], row[0], "must not be a second row of the same agent")
        matrix[i] = [number(cell, line, agent) for cell, agent in zip(row[1:], names, strict=True)]
    return MarginTable(names, _antisymmetric(matrix, names, table))


def _row_of(agent: str, line: int, position: dict[str, int]) -> int:
    if agent not in position:
        raise FormatError(line, "1", agent, "must be an agent of the header")
    return position[agent]


def _antisymmetric(matrix: Floats, names: tuple[str, ...], table: Table) -> Floats:
    lacking = [agent for agent, row in zip(names, matrix, strict=True) if np.isnan(row).any()]
    if lacking or not names:
        raise InputError("margins", lacking[:3], "must have a row for every agent of the header")
    off = np.abs(matrix + matrix.T) > _TOLERANCE * float(np.abs(matrix).max())
    if off.any():
        i, j = (int(axis[0]) for axis in np.nonzero(off))
        line = next(line for row, line in zip(table.rows, table.lines, strict=True) if row[0] == names[i])
        rule = f"must be minus the margin of {names[j]!r} over {names[i]!r} ({matrix[j, i]:g})"
        raise FormatError(line, names[j], float(matrix[i, j]), rule)
    return np.asarray((matrix - matrix.T) / 2, np.float64)

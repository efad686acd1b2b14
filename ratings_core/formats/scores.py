"""Tables of scores: a column that names the task, then one column per agent; an empty cell was not measured."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core.formats.table import FormatError, distinct, name, number, read_table
from ratings_core.outcomes import MAX_SCORE
from ratings_core.solution import Floats

_AGENT_WORDS: Final = frozenset({"agent", "agents", "model", "models", "player", "players", "team", "teams"})
"""First header cells that say that the rows are agents: rating such a table would rate its tasks."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """agents, tasks: names in the file's order; scores: float64 (agents, tasks), NaN where not measured; lines: each task's line."""

    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    scores: Floats
    lines: tuple[int, ...]


def read_scores(text: str, delimiter: str = ",") -> ScoreFile:
    """The table of a CSV. A task has one row. Raises `FormatError` naming row and column."""
    table = read_table(text, delimiter)
    if table.header[0].strip().lower() in _AGENT_WORDS:
        rule = "must be the column that names tasks, one column an agent behind it; the table looks turned: swap its rows and columns"
        raise FormatError(1, table.header[0], table.header[0], rule)
    agents = distinct(table.header[1:], 1, "agent")
    if not agents or not table.rows:
        raise FormatError(1, None, table.header, "must name at least one agent, and be followed by at least one task")
    scores = np.full((len(table.rows), len(agents)), np.nan)
    tasks: dict[str, int] = {}
    for i, (row, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        if name(row[0], line, table.header[0]) in tasks:
            raise FormatError(line, table.header[0], row[0], f"must not be a task for the second time (first in row {tasks[row[0]]})")
        tasks[row[0]] = line
        scores[i] = [_score(cell, line, agent) for cell, agent in zip(row[1:], agents, strict=True)]
    return ScoreFile(agents, tuple(tasks), scores.T.copy(), tuple(tasks.values()))


def _score(cell: str, line: int, agent: str) -> float:
    if not cell.strip():
        return float("nan")
    score = number(cell, line, agent)
    if abs(score) > MAX_SCORE:
        raise FormatError(line, agent, cell, f"must be within +-{MAX_SCORE:g}")
    return score

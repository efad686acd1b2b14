"""Tables of scores: the first column names the task, and each other column is an agent. An empty cell means not measured."""

import io
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import csv_lines
from ratings_core.formats.table import Rows, Source, distinct, name, number, read_rows, rows_of
from ratings_core.records.outcomes import MAX_SCORE
from ratings_core.solution import Floats

_AGENT_WORDS: Final = frozenset({"agent", "agents", "model", "models", "player", "players", "team", "teams"})
"""First header cells of a transposed table, whose rows are agents. Rating it would rate the tasks."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A table. agents, tasks: names in file order; scores: float64 (agents, tasks), NaN if not measured; lines: line of each task."""

    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    scores: Floats
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskScores:
    """One row: a task and the scores of the agents measured on it, by name; possibly empty. line: its line in the file, from 1."""

    line: int
    task: str
    scores: dict[str, float]


def iter_scores(stream: io.BufferedReader, delimiter: str = ",") -> Iterator[TaskScores]:
    """Read the rows of a table in file order. Memory holds one row and the names of all tasks so far. stream: as `unpacked` returns it.

    Each task has one row. Raises `FormatError` with row and column.
    """
    rows = read_rows(csv_lines(stream), delimiter)
    agents = _agents(rows)
    for line, task, scores in _scored(rows, agents):
        yield TaskScores(line, task, {agent: score for agent, score in zip(agents, scores, strict=True) if score == score})  # noqa: PLR0124


def read_scores(source: Source, delimiter: str = ",") -> ScoreFile:
    """Read a table from the text of a CSV file or from a stream. Each task has one row.

    Raises `FormatError` with row and column, including for a table without tasks.
    """
    rows = rows_of(source, delimiter)
    agents = _agents(rows)
    tasks, lines, scores = list[str](), list[int](), array("d")
    for line, task, row in _scored(rows, agents):
        tasks.append(task)
        lines.append(line)
        scores.extend(row)
    if not tasks:
        raise FormatError(1, None, rows.header, "must be a header, followed by at least one task")
    return ScoreFile(agents, tuple(tasks), np.frombuffer(scores, np.float64).reshape(-1, len(agents)).T.copy(), tuple(lines))


def _agents(rows: Rows) -> tuple[str, ...]:
    if rows.header[0].strip().lower() in _AGENT_WORDS:
        rule = "must be the column of task names, followed by one column per agent; if the table is transposed, swap rows and columns"
        raise FormatError(1, rows.header[0], rows.header[0], rule)
    agents = distinct(rows.header[1:], 1, "agent")
    if not agents:
        raise FormatError(1, None, rows.header, "must name at least one agent after the column of tasks")
    return agents


def _scored(rows: Rows, agents: tuple[str, ...]) -> Iterator[tuple[int, str, list[float]]]:
    seen: dict[str, int] = {}
    for line, row in rows:
        task = name(row[0], line, rows.header[0])
        if task in seen:
            raise FormatError(line, rows.header[0], task, f"must be a task without an earlier row (first in row {seen[task]})")
        seen[task] = line
        yield line, task, [_score(cell, line, agent) for cell, agent in zip(row[1:], agents, strict=True)]


def _score(cell: str, line: int, agent: str) -> float:
    if not cell.strip():
        return float("nan")
    score = number(cell, line, agent)
    if abs(score) > MAX_SCORE:
        raise FormatError(line, agent, cell, f"must be within +-{MAX_SCORE:g}")
    return score

"""Wide tables of scores: the first column names the task, and each other column is an agent. A missing cell means not measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns import TaskScores
from ratings_core.columns.duels import units
from ratings_core.formats.errors import FormatError
from ratings_core.formats.options import NO_RESULT, PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.stream import Source
from ratings_core.formats.table_reader import Again, TableReader
from ratings_core.formats.tables.block import Block, Table
from ratings_core.formats.tables.csv_table import opened_csv
from ratings_core.formats.verdicts import Verdicts
from ratings_core.records.names import is_name, name_rule
from ratings_core.records.outcomes import MAX_SCORE
from ratings_core.solution import Floats

AGENT_WORDS: Final = frozenset({"agent", "agents", "model", "models", "player", "players", "team", "teams"})
"""First header cells of a transposed table, whose rows are agents. Rating it would rate the tasks."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A table. agents, tasks: names in file order; scores: float64 (agents, tasks), NaN if not measured."""

    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    scores: Floats


class ScoreRows(TableReader):
    """Reads the rows of a wide table of scores.

    Args:
        table: The table.
        options: How rows are read; only `trim` applies.
        again, decimal_comma: As in `TableReader`.

    Raises:
        FormatError: The header names no agents, or the table is transposed.
    """

    def __init__(self, table: Table, options: ReadOptions, *, again: Again | None = None, decimal_comma: bool = False) -> None:
        super().__init__(options, again=again, decimal_comma=decimal_comma, has_one_mark=True)
        header = table.header
        if header and header[0].strip().lower() in AGENT_WORDS:
            rule = "must be the column of task names, followed by one column per agent; if the table is transposed, swap rows and columns"
            raise FormatError(1, header[0], header[0], rule)
        if len(header) < 2:
            raise FormatError(1, None, header, "must name at least one agent after the column of tasks")
        for name in header[1:]:
            if not is_name(name):
                raise FormatError(1, name, name, str(name_rule(name)))
        self.columns, self.agents = header, tuple(header[1:])
        self._rows: dict[str, int] = {}

    def texts_of(self, _column: str) -> Iterator[list[str]]:
        """The texts of all scores, so that one pass over the table decides for all columns. A table of scores has one decimal mark."""
        for block in () if self._reopen is None else self._reopen().blocks(self.columns[1:]):
            cells = self.cells(block)
            for agent in self.agents:
                yield cells.coded(agent).texts.names()

    def scores(self, block: Block, counts: RowCounts) -> tuple[list[str], Floats, NDArray[np.int64]]:
        """Tasks of the accepted rows, their scores (rows, agents), NaN if not measured, and indices of the rows in the block."""
        cells, verdicts = self.cells(block), Verdicts(len(block.numbers))
        column = self.columns[0]
        coded = cells.coded(column)
        tasks = coded.names()
        names = coded.texts.names()
        rules = [None if is_name(name) else str(name_rule(name)) for name in names]
        for rule in dict.fromkeys(rules):
            if rule is not None:
                verdicts.refuse(np.array([one == rule for one in rules], np.bool_)[coded.code], column, rule)
        for i, (task, number) in enumerate(zip(tasks, block.numbers.tolist(), strict=True)):
            if (first := self._rows.setdefault(task, number)) != number:
                mask = np.zeros(len(tasks), np.bool_)
                mask[i] = True
                verdicts.refuse(mask, column, f"must be a task without an earlier row (first in row {first})")
        scores = np.empty((len(tasks), len(self.agents)))
        for k, agent in enumerate(self.agents):
            scores[:, k] = cells.numbers(agent)
            wrong = ~(np.abs(scores[:, k]) <= MAX_SCORE)
            if wrong.any():
                verdicts.refuse(wrong & ~cells.missing(agent), agent, f"must be a number within +-{MAX_SCORE:g}, or empty")
        counts.rows += len(block.numbers) + len(block.bad)
        errors = verdicts.errors(block.numbers, cells.value)
        counts.refuse([*block.bad, *errors])
        counts.bad += verdicts.refused - len(errors)
        kept = np.flatnonzero(verdicts.accepted)
        return [tasks[i] for i in kept.tolist()], scores[kept], kept

    def read(self, block: Block, counts: RowCounts) -> FilePart:
        """The measurements of a block. Tasks without a score are left out."""
        tasks, scores, kept = self.scores(block, counts)
        measured = np.isfinite(scores)
        some = np.asarray(measured.any(axis=1), np.bool_)
        if not some.all():
            counts.left_out[NO_RESULT] += int((~some).sum())
        rows, agents = np.nonzero(measured[some])
        start = np.zeros(int(some.sum()) + 1, np.int64)
        np.cumsum(measured[some].sum(axis=1), out=start[1:])
        n = len(start) - 1
        columns = TaskScores(
            names=Coded(pack(self.agents), agents.astype(np.int32)),
            start=start,
            score=scores[some][rows, agents],
            tasks=pack([task for task, one in zip(tasks, some.tolist(), strict=True) if one]),
            weight=units(None, n),
            time=np.zeros(n),
            id_hash=np.zeros((n, 2), np.uint64),
            body_hash=np.zeros(n, np.uint64),
        )
        kept = kept[some]
        return FilePart(columns, block.numbers[kept], None if block.hashes is None else block.hashes[kept])

    def rest(self, _counts: RowCounts) -> FilePart | None:
        """Nothing: every block gave its measurements."""
        return None


def read_scores(source: Source, delimiter: str = ",") -> ScoreFile:
    """Read a wide table of scores from the text of a CSV file or from a stream. Raises `FormatError` for its first bad row."""
    counts = RowCounts()
    table = opened_csv(source, delimiter)
    read = read_score_table(ScoreRows(table, PLAIN), table, counts)
    if counts.first:
        raise counts.first[0]
    return read


def read_score_table(reader: ScoreRows, table: Table, counts: RowCounts) -> ScoreFile:
    """Read a wide table completely, also agents and tasks without a score. Raises `FormatError` for a table without tasks."""
    read = list(_each(reader, table, counts))
    tasks = tuple(task for some, _ in read for task in some)
    if not tasks and not counts.bad:
        raise FormatError(1, None, table.header, "must be a header, followed by at least one task")
    scores = np.concatenate([np.zeros((0, len(reader.agents))), *(one for _, one in read)])
    return ScoreFile(reader.agents, tasks, np.ascontiguousarray(scores.T))


def _each(reader: ScoreRows, table: Table, counts: RowCounts) -> Iterator[tuple[list[str], Floats]]:
    for block in table.blocks(reader.columns):
        tasks, scores, _ = reader.scores(block, counts)
        yield tasks, scores

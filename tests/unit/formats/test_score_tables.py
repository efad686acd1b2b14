"""Wide tables of scores, and matrices of margins."""

from pathlib import Path

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.margins import MarginTable, read_margins
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.reading import score_rows
from ratings_core.formats.score_tables import ScoreFile, read_score_table
from ratings_core.formats.tables.csv_table import CsvTable
from tests.support.files import part_of_file, rows_of, stream_of

MARGINS = "x,rock,paper,scissors\nrock,0,-1,1\nscissors,-1,1,0\npaper,1,0,-1\n"
SCORES = "\ufefftask,dqn,human,none\npong,18.9,14.6,\n\nbreakout,NA,31,NaN\nempty,,,\n"


def margins(text: str, delimiter: str = ",") -> MarginTable:
    return read_margins(text, delimiter)


def scores(text: str, counts: RowCounts | None = None, delimiter: str = ",") -> ScoreFile:
    def table() -> CsvTable:
        return CsvTable(stream_of(text), delimiter)

    return read_score_table(score_rows(table(), PLAIN, table), table(), counts or RowCounts())


def test_margins() -> None:
    table = margins(MARGINS)
    assert table.names == ("rock", "paper", "scissors")
    np.testing.assert_array_equal(table.margins, [[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    assert margins("x;b;a\na;-1;0\nb;0;1\n", ";").margins.tolist() == [[0, 1], [-1, 0]]


def test_scores() -> None:
    table = scores(SCORES)
    assert (table.agents, table.tasks) == (("dqn", "human", "none"), ("pong", "breakout", "empty"))
    nan = np.nan
    np.testing.assert_array_equal(table.scores, [[18.9, nan, nan], [14.6, 31, nan], [nan, nan, nan]])


def test_tasks_without_a_score_are_no_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(SCORES, encoding="utf-8")
    part, counts = part_of_file(path)
    assert rows_of(part) == [(2, "pong", {"dqn": 18.9, "human": 14.6}), (3, "breakout", {"human": 31.0})]
    assert (counts.rows, counts.left_out) == (3, {"no result (unplayed)": 1})


def test_a_decimal_comma() -> None:
    assert scores("task;a;b\nt;0,5;1\n", delimiter=";").scores.tolist() == [[0.5], [1.0]]


@pytest.mark.parametrize(
    ("text", "row", "column", "words"),
    [
        ("t,a\np,inf\n", 2, "a", "number"),
        ("t,a\np,x\n", 2, "a", "number"),
        ("t,a\np,1\np,2\n", 3, "t", "without an earlier row"),
        ("t,a\np,2e15\n", 2, "a", "within"),
        ("t,a\n p,1\n", 2, "t", "white space"),
        ('t,a\n"p,1\n', 2, None, "2 cells"),
    ],
)
def test_bad_rows_of_scores(text: str, row: int, column: str | None, words: str) -> None:
    counts = RowCounts()
    scores(text, counts)
    (error,) = counts.first
    assert (error.row, error.column) == (row, column)
    assert words in error.rule


@pytest.mark.parametrize(
    ("text", "row", "column", "words"),
    [
        ("x,a,b\na,0,1\nb,1,0\n", 2, "b", "must be minus"),
        ("x,a,b\na,0,1e-12\nb,1e-12,0\n", 2, "b", "must be minus"),
        ("x,a,b\na,0,1\nc,-1,0\n", 3, "1", "agent of the header"),
        ("x,a,b\na,0,1\na,0,1\n", 3, "x", "one row per agent"),
        ("x,a,b\na,0,one\nb,-1,0\n", 2, "b", "number"),
        ("x,a,b\na,0\n", 2, None, "3 cells"),
        ("x,a,a\na,0,1\n", 1, "a", "one column"),
    ],
)
def test_errors_of_margins_name_row_and_column(text: str, row: int, column: str | None, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        margins(text)
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize("text", ["x,a,b\na,0,1\n", "x\n"])
def test_a_matrix_with_rows_missing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a row for every agent"):
        margins(text)


@pytest.mark.parametrize(
    ("text", "words"), [("t,a \np,1\n", "white space"), ("t,a\n", "at least one task"), ("", "empty"), ("t\np\n", "at least one agent")]
)
def test_a_table_without_agents_or_tasks_is_refused(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        scores(text)


@pytest.mark.parametrize("word", ["agent", "Model", "player "])
def test_a_score_table_that_lies_on_its_side_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="swap rows and columns"):
        scores(f"{word},pong,chess\nann,1,2\nbob,3,4\n")
    path = tmp_path / "s.csv"
    path.write_text(f"{word},pong,chess\nann,1,2\nbob,3,4\n")
    with pytest.raises(FormatError, match="swap rows and columns"):
        part_of_file(path, ReadOptions(kind=FileKind.SCORES))

"""Frames with one wrong column: the error names the column, the row, the value and the rule that is broken."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ratings_core import rate
from ratings_core.errors import InputError

SIDES: dict[str, Any] = {"model_a": ["x", "y", "z", "x"], "model_b": ["y", "z", "x", "z"]}
GAMES = SIDES | {"winner": ["model_a", "model_b", "tie", "model_a"]}
SCORES = SIDES | {"home_score": [1, 2, 0, 1], "away_score": [0, 2, 1, 1]}
PLACES: dict[str, Any] = {"game": ["g", "g", "h", "h"], "player": ["a", "b", "a", "b"], "place": [1, 2, 2, 1]}


@pytest.mark.parametrize(
    ("games", "column", "cells", "row", "value", "rule"),
    [
        (GAMES, "winner", [1, 2, 3, 4], 3, "3", "must name the winner, or be a word for a result"),
        (GAMES, "winner", ["a", "x", "y", "bob"], 2, "'x'", "must name the winner, or be a word for a result"),
        (SIDES, "result", ["won", "lost", "bad", "won"], 3, "'bad'", "must be two scores such as 4-1, or a number or a word for a result"),
        (SIDES, "score", ["1-0", "x", "2:1", "0-0"], 2, "'x'", "must be two scores, such as 4-1"),
        (SCORES, "home_score", [1, "two", 0, 1], 2, "'two'", "must be a number within"),
        (SCORES, "away_score", ["one", "2", "0", "1"], 1, "'one'", "must be a number within"),
        (SCORES, "away_score", [1.0, np.inf, 0.0, 1.0], 2, "inf", "must be a number within"),
        (GAMES, "weight", [1, 1, -2, 1], 3, "-2", "must be a number from 0.001 to 1000"),
        (GAMES, "weight", [1, "heavy", 1, 1], 2, "'heavy'", "must be a number from 0.001 to 1000"),
        (GAMES, "weight", [1, None, 1, 1], 2, "None", "must be a number from 0.001 to 1000"),
        (GAMES, "date", ["2026-01-01", "2026-01-02", "soon", "2026-01-04"], 3, "'soon'", "must be a date, a date and time, or seconds"),
        (GAMES, "date", ["2026-01-01", None, "2026-01-03", "2026-01-04"], 2, "None", "must be a date, a date and time, or seconds"),
        (GAMES, "date", [0.0, 1e18, 1.0, 2.0], 2, "1e+18", "must be within +-1e+11 seconds of 1970"),
        (GAMES, "model_a", ["x", None, "z", "x"], 2, "None", "must be the name of an agent"),
        (GAMES, "model_b", ["y", "z", "", "z"], 3, "''", "must be the name of an agent"),
        (GAMES, "model_b", ["y", "y", "x", "z"], 2, "'y'", "must differ from the first side"),
        (PLACES, "place", [1, "last", 2, 1], 2, "'last'", "must be a place from 1 to"),
        (PLACES, "player", ["a", None, "a", "b"], 2, "None", "must be the name of an agent"),
        (PLACES, "game", ["g", None, "h", "h"], 2, "None", "must be the name of a game"),
    ],
)
def test_an_error_names_column_row_value_and_rule(
    games: dict[str, Any], column: str, cells: list[Any], row: int, value: str, rule: str
) -> None:
    names = {"home_score": "home", "away_score": "away"}
    headers = {"model_a": "home_team", "model_b": "away_team"} if games.keys() & names.keys() else {}
    table = {headers.get(name, name): of for name, of in (games | {column: cells}).items()}
    for source in (table, pd.DataFrame(table)):
        with pytest.raises(InputError) as raised:
            rate(source)
        assert str(raised.value).startswith(f"the table: row {row}, column {column!r} {rule}")
        assert str(raised.value).endswith(f", got {value}")


@pytest.mark.parametrize("cells", [[1, 0, 2, 1], [0, 1, 2, 0.5]])
def test_numbers_of_results_that_can_be_read_in_two_ways_name_their_column(cells: list[Any]) -> None:
    with pytest.raises(InputError, match=r"^column 'result' must say what its numbers mean: .*in Python: reading=ReadOptions\(values"):
        rate(SIDES | {"result": cells})


def test_times_that_can_be_read_in_two_ways_name_their_column() -> None:
    with pytest.raises(InputError, match=r"^column 'date' must show whether the day or the month.*time_format=FORMAT.* got '04/03/2026'"):
        rate(GAMES | {"date": ["01/02/2026", "02/03/2026", "03/04/2026", "04/03/2026"]})
    with pytest.raises(InputError, match=r"^column 'date' must be times; years are read.*time_format=FORMAT.* got '2021'"):
        rate(GAMES | {"date": [2021, 2022, 2023, 2024]})


def test_headers_that_are_known_are_not_called_unknown() -> None:
    with pytest.raises(InputError, match=r"the known columns are first 'model_a', second 'model_b': name the others, got"):
        rate(SIDES)
    with pytest.raises(InputError, match=r"second 'model_b': name the others; header 'winer' \(did you mean winner"):
        rate(SIDES | {"winer": GAMES["winner"]})
    with pytest.raises(InputError, match=r"header 'modell_a' \(did you mean model_a"):
        rate({"modell_a": SIDES["model_a"], "model_b": SIDES["model_b"], "winner": GAMES["winner"]})


def test_an_error_of_a_header_of_a_frame_names_no_row() -> None:
    with pytest.raises(InputError, match=r"^the table: column 'model_a' must be the header of only one column"):
        rate(pd.DataFrame([["x", "y", "x"]], columns=["model_a", "model_a", "winner"]))
    with pytest.raises(InputError, match=r"^the table: column 'len_b' must be a column of the header"):
        rate(GAMES | {"len_a": [1, 2, 3, 4]}, "contextual_bradley_terry", features=["len_a~len_b"])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"winner": "ann", "loser": "bob"}, "games['winner'] must be a column: a list or an array of its cells, got 'ann'"),
        ({1: ["ann"], 2: ["bob"]}, "games must have texts as names of its columns, got 1"),
        (
            pl.DataFrame(GAMES | {"weight": [[1], [2], [3], [4]]}),
            "column 'weight' must hold texts or numbers, got 'large_list<item: int64>'",
        ),
        ({"winner": ["ann"], "loser": 5}, "games['loser'] must be a column: a list or an array of its cells, got 5"),
        (pd.Series(["ann", "bob"]), "games must be a table of columns, got 'Series'"),
        (pl.Series(["ann", "bob"]), "games must be a table of columns, got 'Series'"),
    ],
)
def test_what_is_no_table_is_refused(source: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(words)}$"):
        rate(source)


def test_an_error_of_the_kind_of_a_file_names_the_arguments_of_python(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("foo,bar\n1,2\n")
    with pytest.raises(
        InputError, match=r"--column first=HEADER.*\(in Python: columns=\{ROLE: HEADER\}, reading=ReadOptions\(kind=KIND\)\)"
    ):
        rate(tmp_path / "k.csv")

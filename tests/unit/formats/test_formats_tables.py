"""Readers of CSV tables: what they read, and that errors name row and column."""

import io
from typing import Any

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats import FormatError, Result, ResultColumns, Skipped, guess, iter_results, read_margins, read_scores, unpacked
from ratings_core.formats.features import Feature
from ratings_core.formats.times import seconds

MARGINS = "x,rock,paper,scissors\nrock,0,-1,1\nscissors,-1,1,0\npaper,1,0,-1\n"
SCORES = "\ufefftask,dqn,human\npong,18.9,14.6\n\nbreakout,,31\n"
RESULTS = "date,home_team,away_team,home_score,away_score\n1872-11-30,Scotland,England,0,0\n1873-03-08,England,Scotland,4,2\n"


def test_margins() -> None:
    table = read_margins(MARGINS)
    assert table.names == ("rock", "paper", "scissors")
    np.testing.assert_array_equal(table.margins, [[0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def test_scores() -> None:
    table = read_scores(SCORES)
    assert (table.agents, table.tasks, table.lines) == (("dqn", "human"), ("pong", "breakout"), (2, 4))
    np.testing.assert_array_equal(table.scores, [[18.9, np.nan], [14.6, 31]])


def read_results(text: str, *given: Any, **named: Any) -> list[Result | Skipped]:
    return list(iter_results(unpacked(io.BytesIO(text.encode())), *given, **named))


def test_results() -> None:
    found = read_results(RESULTS)
    assert [(game.first, game.second, game.places, game.time) for game in found if isinstance(game, Result)] == [
        ("Scotland", "England", (1, 1), -3063744000.0),
        ("England", "Scotland", (1, 2), -3055276800.0),
    ]


def test_results_with_declared_columns() -> None:
    columns = ResultColumns("white", "black", "w", "b", time=None)
    (game,) = read_results("black;b;white;w\nbob;1;alice;0\n", columns, delimiter=";")
    assert (game.first, game.second, game.places, game.time) == ("alice", "bob", (2, 1), None)


@pytest.mark.parametrize("cell", ["", "NA", "nan", "null"])
def test_unplayed_games_are_refused_or_left_out_and_counted(cell: str) -> None:
    text = RESULTS + f"2030-01-01,Wales,Malta,{cell},{cell}\n"
    found = read_results(text, unplayed="skip")
    assert (len(found), found[2]) == (3, Skipped(4, "no result (unplayed)"))
    with pytest.raises(FormatError, match=r"row 4, column 'home_score'.*unplayed=skip"):
        read_results(text)


def test_a_misspelt_word_for_unplayed_games_is_refused() -> None:
    with pytest.raises(InputError, match=r"unplayed must be one of skip, refuse, got 'refused'"):
        read_results(RESULTS, unplayed="refused")


@pytest.mark.parametrize(
    ("cell", "time"),
    [
        ("1612010191230", 1612010191230.0),
        ("20260131", 1769817600.0),
        ("1970-01-02", 86400.0),
        ("1969-12-31", -86400.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01 00:00:01", 1.0),
        ("12.5", 12.5),
    ],
)
def test_times(cell: str, time: float) -> None:
    assert seconds(cell, 1, "date") == time


BROKEN = [
    (read_margins, "x,a,b\na,0,1\nb,1,0\n", 2, "b", "must be minus"),
    (read_margins, "x,a,b\na,0,1e-12\nb,1e-12,0\n", 2, "b", "must be minus"),
    (read_margins, "x,a,b\na,0,1\nc,-1,0\n", 3, "1", "agent of the header"),
    (read_margins, "x,a,b\na,0,1\na,0,1\n", 3, "x", "one row per agent"),
    (read_margins, "x,a,b\na,0,one\nb,-1,0\n", 2, "b", "number"),
    (read_margins, "x,a,b\na,0\n", 2, None, "3 cells"),
    (read_margins, "x,a,a\na,0,1\n", 1, "a", "one column"),
    (read_scores, "t,a\np,inf\n", 2, "a", "finite"),
    (read_scores, "t,a\np,1\np,2\n", 3, "t", "without an earlier row"),
    (read_scores, "t,a\np,2e15\n", 2, "a", "within"),
    (read_scores, "t,a \np,1\n", 1, "a ", "white space"),
    (read_scores, "t,a\n", 1, None, "at least one task"),
    (read_scores, "", 1, None, "empty"),
    (read_scores, 't,a\n"p,1\n', 2, None, "CSV"),
    (read_results, "date,home_team,away_team,home_score\n", 1, "away_score", "column of the header"),
    (read_results, RESULTS.replace("4,2", "4,x"), 3, "away_score", "number"),
    (read_results, RESULTS.replace("England,Scotland", "England,England"), 3, "away_team", "differ"),
    (read_results, RESULTS.replace("1873-03-08", "8.3.1873"), 3, "date", "a date such as 2026-11-22"),
]


@pytest.mark.parametrize(("reader", "text", "row", "column", "words"), BROKEN)
def test_errors_name_row_and_column(reader: object, text: str, row: int, column: str | None, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        reader(text)  # type: ignore[operator]
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize("text", ["x,a,b\na,0,1\n", "x\n"])
def test_a_matrix_with_rows_missing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a row for every agent"):
        read_margins(text)


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.csv", MARGINS, "margins"),
        ("a.csv", SCORES, "scores"),
        ("a.csv", RESULTS, "results"),
        ("a.csv", "model_a,model_b,winner\na,b,tie\n", "battles"),
        ("a.json", '[{"model_a":"a","model_b":"b","winner":"tie"}]', "battles"),
        ("a", '{"v":1,"id":"x"}', "outcomes"),
        ("a.jsonl", '[{"v":1,"id":"x"}]', "outcomes"),
        ("a.toi", "# FILE", "profile"),
        ("a.csv.gz", RESULTS, "results"),
        ("a.pgn.zst", "", "pgn"),
        ("a", '[Event "x"]', "pgn"),
        ("a.parquet", "", "battles"),
        ("a", "PAR1", "battles"),
        ("a.json", '{\n "id": 1, "time_seconds": 2, "standings": []}', "contests"),
        ("log.json", '{"tstamp": 1.5, "type": "chat", "model": "x"}', "battles"),
    ],
)
def test_kinds_are_guessed(name: str, head: str, kind: str) -> None:
    assert guess(name, head) == kind


@pytest.mark.parametrize(
    ("name", "head", "words"),
    [("a.zip", "", "zip"), ("a.csv.xz", "", "xz"), ("a.json", "{}", "kind"), ("a.csv", "a\n", "header"), ("a.csv.gz", "a\n", "header")],
)
def test_what_cannot_be_guessed_says_what_to_do(name: str, head: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        guess(name, head)


@pytest.mark.parametrize("word", ["agent", "Model", "player "])
def test_a_score_table_that_lies_on_its_side_is_refused(word: str) -> None:
    with pytest.raises(FormatError, match="swap rows and columns"):
        read_scores(f"{word},pong,chess\nann,1,2\nbob,3,4\n")


def test_tables_are_read_from_streams_too():
    scores, margins = "task,a,b\r\nx,1,\r\ny,2,3\r\n", "x;b;a\na;-1;0\nb;0;1\n"
    one, other = read_scores(unpacked(io.BytesIO(b"\xef\xbb\xbf" + scores.encode()))), read_scores(scores)
    assert (one.agents, one.tasks, one.lines) == (other.agents, other.tasks, other.lines) == (("a", "b"), ("x", "y"), (2, 3))
    np.testing.assert_array_equal(one.scores, other.scores)
    found = read_margins(unpacked(io.BytesIO(margins.encode())), ";")
    assert (found.names, found.margins.tolist()) == (("b", "a"), read_margins(margins, ";").margins.tolist())
    with pytest.raises(FormatError, match="row 2"):
        read_margins(unpacked(io.BytesIO(b"x,a,b\na,0,1\nb,1,0\n")))


@pytest.mark.parametrize(("text", "cells"), [("a:b", ("1e308", "-1e308")), ("a~b", ("1.5e308", "1e308"))])
def test_a_feature_of_two_cells_that_overflows_is_refused(text: str, cells: tuple[str, str]) -> None:
    with pytest.raises(FormatError, match=rf"row 7, column 'a' must be small enough for the feature {text}"):
        Feature.parsed(text).of(dict(zip("ab", cells, strict=True)), 7)

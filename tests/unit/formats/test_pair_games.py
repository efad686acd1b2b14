"""Tables with a row for each game: roles of the usual headers, words for results, rows that are left out, and rows that are refused."""

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.roles import Roles
from tests.support.files import part_of_file, rows_of

RESULTS = "date,home_team,away_team,home_score,away_score\n1872-11-30,Scotland,England,0,0\n1873-03-08,England,Scotland,4,2\n"
WON, LOST, TIED = (1, 2), (2, 1), (1, 1)


def read(tmp_path: Path, text: str | bytes, name: str = "games.csv", **options: Any) -> tuple[list[Any], Any]:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    part, counts = part_of_file(path, ReadOptions(**options))
    assert counts.rows == (0 if part is None else len(part)) + counts.left_out.total() + counts.bad
    return rows_of(part), counts


@pytest.mark.parametrize(
    ("text", "games"),
    [
        (RESULTS, [("Scotland", "England", TIED), ("England", "Scotland", LOST[::-1])]),
        ("match_num,winner_id,loser_id\n1,11,22\n2,22,33\n", [("11", "22", WON), ("22", "33", WON)]),
        ("left,right,winner\n1,2,1\n2,3,3\n", [("1", "2", WON), ("2", "3", LOST)]),
        ("left,right,winner\nred,blue,left\nblue,green,tie\n", [("red", "blue", WON), ("blue", "green", TIED)]),
        ("Round,Team 1,FT,Team 2\n1,Reds FC,4-1,Blues FC\n2,A,0–0,B\n3,A,1:2,B\n", [
            ("Reds FC", "Blues FC", WON), ("A", "B", TIED), ("A", "B", LOST)]),
        ("HomeTeam,AwayTeam,FTHG,FTAG,FTR\nA,B,2,1,H\n", [("A", "B", WON)]),
        ("home,away,ftr\nc,e,A\ne,c,D\n", [("c", "e", LOST), ("e", "c", TIED)]),
        ("white,black,result\nann,bob,1-0\nbob,ann,1/2-1/2\nbob,ann,0-1\n", [
            ("ann", "bob", WON), ("bob", "ann", TIED), ("bob", "ann", LOST)]),
        ("player1,player2,result\na,b,1\na,b,0.5\na,b,0\n", [("a", "b", WON), ("a", "b", TIED), ("a", "b", LOST)]),
        ("model_a,model_b,winner_model_a,winner_model_b,winner_tie\nx,y,1,0,0\nx,y,0,0,1\n", [("x", "y", WON), ("x", "y", TIED)]),
        ("model_a,model_b,winner\nx,y,tie (bothbad)\nx,y,model_b\nx,y,both_bad\n", [
            ("x", "y", TIED), ("x", "y", LOST), ("x", "y", TIED)]),
    ],
)  # fmt: skip
def test_the_usual_headers_need_no_option(tmp_path: Path, text: str, games: list[Any]) -> None:
    found, counts = read(tmp_path, text)
    assert [(*agents, places) for _, agents, places in found] == games
    assert not counts.bad


@pytest.mark.parametrize(
    ("header", "cells", "won"),
    [
        ("model_a,model_b,winner", ["a", "b", "model_a", "tie"], [WON, LOST, WON, TIED]),
        ("white,black,result", ["W", "L", "1-0", "b", "2-1"], [WON, LOST, WON, LOST, WON]),
        ("challenger,defender,result", ["1", "D", "0", "x"], [WON, TIED, LOST, TIED]),
        ("player,dealer,result", ["1", "X", "2"], [WON, TIED, LOST]),
        ("left,right,winner", ["l", "R"], [WON, LOST]),
        ("one,two,winner", ["model_a", "MODEL_B", "tie", "tie (bothbad)"], [WON, LOST, TIED, TIED]),
        ("model_b,model_a,winner", ["model_a", "model_b"], [LOST, WON]),
    ],
)
def test_words_mean_what_the_headers_say(tmp_path: Path, header: str, cells: list[str], won: list[Any]) -> None:
    first, second, result = header.split(",")
    roles = Roles(first=first, second=second, **{"winner" if result == "winner" else "result": result})
    found, counts = read(tmp_path, header + "\n" + "".join(f"p,q,{cell}\n" for cell in cells), roles=roles)
    assert ([places for *_, places in found], counts.bad) == (won, 0)


def test_an_agent_called_like_a_word_for_a_side_is_its_name_or_in_doubt(tmp_path: Path) -> None:
    roles, header = Roles(first="p1", second="p2", winner="who"), "p1,p2,who\n"
    games, counts = read(tmp_path, f"{header}ann,model_a,model_a\nbob,ann,bob\n", roles=roles)
    assert ([places for *_, places in games], counts.bad) == ([LOST, WON], 0)
    doubtful = f"{header}ann,model_a,model_a\n"
    _, counts = read(tmp_path, doubtful, roles=roles)
    assert "say with --value what the word means" in counts.first[0].rule
    for meaning, places in (("first", WON), ("second", LOST)):
        games, counts = read(tmp_path, doubtful, roles=roles, values={"model_a": meaning})
        assert ([won for *_, won in games], counts.bad) == ([places], 0)


@pytest.mark.parametrize(
    ("values", "cells", "won", "bad"),
    [
        ({"W": "first"}, ["W", "L"], [WON], 1),
        ({"None": "tie"}, ["None", "p"], [TIED, WON], 0),
        ({"": "tie", "-": "tie"}, ["", "-", "q"], [TIED, TIED, LOST], 0),
    ],
)
def test_words_of_the_caller_come_first(tmp_path: Path, values: dict[str, str], cells: list[str], won: list[Any], bad: int) -> None:
    found, counts = read(tmp_path, "a,b,winner\n" + "".join(f"p,q,{cell}\n" for cell in cells), values=values)
    assert ([places for *_, places in found], counts.bad, counts.left_out.total()) == (won, bad, 0)


def test_an_agent_may_be_called_like_a_word_for_no_result(tmp_path: Path) -> None:
    found, counts = read(tmp_path, "a,b,winner\nNA,EU,NA\nwo,NA,NA\nx,y,NA\n")
    assert ([places for *_, places in found], counts.left_out) == ([WON, LOST], {"no result (unplayed)": 1})


def test_a_name_that_is_also_another_side_is_refused(tmp_path: Path) -> None:
    found, counts = read(tmp_path, "player1,player2,winner\n2,7,1\n2,7,2\n5,9,5\n1,2,1\n")
    assert [row for row, *_ in found] == [2, 4, 5]
    assert "--value" in counts.first[0].rule
    names, counts = read(tmp_path, "home,away,winner\na,d,a\nd,a,d\nc,h,h\nc,e,e\n")
    assert [agents[0 if places == WON else 1] for _, agents, places in names] == ["a", "d", "h", "e"]
    assert not counts.bad


def test_a_tie_column_without_a_column_of_the_second_side(tmp_path: Path) -> None:
    roles = Roles(first_won="fw", tied="td")
    found, _ = read(tmp_path, "a,b,fw,td\nx,y,1,0\nx,y,0,1\nx,y,0,0\n", roles=roles)
    assert [places for *_, places in found] == [WON, TIED, LOST]


def test_a_named_column_of_results_wins_over_usual_headers(tmp_path: Path) -> None:
    text = "home_team,away_team,home_score,away_score,advanced,r\nx,y,1,1,x,0\nx,y,1,1,y,1\n"
    assert [places for *_, places in read(tmp_path, text, roles=Roles(winner="advanced"))[0]] == [WON, LOST]
    assert [places for *_, places in read(tmp_path, text, roles=Roles(result="r"))[0]] == [LOST, WON]
    with pytest.raises(InputError, match="one form of results"):
        read(tmp_path, text, roles=Roles(result="r", winner="advanced"))


def test_results_of_0_1_and_2_have_to_be_explained(tmp_path: Path) -> None:
    text = "a,b,result\nx,y,0\nx,y,1\nx,y,2\n"
    with pytest.raises(InputError, match="--value"):
        read(tmp_path, text)
    found, _ = read(tmp_path, text, values={"1": "first", "2": "second", "0": "tie"})
    assert [places for *_, places in found] == [TIED, WON, LOST]


def test_standings_are_no_games(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="swap rows and columns"):
        read(tmp_path, "team,played,won,lost\nArsenal,20,12,8\nChelsea,20,10,10\n")


def test_walkovers_are_no_games(tmp_path: Path) -> None:
    found, counts = read(tmp_path, "day,winner_name,loser_name,score\n20260105,ann,bob,6-4 6-3\n20260106,bob,cem,W/O\n20260107,a,b,\n")
    assert [agents for _, agents, _ in found] == [("ann", "bob"), ("a", "b")]
    assert counts.left_out == {"no result (unplayed)": 1}


def test_columns_and_words_can_be_named(tmp_path: Path) -> None:
    text = "when;x;y;who\n05.01.2026;ann;bob;W\n06.01.2026;ann;bob;L\n07.01.2026;ann;bob;=\n08.01.2026;ann;bob;off\n"
    roles, values = Roles(first="x", second="y", winner="who", time="when"), {"W": "first", "L": "second", "=": "tie", "off": "unplayed"}
    found, counts = read(tmp_path, text, roles=roles, values=values)
    assert [places for _, _, places in found] == [WON, LOST, TIED]
    assert counts.left_out == {"no result (unplayed)": 1}
    part, _ = part_of_file(tmp_path / "games.csv", ReadOptions(roles=roles, values=values))
    assert part is not None
    assert part.columns.time.tolist() == [1767571200.0, 1767657600.0, 1767744000.0]


@pytest.mark.parametrize("cell", ["", "NA", "nan", "null", "NaN", "N/A", "-"])
def test_games_without_a_result_are_left_out_or_refused(tmp_path: Path, cell: str) -> None:
    text = RESULTS + f"2030-01-01,Wales,Malta,{cell},{cell}\n"
    assert read(tmp_path, text)[1].left_out == {"no result (unplayed)": 1}
    (error,) = read(tmp_path, text, unplayed="refuse")[1].first
    assert (error.row, error.column) == (4, "home_score")
    assert "unplayed=skip" in error.rule


@pytest.mark.parametrize(
    ("text", "row", "column", "words"),
    [
        (RESULTS.replace("4,2", "4,x"), 3, "away_score", "must be a number"),
        (RESULTS.replace("4,2", "4,1e999"), 3, "away_score", "must be a number"),
        (RESULTS.replace("4,2", "4,2e15"), 3, "away_score", "within"),
        (RESULTS.replace("England,Scotland", "England,England"), 3, "away_team", "must differ"),
        (RESULTS.replace("1873-03-08", "yesterday"), 3, "date", "must be a date"),
        (RESULTS.replace("1873-03-08", ""), 3, "date", "must be a date"),
        (RESULTS.replace("England,Scotland", "England ,Scotland"), 3, "home_team", "white space"),
        (RESULTS.replace("England,Scotland", ",Scotland"), 3, "home_team", "name of an agent"),
        (RESULTS.replace("4,2", "4"), 3, None, "must have 5 cells"),
        ("model_a,model_b,winner\nx,y,tie\nx,y,draws\n", 3, "winner", "must name the winner"),
        ("home,away,ft\nx,y,1-0\nx,y,abc\n", 3, "ft", "two scores"),
        ("model_a,model_b,winner_model_a,winner_model_b,winner_tie\nx,y,1,0,0\nx,y,1,1,0\n", 3, "winner_model_a", "exactly one"),
        ("a,b,winner,weight\nx,y,x,1\nx,y,y,0\n", 3, "weight", "from 0.001 to 1000"),
    ],
)
def test_a_bad_row_is_counted_with_its_number_column_and_rule(tmp_path: Path, text: str, row: int, column: str | None, words: str) -> None:
    _, counts = read(tmp_path, text)
    (error,) = counts.first
    assert (counts.bad, error.row, error.column) == (1, row, column)
    assert words in error.rule


def test_all_bad_rows_are_counted_and_a_hundred_kept(tmp_path: Path) -> None:
    _, counts = read(tmp_path, RESULTS + "1873-03-08,England,Scotland,4,x\n" * 1_000)
    assert (counts.bad, len(counts.first), counts.first[0].row, counts.first[-1].row) == (1_000, 100, 4, 103)


def test_white_space_can_be_removed(tmp_path: Path) -> None:
    text = RESULTS.replace("England", " England ").replace("4,2", " 4 ,2")
    assert read(tmp_path, text)[1].bad == 2
    assert [agents for _, agents, _ in read(tmp_path, text, trim=True)[0]] == [("Scotland", "England"), ("England", "Scotland")]


def test_only_rows_with_a_value_are_chosen(tmp_path: Path) -> None:
    text = "home_team,away_team,home_score,away_score,neutral,cup\na,b,1,0,True,x\na,b,x,0,FALSE,x\na,b,2,0,true,y\n"
    found, counts = read(tmp_path, text, where=(("neutral", "true"),))
    assert ([row for row, *_ in found], counts.bad, counts.left_out) == ([2, 4], 0, {"not chosen by --where": 1})
    with pytest.raises(InputError, match=r"where must match a row with a result: cup is 'x', 'y'"):
        read(tmp_path, text, where=(("cup", "z"),))
    with pytest.raises(InputError, match="column 'cups' must be a column of the header"):
        read(tmp_path, text, where=(("cups", "z"),))


def test_tasks_weights_slices_and_features(tmp_path: Path) -> None:
    text = "model_a,model_b,winner,kind,weight,len_a,len_b\nx,y,tie,code,2,30,10\ny,z,model_a,,0.5,0,0\n"
    features = tuple(Feature.parsed(one) for one in ("len_a~len_b", "len_a:len_b", "len_a", "first-side"))
    path = tmp_path / "b.csv"
    path.write_text(text)
    part, counts = part_of_file(path, ReadOptions(roles=Roles(task="kind"), slice_by="kind", features=features))
    assert part is not None
    assert part.slices is not None
    assert part.features is not None
    assert not counts.bad
    assert (part.columns.tasks.names(), part.columns.task_of.tolist()) == (["code"], [0, -1])  # type: ignore[union-attr]
    assert (part.columns.weight / 2**20).tolist() == [2.0, 0.5]
    assert part.slices.names() == ["code", ""]
    assert part.features.tolist() == [[0.5, 20.0, 30.0, 1.0], [0.0, 0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("text", "cells", "words"),
    [("a:b", ("1e308", "-1e308"), "small enough"), ("a~b", ("-1", "1"), "at least 0"), ("a:b", ("x", "1"), "a number for the feature")],
)
def test_a_feature_that_has_no_value_refuses_its_row(tmp_path: Path, text: str, cells: tuple[str, str], words: str) -> None:
    table = f"first,second,result,a,b\nx,y,1,{cells[0]},{cells[1]}\nx,y,1,1,1\n"
    _, counts = read(tmp_path, table, features=(Feature.parsed(text),))
    (error,) = counts.first
    assert (error.row, error.column) == (2, "a")
    assert words in error.rule


def test_nested_columns_are_named_by_their_paths(tmp_path: Path) -> None:
    battle = {"model_a": "m1", "model_b": "m2", "winner": "model_b"}
    rows = [battle | {"meta": {"tokens": {"a": 10 * i, "b": 30}, "math_v0.1": {"math": i > 1}}} for i in range(3)]
    features = (Feature.parsed("meta.tokens.a:meta.tokens.b"),)
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "b.parquet")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.json").write_text(json.dumps(rows))
    for name in ("b.parquet", "b.jsonl", "b.json"):
        options = ReadOptions(features=features, where=(("meta.math_v0.1.math", "true"),))
        part, counts = part_of_file(tmp_path / name, options)
        assert part is not None
        assert part.features is not None
        assert (part.features.tolist(), counts.left_out) == ([[-10.0]], {"not chosen by --where": 2}), name


# the readable twin


def twin(text: str) -> list[tuple[int, tuple[str, str], tuple[int, int]]]:
    """Games of a table of results, row by row."""
    found = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
        scores = row["home_score"], row["away_score"]
        if "NA" in scores:
            continue
        first, second = map(float, scores)
        found.append((number, (row["home_team"], row["away_team"]), (1 + (first < second), 1 + (second < first))))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_what_a_loop_over_rows_gives(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.csv_table._BLOCK", 1 << 10)
    draw = random.Random(seed)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["home_team", "away_team", "home_score", "away_score", "note"])
    for _ in range(400):
        first, second = draw.sample(["Ann", 'B "the" B', "Ç, é", "d" * 100, "Ж"], 2)
        scores = draw.choice([("NA", "NA"), (draw.randint(0, 3), draw.randint(0, 3)), (draw.random(), "1e-3")])
        writer.writerow([first, second, *scores, "a, b" * draw.randint(0, 3)])
    found, counts = read(tmp_path, out.getvalue())
    assert found == twin(out.getvalue())
    assert counts.rows == 400


def test_parquet_json_and_csv_of_one_table_are_the_same_games(tmp_path: Path) -> None:
    rows = [{"model_a": f"m{i % 7}", "model_b": f"n{i % 5}", "winner": ["model_a", "model_b", "tie"][i % 3], "tstamp": 1e9 + i / 4}
            for i in range(500)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "b.parquet", row_group_size=99)
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "b.json").write_text(json.dumps(rows, indent=1))
    with (tmp_path / "b.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    read_ = {}
    for name in ("b.parquet", "b.jsonl", "b.json", "b.csv"):
        part, counts = part_of_file(tmp_path / name)
        assert part is not None
        assert (counts.rows, counts.bad) == (500, 0)
        read_[name] = [row[1:] for row in rows_of(part)], part.columns.time.tolist()
    assert len({repr(one) for one in read_.values()}) == 1


def test_rows_from_new_to_old_can_be_sorted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(RESULTS.splitlines()[0] + "\n" + "\n".join(reversed(RESULTS.splitlines()[1:])) + "\n")
    from ratings_core.formats.reading import FileReading, in_order_of_time  # noqa: PLC0415
    from ratings_core.formats.source import FileSource  # noqa: PLC0415

    with FileSource(path) as source:
        reading = FileReading(source)
        parts = list(reading.parts())
        assert reading.order_note.startswith("the rows run from new to old")
        assert "--sort" in reading.order_note
        assert reading.order == "the rows run from new to old"
        (part,) = in_order_of_time(parts)
    assert [row for row, *_ in rows_of(part)] == [3, 2]


def test_rows_in_no_order_of_time_are_said(tmp_path: Path) -> None:
    from ratings_core.formats.reading import FileReading  # noqa: PLC0415
    from ratings_core.formats.source import FileSource  # noqa: PLC0415

    path = tmp_path / "r.csv"
    rows = ["a,b,1,0,2026-01-01", "a,b,1,0,2026-01-03", "a,c,1,0,2026-01-02", "a,c,1,0,2026-01-04"]
    for order, slice_by, note in ((rows, None, True), (rows, "away", False), (sorted(rows, key=lambda row: row[-1]), None, False)):
        path.write_text("home,away,home_score,away_score,date\n" + "\n".join(order) + "\n")
        with FileSource(path) as source:
            reading = FileReading(source, ReadOptions(slice_by=slice_by))
            list(reading.parts())
            assert reading.order_note.startswith("the rows are not in the order of their times") == note
            assert bool(reading.order) == note


def test_an_option_that_does_not_apply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be left out for scores"):
        read(tmp_path, "task,a,b\nt,1,2\n", where=(("a", "1"),))
    with pytest.raises(InputError, match="last is for tables of places"):
        read(tmp_path, RESULTS, unplayed="last")
    with pytest.raises(InputError, match="unplayed must be one of skip, refuse, last"):
        ReadOptions(unplayed="refused")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="first, second, tie, unplayed"):
        ReadOptions(values={"x": "won"})
    with pytest.raises(InputError, match="must be a column of the table"):
        read(tmp_path, RESULTS, roles=Roles(first="white"))
    with pytest.raises(InputError, match="must be left out for pgn"):
        read(tmp_path, '[White "a"]\n', "g.pgn", delimiter=";")
    assert FileKind.GAMES == "games"

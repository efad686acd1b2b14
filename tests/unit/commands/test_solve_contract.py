"""The JSON of `equirank solve`, for every kind of file; problems are one line on stderr and status 2."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from services.cli import main as cli

FILES: dict[str, tuple[str, str]] = {
    "scores": ("s.csv", "task,zed,amy,bob\nt1,1,2,3\nt2,3,1,2\nt3,2,3,1\n"),
    "margins": ("m.csv", "x,amy,bob,zed\namy,0,2,-1\nbob,-2,0,1\nzed,1,-1,0\n"),
    "results": (
        "r.csv",
        (
            "date,home_team,away_team,home_score,away_score\n2026-01-01,amy,bob,2,1\n2026-01-02,bob,zed,1,0\n"
            "2026-01-03,zed,amy,3,0\n2026-01-03,zed,amy,3,0\n2027-01-01,zed,amy,NA,NA\n"
        ),
    ),
    "battles": (
        "b.jsonl",
        (
            '{"model_a":"amy","model_b":"bob","winner":"model_a"}\n{"model_a":"bob","model_b":"zed","winner":"model_a"}\n'
            '{"model_a":"amy","model_b":"zed","winner":"model_b"}\n'
        ),
    ),
    "profile": (
        "p.soc",
        "# ALTERNATIVE NAME 1: amy\n# ALTERNATIVE NAME 2: bob\n# ALTERNATIVE NAME 3: zed\n1: 1,2,3\n1: 2,3,1\n1: 3,1,2\n",
    ),
    "pgn": (
        "g.pgn",
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'
            for white, black, result in (("amy", "bob", "1-0"), ("zed", "bob", "0-1"), ("zed", "amy", "1-0"), ("zed", "amy", "*"))
        ),
    ),
    "contests": ("c.json", '[{"standings": [["amy", 0, 0], ["bob", 1, 1], ["zed", 2, 2]]}, {"standings": [["zed", 0, 0], ["amy", 1, 1]]}]'),
    "outcomes": (
        "o.jsonl",
        (
            '{"v":1,"id":"1","pool":"p","time":0,"sides":[{"agents":["amy"],"place":1},{"agents":["bob"],"place":2}]}\n'
            '[{"v":1,"id":"2","pool":"p","sides":[{"agents":["bob"],"place":1},{"agents":["zed"],"place":2}]},'
            '{"v":1,"pool":"p","sides":[{"agents":["zed"],"place":1},{"agents":["amy"],"place":2}]}]\n'
            '{"v":1,"id":"1","pool":"p","time":5,"sides":[{"agents":["amy"],"place":1},{"agents":["bob"],"place":2}]}\n'
            '{"v":1,"id":"4","pool":"p","time":5,"sides":[{"agents":["amy"],"place":1},{"agents":["bob"],"place":2}]}\n'
            '{"v":1,"id":"5","pool":"p","time":5,"retracts":"4"}\n'
        ),
    ),
}
KINDS = {kind: "games" if kind in ("results", "battles") else kind for kind in FILES}
"""The kind of each file, as the command names it."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(kind: str, *arguments: str, text: str | None = None) -> tuple[int, str, str]:
        name, content = FILES[kind]
        (tmp_path / name).write_text(text or content)
        monkeypatch.setattr(sys, "argv", ["equirank", "solve", str(tmp_path / name), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("method", ["copeland", "maximal_lottery", "iterated_maximal_lotteries"])
def test_one_object_on_stdout(run: Any, kind: str, method: str) -> None:
    code, out, err = run(kind, "--method", method, "--format", "json")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    found = json.loads(out)
    assert list(found) == ["version", "method", "input", "agents", "certificate", "status", "seconds", "tasks", "extra"]
    assert (found["method"], found["input"], found["status"]) == (method, KINDS[kind], "optimal")
    assert set(found["certificate"]) == {"kind", "value"}
    assert sorted(row["agent"] for row in found["agents"]) == ["amy", "bob", "zed"]
    assert all(set(row) <= {"agent", "rating", "rank", "low", "high"} for row in found["agents"])


@pytest.mark.parametrize("kind", ["battles", "profile", "outcomes", "pgn"])
def test_the_same_cycle_in_every_spelling(run: Any, kind: str) -> None:
    found = json.loads(run(kind, "--method", "maximal_lottery", "--format", "json", "--input", KINDS[kind])[1])
    assert [row["rank"] for row in found["agents"]] == [1, 1, 1]
    assert [row["rating"] for row in found["agents"]] == pytest.approx([1 / 3] * 3)


def test_equal_rows_of_results_count_each(run: Any) -> None:
    found = json.loads(run("results", "--method", "maximal_lottery", "--param", "margins=observed", "--format", "json")[1])
    assert {row["agent"]: row["rating"] for row in found["agents"]} == pytest.approx({"amy": 0.25, "bob": 0.5, "zed": 0.25})


def test_rated_tasks_parameters_and_players(run: Any) -> None:
    code, out, _ = run("scores", "--method", "nash_average", "--format", "json", "--param", "normalise=minmax", "--players", "2")
    found = json.loads(out)
    assert code == 0
    assert sorted(row["task"] for row in found["tasks"]) == ["t1", "t2", "t3"]
    assert found["extra"]["parameters"]["normalise"] == "minmax"


@pytest.mark.parametrize(("given", "players"), [((), 3), (("--players", "3"), 3), (("--players", "2"), 2), (("--param", "players=2"), 2)])
def test_deviation_ratings_of_two_players_or_three(run: Any, given: tuple[str, ...], players: int) -> None:
    code, out, _ = run("scores", "--method", "deviation", "--format", "json", *given)
    found = json.loads(out)
    assert code == 0
    assert (found["status"], found["certificate"]["kind"]) == ("optimal", "rating_error")
    assert found["extra"]["parameters"]["players"] == players
    assert [row["rank"] for row in found["agents"]] == [1, 1, 1]


def test_ties_kept_or_ordered(run: Any) -> None:
    ranks = [
        [row["rank"] for row in json.loads(run("profile", "--method", "copeland", "--format", "json", "--ties", ties)[1])["agents"]]
        for ties in ("keep", "order")
    ]
    assert ranks == [[1, 1, 1], [1, 2, 3]]


def test_a_table_for_people(run: Any) -> None:
    code, out, _ = run("scores", "--method", "copeland")
    assert code == 0
    assert "copeland on scores: optimal" in out


def test_a_table_shows_names_as_they_are(run: Any) -> None:
    names = ["[bold]amy", r"bob\[1]", "zed[/]"]
    _, out, _ = run("scores", "--method", "copeland", text=f"task,{','.join(names)}\nt1,3,2,1\n")
    assert [line.split("│")[2].strip() for line in out.splitlines() if line.startswith("│")] == names


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("scores", ("--method", "no_such"), "must be one of"),
        ("scores", ("--method", "elo"), "online methods rate games"),
        ("results", ("--method", "elo", "--param", "q=1"), "must be one of k"),
        ("results", ("--method", "elo", "--param", "scael=1"), "did you mean scale"),
        ("results", ("--method", "elo", "--intervals"), "must be left out for elo"),
        ("margins", ("--method", "bradley_terry"), "wins, losses and ties"),
        ("results", ("--method", "nash_average"), "results counted per task"),
        ("scores", ("--method", "copeland", "--param", "x"), "name=value"),
        ("scores", ("--method", "copeland", "--param", "x=1"), "tie_tolerance"),
        ("scores", ("--method", "nash_average", "--players", "3"), "must be 2"),
        ("scores", ("--method", "deviation", "--players", "4"), "from 2 to 3"),
        ("scores", ("--method", "deviation", "--players", "2", "--param", "players=3"), "given once"),
        ("margins", ("--method", "deviation"), "results counted per task"),
        ("results", ("--method", "copeland", "--unplayed", "refuse"), "row 6"),
        ("results", ("--method", "copeland", "--input", "margins"), "row 2"),
        ("outcomes", ("--method", "copeland", "--pool", "other"), "must be one of the file's pools: p"),
    ],
)
def test_problems_are_one_line_and_status_2(run: Any, kind: str, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(kind, *arguments, "--format", "json")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("lines", [FILES["outcomes"][1], "\n" * 5])
@pytest.mark.parametrize("method", ["copeland", "elo"])
def test_a_broken_line_of_outcomes_is_named(run: Any, method: str, lines: str) -> None:
    text = lines + '{"v":1,"pool":"p","sides":[]}\n'
    code, _, err = run("outcomes", "--method", method, text=text)
    assert code == 2
    assert "row 6: $.sides" in err


@pytest.mark.parametrize("options", [(), ("--where", "meta.round=1")])
@pytest.mark.parametrize("method", ["copeland", "elo"])
def test_the_first_outcome_with_an_id_counts_also_if_the_second_has_another_body(run: Any, method: str, options: tuple[str, ...]) -> None:
    line = '{"v":1,"id":"1","pool":"p","time":1,"sides":[{"agents":["amy"],"place":%d},{"agents":["bob"],"place":%d}],"meta":{"round":1}}\n'
    code, out, err = run("outcomes", "--method", method, "--format", "json", *options, text=line % (1, 2) + line % (2, 1))
    assert (code, err) == (0, "")
    assert [row["agent"] for row in json.loads(out)["agents"]] == ["amy", "bob"]


def test_a_file_that_is_not_there(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["equirank", "solve", str(tmp_path / "none.csv"), "--method", "copeland"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "none.csv" in capsys.readouterr().err


def test_of_a_file_with_several_pools_the_one_named_is_solved_and_the_rest_told(run: Any) -> None:
    other = '{"v":1,"id":"9","pool":"q","time":0,"sides":[{"agents":["eve"],"place":1},{"agents":["bob"],"place":2}]}\n'
    text = FILES["outcomes"][1] + other
    code, out, err = run("outcomes", "--method", "copeland", "--pool", "p", "--format", "json", text=text)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert sorted(row["agent"] for row in found["agents"]) == ["amy", "bob", "zed"]
    assert found["extra"]["rows_left_out"] == {"of another pool": 1}
    code, _, err = run("outcomes", "--method", "copeland", text=text)
    assert (code, "p, q" in err) == (2, True)


ALL_RANKS = "all ranks are within their intervals at once with the same probability"


def test_intervals_add_their_own_fields_and_say_what_they_assume(run: Any) -> None:
    code, out, err = run("scores", "--method", "copeland", "--intervals", "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["intervals"]["kind"], found["intervals"]["level"]) == ("tasks", 0.95)
    assert "tasks drawn at random" in found["intervals"]["assumes"]
    assert all({"rank_low", "rank_high"} <= set(row) for row in found["agents"])
    shown = run("scores", "--method", "copeland", "--intervals")[1]
    assert "copeland on scores" in shown
    assert "is no proven coverage" in " ".join(shown.split())
    assert ALL_RANKS not in " ".join(shown.split())
    assert ALL_RANKS in " ".join(run("results", "--method", "bradley_terry", "--intervals")[1].split())
    code, _, err = run("margins", "--method", "copeland", "--intervals")
    assert (code, err.count("\n")) == (2, 1)
    assert "margins have no number of games" in err


BAD = (
    "date,home_team,away_team,home_score,away_score,league,map\n2026-01-01, amy,bob,2,1,x,m1\n2026-01-02,bob,zed,1,0,x,m1\n"
    "2026-01-03,zed,amy,much,0,x,m2\n2026-01-03,zed,amy,3\n2026-01-04,zed,amy,3,0,y,m2\n2026-01-04,zed,amy,1,0,x,m2\n"
)


def test_all_bad_rows_are_named_at_once_and_may_be_skipped(run: Any) -> None:
    code, _, err = run("results", "--method", "copeland", text=BAD)
    assert (code, err.count("\n")) == (2, 1)
    said = ("3 bad rows", "row 2: home_team ' amy'", "row 4: home_score 'much'", "row 5: '4'", "--bad-rows skip")
    assert [words for words in said if words not in err] == []
    for method in ("copeland", "elo"):
        code, out, _ = run("results", "--method", method, "--bad-rows", "skip", "--trim", "--format", "json", text=BAD)
        assert code == 0
        assert json.loads(out)["extra"]["rows_left_out"] == {"bad rows": 2}


def test_only_the_first_twenty_bad_rows_are_named_and_all_are_counted(run: Any) -> None:
    text = "model_a,model_b,winner\n" + "amy,bob,nobody\n" * 30
    err = run("results", "--method", "copeland", text=text)[2]
    assert "30 bad rows" in err
    assert err.count("'nobody'") == 20


def test_rows_are_chosen_by_their_columns(run: Any) -> None:
    good = BAD.replace(" amy", "amy").replace("2026-01-03,zed,amy,much,0,x,m2\n2026-01-03,zed,amy,3\n", "")
    out = run("results", "--method", "elo", "--where", "league=x", "--where", "map=m1", "--format", "json", text=good)[1]
    found = json.loads(out)
    assert found["extra"]["outcomes"] == 2
    assert found["extra"]["rows_left_out"] == {"not chosen by --where": 2}
    code, _, err = run("results", "--method", "elo", "--where", "region=x", text=good)
    assert (code, "must be a column of the header" in err) == (2, True)


def test_each_slice_has_the_answer_of_its_rows_alone(run: Any) -> None:
    good = BAD.replace(" amy", "amy").replace("2026-01-03,zed,amy,much,0,x,m2\n2026-01-03,zed,amy,3\n", "")
    code, out, err = run("results", "--method", "elo", "--slice-by", "league", "--format", "json", text=good)
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    values = sorted({row.split(",")[5] for row in good.splitlines()[1:]})
    assert [answer["extra"]["slice"] for answer in answers] == [{"column": "league", "value": value} for value in values]
    for value, answer in zip(values, answers, strict=True):
        alone = json.loads(run("results", "--method", "elo", "--where", f"league={value}", "--format", "json", text=good)[1])
        assert answer["agents"] == alone["agents"]
    assert "\nleague = 'x'\n" in run("results", "--method", "elo", "--slice-by", "league", text=good)[1]


def test_bad_rows_of_any_slice_are_refused_first(run: Any) -> None:
    code, out, err = run("results", "--method", "elo", "--slice-by", "league", text=BAD)
    assert (code, out) == (2, "")
    assert "3 bad rows" in err


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [
        ("results", "home_team,away_team,home_score,away_score\namy,bob,1,0\n", "must be a column of the header"),
        ("scores", "task,amy,bob\nt1,1,0\n", "must be left out for scores"),
        ("results", "model_a,model_b,winner,league\n" + "".join(f"amy,bob,tie,{i}\n" for i in range(1001)), "at most 1000 values"),
    ],
)
def test_what_cannot_be_sliced_is_refused(run: Any, kind: str, text: str, rule: str) -> None:
    method = "copeland" if kind == "scores" else "elo"
    code, out, err = run(kind, "--method", method, "--input", KINDS[kind], "--slice-by", "league", text=text)
    assert (code, out) == (2, "")
    assert rule in err


def test_a_slice_without_an_answer_does_not_hide_the_others(run: Any) -> None:
    text = "model_a,model_b,winner,league\namy,bob,tie,x\namy,zed,tie,y\namy,bob,tie,z\n"
    arguments = ("--method", "copeland", "--slice-by", "league", "--param", 'only_agents=["amy","bob"]', "--format", "json")
    code, out, err = run("results", *arguments, text=text)
    assert [json.loads(line)["extra"]["slice"]["value"] for line in out.splitlines()] == ["x", "z"]
    assert code == 1
    assert err.startswith("equirank: league = 'y' has no result: only_agents must name agents of the input, got 'bob'")


@pytest.mark.parametrize("kind", ["results", "battles"])
def test_a_column_names_the_tasks_of_games(run: Any, kind: str) -> None:
    text = BAD.replace(" amy", "amy").replace("2026-01-03,zed,amy,much,0,x,m2\n2026-01-03,zed,amy,3\n", "")
    if kind == "battles":
        rows = [("amy", "bob", "p1"), ("bob", "zed", "p1"), ("zed", "amy", "p2"), ("zed", "amy", "p2")]
        text = "".join(json.dumps({"model_a": a, "model_b": b, "winner": "model_a", "map": task}) + "\n" for a, b, task in rows)
    arguments = ("--method", "nash_average", "--param", "missing=zero", "--column", "task=map", "--format", "json")
    code, out, err = run(kind, *arguments, text=text)
    assert (code, err) == (0, "")
    assert sorted(row["task"] for row in json.loads(out)["tasks"]) == (["m1", "m2"] if kind == "results" else ["p1", "p2"])


def test_tables_say_who_is_unrated_and_what_does_not_compare(run: Any) -> None:
    head = "date,home_team,away_team,home_score,away_score\n"
    games = ("top,a", "top,b", "a,b", "b,a", "x,y", "y,x")
    text = head + "".join(f"2026-01-01,{game},1,0\n" for game in games)
    groups = "2 groups of agents that never met: no game orders them against each other"
    for method in ("bradley_terry", "copeland", "elo"):
        code, out, _ = run("results", "--method", method, text=text)
        assert code == 0
        assert groups in out, method
    out = run("results", "--method", "bradley_terry", text=text)[1]
    assert "1 without a rating: it won all its 2 games; play more games, or solve with prior=1" in out
    assert next(line for line in out.splitlines() if " top " in line).split()[1] == "-"


def test_games_of_teams_that_are_not_counted_are_said(run: Any) -> None:
    teams = '{"v":1,"id":"1","pool":"p","sides":[{"agents":["amy","bob"],"place":1},{"agents":["zed"],"place":2}]}\n'
    text = FILES["outcomes"][1] + teams.replace('"1"', '"9"')
    said = "games with a side of several agents, which methods of pairs and places do not count (online methods do)"
    assert f"left out: 1, {said}" in run("outcomes", "--method", "copeland", text=text)[1]
    assert json.loads(run("outcomes", "--method", "copeland", "--format", "json", text=text)[1])["extra"]["rows_left_out"][said] == 1
    assert said not in run("outcomes", "--method", "elo", text=text)[1]


def test_a_file_without_an_outcome_that_counts_says_what_was_left_out(run: Any) -> None:
    text = '[White "a"]\n[Black "b"]\n[Result "*"]\n\n1. e4 *\n'
    for method in ("elo", "copeland"):
        code, _, err = run("pgn", "--method", method, text=text)
        assert code == 2
        assert "games must contain at least one game or measurement (1 left out: no result (unplayed)), got 0" in err

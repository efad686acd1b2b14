"""`equirank inspect`: what a file is taken for, and the command to go on with, which works."""

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ratings_core.formats.options import ReadOptions
from ratings_core.formats.reading import FileReading
from services.backends import open_log
from services.cli import main as cli
from services.runtime.settings import Settings

GAMES = (
    "date,home_team,away_team,home_score,away_score,cup\n2026-01-03,ann,bob,1,0,x\n2026-01-02,bob,ann,1,1,x\n2026-01-01,cem,dee,x,0,x\n"
    "2026-01-01,cem,dee,1,0,x\n2026-01-01,cem,dee,NA,NA,x\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(text: str, name: str, *arguments: str) -> tuple[int, str, str]:
        path = tmp_path / name
        path.write_text(text)
        return command("inspect", str(path), *arguments)

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equirank", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run.command = command  # type: ignore[attr-defined]
    return run


def words_after(out: str, beginning: str) -> list[str]:
    """The words of the command in the line with this beginning, without the name of the program."""
    line = next(line for line in out.splitlines() if line.startswith(beginning))
    program, *words = shlex.split(line.removeprefix(beginning))
    assert program == "equirank"
    return words


def test_a_table_of_games(run: Any) -> None:
    code, out, _ = run(GAMES, "my league.csv")
    assert code == 0
    for line in (
        "my league.csv: games",
        "  column home_team: first",
        "  column cup: not used",
        "  rows: 5",
        "  games: 3",
        "  agents: 4",
        "  rows left out: 1, no result (unplayed)",
        "  ties: 33.3 %",
        "  times: 2026-01-01T00:00:00Z to 2026-01-03T00:00:00Z; the rows run from new to old (online methods: --sort)",
        "  2 groups that never met, of 2, 2 agents: ratings compare only within a group",
        "  bad rows: 1",
        "    row 4: home_score 'x' must be a number within +-1e+15",
    ):
        assert line in out.splitlines(), line


@pytest.mark.parametrize(
    ("name", "text", "arguments", "first"),
    [
        ("g.csv", GAMES, (), "g.csv: games"),
        ("v.csv", "x;y;w\na;b;L\nb;a;L\n", ("--column", "first=x", "--column", "second=y", "--column", "winner=w", "--value", "first=L"),
         "v.csv: games"),
        ("s.csv", ",a,b\nt,1,2\nu,3,1\n", (), "s.csv: scores (read as scores: tasks are t, u, ...; agents are a, b)"),
        ("m.csv", "x,a,b\na,0,1\nb,-1,0\n", (), "m.csv: margins"),
        ("p.soc", "# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n2: 1,2\n", (), "p.soc: profile"),
        ("g.pgn", '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n', (), "g.pgn: pgn"),
        ("c.json", '{"standings":[["a",0,0],["b",1,1]]}', (), "c.json: contests"),
        ("o.jsonl", '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}\n', (), "o.jsonl: outcomes"),
    ],
)  # fmt: skip
def test_the_command_to_go_on_with_works(run: Any, name: str, text: str, arguments: tuple[str, ...], first: str) -> None:
    code, out, err = run(text, name, *arguments)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == first
    words = words_after(out, "go on with: ")
    assert words[0] == "solve"
    code, out, err = run.command(*words)
    assert (code, err) == (0, ""), err
    assert "optimal" in out


BATTLES = "model_a,model_b,winner,la,lb,time\n" + "x,y,model_a,3,1,5\nx,y,model_b,1,2,6\ny,x,model_a,2,4,7\nx,y,tie,1,1,8\n" * 3
PLACES = (
    "track;driver;position;points;time\nN;ann;1;25;2025-01-01\nN;bob;2;18;2025-01-01\nN;ann;2;18;2026-01-01\nN;bob;1;25;2026-01-01\n"
    "S;ann;1;25;2025-02-02\nS;bob;DNF;0;2025-02-02\nT;ann;x;25;2025-02-02\nT;bob;1;0;2025-02-02\n"
)
SCORED = (
    "home;away;home_score;away_score;date\n" + " a;b;1,234;7;05/01/2026\nb ; a;2;3;25/12/2025\na;b;-;-;25/12/2025\na;b;1;2;05/01/2026\n"
)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (BATTLES, ("--column", "time=", "--feature", "la~lb", "--feature", "first-side")),
        (BATTLES, ("--where", "la=1", "--value", "tie=tie")),
        (PLACES, ("--unplayed", "last", "--delimiter", ";")),
        (PLACES, ("--column", "time=", "--column", "game=time")),
        (PLACES, ("--column", "agent=driver", "--where", "track=N", "--input", "games")),
        (SCORED, ("--trim", "--decimal", ".", "--time-format", "%d/%m/%Y")),
        (SCORED, ("--trim", "--decimal", ",")),
        (BATTLES.replace("model_a,model_b,", "--x,y y,"), ("--column", "first=--x", "--column", "second=y y")),
    ],
)
def test_the_command_to_go_on_with_reads_the_file_as_inspect_did(
    run: Any, monkeypatch: pytest.MonkeyPatch, text: str, arguments: tuple[str, ...]
) -> None:
    seen = list[ReadOptions]()
    for module in ("ratings_core.front.inspection", "services.solve.problems.load"):
        monkeypatch.setattr(f"{module}.FileReading", lambda source, options: seen.append(options) or FileReading(source, options))
    code, out, _ = run(text, "g.csv", *arguments)
    assert code == 0
    code, out, err = run.command(*words_after(out, "go on with: "))
    assert (code, err) == (0, ""), err
    assert seen[0] == seen[1]


def test_rows_in_no_order_of_time_are_said(run: Any) -> None:
    header, *rows = GAMES.splitlines()
    code, out, _ = run("\n".join([header, rows[1], rows[0], rows[3], "2026-01-05,ann,bob,1,0,x"]), "g.csv")
    assert code == 0
    assert "; the rows are not in the order of their times (online methods: --sort)" in out
    assert "--sort" in words_after(out, "or in a pool: ")


def test_the_command_names_a_file_whose_name_begins_with_a_hyphen(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "-g.csv").write_text(BATTLES)
    monkeypatch.chdir(tmp_path)
    words = words_after(run.command("inspect", "--", "-g.csv")[1], "go on with: ")
    assert run.command(*words)[0] == 0


def test_what_the_rows_show_about_a_column_is_said(run: Any) -> None:
    _, out, _ = run(PLACES, "g.csv")
    assert "  column track: game, together with time" in out.splitlines()
    assert "  column points: not used" in out.splitlines()
    assert "  games: 2" in out.splitlines()
    assert "  rows left out: 2, fewer than two agents with a place" in out.splitlines()
    _, out, _ = run(PLACES.replace("20", "+"), "g.csv")
    assert "  column time: not used: none of its cells is a time (another format: --time-format)" in out.splitlines()


def test_a_file_that_cannot_be_guessed_says_what_to_do(run: Any) -> None:
    code, out, err = run("match,p,q\n1,5,7\n2,8,9\n", "x.csv")
    assert (code, out) == (2, "")
    assert "--column first=HEADER" in err


OUTCOME = '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}\n'


@pytest.mark.parametrize(
    ("name", "text", "arguments", "count"),
    [
        ("g.csv", GAMES, (), 3),
        ("b.csv", BATTLES, ("--feature", "la~lb", "--where", "winner=tie"), 3),
        ("places.csv", PLACES, ("--unplayed", "last", "--delimiter", ";"), 3),
        ("s.csv", ",a,b\nt,1,2\nu,3,1\n", (), 2),
        ("o.jsonl", OUTCOME, (), 1),
    ],
)
def test_the_command_that_sends_the_file_to_a_pool_works(
    run: Any, tmp_path: Path, name: str, text: str, arguments: tuple[str, ...], count: int
) -> None:
    code, out, _ = run(text, name, *arguments)
    assert code == 0
    words = ["p" if word == "POOL" else word for word in words_after(out, "or in a pool: ")]
    data = tmp_path / "data"
    code, out, err = run.command(*words, "--data", str(data), "--no-wait")
    assert (code, err) == (0, ""), err
    assert f", {count} outcome{'s' if count > 1 else ''} sent" in out
    with closing(open_log(Settings(data=data))) as log:
        assert sum(log.outcomes.end(number) for number in range(log.outcomes.partitions)) > 0


def test_margins_are_sent_to_no_pool(run: Any) -> None:
    assert "in a pool" not in run("x,a,b\na,0,1\nb,-1,0\n", "m.csv")[1]


def test_a_column_without_a_use_is_shown_with_the_ways_to_use_it(run: Any) -> None:
    out = run(GAMES, "g.csv")[1]
    assert out.splitlines()[-5:] == [
        "options for a column that is not used:",
        "  --tag cup=cup      slices of a pool by it (replay)",
        "  --feature cup      a covariate, if it holds numbers",
        "  --column task=cup  the task of a game",
        "  --where cup=VALUE  only the rows with this value",
    ]
    out = run(GAMES.replace("cup", "The Cup"), "g.csv")[1]
    assert "--tag 'KEY=The Cup'" in out
    out = run(BATTLES, "g.csv", "--feature", "la~lb")[1]
    assert "  column lb: feature la~lb" in out.splitlines()
    assert "not used" not in out


def test_a_file_of_outcomes_is_counted_and_its_games_of_teams_are_named(run: Any, tmp_path: Path) -> None:
    teams = '{"v":1,"id":"%d","pool":"%s","time":5.5,"weight":%d,"sides":[{"agents":["a","b"],"place":1},{"agents":["c"],"place":2}]}\n'
    text = teams % (1, "t", 1) + teams % (2, "t", 3) + '{"v":1,"pool":"t","sides":[]}\n'
    lines = run(text, "teams.jsonl")[1].splitlines()
    assert "  rows: 3" in lines
    assert "  games: 2" in lines
    assert "  agents: 3" in lines
    assert "  games of teams: 2, which methods of pairs do not count; online methods do" in lines
    assert "  weights: 1 to 3" in lines
    assert "  bad rows: 1" in lines
    assert f"go on with: equirank solve {tmp_path / 'teams.jsonl'} --method weng_lin --bad-rows skip" in lines
    assert "  weng_lin: most games are of teams, which methods of pairs do not count" in lines
    text += teams % (3, "other", 1)
    code, _, err = run(text, "teams.jsonl")
    assert code == 2
    assert "must be one of the file's pools: other, t" in err
    assert "  games: 1" in run(text, "teams.jsonl", "--pool", "other")[1].splitlines()


def test_ballots_and_scores_have_numbers_and_ranges(run: Any) -> None:
    ballots = "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n3: 1,2\n2: 2,1\n"
    assert {"  ballots: 5", "  agents: 2"} <= set(run(ballots, "votes.soc")[1].splitlines())
    scores = "task,a,b\nt,0.5,2\nu,1,-3\n"
    assert "  scores: -3 to 2" in run(scores, "scores.csv")[1].splitlines()
    code, _, err = run(scores, "scores.csv", "--pool", "x")
    assert code == 2
    assert "pool must be left out: scores.csv is no file of outcomes" in err


def test_a_method_of_teams_is_suggested_where_most_games_are_of_teams(run: Any) -> None:
    team = '{"v":1,"id":"t%d","pool":"p","time":%d,"sides":[{"agents":["a","b"],"place":1},{"agents":["c","d"],"place":2}]}\n'
    duel = '{"v":1,"id":"d%d","pool":"p","time":%d,"sides":[{"agents":["a"],"place":1},{"agents":["c"],"place":2}]}\n'
    for teams, duels, method in ((3, 2, "weng_lin"), (2, 2, "maximal_lottery"), (0, 2, "maximal_lottery")):
        text = "".join(team % (i, 10 + i) for i in range(teams)) + "".join(duel % (i, 20 + i) for i in range(duels))
        out = run(text, "o.jsonl")[1]
        words = words_after(out, "go on with: ")
        assert words[words.index("--method") + 1] == method
        assert ("  weng_lin: most games are of teams, which methods of pairs do not count" in out.splitlines()) == (method == "weng_lin")
        code, _, err = run.command(*words)
        assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("games", "why"),
    [
        ("ab ba", None),
        ("ab ba xy yx", None),
        ("ab ba bc cb a=d", None),
        ("ab ba ca", "1 agent won or lost all its games; without a prior, it has no rating"),
        ("ab ba ca bd", "2 agents won or lost all their games; without a prior, they have no rating"),
        ("ab", "2 agents won or lost all their games; without a prior, they have no rating"),
        (
            "ab ba ax xy yx",
            "chains of wins do not link all agents in both directions; without a prior, ratings compare only within a group",
        ),
    ],
)
def test_a_prior_is_recommended_only_where_agents_or_groups_need_it(run: Any, games: str, why: str | None) -> None:
    rows = "".join(f"{game[0]},{game[-1]},{'tie' if '=' in game else 'model_a'},1,2\n" for game in games.split())
    text = "model_a,model_b,winner,la,lb\n" + rows
    out = run(text, "g.csv")[1]
    words = words_after(out, "go on with: ")
    assert ("prior=1" in words) == (why is not None)
    assert [line for line in out.splitlines() if line.startswith("  prior=1: ")] == ([] if why is None else [f"  prior=1: {why}"])
    code, table, _ = run.command(*words)
    assert code == 0
    assert "without a rating" not in table
    assert why is None or "both directions" not in table


def test_a_prior_is_recommended_for_features_which_can_be_infinite_without_it(run: Any) -> None:
    out = run(BATTLES, "g.csv", "--feature", "la~lb")[1]
    assert "prior=1" in words_after(out, "go on with: ")
    assert "  prior=1: without a prior, the method refuses games whose features and wins leave" in out


def test_sides_of_one_agent_in_games_of_many_sides_are_linked_by_their_places(run: Any) -> None:
    race = "race,agent,position\n"
    for places, needed in (("r,a,1\nr,b,2\nr,c,3\ns,c,1\ns,b,2\ns,a,3\n", False), ("r,a,1\nr,b,2\nr,c,2\ns,b,1\ns,c,2\ns,a,2\n", False),
                           ("r,a,1\nr,b,2\nr,c,3\ns,a,1\ns,c,2\ns,b,3\n", True)):  # fmt: skip
        out = run(race + places, "g.csv")[1]
        assert ("prior=1" in words_after(out, "go on with: ")) == needed, out

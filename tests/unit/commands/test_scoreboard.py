"""`equirank scoreboard`: a table for people, an object a line for programs, and bad rows as other commands treat them."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratings_core
from services.cli import main as cli


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = ["date,winner,loser"]
    for i in range(240):
        first, second = sorted(rng.choice(6, 2, replace=False))
        won, lost = (first, second) if rng.random() < 0.8 else (second, first)
        rows.append(f"2026-01-01T00:{i // 60:02d}:{i % 60:02d}Z,p{won},p{lost}")
    path = tmp_path / "games.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equirank", "scoreboard", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_table_has_a_line_for_each_method(run: Any, file: Path) -> None:
    code, out, _ = run(str(file), "--method", "elo", "--method", "bradley_terry", "--refits", "10", "--defaults")
    assert code == 0
    title, heads, *lines, coin, level = out.splitlines()
    assert title == "120 games predicted, each from earlier games only; 240 games of 6 agents in all"
    assert heads.split()[0] == "method"
    assert sorted(line.split()[0] for line in lines) == ["bradley_terry", "elo"]
    assert coin.startswith("A coin has log loss 0.6931")
    assert level.startswith("Of the default settings, as good as the best row, within their intervals: ")


def test_json_has_an_object_for_each_line_of_the_table(run: Any, file: Path) -> None:
    code, out, _ = run(str(file), "--method", "elo", "--defaults", "--format", "json")
    (score,) = map(json.loads, out.splitlines())
    assert code == 0
    assert (score["method"], score["settings"], score["chosen"]) == ("elo", {}, False)
    assert 0 < score["log_loss"]["half"] < score["log_loss"]["value"] < np.log(2)
    assert {name: score[name] for name in ("version", "refits", "games", "history", "agents")} == {
        "version": ratings_core.__version__, "refits": 100, "games": 120, "history": 240, "agents": 6,
    }  # fmt: skip


def test_bad_rows_are_refused_or_skipped_and_counted(run: Any, file: Path) -> None:
    file.write_text(file.read_text() + "2026-01-02,p1,p1\n")
    code, _, err = run(str(file), "--method", "elo", "--defaults")
    assert code == 2
    assert "row 242" in err
    code, out, err = run(str(file), "--method", "elo", "--defaults", "--bad-rows", "skip")
    assert code == 0
    assert "left out: 1, bad rows" in err
    assert "240 games of 6 agents" in out


def test_an_unknown_method_and_a_file_without_games_are_refused(run: Any, file: Path) -> None:
    code, _, err = run(str(file), "--method", "copeland")
    assert code == 2
    assert "must be one of elo" in err
    file.write_text("winner,loser\n")
    code, _, err = run(str(file))
    assert code == 2
    assert "games.csv" in err


def test_a_file_of_outcomes_gives_the_table_of_its_games(run: Any, file: Path, tmp_path: Path) -> None:
    """An export of a pool in the order of the log, with a repeated id, a retraction and another pool."""
    games = [line.split(",") for line in file.read_text().splitlines()[1:]]

    def outcome(number: int, winner: str, loser: str, pool: str = "chess") -> dict[str, Any]:
        sides = [{"agents": [winner], "place": 1}, {"agents": [loser], "place": 2}]
        return {"v": 1, "id": f"g{number}", "pool": pool, "time": number, "sides": sides}

    lines = [outcome(i, winner, loser) for i, (_, winner, loser) in enumerate(games)]
    extra = [lines[0], outcome(500, "p1", "p2"), {"v": 1, "pool": "chess", "id": "r", "retracts": "g500"}]
    export = tmp_path / "export.jsonl"
    export.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *extra]))
    words = ("--method", "elo", "--method", "bradley_terry", "--refits", "10", "--defaults")
    code, out, _ = run(str(export), *words)
    assert code == 0
    assert out == run(str(file), *words)[1]
    with export.open("a") as end:
        end.write(json.dumps(outcome(600, "p1", "p2", pool="other")) + "\n")
    code, _, err = run(str(export), *words)
    assert (code, "must be one of the file's pools: chess, other" in err) == (2, True)
    assert run(str(export), *words, "--pool", "chess")[1] == out
    code, _, err = run(str(file), *words, "--pool", "chess")
    assert (code, "games.csv is no file of outcomes" in err) == (2, True)

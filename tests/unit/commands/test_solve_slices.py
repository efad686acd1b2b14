"""`equirank solve` with slices of a file and with features of games."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import contextual_bradley_terry
from services.cli import main as cli
from tests.support.shared import shared_file

TABLE = (
    "date,home_team,away_team,home_score,away_score,league\n2026-01-01,amy,bob,2,1,x\n2026-01-02,bob,zed,1,0,x\n2026-01-03,zed,amy,1,0,x\n"
    "2026-01-01,cyd,dan,2,2,y\n2026-01-02,amy,bob,0,1,\n2026-01-03,eve,fay,1,0,z\n2026-01-04,fay,eve,1,0,z\n2026-01-05,fay,eve,2,1,z\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(text: str, *arguments: str, name: str = "r.csv") -> tuple[int, str, str]:
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(sys, "argv", ["equirank", "solve", str(tmp_path / name), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def answers(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def ratings(found: dict[str, Any]) -> dict[str, float]:
    return {row["agent"]: row["rating"] for row in found["agents"]}


@pytest.mark.parametrize("method", ["copeland", "elo", "davidson"])
def test_every_slice_is_answered_as_a_file_of_its_rows(run: Any, method: str) -> None:
    code, out, err = run(TABLE, "--method", method, "--slice-by", "league", "--format", "json")
    assert (code, err) == (0, "")
    found = answers(out)
    assert [one["extra"]["slice"] for one in found] == [{"column": "league", "value": value} for value in ("", "x", "y", "z")]
    for one in found:
        value = one["extra"]["slice"]["value"]
        alone = answers(run(TABLE, "--method", method, "--where", f"league={value}", "--format", "json")[1])[0]
        assert one["agents"] == alone["agents"]


def test_a_slice_that_cannot_be_solved_leaves_the_others(run: Any) -> None:
    arguments = ("--method", "bradley_terry", "--param", "unconnected=raise", "--slice-by", "league")
    text = TABLE + "2026-01-05,gil,hal,2,1,v\n"
    code, out, err = run(text, *arguments, "--format", "json")
    assert code == 1
    assert [one["extra"]["slice"]["value"] for one in answers(out)] == ["x", "y", "z"]
    assert [line[: line.index(" has no result")] for line in err.splitlines()] == ["equirank: league = ''", "equirank: league = 'v'"]
    assert run(text, *arguments)[1].count("\nleague = ") == 3


def test_a_column_of_too_many_values_is_refused(run: Any) -> None:
    text = "date,home_team,away_team,home_score,away_score\n" + "".join(f"{2000 + i},amy,bob,1,0\n" for i in range(1001))
    for method in ("copeland", "elo"):
        code, out, err = run(text.replace("date", "id", 1), "--method", method, "--slice-by", "id")
        assert (code, out, "at most 1000 values" in err) == (2, "", True)


@pytest.mark.parametrize(
    "option", [("--slice-by", "x"), ("--where", "x=1"), ("--value", "tie=x"), ("--feature", "x"), ("--column", "task=x")]
)
@pytest.mark.parametrize("method", ["copeland", "contextual_bradley_terry"])
def test_options_of_rows_are_refused_where_a_file_has_none(run: Any, option: tuple[str, ...], method: str) -> None:
    if option[0] == "--feature" and method == "copeland":
        return
    code, out, err = run("task,amy,bob\nt,1,2\n", "--method", method, *option)
    assert (code, out, "only rows of games have columns" in err) == (2, "", True)


# features


def battles(seed: int, n: int = 3_000) -> list[dict[str, Any]]:
    """The better of two models answers shortly, and voters like long answers. Strengths 0, .5 and 1, 1 logit a doubling of length."""
    rng = np.random.default_rng(seed)
    strength, length = np.array([0.0, 0.5, 1.0]), np.array([8.0, 4.0, 1.0])
    rows = []
    for _ in range(n):
        a, b = rng.permutation(3)[:2]
        long = length[[a, b]] * np.exp(rng.normal(0, 0.5, 2))
        x = strength[a] - strength[b] + 2.0 * (long[0] - long[1]) / long.sum()
        winner = "model_a" if rng.random() < 1 / (1 + np.exp(-x)) else "model_b"
        rows.append({"model_a": "lms"[a], "model_b": "lms"[b], "winner": winner, "len_a": long[0], "len_b": long[1]})
    return rows


def as_csv(rows: list[dict[str, Any]]) -> str:
    return ",".join(rows[0]) + "\n" + "".join(",".join(str(value) for value in row.values()) + "\n" for row in rows)


@pytest.mark.parametrize("name", ["b.csv", "b.jsonl"])
def test_style_control_rates_models_as_they_are_and_measures_the_style(run: Any, name: str) -> None:
    rows = battles(1)
    text = as_csv(rows) if name == "b.csv" else "".join(json.dumps(row) + "\n" for row in rows)
    plain = answers(run(text, "--method", "bradley_terry", "--format", "json", name=name)[1])[0]
    assert plain["agents"][0]["agent"] != "s", "voters prefer long answers"
    code, out, err = run(text, "--method", "contextual_bradley_terry", "--feature", "len_a~len_b", "--format", "json", name=name)
    assert (code, err) == (0, "")
    found = answers(out)[0]
    assert [row["agent"] for row in found["agents"]] == ["s", "m", "l"]
    (feature,) = found["extra"]["features"]
    assert feature["feature"] == "len_a~len_b"
    assert feature["low"] < 2.0 < feature["high"]
    assert all(row["low"] < row["rating"] < row["high"] for row in found["agents"])
    assert found["status"] == "optimal"
    assert found["certificate"]["value"] <= 1e-9


def test_the_command_gives_the_numbers_of_the_library(run: Any) -> None:
    rows = battles(2, 400)
    given = ("--feature", "len_a:len_b", "--feature", "first-side", "--format", "json")
    found = answers(run(as_csv(rows), "--method", "contextual_bradley_terry", *given)[1])[0]
    first, second = (np.array(["lms".index(row[side]) for row in rows]) for side in ("model_a", "model_b"))
    result = np.array([float(row["winner"] == "model_a") for row in rows])
    games = Comparisons(3, first, second, result, np.arange(len(rows)), np.ones(len(rows)))
    features = np.column_stack([[row["len_a"] - row["len_b"] for row in rows], np.ones(len(rows))])
    library = contextual_bradley_terry(games, features)
    assert [ratings(found)[name] for name in "lms"] == pytest.approx(library.ratings.tolist(), abs=1e-6)
    assert [row["coefficient"] for row in found["extra"]["features"]] == pytest.approx(library.coefficients.tolist(), abs=1e-8)
    assert [row["standard_error"] for row in found["extra"]["features"]] == pytest.approx(library.coefficient_error.tolist(), abs=1e-8)


def test_a_feature_that_never_differs_changes_no_rating(run: Any) -> None:
    rows = [{**row, "len_a": 3, "len_b": 3} for row in battles(3, 300)]
    arguments = ("--method", "contextual_bradley_terry", "--param", "feature_prior=1", "--feature", "len_a:len_b", "--format", "json")
    found = answers(run(as_csv(rows), *arguments)[1])[0]
    wins = np.zeros((3, 3))
    for row in rows:
        a, b = "lms".index(row["model_a"]), "lms".index(row["model_b"])
        wins[(a, b) if row["winner"] == "model_a" else (b, a)] += 1
    assert [ratings(found)[name] for name in "lms"] == pytest.approx(bradley_terry(wins).ratings.tolist(), abs=1e-5)


def test_features_can_be_solved_slice_by_slice_and_resampled(run: Any) -> None:
    rows = [{**row, "language": "de" if i % 3 else "en"} for i, row in enumerate(battles(4, 600))]
    arguments = ("--method", "contextual_bradley_terry", "--feature", "len_a~len_b", "--slice-by", "language", "--format", "json")
    both = answers(run(as_csv(rows), *arguments)[1])
    assert [one["extra"]["slice"]["value"] for one in both] == ["de", "en"]
    asked = answers(run(as_csv(rows), *arguments, "--intervals")[1])
    assert [one["intervals"]["kind"] for one in asked] == ["sandwich"] * 2, "those of the fit, which boards show"
    assert [one["agents"] for one in asked] == [one["agents"] for one in both]
    refits = ("--intervals", "--interval-seconds", "600", "--param", "standard_errors=none")
    resampled = answers(run(as_csv(rows), *arguments, *refits)[1])
    assert [one["intervals"]["kind"] for one in resampled] == ["clustered"] * 2
    for one, again in zip(both, resampled, strict=True):
        widths = [[row["high"] - row["low"] for row in sorted(told["agents"], key=lambda row: row["agent"])] for told in (one, again)]
        assert widths[1] == pytest.approx(widths[0], rel=0.5)


@pytest.mark.parametrize(
    ("method", "features", "words"),
    [
        ("contextual_bradley_terry", (), "needs features"),
        ("copeland", ("len_a",), "only contextual_bradley_terry"),
        ("elo", ("len_a",), "must be left out for elo"),
        ("contextual_bradley_terry", ("len_a~",), "must be COLUMN"),
        ("contextual_bradley_terry", ("no_such",), "must be a column of the header"),
        ("contextual_bradley_terry", ("winner",), "must be a number"),
        ("contextual_bradley_terry", ("len_a", "len_a"), "each feature once"),
        ("contextual_bradley_terry", ("minus~len_b",), "must be at least 0"),
        ("contextual_bradley_terry", ("first-side", "one"), "linearly independent of each other"),
    ],
)
def test_features_that_cannot_be_are_refused(run: Any, method: str, features: tuple[str, ...], words: str) -> None:
    rows = [{**row, "one": 1, "minus": -1} for row in battles(5, 60)]
    given = [part for feature in features for part in ("--feature", feature)]
    code, out, err = run(as_csv(rows), "--method", method, *given)
    assert (code, out) == (2, "")
    assert words in err


def test_the_advantage_of_playing_at_home_on_real_games(run: Any) -> None:
    """Of one competition, against a likelihood that scipy maximizes."""
    text = shared_file("data/football/results.csv").read_text()
    arguments = ("--where", "neutral=FALSE", "--where", "tournament=UEFA Nations League", "--param", "prior=1", "--format", "json")
    code, out, _ = run(text, "--method", "contextual_bradley_terry", "--feature", "first-side", *arguments)
    assert code == 0
    found = answers(out)[0]
    rows = [row for row in csv.DictReader(text.splitlines()) if (row["neutral"], row["tournament"]) == ("FALSE", "UEFA Nations League")]
    rows = [row for row in rows if row["home_score"] != "NA"]
    names = sorted({row[side] for row in rows for side in ("home_team", "away_team")})
    home, away = (np.array([names.index(row[side]) for row in rows]) for side in ("home_team", "away_team"))
    goals = np.array([[float(row["home_score"]), float(row["away_score"])] for row in rows])
    result = (1 + np.sign(goals[:, 0] - goals[:, 1])) / 2

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        eta = x[home] - x[away] + x[-1]
        anchors = np.logaddexp(0, x[:-1]) - 0.5 * x[:-1]
        surplus, pulled = 1 / (1 + np.exp(-eta)) - result, 1 / (1 + np.exp(-x[:-1])) - 0.5
        gradient = np.bincount(home, surplus, len(names)) - np.bincount(away, surplus, len(names)) + pulled
        return float((np.logaddexp(0, eta) - result * eta).sum() + anchors.sum()), np.append(gradient, surplus.sum())

    best = minimize(loss, np.zeros(len(names) + 1), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    (advantage,) = found["extra"]["features"]
    assert advantage["coefficient"] == pytest.approx(best[-1], abs=1e-6)
    assert advantage["low"] > 0
    scale = 400 / np.log(10)
    assert [ratings(found)[name] for name in names] == pytest.approx((1500 + scale * best[:-1]).tolist(), abs=1e-3)

"""`equirank solve` with a half-life: given, chosen, and refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from services.cli import main as cli

DAY = "86400"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        (tmp_path / "r.csv").write_text(text)
        monkeypatch.setattr(sys, "argv", ["equirank", "solve", str(tmp_path / "r.csv"), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def season() -> str:
    """Amy beats bob on 14 days, then bob beats amy on 14 days."""
    rows = [f"2026-01-{day:02},amy,bob,{int(day < 15)},{int(day >= 15)}" for day in range(1, 29)]
    return "\n".join(["date,home_team,away_team,home_score,away_score", *rows]) + "\n"


def test_recent_results_decide(run: Any) -> None:
    arguments = ("--method", "copeland", "--param", "margins=observed", "--bucket-seconds", DAY, "--format", "json")
    even, recent = (json.loads(run(season(), *arguments, *more)[1]) for more in ((), ("--param", "half_life=3")))
    assert {row["rank"] for row in even["agents"]} == {1}
    assert [row["agent"] for row in recent["agents"]] == ["bob", "amy"]
    assert recent["extra"]["recency"]["newest_bucket"] - recent["extra"]["recency"]["oldest_bucket"] == 27
    assert "recency" not in even["extra"]


def test_the_choice_is_part_of_the_answer(run: Any) -> None:
    arguments = ("--method", "copeland", "--bucket-seconds", DAY, "--choose-half-life")
    found = json.loads(run(season(), *arguments, "--format", "json")[1])
    choice = found["extra"]["half_life"]
    assert choice["half_life"] == min(choice["losses"], key=lambda row: row[1])[0]
    assert found["extra"]["recency"]["half_life"] == choice["half_life"] > 0
    code, out, _ = run(season(), *arguments)
    assert (code, f"half-life {choice['half_life']:g} time buckets, chosen by log loss of 10 held-out games" in out) == (0, True)


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        (season(), ("--method", "copeland", "--param", "half_life=3"), "must be 0 where games are not counted by time"),
        (season(), ("--method", "copeland", "--choose-half-life"), "must be 0 where games are not counted by time"),
        (season(), ("--method", "elo", "--choose-half-life"), "choose-half-life must be left out for elo"),
        (season(), ("--method", "elo", "--bucket-seconds", DAY), "bucket-seconds must be left out for elo"),
        ("task,amy,bob\nt,1,2\n", ("--method", "copeland", "--bucket-seconds", DAY), "bucket-seconds must be left out for scores"),
        ("task,amy,bob\nt,1,2\n", ("--method", "copeland", "--param", "half_life=3"), "only results of games have ages"),
    ],
)
def test_what_cannot_be_is_refused(run: Any, text: str, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(text, *arguments)
    assert (code, out) == (2, "")
    assert words in err

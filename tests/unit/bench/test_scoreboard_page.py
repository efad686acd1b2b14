"""The page of the scoreboard: what it says about defaults follows from its rows, and it says what made it."""

import subprocess

import pytest

import ratings_core
from benchmarks import common
from benchmarks.scoreboard import page
from ratings_core.front.scoreboard import Mean, Score, Scoreboard


def score(method, loss, best, settings=None):
    behind = Mean(loss - best, 0.001 if loss > best else 0.0)
    return Score(method, settings or {}, settings is not None, Mean(loss, 0.01), Mean(0.2, 0.01), Mean(0.6, 0.01), 0.01, behind)


def board(elo, sco, glicko2, chosen, k):
    rows = {"elo": elo, "sco": sco, "glicko2": glicko2, "bradley_terry": 0.65, "posterior_margins": 0.6503}
    best = min([*rows.values(), chosen])
    scores = [score(method, loss, best) for method, loss in rows.items()] + [score("elo", chosen, best, {"k": k})]
    return Scoreboard(tuple(scores), 100, 200, 9)


@pytest.fixture
def text():
    boards = {"men": board(0.61, 0.64, 0.60, 0.605, 48.0), "battles": board(0.63, 0.62, 0.62, 0.64, 8.0)}
    return page(boards, [], quick=False, made_by="0123456789ab")


def test_the_conclusion_is_that_of_the_rows(text):
    assert "- `glicko2` is the best default: 0.0000 nats behind the best row on average." in text
    assert "A new pool has elo, sco, glicko2. On average the others are behind the best row: elo by 0.0100, sco by 0.0200." in text
    assert "The better one of Elo and SCO is 0.0050 behind on average. With Glicko-2 beside them, the best one is 0.0000 behind." in text
    assert "| elo | -0.0025 | -0.0100 to 0.0050 | k=48, k=8 |" in text
    assert "| sco | 0.0000 | 0.0000 to 0.0000 | default |" in text
    assert "Bradley-Terry and posterior margins differ by at most 0.0003." in text


def test_the_page_says_version_commit_and_seeds(text):
    assert f"by Equirank {ratings_core.__version__}, commit 0123456789ab." in text
    assert "Seeds of the drawn histories: battles of 100 models 1. Nothing else is random." in text


def test_the_commit_marks_changes_of_the_given_sources_only(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True, capture_output=True)

    commit = common.commit.__wrapped__  # without its cache
    monkeypatch.setattr(common, "ROOT", tmp_path)
    assert commit("code") == ""
    for name in ("code", "text"):
        (tmp_path / name).write_text("one")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    (tmp_path / "text").write_text("two")
    clean = commit("code")
    assert len(clean) == 12
    assert commit("code", "text") == f"{clean}+"
    (tmp_path / "unpacked").mkdir()
    monkeypatch.setattr(common, "ROOT", tmp_path / "unpacked")
    assert commit("code") == ""

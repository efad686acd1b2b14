"""`equirank solve --check`: answers against the papers' programs, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.cli.main import application
from services.solve import check as module
from services.solve.check import check
from services.solve.registry import methods
from tests.support.loading import load

SCORES = "task,ada,bob,cyd,dot\n" + "\n".join(f"t{i},{i % 3},{(i * 2) % 5},{(7 * i) % 4},{3 - i % 2}" for i in range(5)) + "\n"
MARGINS = "agent,rock,paper,scissors,pebble\nrock,0,-1,1,2\npaper,1,0,-1,1\nscissors,-1,1,0,1\npebble,-2,-1,-1,0\n"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    (tmp_path / "scores.csv").write_text(SCORES)
    return tmp_path / "scores.csv"


@pytest.fixture
def margins(tmp_path: Path) -> Path:
    (tmp_path / "margins.csv").write_text(MARGINS)
    return tmp_path / "margins.csv"


def run(*arguments: object):
    return CliRunner().invoke(application("solve"), ["solve", *map(str, arguments)], standalone_mode=True)


@pytest.mark.parametrize("method", ["maximal_lottery", "iterated_maximal_lotteries", "sco_fit"])
def test_answers_on_margins_agree(margins: Path, method: str) -> None:
    done = run(margins, "--method", method, "--check", "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["extra"]["check"]
    assert found["agrees"] is True
    assert found["difference"] <= found["tolerance"]


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("nash_average", ()),
        ("nash_average_agents", ()),
        ("deviation", ()),
        ("deviation", ("--param", "players=2")),
        ("cce", ()),
        ("cce", ("--param", "game=agent_agent_task", "--param", "eps=0.1")),
    ],
)
def test_answers_on_scores_agree(scores: Path, method: str, more: tuple[str, ...]) -> None:
    done = run(scores, "--method", method, "--check", "--format", "json", *more)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["extra"]["check"]["agrees"] is True


@pytest.mark.parametrize("method", ["maximal_lottery", "iterated_maximal_lotteries", "nash_average_agents", "sco_fit"])
def test_answers_on_games_agree(tmp_path: Path, method: str) -> None:
    """Games say of how many results a margin is, so a method may solve other margins than wins minus losses."""
    names = "ada", "bob", "cyd", "dot"
    played = [(names[i % 4], names[(i + 1 + i % 3) % 4], i % 3, (i * i) % 4) for i in range(40)]
    rows = [f"2026-03-01,{home},{away},{own},{other}" for home, away, own, other in played if home != away]
    (tmp_path / "games.csv").write_text("date,home_team,away_team,home_score,away_score\n" + "\n".join(rows) + "\n")
    done = run(tmp_path / "games.csv", "--method", method, "--check", "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["extra"]["check"]["agrees"] is True


def test_a_wrong_answer_ends_with_status_1(margins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = methods.solve

    def wrong(*arguments: object, **named: object):
        result = right(*arguments, **named)
        first, *rest = result.agents
        return msgspec.structs.replace(result, agents=[msgspec.structs.replace(first, rating=first.rating + 1e-3), *rest])

    monkeypatch.setattr(methods, "solve", wrong)
    done = run(margins, "--method", "maximal_lottery", "--check", "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)["extra"]["check"]
    assert (found["agrees"], round(found["difference"], 4)) == (False, 0.001)
    assert "DIFFERS from Lanctot et al. 2023" in done.stderr


def test_a_table_for_people_says_how_it_ended(margins: Path) -> None:
    done = run(margins, "--method", "maximal_lottery", "--check")
    assert "the answer agrees with Lanctot et al. 2023, sec. 3.1.1 and C.2.9: probabilities within" in done.stdout


def test_a_method_without_a_program_is_refused_with_those_that_have_one(margins: Path) -> None:
    loaded = load(margins)
    result = methods.solve("copeland", loaded.problem)
    with pytest.raises(InputError, match=r"check must be a method with a reference program: maximal_lottery, .*got 'copeland'"):
        check("copeland", loaded.problem, {}, result)


def test_too_large_an_input_is_refused(margins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(margins)
    subject = module._SUBJECTS["maximal_lottery"]
    monkeypatch.setitem(module._SUBJECTS, "maximal_lottery", replace(subject, most=3))
    with pytest.raises(InputError, match="must be at most 3 agents for the reference program of maximal_lottery"):
        check("maximal_lottery", loaded.problem, {}, methods.solve("maximal_lottery", loaded.problem))


def test_a_lottery_of_several_is_refused(margins: Path) -> None:
    loaded = load(margins)
    result = methods.solve("maximal_lottery", loaded.problem, {"mode": "any"})
    with pytest.raises(InputError, match="must be auto or maxent with --check"):
        check("maximal_lottery", loaded.problem, {"mode": "any"}, result)


def test_a_prior_that_the_program_lacks_is_refused(margins: Path) -> None:
    loaded = load(margins)
    result = methods.solve("sco_fit", loaded.problem, {"prior": 1.0})
    with pytest.raises(InputError, match="must be 0 with --check"):
        check("sco_fit", loaded.problem, {"prior": 1.0}, result)

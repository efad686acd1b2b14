"""GET /v1/pools/{pool}/boards/{method}/why/{agent}, `equirank why` and `equirank solve --why`, on checkpoints."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from services.boards.past_contents import When
from services.boards.result import SolvedBoard
from services.checkpoints.checkpoint import CheckpointStore
from services.cli import main as cli
from services.cli.why import show
from services.solve import why as module
from services.solve.why import Asked, why
from services.solve.why_answers import Why
from services.state.pool import PoolState
from services.wire.events import Event, GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import Running
from tests.support.boards import solved_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

NAMES = ("ann", "bob/x", "cyd", "dan")


def game(i: int) -> GameEvent:
    """Games of all pairs. The first named wins four times of five, except that dan beats ann as often."""
    a, b = [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (3, 0)][i % 6]
    order = (a, b) if i % 5 else (b, a)
    return GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=[Side(agents=[NAMES[j]], place=at) for at, j in enumerate(order)])


def measured(i: int) -> ScoreEvent:
    scores = {name: float((7 * i + 3 * at + i * at) % 5) for at, name in enumerate(NAMES)}
    return ScoreEvent(v=1, id=str(i), pool="atari", time=0.0, task=f"t{i}", scores=scores)


def board(pool: str, method: str, **parameters: Any) -> SolvedBoard:
    return msgspec.structs.replace(solved_of(pool, method=method, position=1), parameters=parameters)


class Pool:
    """A pool that grows, with its checkpoints and boards."""

    def __init__(self, api: Running, folder: Path, kind: Kind, *boards: SolvedBoard) -> None:
        self.name = boards[0].pool
        self.api, self.served, self.state = api, ServedPool(api.store, folder), state_of(self.name, kind)
        for one in boards:
            assert api.store.solved.publish(one)

    def fold(self, events: list[Event], position: int) -> PoolState:
        assert fold_events(self.state, events) == []
        self.served.checkpoint(self.state, position)
        self.served.publish(self.state, position)
        return self.state

    def ask(self, method: str, agent: str, status: int = 200, **query: object) -> dict[str, Any]:
        answer = self.api.client.get(f"/v1/pools/{self.name}/boards/{method}/why/{agent}", params=query)
        assert answer.status_code == status, answer.text
        return dict(answer.json())


@pytest.fixture
def blitz(api: Running, tmp_path: Path) -> Pool:
    pool = Pool(api, tmp_path, Kind.GAMES, board("blitz", "bradley_terry"), board("blitz", "copeland"), board("blitz", "alpharank"))
    pool.fold([game(i) for i in range(60)], 9)
    return pool


def test_terms_of_a_rating_sum_to_what_they_say(blitz: Pool) -> None:
    found = blitz.ask("bradley_terry", "ann")
    assert (found["pool"], found["method"], found["agent"], found["position"], found["agents"]) == ("blitz", "bradley_terry", "ann", 9, 4)
    assert (found["flips"], found["change"], found["margins"]) == (None, None, None)
    (balance,) = found["sums"]
    assert (balance["by"], balance["total"], balance["others"]) == ("opponent", 0.0, 0)
    assert abs(balance["sum"]) <= balance["allowed"]
    assert {row["name"] for row in balance["terms"]} == {"bob/x", "cyd", "dan"}
    assert [abs(row["value"]) for row in balance["terms"]] == sorted((abs(row["value"]) for row in balance["terms"]), reverse=True)
    for row in balance["terms"]:
        assert row["details"]["games"] == 10
        assert row["value"] == pytest.approx(row["details"]["points"] - row["details"]["expected"])
    points = blitz.ask("copeland", "bob%2Fx")
    assert points["margins"] == "posterior"
    assert points["sums"][0]["sum"] == points["rating"]


def test_few_terms_are_listed_and_the_others_are_summed(blitz: Pool) -> None:
    (whole,), (cut,) = (blitz.ask("bradley_terry", "ann", count=count)["sums"] for count in (20, 1))
    assert cut["terms"] == whole["terms"][:1]
    assert (cut["others"], cut["sum"]) == (2, whole["sum"])
    assert cut["others_sum"] == pytest.approx(sum(row["value"] for row in whole["terms"][1:]))


def test_flips_are_verified_sets_of_outcomes(blitz: Pool) -> None:
    found = blitz.ask("bradley_terry", "ann", flips=True)
    assert {flip["direction"] for flip in found["flips"]} <= {"down", "up"}
    for flip in found["flips"]:
        assert flip["verified"] is (flip["not_applicable"] is None)
        if flip["verified"]:
            assert flip["count"] == sum(row["count"] for row in flip["results"]) >= flip["at_least"] >= 1
            assert flip["rank_after"] != flip["rank"] == found["rank"]
            assert flip["unit"] == "outcomes"
    assert any(flip["verified"] for flip in found["flips"])


def test_what_changed_between_two_kept_positions(blitz: Pool) -> None:
    blitz.fold([game(i) for i in range(60, 75)], 20)
    found = blitz.ask("bradley_terry", "ann", **{"from": 12})
    change = found["change"]
    assert (change["before"]["position"], change["after"]["position"], change["outcomes"]) == (9, 20, 15)
    assert (change["after"]["rating"], change["after"]["rank"]) == (found["rating"], found["rank"])
    total = sum(move["effect"] for move in change["moves"]) + change["other_effect"] + change["joined_effect"]
    assert total == pytest.approx(change["after"]["rating"] - change["before"]["rating"], abs=1e-6)
    assert sum(move["wins"] + move["losses"] + move["ties"] for move in change["moves"]) == 15
    old = blitz.ask("bradley_terry", "ann", to=19)
    assert (old["position"], old["rating"]) == (9, change["before"]["rating"])
    other = blitz.ask("copeland", "ann", **{"from": 9, "to": 20})["change"]
    assert (other["moves"], "bradley_terry" in other["no_moves"]) == ([], True)
    assert "must not be before what is kept (positions 9, 20" in blitz.ask("copeland", "ann", 410, **{"from": 3})["detail"]
    assert "must be at most `to`" in blitz.ask("copeland", "ann", 422, **{"from": 20, "to": 9})["detail"]


def test_an_answer_that_has_no_terms_says_why(blitz: Pool) -> None:
    found = blitz.ask("alpharank", "ann")
    assert (found["sums"], "Markov chain" in found["not_applicable"]) == ([], True)


def test_what_cannot_be_explained_is_a_problem(blitz: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "names are case-sensitive" in blitz.ask("copeland", "Ann", 404)["detail"]
    assert "has no solved board stv" in blitz.ask("stv", "ann", 404)["detail"]
    assert "is no board of a method" in blitz.ask("outcomes", "ann", 422)["detail"]
    assert blitz.ask("copeland", "ann", 422, flip=1)["title"] == "no such parameter"
    monkeypatch.setitem(module.MOST_AGENTS, 3, 3)
    assert "must be at most 3 to solve alpharank on request" in blitz.ask("alpharank", "ann", 422)["detail"]
    slow = board("blitz", "davidson")
    slow = msgspec.structs.replace(slow, result=msgspec.structs.replace(slow.result, seconds=3.0))
    assert blitz.api.store.solved.publish(slow)
    assert blitz.ask("davidson", "ann", flips=True)["flips"] is not None, "the machine was busy, the solve is small"
    with monkeypatch.context() as strict:
        strict.setattr(module, "MOST_FLIP_SECONDS", -1.0)
        assert "leave out `flips`" in blitz.ask("davidson", "ann", 422, flips=True)["detail"]
    monkeypatch.setattr(module, "MOST_SECONDS", 1.0)
    assert "to solve davidson again on request" in blitz.ask("davidson", "ann", 422)["detail"]


def test_a_solve_is_made_once_for_all_agents_of_a_position(blitz: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    solve = module._solve
    monkeypatch.setattr(module, "_solve", lambda method, *rest: made.append(method) or solve(method, *rest))
    for agent in ("ann", "cyd", "ann"):
        blitz.ask("bradley_terry", agent)
    assert made == ["bradley_terry"]
    blitz.fold([game(60)], 20)
    assert blitz.ask("bradley_terry", "ann")["position"] == 20
    assert made == ["bradley_terry"] * 2


def test_flips_are_searched_for_once_for_an_agent_of_a_position(blitz: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = module.rank_flip
    monkeypatch.setattr(
        module, "rank_flip", lambda solve, agent, *rest, **more: searched.append(agent) or search(solve, agent, *rest, **more)
    )
    first = blitz.ask("bradley_terry", "ann", flips=True)
    assert blitz.ask("bradley_terry", "ann", flips=True)["flips"] == first["flips"]
    assert searched == ["ann", "ann"], "once for each direction"
    blitz.ask("bradley_terry", "cyd", flips=True)
    assert searched[2:] == ["cyd", "cyd"]


def test_a_method_whose_newest_solve_failed_is_not_solved_in_the_api(blitz: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed solve can have exceeded its time or memory. A solve in the API has no such limits, and its thread cannot be stopped."""
    failed = msgspec.structs.replace(board("blitz", "schulze"), error="exceeded its deadline of 60 s")
    assert blitz.api.store.solved.publish(failed)
    monkeypatch.setattr(module, "_solve", lambda *_: pytest.fail("solved"))
    detail = blitz.ask("schulze", "ann", 422)["detail"]
    assert "must have succeeded to be repeated on request" in detail
    assert "exceeded its deadline" in detail


def test_intervals_of_a_board_are_not_computed_again(blitz: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The duration of a published solve does not contain its replicates, so they would escape the limit."""
    assert blitz.api.store.solved.publish(board("blitz", "davidson", replicates=10_000))
    monkeypatch.setattr("ratings_core.methods.fits.cell_replicates", lambda *_, **__: pytest.fail("replicated"))
    assert blitz.ask("davidson", "ann")["sums"]


def test_tasks_of_scores_make_deviation_ratings(api: Running, tmp_path: Path) -> None:
    pool = Pool(api, tmp_path, Kind.SCORES, board("atari", "deviation", missing="drop_tasks"), board("atari", "nash_average"))
    pool.fold([measured(i) for i in range(6)], 6)
    by_opponent, by_task = pool.ask("deviation", "cyd")["sums"]
    assert (by_opponent["by"], by_task["by"]) == ("opponent", "task")
    assert abs(by_task["sum"] - by_task["total"]) <= by_task["allowed"]
    found = pool.ask("nash_average", "cyd", flips=True)
    assert {row["name"] for row in found["sums"][0]["terms"]} <= {f"t{i}" for i in range(6)}
    for flip in found["flips"]:
        assert (flip["unit"], len(flip["tasks"])) == ("tasks", flip["count"])


def test_the_command_shows_terms_flips_and_changes(blitz: Pool, tmp_path: Path) -> None:
    blitz.fold([game(i) for i in range(60, 75)], 20)
    head = blitz.api.store.live.head("blitz")
    assert head is not None
    files = CheckpointStore((tmp_path / "state").as_uri())
    found = why(files, head, board("blitz", "bradley_terry"), Asked("ann", flips=True, since=When(9), count=2))
    console = Console(width=200, record=True, file=io.StringIO())
    show(found, console)
    text = console.export_text()
    parts = ("blitz · ann by bradley_terry: rating", "rank", "points less expected points", "(1 others)", "The terms sum to")
    for part in (*parts, "rank: without", "verified by a solve", "since position 9: 15 outcomes"):
        assert part in text, part
    show(why(files, head, board("blitz", "copeland"), Asked("ann", since=When(9))), console)
    assert "opponent" in console.export_text()


def test_a_file_is_explained_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.csv"
    file.write_text("winner,loser\n" + "ann,bob\nbob,cyd\ncyd,ann\nann,cyd\nbob,ann\n" * 3)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equirank", "solve", str(file), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    code, out, err = run("--method", "bradley_terry", "--why", "ann", "--format", "json")
    assert (code, err) == (0, "")
    said = msgspec.convert(json.loads(out)["extra"]["why"], Why)
    assert (said.pool, said.agent, said.outcomes) == ("", "ann", None)
    assert abs(said.sums[0].sum) <= said.sums[0].allowed
    code, out, _ = run("--method", "copeland", "--param", "margins=observed", "--why", "ann")
    assert (code, "ann by copeland, observed margins: rating" in out) == (0, True)
    assert "why" not in json.loads(run("--method", "copeland", "--format", "json")[1])["extra"]
    file.write_text("winner,loser\nann,bob\nbob,ann\n")
    table = json.loads(run("--method", "copeland", "--ties", "order", "--why", "bob", "--format", "json")[1])
    ranks = {row["agent"]: row["rank"] for row in table["agents"]}
    assert (ranks["bob"], table["extra"]["why"]["rank"]) == (2, 2), "the rank of the table"
    assert run("--method", "copeland", "--why", "zoe")[0] == 2
    code, _, err = run("--method", "elo", "--why", "ann")
    assert (code, "must be left out for elo" in err) == (2, True)

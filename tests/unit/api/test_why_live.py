"""GET /v1/pools/{pool}/boards/{method}/why/{agent} and `equirank why` by an online method: changes by opponent, from the history."""

import io
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from rich.console import Console

from ratings_core.online import RATERS
from services.cli.why import method_line, show
from services.control.records import FoldSettings, encode
from services.solve.why_answers import Why
from tests.support.api import Running
from tests.support.histories import NAMES, TwinRow, folded, games, twin_rows
from tests.support.pools import first_generation, pool_of, state_of
from tests.support.served_pools import ServedPool
from tests.support.waiting import until

FOLD = FoldSettings(online={name: {} for name in RATERS})
EVENTS = games()
CUT = 120


@pytest.fixture(scope="module")
def twins() -> list[TwinRow]:
    """Rows of an independent fold, outcome by outcome."""
    return list(twin_rows(state_of("blitz", fold=FOLD), EVENTS))


@pytest.fixture
def played(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """A pool with a checkpoint at position 5 after `CUT` outcomes, and one at position 9 after all. Its history has several segments."""
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 90)
    served = ServedPool(api.store, tmp_path)
    state = folded(served, EVENTS[:CUT], FOLD)
    served.checkpoint(state, 5)
    folded(served, EVENTS[CUT:], state=state)
    served.checkpoint(state, 9)
    served.publish(state, 9)
    return api


def ask(api: Running, method: str, agent: str, status: int = 200, **query: object) -> dict[str, Any]:
    answer = api.client.get(f"/v1/pools/blitz/boards/{method}/why/{quote(agent, safe='')}", params=query)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def by_opponent(rows: list[TwinRow], method: str) -> dict[str, tuple[float, float, float]]:
    """Opponents -> games, points, and change."""
    found: defaultdict[frozenset[str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for row in rows:
        others = frozenset(agent for at, (agents, _) in enumerate(row.sides) if at != row.side for agent in agents)
        points = {"won": 1.0, "drawn": 0.5, "lost": 0.0}[row.result]
        for at, value in enumerate((row.weight, row.weight * points, row.after[method] - row.before[method])):
            found[others][at] += value
    return {"|".join(sorted(others)): (games, points, change) for others, (games, points, change) in found.items()}


@pytest.mark.parametrize("method", RATERS)
def test_changes_by_opponent_sum_to_the_rating_and_equal_an_independent_fold(played: Running, twins: list[TwinRow], method: str) -> None:
    for name in NAMES:
        rows = [row for row in twins if row.agent == name]
        found = ask(played, method, name, count=1000)
        assert (found["position"], found["outcomes"], found["rank"], found["rating"]) == (9, len(EVENTS), None, rows[-1].after[method])
        (total,) = found["sums"]
        assert (total["total"], total["rest"]) == (
            found["rating"],
            {"rating before the first outcome of the history": rows[0].before[method]},
        )
        assert abs(total["sum"] - total["total"]) <= total["allowed"] <= 1e-6
        expected = by_opponent(rows, method)
        assert {"|".join(sorted(term["name"].split(", "))) for term in total["terms"]} == expected.keys()
        for term in total["terms"]:
            games, points, change = expected["|".join(sorted(term["name"].split(", ")))]
            assert (term["details"]["games"], term["details"]["points"]) == pytest.approx((games, points))
            assert term["value"] == pytest.approx(change, abs=1e-9)
        assert sum(abs(term["share"]) for term in total["terms"]) == pytest.approx(1.0)


def test_the_terms_of_the_method_are_its_parameters_and_the_deviation(played: Running) -> None:
    assert "parameters" not in ask(played, "elo", "Ann"), "the control log does not have the generation"
    made = pool_of("blitz", fold=FOLD)
    played.log.control.append(0, [encode(made), encode(first_generation(made))])
    until(lambda: "parameters" in ask(played, "elo", "Ann"), "the API reads the control log")
    elo, glicko2 = ask(played, "elo", "Ann"), ask(played, "glicko2", "Ann")
    assert (elo["parameters"]["k"], elo["parameters"]["scale"], elo["deviation"]) == (32, 400, None)
    assert "provisional_k" not in elo["parameters"], "it is not set"
    assert glicko2["parameters"]["tau"] == 0.5
    board = played.client.get("/v1/pools/blitz/boards/glicko2", params={"count": 1000}).json()
    lines = [method_line(msgspec.convert(answer, Why)) for answer in (elo, glicko2)]
    assert "parameters: k 32, scale 400" in lines[0]
    assert f"deviation now: {glicko2['deviation']:.4g}" in lines[1]
    assert glicko2["deviation"] == pytest.approx(next(row["deviation"] for row in board["rows"] if row["agent"] == "Ann"))


def test_what_changed_between_two_positions_is_the_outcomes_in_between(played: Running, twins: list[TwinRow]) -> None:
    rows = [row for row in twins if row.agent == "Ann"]
    newer = [row for row in rows if row.outcome > CUT]
    change = ask(played, "elo", "Ann", **{"from": 5, "count": 1000})["change"]
    assert (change["before"]["position"], change["after"]["position"], change["outcomes"]) == (5, 9, len(EVENTS) - CUT)
    assert (change["before"]["rating"], change["after"]["rating"]) == (newer[0].before["elo"], rows[-1].after["elo"])
    effects = sum(move["effect"] for move in change["moves"]) + change["other_effect"]
    assert effects == pytest.approx(change["after"]["rating"] - change["before"]["rating"])
    assert sum(move["wins"] + move["losses"] + move["ties"] for move in change["moves"]) == pytest.approx(sum(row.weight for row in newer))
    assert {move["opponent"] for move in change["moves"]} == {term["name"] for term in change["moved_terms"]}
    earlier = ask(played, "elo", "Ann", to=5)
    assert (earlier["position"], earlier["outcomes"], earlier["rating"]) == (5, CUT, change["before"]["rating"])
    one = ask(played, "elo", "Ann", count=1)
    assert len(one["sums"][0]["terms"]) == 1
    assert one["sums"][0]["others"] > 0
    assert one["sums"][0]["sum"] == pytest.approx(one["rating"])


@pytest.mark.parametrize("method", RATERS)
def test_nothing_changed_since_a_checkpoint_that_is_newer_than_the_index(played: Running, tmp_path: Path, method: str) -> None:
    found = ask(played, method, "Ann")
    assert found["position"] == 9
    state = folded(ServedPool(played.store, tmp_path / "other"), EVENTS, FOLD)
    later = [msgspec.structs.replace(event, id=f"later-{event.id}") for event in EVENTS[:30]]
    folded(served := ServedPool(played.store, tmp_path), later, state=state)
    served.checkpoint(state, 12)  # the published position is still that of the index, which is not loaded again
    change = ask(played, method, "Ann", **{"from": 12})["change"]
    assert change["before"] == change["after"]
    assert change["before"] == {"position": 9, "outcomes": len(EVENTS), "rating": found["rating"], "rank": None}
    assert (change["outcomes"], change["moves"], change["moved_terms"], change["joined_effect"]) == (0, [], [], 0.0)


def test_what_cannot_be_explained_is_a_problem(played: Running) -> None:
    for typed in ("true", "1"):
        detail = ask(played, "elo", "Ann", 422, flips=typed)["detail"]
        assert (
            detail
            == "method must be a solved method for flips: by an online one, all ratings after a left out outcome are others, got 'elo'"
        )
    assert ask(played, "elo", "Ann", 422, flips="down")["detail"] == "flips is 'down': must be true or false"
    assert "must be an agent of pool blitz" in ask(played, "elo", "nobody", 404)["detail"]
    assert "must be at most `to`" in ask(played, "elo", "Ann", 422, **{"from": 9, "to": 5})["detail"]
    assert "positions 5, 9" in ask(played, "elo", "Ann", 410, **{"from": 3})["detail"]
    assert "is no board of a method" in ask(played, "outcomes", "Ann", 422)["detail"]


def test_the_command_shows_the_terms_and_no_rank(played: Running) -> None:
    out = io.StringIO()
    console = Console(file=out, width=160)
    show(msgspec.convert(ask(played, "elo", "Ann", **{"from": 5}), Why), console)
    text = out.getvalue()
    assert "Ann by elo: rating" in text
    assert "8 agents" in text
    assert "rank" not in text
    assert "(rating before the first outcome of the history)" in text
    assert "since position 5: 80 outcomes" in text


def test_outcomes_whose_history_is_missing_are_one_more_term(played: Running, twins: list[TwinRow], tmp_path: Path) -> None:
    files = sorted((tmp_path / "state" / "history").rglob("*.eqh"))
    assert len(files) > 3
    files[2].unlink()
    found = ask(played, "elo", "Ann", count=1000)
    (total,) = found["sums"]
    rows = [row for row in twins if row.agent == "Ann"]
    assert (found["missing"] > 0, found["rating"]) == (True, rows[-1].after["elo"])
    assert "outcomes whose history is missing" in total["rest"]
    assert sum(term["details"]["games"] for term in total["terms"]) < sum(row.weight for row in rows)
    assert abs(total["sum"] - total["total"]) <= total["allowed"] <= 1e-6

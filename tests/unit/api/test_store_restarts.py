"""A store that lost its data: a known pool is not there at the moment (503), and only a pool that nobody created does not exist (404)."""

from itertools import count
from pathlib import Path

import msgspec
import pytest

from services.boards.history import kept
from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.log.protocol import LogError
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.redis import flush

POOL = "/v1/pools/blitz"
LIVE = [
    "/boards",
    "/boards?count=5",
    "/boards/elo",
    "/boards/elo?count=51",
    "/boards/elo?position=1",
    "/boards/elo/around/rock",
    "/agents",
    "/agents?query=ro",
    "/agents/rock",
]
SOLVED = [f"/boards/maximal_lottery{rest}" for rest in ("", "?count=51", "?position=1", "/around/rock", "/history", "/diff")]
ROUTES = [
    *LIVE,
    *SOLVED,
    "/boards/maximal_lottery/why/rock",
    "/insight",
    "/slices",
    "/next",
    "/agents/rock/opponents",
    "/agents/rock/fair-opponents",
    "/agents/rock/history",
    "/agents/rock/outcomes",
    "/matchups?agents=rock&agents=paper&method=elo",
    "",
]
BOARD = LiveBoard(["rock"], [1.0])


def fill(here: Running) -> None:
    assert here.store.live.publish(head_of(position=2, published_at=NOW, online=["elo"]), 1, {"elo": BOARD, ACTIVITY: BOARD})


def solve(here: Running) -> None:
    boards = [solved_of(position=position) for position in (1, 2)]
    assert here.store.solved.publish(boards[-1])
    here.store.solved.publish_history("blitz", "maximal_lottery", [kept(board) for board in boards])


@pytest.fixture
def lost(api: Running, api_redis: str) -> Running:
    """The API after it has read a pool that the store then lost. No route has been asked, so no answer is cached."""
    assert api.client.put(POOL, json={"kind": "games"}).status_code == 201
    fill(api)
    solve(api)
    assert api.client.get(f"{POOL}/boards/maximal_lottery/history").status_code == 200
    flush(api_redis)
    api.store.live._committed.clear()  # as a writer that has noticed the loss
    return api


def asked(here: Running, routes: list[str]) -> dict[str, tuple[int, str | None]]:
    answers = {route: here.client.get(POOL + route) for route in routes}
    return {route: (answer.status_code, answer.headers.get("retry-after")) for route, answer in answers.items()}


def test_every_board_of_a_lost_pool_is_not_there_at_the_moment(lost: Running) -> None:
    assert asked(lost, ROUTES) == dict.fromkeys(ROUTES, (503, "1"))
    problem = lost.client.get(f"{POOL}/boards/elo").json()
    assert (problem["title"], "send the request again" in problem["detail"]) == ("not there at the moment", True)


def test_a_pool_that_nobody_created_does_not_exist(lost: Running) -> None:
    routes = [route for route in ROUTES if "position" not in route]
    assert {lost.client.get(f"/v1/pools/nobody{route}").status_code for route in routes} == {404}


def test_live_boards_come_back_before_solved_ones(lost: Running) -> None:
    fill(lost)
    live = [route for route in LIVE if "position" not in route]
    assert asked(lost, live) == dict.fromkeys(live, (200, None))
    assert asked(lost, SOLVED) == dict.fromkeys(SOLVED, (503, "1"))
    solve(lost)
    assert asked(lost, SOLVED) == dict.fromkeys(SOLVED, (200, None))
    assert asked(lost, ["/boards/elo/around/nobody", "/boards/maximal_lottery/around/nobody", "/agents/nobody", "/boards/borda"]) == {
        "/boards/elo/around/nobody": (404, None),
        "/boards/maximal_lottery/around/nobody": (404, None),
        "/agents/nobody": (404, None),
        "/boards/borda": (404, None),
    }


def test_a_board_whose_method_was_removed_does_not_exist(lost: Running) -> None:
    fill(lost)
    assert lost.client.put(f"{POOL}/methods", json={"methods": {}}).status_code == 200
    assert asked(lost, ["/boards/maximal_lottery"]) == {"/boards/maximal_lottery": (404, None)}


def test_a_solved_board_of_a_slice_is_not_there_at_the_moment_and_does_not_exist_without_the_slice(api: Running, api_redis: str) -> None:
    fold = {"online": {"elo": {}}, "slices": {"language": ["elo"]}}
    assert api.client.put(POOL, json={"kind": "games", "fold": fold}).status_code == 201
    methods = {"methods": {"maximal_lottery": {}}, "slices": {"language": ["maximal_lottery"]}}
    assert api.client.put(f"{POOL}/methods", json=methods).status_code == 200
    english = SliceName("language", "English")
    dimension = SliceDimension(methods=["elo"], values=[SliceValue(value="English", outcomes=4, agents=1)], most=64)
    head = head_of(position=2, published_at=NOW, online=["elo"], slices={"language": dimension})
    names = ["elo", ACTIVITY, english.board("elo"), english.board(ACTIVITY)]
    assert api.store.live.publish(head, 1, dict.fromkeys(names, BOARD))
    solved = msgspec.structs.replace(solved_of(position=2), slice=str(english))
    assert api.store.solved.publish(solved)
    api.store.solved.publish_history("blitz", solved.name, [kept(solved)])
    routes = [f"/boards/maximal_lottery{rest}?slice=language:English" for rest in ("", "/around/rock", "/history")]
    assert asked(api, routes) == dict.fromkeys(routes, (200, None))
    flush(api_redis)
    api.store.live._committed.clear()
    assert api.store.live.publish(head, 1, dict.fromkeys(names, BOARD))
    assert asked(api, routes[1:]) == dict.fromkeys(routes[1:], (503, "1"))
    later = head_of(generation=2, position=2, published_at=NOW, online=["elo"])
    assert api.store.live.publish(later, 1, {"elo": BOARD, ACTIVITY: BOARD})
    assert asked(api, routes[1:]) == dict.fromkeys(routes[1:], (404, None))


def test_a_new_pool_without_outcomes_has_no_boards(api: Running) -> None:
    assert api.client.put(POOL, json={"kind": "games"}).status_code == 201
    statuses = asked(api, ["", "/boards", "/boards/elo", "/next"])
    assert {route: status for route, (status, _) in statuses.items()} == {"": 200, "/boards": 200, "/boards/elo": 404, "/next": 404}


@pytest.mark.parametrize(
    "route",
    ["/boards/elo", "/boards/elo/around/x", "/boards/elo/why/x", "/agents", "/agents/x", "/agents/x/history", "/next"],
)  # fmt: skip
def test_what_no_outcome_is_folded_for_yet_is_one_problem_on_all_routes(api: Running, route: str) -> None:
    assert api.client.put(POOL, json={"kind": "games"}).status_code == 201
    answer = api.client.get(f"{POOL}{route}")
    assert (answer.status_code, answer.headers.get("retry-after"), answer.json()["title"]) == (404, "1", "nothing yet")
    assert "is folded yet: outcomes count some seconds after they are accepted" in answer.json()["detail"]


def test_a_process_that_is_younger_than_the_pool_waits_for_its_shard(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis) as before:
        assert before.client.put(POOL, json={"kind": "games"}).status_code == 201
    with running(tmp_path, api_redis, clock=count(NOW + 1.0).__next__) as here:
        assert asked(here, ["/boards/elo"]) == {"/boards/elo": (503, "1")}
        problem = here.client.get(f"{POOL}/boards/elo").json()
        assert (problem["title"], "lost" in problem["detail"]) == ("starting", False)


def test_a_pool_is_not_denied_before_the_control_log_was_read(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def down() -> None:
        raise LogError("down", retriable=True)

    with monkeypatch.context() as patched:
        patched.setattr("services.control.log.ControlLog.refresh", lambda _: down())
        assert asked(api, ["/boards/elo"]) == {"/boards/elo": (503, "1")}


def test_a_method_without_any_result_has_no_history_whoever_asked_before(api: Running) -> None:
    """Its board tells why. Nothing was lost, so nothing will be there soon."""
    assert api.client.put(POOL, json={"kind": "games"}).status_code == 201
    fill(api)
    board = solved_of(position=2, ratings=())
    failed = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, status="failed"), error="too little memory")
    assert api.store.solved.publish(failed)
    api.store.solved.publish_history("blitz", "maximal_lottery", [])
    paths = [f"/boards/maximal_lottery{rest}" for rest in ("/history", "/diff", "?position=1")]
    before = asked(api, paths)
    assert {status for status, _ in before.values()} == {404}
    assert api.client.get(f"{POOL}/boards/maximal_lottery").status_code == 200
    assert asked(api, paths) == before

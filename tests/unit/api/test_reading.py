"""Pools, boards and agents as readers get them."""

import re
from itertools import count
from pathlib import Path
from urllib.parse import quote

import jsonschema
import msgspec
import pytest

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.history import kept
from services.boards.store.protocol import ACTIVITY, LiveBoard, StoreError
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.redis import flush

AGENTS = ["rock", "paper", "a/b c?#%", "<b>ä</b>"]


@pytest.fixture
def filled(api: Running) -> Running:
    live = {"elo": LiveBoard(AGENTS, [1500.0, 1500.0, 1400.0, 1300.0]), ACTIVITY: LiveBoard(AGENTS, [9.0, 8.0, 7.0, 6.0])}
    head = head_of(position=12, published_at=NOW - 2.0, label="simulated", online=["elo"], agents=4)
    assert api.store.live.publish(head, 1, live)
    assert api.store.solved.publish(solved_of(position=10, ratings=[(name, 0.25) for name in AGENTS]))
    return api


def test_a_live_board(filled: Running) -> None:
    board = filled.client.get("/v1/pools/blitz/boards/elo").json()
    assert (board["source"], board["total"], board["position"], board["age_seconds"]) == ("live", 4, 12, 2.0)
    assert [(row["agent"], row["rank"]) for row in board["rows"]] == [("paper", 1), ("rock", 1), ("a/b c?#%", 3), ("<b>ä</b>", 4)]


def test_a_solved_board_carries_its_certificate(filled: Running) -> None:
    board = filled.client.get("/v1/pools/blitz/boards/maximal_lottery?start=1&count=2").json()
    assert (board["source"], board["total"], board["position"], board["status"]) == ("solved", 4, 10, "optimal")
    assert board["certificate"] == {"kind": "exploitability", "value": 1e-12}
    assert len(board["rows"]) == 2


@pytest.mark.parametrize("method", ["elo", "maximal_lottery"])
@pytest.mark.parametrize("agent", AGENTS)
def test_around_any_agent(filled: Running, method: str, agent: str) -> None:
    board = filled.client.get(f"/v1/pools/blitz/boards/{method}/around/{quote(agent, safe='')}?count=1").json()
    assert [row["agent"] for row in board["rows"]] == [agent]
    assert board["total"] == 4


def test_one_agent_on_every_board(filled: Running) -> None:
    found = filled.client.get(f"/v1/pools/blitz/agents/{quote('a/b c?#%', safe='')}").json()
    assert (found["agent"], found["outcomes"]) == ("a/b c?#%", 7)
    assert {method: row["rank"] for method, row in found["methods"].items()} == {"elo": 3, "maximal_lottery": 1}


def test_the_boards_of_a_pool(filled: Running) -> None:
    answer = filled.client.get("/v1/pools/blitz/boards")
    assert answer.json()["methods"] == {"live": ["elo"], "solved": ["maximal_lottery"]}
    assert answer.json()["boards"] == []
    whole = filled.client.get("/v1/pools/blitz/boards?count=2")
    shown = [(board["method"], len(board["rows"])) for board in whole.json()["boards"]]
    assert shown == [("elo", 2), ("maximal_lottery", 2)]
    assert whole.json()["pool"]["label"] == "simulated"


def test_nothing_new_is_told_in_a_word(filled: Running) -> None:
    first = filled.client.get("/v1/pools/blitz/boards?count=2")
    again = filled.client.get("/v1/pools/blitz/boards?count=2", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    filled.store.live.publish(head_of(position=13, published_at=NOW, online=["elo"]), 1, {"elo": LiveBoard(["rock"], [1600.0])})
    third = filled.client.get("/v1/pools/blitz/boards?count=2", headers={"If-None-Match": first.headers["etag"]})
    assert third.status_code == 200


def test_time_that_passes_is_nothing_new(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis, clock=count(NOW).__next__) as here:
        assert here.store.live.publish(head_of(position=1, published_at=NOW, online=["elo"]), 1, {"elo": LiveBoard(["rock"], [1.0])})
        answers = [here.client.get("/v1/pools/blitz/boards?count=2") for _ in range(2)]
        assert len({answer.content for answer in answers}) == 2, "ages grow"
        tags = {answer.headers["etag"] for answer in answers}
        assert len(tags) == 1
        assert here.client.get("/v1/pools/blitz/boards?count=2", headers={"If-None-Match": tags.pop()}).status_code == 304


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/pools/none", 404),
        ("/v1/pools/none/boards", 404),
        ("/v1/pools/none/boards/elo", 404),
        ("/v1/pools/blitz/boards/none", 404),
        ("/v1/pools/blitz/boards/elo/around/none", 404),
        ("/v1/pools/blitz/boards/elo/why/rock", 503),
        ("/v1/pools/blitz/boards/insight/why/rock", 422),
        ("/v1/pools/blitz/boards/none/why/rock", 404),
        ("/v1/pools/none/boards/copeland/why/rock", 404),
        ("/v1/pools/blitz/boards/maximal_lottery/why/rock?from=-1", 422),
        ("/v1/pools/blitz/boards/maximal_lottery/why/rock", 503),
        ("/v1/pools/blitz/agents/none", 404),
        ("/v1/pools/none/agents", 404),
        ("/v1/pools/none/agents/rock", 404),
        ("/v1/pools/none/agents/rock/opponents", 404),
        ("/v1/pools/blitz/agents/rock/opponents", 503),
        ("/v1/pools/none/agents/rock/fair-opponents", 404),
        ("/v1/pools/blitz/agents/rock/fair-opponents", 422),
        ("/v1/pools/none/agents/rock/history", 404),
        ("/v1/pools/blitz/agents/rock/history", 503),
        ("/v1/pools/none/agents/rock/outcomes", 404),
        ("/v1/pools/blitz/agents/rock/outcomes", 503),
        ("/v1/pools/blitz/agents?count=0", 422),
        ("/v1/pools/blitz/agents?method=none", 422),
        ("/v1/pools/blitz/agents/a/b%20c%3F%23%25", 404),
        ("/v1/pools/BAD", 422),
        ("/v1/pools/blitz/boards/B%3AAD", 422),
        ("/v1/pools/blitz/boards/elo?count=0", 422),
        ("/v1/pools/blitz/boards/elo?start=-1", 422),
        ("/v1/pools/blitz/boards/elo?count=x", 422),
        ("/v1/nothing", 404),
    ],
)
def test_what_is_not_there_is_a_problem(filled: Running, path: str, status: int) -> None:
    answer = filled.client.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.json()["detail"]


def test_a_store_that_is_down_is_told(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise StoreError("Redis does not answer", retriable=True)

    for ask in ("run", "pipeline"):
        monkeypatch.setattr(filled.store.connection, ask, down)
    for path in ("/readyz", "/v1/pools/blitz", "/v1/pools/blitz/boards/elo"):
        answer = filled.client.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert filled.client.get("/livez").status_code == 200


class TestPools:
    def test_create_once_and_again(self, api: Running) -> None:
        wanted = {"kind": "games", "label": "simulated"}
        assert api.client.put("/v1/pools/blitz", json=wanted).status_code == 201
        assert api.client.put("/v1/pools/blitz", json=wanted).status_code == 200
        for other in ({"kind": "scores", "label": "simulated"}, {"kind": "games"}, wanted | {"fold": {"per_task": True}}):
            assert api.client.put("/v1/pools/blitz", json=other).status_code == 409
        known = api.client.get("/v1/pools/blitz").json()
        assert known.pop("folding")["status"] == "silent"
        assert known == {"pool": "blitz", "kind": "games", "label": "simulated", "head": None, "leading_method": ""}
        assert api.client.get("/v1/pools/blitz/boards?count=5").json()["boards"] == []

    @pytest.mark.parametrize(
        "wanted",
        [
            {},
            {"kind": "chess"},
            {"kind": "games", "typo": 1},
            {"kind": "games", "fold": {"typo": 1}},
            {"kind": "games", "label": "x" * 65},
            {"kind": "games", "fold": {"online": {"elos": {}}}},
            {"kind": "scores", "fold": {"online": {"elo": {}}}},
            {"kind": "games", "fold": {"features": ["x", "x"]}},
            {"kind": "games", "fold": {"features": ["x\n"]}},
            {"kind": "games", "fold": {"bucket_seconds": 2**63}},
            {"kind": "scores", "fold": {"features": ["x"]}},
            {"kind": "scores", "fold": {"clustered": True}},
        ],
    )
    def test_what_is_no_pool_is_refused(self, api: Running, wanted: object) -> None:
        assert api.client.put("/v1/pools/blitz", json=wanted).status_code == 422
        assert api.client.get("/v1/pools").json()["total"] == 0

    def test_a_bad_name_is_refused(self, api: Running) -> None:
        assert api.client.put("/v1/pools/Blitz", json={"kind": "games"}).status_code == 422

    def test_listing_is_paged_and_merged(self, filled: Running) -> None:
        filled.client.put("/v1/pools/alpha", json={"kind": "scores"})
        listed = filled.client.get("/v1/pools").json()
        assert [(pool["pool"], pool["head"] is None) for pool in listed["pools"]] == [("alpha", True), ("blitz", False)]
        second = filled.client.get("/v1/pools?start=1&count=1").json()
        assert (second["total"], [pool["pool"] for pool in second["pools"]]) == (2, ["blitz"])


class TestOpenApi:
    def test_every_reference_resolves(self, api: Running) -> None:
        document = api.client.get("/openapi.json").json()
        schemas = document["components"]["schemas"]

        def references(node: object):
            if isinstance(node, dict):
                if "$ref" in node:
                    yield node["$ref"]
                for child in node.values():
                    yield from references(child)
            elif isinstance(node, list):
                for child in node:
                    yield from references(child)

        found = set(references(document))
        assert "#/components/schemas/Board" in found
        assert all(name.removeprefix("#/components/schemas/") in schemas for name in found)

    def test_answers_are_as_described(self, filled: Running) -> None:
        document = filled.client.get("/openapi.json").json()
        for path, schema in (
            ("/v1/pools", "PoolList"),
            ("/v1/pools/blitz", "PoolView"),
            ("/v1/pools/blitz/boards?count=3", "Boards"),
            ("/v1/pools/blitz/boards/elo", "Board"),
            ("/v1/pools/blitz/agents/rock", "AgentProfile"),
            ("/v1/pools/blitz/agents?query=ROC", "AgentList"),
            ("/v1/pools/blitz/insight", "Insight"),
            ("/v1/nothing", "Problem"),
        ):
            jsonschema.validate(filled.client.get(path).json(), {"$ref": f"#/components/schemas/{schema}", **document})

    def test_every_route_of_v1_is_described(self, api: Running) -> None:
        paths = api.client.get("/openapi.json").json()["paths"]
        assert {path for path in paths if path.startswith("/v1")} == {
            "/v1/outcomes",
            "/v1/operations",
            "/v1/pools",
            "/v1/pools/{pool}",
            "/v1/pools/{pool}/methods",
            "/v1/pools/{pool}/leading_method",
            "/v1/pools/{pool}/insight",
            "/v1/pools/{pool}/next",
            "/v1/pools/{pool}/boards",
            "/v1/pools/{pool}/boards/{method}",
            "/v1/pools/{pool}/boards/{method}/history",
            "/v1/pools/{pool}/boards/{method}/diff",
            "/v1/pools/{pool}/boards/{method}/around/{agent}",
            "/v1/pools/{pool}/boards/{method}/why/{agent}",
            "/v1/pools/{pool}/agents",
            "/v1/pools/{pool}/agents/{agent}",
            "/v1/pools/{pool}/agents/{agent}/opponents",
            "/v1/pools/{pool}/agents/{agent}/fair-opponents",
            "/v1/pools/{pool}/agents/{agent}/history",
            "/v1/pools/{pool}/agents/{agent}/outcomes",
            "/v1/pools/{pool}/generations",
            "/v1/pools/{pool}/seasons",
            "/v1/pools/{pool}/seasons/{season}",
            "/v1/pools/{pool}/slices",
            "/v1/pools/{pool}/seasons/{season}/boards/{method}",
            "/v1/pools/{pool}/export",
            "/v1/pools/{pool}/predict",
            "/v1/pools/{pool}/matchups",
            "/v1/pools/{pool}/stream",
        }

    def test_every_route_says_in_its_summary_what_it_does(self, api: Running) -> None:
        paths = api.client.get("/openapi.json").json()["paths"]
        summaries = {(path, verb): told["summary"] for path, verbs in paths.items() for verb, told in verbs.items()}
        assert len(set(summaries.values())) == len(summaries)
        assert summaries["/v1/pools/{pool}/boards/{method}", "get"] == "Return rows of a live or solved board, best first"
        assert all(len(summary) <= 120 for summary in summaries.values())

    def test_the_page_for_people_names_files_that_are_served(self, api: Running) -> None:
        found = api.client.get("/docs")
        assert found.headers["content-type"] == "text/html; charset=utf-8"
        assert all(api.client.get(file).status_code == 200 for file in re.findall(r'(?:href|src)="(/static/[^"]+)"', found.text))

    def test_routes_that_can_answer_401_take_a_key(self, api: Running) -> None:
        document = api.client.get("/openapi.json").json()
        assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
        for path, verbs in document["paths"].items():
            for verb, told in verbs.items():
                assert ("security" in told) == ("401" in told["responses"]), (verb, path)


def test_metrics_name_no_pool_and_no_agent(filled: Running) -> None:
    filled.client.get("/v1/pools/blitz/agents/rock")
    filled.client.get("/v1/pools/blitz/never/heard")
    text = filled.client.get("/metrics").text
    assert 'route="/v1/pools/{pool}/agents/{agent}",status="200"' in text
    assert "blitz" not in text
    assert "rock" not in text


@pytest.mark.parametrize("method", ["elo", "maximal_lottery"])
@pytest.mark.parametrize("start", [2**31, 2**63 - 1, 10**30])
def test_a_start_beyond_any_board_is_the_callers_fault(filled: Running, method: str, start: int) -> None:
    assert filled.client.get(f"/v1/pools/blitz/boards/{method}?start={start}").status_code == 422
    assert filled.client.get(f"/v1/pools/blitz/boards/{method}?start={2**31 - 1}").json()["rows"] == []


def test_the_kept_solves_of_a_method_and_what_changed_between_them(filled: Running) -> None:
    solves = [
        solved_of(position=10, ratings=[("rock", 0.5), ("paper", 0.3), ("pebble", 0.2)]),
        msgspec.structs.replace(solved_of(position=12, ratings=[("paper", 0.6), ("rock", 0.4)]), parameters={"merge": False}),
        msgspec.structs.replace(solved_of(position=12, ratings=[("paper", 0.5), ("rock", 0.5)]), data="1" * 64),
    ]
    filled.store.solved.publish_history("blitz", "maximal_lottery", map(kept, solves))
    where = "/v1/pools/blitz/boards/maximal_lottery"
    past = filled.client.get(f"{where}/history").json()["solves"]
    assert [(one["position"], one["total"], one["status"]) for one in past] == [(12, 2, "optimal"), (12, 2, "optimal"), (10, 3, "optimal")]
    last = filled.client.get(f"{where}/diff").json()
    assert (last["because"], last["parameters"], last["moved_count"]) == (["outcomes", "parameters"], {"merge": [False, None]}, 2)
    assert [(row["agent"], row["rank_before"], row["rank"]) for row in last["moved"]] == [("rock", 2, 1), ("paper", 1, 1)]
    first = filled.client.get(f"{where}/diff?against=10&count=1").json()
    assert (first["outcomes"], [row["agent"] for row in first["left"]], first["joined"]) == (2, ["pebble"], [])
    assert (first["because"], len(first["moved"]), first["moved_count"]) == (["outcomes", "roster"], 1, 1)
    assert filled.client.get(f"{where}/diff?against=11").status_code == 422
    assert filled.client.get("/v1/pools/blitz/boards/elo/history").status_code == 404
    assert filled.client.get("/v1/pools/blitz/boards/elo/diff").status_code == 422
    filled.store.solved.remove("blitz", "maximal_lottery")
    assert filled.client.get(f"{where}/history").status_code == 404


def test_a_board_as_of_a_kept_position_and_410_before_what_is_kept(filled: Running) -> None:
    filled.store.solved.publish_history("blitz", "maximal_lottery", map(kept, [solved_of(position=4), solved_of(position=10)]))
    board = filled.client.get("/v1/pools/blitz/boards/maximal_lottery?position=9").json()
    assert (board["source"], board["position"], board["status"]) == ("past", 4, "optimal")
    refused = {"maximal_lottery?position=3": 410, "elo?position=3": 410, "copeland?position=3": 404, "elo?position=3&at=1": 422}
    for url, status in refused.items():
        answer = filled.client.get(f"/v1/pools/blitz/boards/{url}")
        assert answer.status_code == status, answer.text
    assert "positions 4, 10" in filled.client.get("/v1/pools/blitz/boards/maximal_lottery?at=1970-01-01T00:00:01Z").json()["detail"]
    assert "seconds since 1970" in filled.client.get("/v1/pools/blitz/boards/maximal_lottery?at=noon").text
    assert "none yet" in filled.client.get("/v1/pools/blitz/boards/elo?position=3").json()["detail"]


@pytest.fixture
def believing(api: Running) -> Running:
    """A Glicko-2 pool of two who play on, one of them little known, and one who was away for long."""
    names, week = ["known", "unsure", "away"], 604_800.0
    beliefs = [Belief(60.0, 10.0, 301), Belief(176.0, 10.0, 301), Belief(60.0, 10.0, 1)]
    live = {"glicko2": LiveBoard(names, [1600.0, 1500.0, 1400.0], beliefs), ACTIVITY: LiveBoard(names, [10.0, 10.0, 10.0])}
    model = BeliefModel(newcomer=350.0, period_seconds=week)
    head = head_of(position=12, published_at=NOW, online=["glicko2"], beliefs={"glicko2": model}, pool_time=300.5 * week)
    assert api.store.live.publish(head, 1, live)
    return api


def test_a_board_of_beliefs_shows_deviations_and_their_intervals(believing: Running) -> None:
    board = believing.client.get("/v1/pools/blitz/boards/glicko2").json()
    rows = {row["agent"]: row for row in board["rows"]}
    assert (rows["known"]["deviation"], rows["known"]["low"], rows["known"]["high"]) == (60.0, 1600 - 117.6, 1600 + 117.6)
    assert rows["away"]["deviation"] == pytest.approx((60**2 + 299 * 10**2) ** 0.5)
    assert board["intervals"] == {"kind": "belief", "level": 0.95, "assumes": "the method's model of games, as of the pool's time"}
    near = believing.client.get("/v1/pools/blitz/boards/glicko2/around/unsure?count=3").json()
    assert near["rows"] == board["rows"]
    assert near["intervals"] == board["intervals"]
    alone = believing.client.get("/v1/pools/blitz/agents/away").json()["methods"]["glicko2"]
    shared = ("rating", "rank", "deviation", "low", "high")
    assert {name: alone[name] for name in shared} == {name: rows["away"][name] for name in shared}
    assert (alone["total"], alone["position"], alone["age_seconds"], alone["source"]) == (3, 12, 0.0, "live")
    whole = believing.client.get("/v1/pools/blitz/boards?count=5")
    assert [one["rows"] == board["rows"] for one in whole.json()["boards"]] == [True]
    document = believing.client.get("/openapi.json").json()
    for path, schema in (("boards/glicko2", "Board"), ("boards?count=5", "Boards"), ("agents/away", "AgentProfile")):
        answer = believing.client.get(f"/v1/pools/blitz/{path}").json()
        jsonschema.validate(answer, {"$ref": f"#/components/schemas/{schema}", **document})


def test_a_wide_deviation_is_no_lack_of_evidence(believing: Running) -> None:
    """One was never well known, one was away for long: their intervals show it, and they keep their ranks."""
    for path in ("glicko2", "glicko2/around/unsure?count=3"):
        rows = believing.client.get(f"/v1/pools/blitz/boards/{path}").json()["rows"]
        assert [(row["agent"], row["rank"]) for row in rows] == [("known", 1), ("unsure", 2), ("away", 3)]
        assert not any(row.get("provisional") for row in rows)


def test_a_wide_interval_of_ranks_is_no_lack_of_evidence(api: Running) -> None:
    assert api.store.live.publish(head_of(position=12, online=["elo"]), 1, {})
    solved = solved_of(ratings=[("sure", 4.0), ("open", 3.0), ("half", 2.0), ("none", 1.0), ("last", 0.0)])
    ranks = {"sure": (1, 2), "open": (1, 4), "half": (2, 4), "last": (5, 5)}
    rows = [
        msgspec.structs.replace(row, rank_low=ranks[row.agent][0], rank_high=ranks[row.agent][1]) if row.agent in ranks else row
        for row in solved.result.agents
    ]
    api.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    page = api.client.get("/v1/pools/blitz/boards/maximal_lottery").json()
    assert not any("provisional" in row for row in page["rows"])
    assert [(row["rank_low"], row["rank_high"]) for row in page["rows"] if row["agent"] == "open"] == [(1, 4)]
    complete = api.client.get("/v1/pools/blitz/boards/maximal_lottery", params={"all": True}).json()
    assert (page["settled_ranks"], complete["settled_ranks"]) == (0, 1), "of the rows of the answer, that of the last agent"
    assert "settled_ranks" not in api.client.get("/v1/pools/blitz/boards/elo").json()
    told = [api.client.get(f"/v1/pools/blitz/agents/{agent}").json()["methods"]["maximal_lottery"] for agent in ("open", "half", "none")]
    assert [row["provisional"] for row in told] == [False, False, False]


def test_a_missing_board_says_why_it_is_missing(filled: Running) -> None:
    assert filled.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code in (200, 201)
    for path, words in (
        ("maximal_lotery", "no method has the name 'maximal_lotery' (did you mean maximal_lottery,"),
        ("nothing_like_it", "no method has the name 'nothing_like_it'; GET /v1/pools/blitz/boards lists its boards"),
        (
            "glicko2",
            "does not keep: `equirank pools settings blitz --set online=elo,glicko2`, or POST /v1/pools/blitz/generations, adds it",
        ),
        ("elo/history", "elo is an online method, which is never solved"),
        ("bradley_terry/diff", "the pool is solved by bradley_terry; a solved board appears some seconds after"),
        ("borda", "the pool is not solved by borda: `equirank methods --pool blitz --add borda`, or PUT /v1/pools/blitz/methods, adds it"),
        ("contextual_bradley_terry", "contextual_bradley_terry does not apply to the pool: it needs features of games"),
        ("insight", "insight is no method: GET /v1/pools/blitz/insight answers it"),
        ("borda/why/rock", "the pool is not solved by borda"),
        ("borda?position=3", "the pool is not solved by borda"),
        ("glicko3/around/rock", "no method has the name 'glicko3' (did you mean glicko2?"),
    ):
        answer = filled.client.get(f"/v1/pools/blitz/boards/{path}")
        assert (answer.status_code, answer.json()["title"]) == (404, "not found"), path
        assert words in answer.json()["detail"], path
    refused = filled.client.get("/v1/pools/blitz/stream?methods=glicko3")
    assert (refused.status_code, "did you mean glicko2" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize("path", ["boards/elo/around/Rock", "boards/maximal_lottery/around/Rock", "agents/Rock", "boards/elo?agents=Rock"])
def test_all_errors_for_an_unknown_agent_name_the_search(filled: Running, path: str) -> None:
    answer = filled.client.get(f"/v1/pools/blitz/{path}")
    assert answer.status_code == 404
    assert answer.json()["title"].startswith("no such agent")
    assert "'Rock'" in answer.json()["detail"]
    assert "names are case-sensitive; GET /v1/pools/blitz/agents?query= finds agents" in answer.json()["detail"]


def test_insight_is_no_board_that_has_a_history(filled: Running) -> None:
    solves = [solved_of(method="insight", position=at, ratings=[]) for at in (4, 10)]
    assert filled.store.solved.publish(solves[-1])
    filled.store.solved.publish_history("blitz", "insight", map(kept, solves))  # as earlier releases did
    where = "/v1/pools/blitz/boards/insight"
    for path in (where, f"{where}/history", f"{where}/diff", f"{where}?position=9"):
        answer = filled.client.get(path)
        assert answer.status_code == 404, path
        assert "has no" in answer.json()["detail"]


def test_the_store_tells_how_long_its_histories_are(filled: Running) -> None:
    filled.store.solved.publish_history("blitz", "maximal_lottery", map(kept, [solved_of(position=at) for at in (4, 7, 10)]))
    assert {method: one.history for method, one in filled.store.solved.complete(["blitz"])["blitz"].items()} == {"maximal_lottery": 3}


def test_two_applications_of_a_process_answer_from_their_own_store(filled: Running, tmp_path: Path, api_redis: str) -> None:
    """They have the same routes, which therefore may keep nothing of either."""
    (folder := tmp_path / "other").mkdir()
    with running(folder, api_redis, write_keys=("w-key",)) as other:
        for _ in range(2):
            assert other.client.get("/v1/pools/blitz/boards/elo").status_code == 404
            assert filled.client.get("/v1/pools/blitz/boards/elo").status_code == 200
        assert other.client.put("/v1/pools/rapid", json={"kind": "games"}).status_code == 401
        assert filled.client.put("/v1/pools/rapid", json={"kind": "games"}).status_code == 201

"""POST /predict and GET /matchups: forecasts of the live methods, each beside its record."""

import re
from pathlib import Path
from urllib.parse import quote

import msgspec
import numpy as np
import pytest

from ratings_core.online import Elo, WengLin
from ratings_core.records.beliefs import Belief
from ratings_core.records.forecasts import ForecastClass, Strength, Ties, expected_scores
from services.boards import predictions
from services.boards.slice_boards import SliceDimension, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard, LiveForecasts, ShapeForecasts
from services.wire.events import Side
from tests.support.api import NOW, Running, check_answer
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.outcomes import game_event
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool
from tests.support.waiting import until

NAMES = ("ann", "bob", "cy/d")
RATINGS = (1600.0, 1500.0, 1400.0)
BELIEFS = (Belief(3.0), Belief(8.0), Belief(5.0))
CLASSES = [ForecastClass(100.0, 0.52, 0.52, 0.3), ForecastClass(50.0, 0.8, 0.78, 0.1)]
RECORD = {"log_loss": 0.6, "brier": 0.2, "kendall": 0.3, "pairs": 150.0, "calibration_error": 0.01}
ELO = ShapeForecasts(scale=0.8, figures=RECORD, classes=CLASSES)
MANY = ShapeForecasts(scale=0.4, figures=RECORD | {"pairs": 100.0}, classes=[])
FEW = ShapeForecasts(scale=3.0, figures=RECORD | {"pairs": 99.0}, classes=CLASSES)
URL = "/v1/pools/blitz"


@pytest.fixture
def four(pool: Running) -> Running:
    """The pool with a fourth agent, `x`."""
    head = pool.store.live.head("blitz")
    assert head is not None
    names = [*NAMES, "x"]
    boards = {"elo": LiveBoard(names, [*RATINGS, 1500.0], total=4), ACTIVITY: LiveBoard(names, [5.0, 4.0, 3.0, 1.0], total=4)}
    assert pool.store.live.publish(msgspec.structs.replace(head, online=["elo"], position=10), 1, boards)
    return pool


@pytest.fixture
def pool(api: Running) -> Running:
    """A pool with three live methods, of which mElo forecasts nothing."""
    head = head_of(
        position=9,
        online=["elo", "weng_lin", "melo"],
        beliefs={"weng_lin": WengLin().beliefs},
        prequential={"elo": RECORD},
        forecasts_by_shape={
            "elo": LiveForecasts(model=Elo().forecasts, shapes={"1:1": ELO, "1:2": MANY, "2:2": FEW}),
            "weng_lin": LiveForecasts(
                model=WengLin().forecasts, shapes={"1:1": ShapeForecasts(scale=0.5, figures={"pairs": 1.0}, classes=[])}
            ),
            "melo": LiveForecasts(model=None, shapes={}),
        },
    )
    boards = {
        "elo": LiveBoard(NAMES, RATINGS, total=3),
        "weng_lin": LiveBoard(NAMES, [30.0, 25.0, 20.0], BELIEFS, 3),
        "melo": LiveBoard(NAMES, [1.0, 2.0, 3.0], total=3),
        ACTIVITY: LiveBoard(NAMES, [5.0, 4.0, 3.0], total=3),
    }
    assert api.store.live.publish(head, 1, boards)
    return api


def asked(pool: Running, *matches: list[list[str]], **more: object) -> dict:
    answer = pool.client.post(f"{URL}/predict", json={"matches": [{"sides": sides} for sides in matches], **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_probabilities_of_ties_are_prepared_once_a_method_and_not_for_each_game(pool: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Ties]()

    def ties(classes: list[ForecastClass]) -> Ties:
        made.append(Ties(classes))
        return made[-1]

    monkeypatch.setattr(predictions, "Ties", ties)
    answer = asked(pool, *[[["ann"], ["bob"]]] * 20)
    assert (len(made), len(answer["methods"][0]["matches"])) == (2, 20)


def test_a_duel(pool: Running) -> None:
    answer = asked(pool, [["ann"], ["bob"]])
    assert {key: answer[key] for key in ("pool", "generation", "position")} == {"pool": "blitz", "generation": 1, "position": 9}
    assert list(answer["without"]) == ["melo"]
    elo, weng_lin = answer["methods"]
    score = 1 / (1 + 10 ** (-0.8 * 100 / 400))
    tie = Ties(CLASSES).probability(np.array(score))
    ann, bob = elo["matches"][0]["sides"]
    assert (ann["agents"], bob["agents"]) == (["ann"], ["bob"])
    assert ann["expected_score"] == pytest.approx(score)
    assert elo["matches"][0]["tie"] == pytest.approx(tie)
    assert ann["win"] + bob["win"] + tie == pytest.approx(1)
    assert ann["win"] + tie / 2 == pytest.approx(score)
    figures = {"pairs": 150.0, "log_loss": 0.6, "brier": 0.2, "calibration_error": 0.01, "wins_predicted": 0.7}
    enough = {"shape": "1:1", "enough": True, "least_pairs": 100.0, "classes": [list(one) for one in CLASSES]}
    assert elo["records"] == [figures | enough]
    model = WengLin().forecasts
    believed = expected_scores(0.5 * model.log_odds([Strength(30.0, 3.0), Strength(25.0, 8.0)]))[0, 1]
    assert weng_lin["matches"][0]["sides"][0]["expected_score"] == pytest.approx(believed)
    assert [(one["pairs"], one["log_loss"], one["enough"]) for one in weng_lin["records"]] == [(1.0, None, False)]


def test_a_duel_stands_beside_the_record_of_its_agents_which_a_cycle_makes_differ_from_forecasts(api: Running, tmp_path: Path) -> None:
    """Rock beats scissors, scissors beat paper, and paper beats rock, whose copies make paper the best agent by ratings."""
    pairs = [
        *[("paper", rock) for rock in ("rock", "rock-2")] * 20,
        *[("scissors", "paper"), ("rock", "scissors"), ("rock-2", "scissors")] * 10,
    ]
    games = [game_event(f"g{i}", *pair, pool="rps", time=NOW - 100 + i) for i, pair in enumerate(pairs)]
    games.append(msgspec.structs.replace(games[0], id="tied", sides=[Side(["paper"], 1), Side(["scissors"], 1)]))
    served, state = ServedPool(api.store, tmp_path), state_of("rps")
    assert fold_events(state, games) == []
    served.checkpoint(state, len(games))
    served.publish(state, len(games))

    def answer(*matches: list[list[str]]) -> dict:
        found = api.client.post("/v1/pools/rps/predict", json={"matches": [{"sides": sides} for sides in matches], "methods": ["elo"]})
        assert found.status_code == 200, found.text
        return found.json()

    duel = answer([["paper"], ["scissors"]], [["scissors"], ["paper"]], [["rock"], ["rock-2"]], [["rock", "paper"], ["scissors"]])
    there, back, strangers, teams = duel["met"]
    assert there == {"games": 11.0, "wins": 0.0, "draws": 1.0, "losses": 10.0, "position": len(games)}
    assert (back["wins"], back["draws"], back["losses"]) == (10.0, 1.0, 0.0)
    assert (strangers["games"], teams) == (0.0, None)
    assert duel["methods"][0]["matches"][0]["sides"][0]["expected_score"] > 0.5, "a rating cannot show the cycle"
    api.client.put("/v1/pools/rps", json={"kind": "games"})
    assert api.client.patch("/v1/pools/rps/agents", json=[{"agent": "scissors", "hidden": True}]).status_code == 200
    until(lambda: answer([["paper"], ["scissors"]])["met"] == [None], "records of hidden agents are not shown")


def test_a_pool_without_a_checkpoint_forecasts_without_records(pool: Running) -> None:
    assert asked(pool, [["ann"], ["bob"]])["met"] == [None]


def test_teams_and_many_sides(pool: Running) -> None:
    teams, many = asked(pool, [["ann", "cy/d"], ["bob"]], [["ann"], ["bob"], ["cy/d"]], methods=["elo"])["methods"][0]["matches"]
    assert teams["sides"][0]["expected_score"] == pytest.approx(0.5)
    assert teams["evenness"] == pytest.approx(1)
    assert many["tie"] is None
    assert sum(side["win"] for side in many["sides"]) == pytest.approx(1)
    assert sum(side["expected_score"] for side in many["sides"]) == pytest.approx(1.5)
    strengths = [10 ** (0.8 * rating / 400) for rating in RATINGS]
    assert [side["win"] for side in many["sides"]] == pytest.approx([strength / sum(strengths) for strength in strengths])


def test_a_game_of_a_shape_with_few_results_has_ranks_and_a_reason_and_no_probability(four: Running) -> None:
    answer = asked(four, [["ann", "x"], ["bob", "cy/d"]], [["bob"], ["ann"]], [["cy/d", "ann"], ["bob", "x"]], methods=["elo"])
    few, duel, again = answer["methods"][0]["matches"]
    assert few["no_forecast"] == "forecasts of games 2:2 need 100 results of this shape, and there are 99, beside games 1:1, 1:2"
    assert [(side["rank"], side["expected_score"], side["win"]) for side in few["sides"]] == [(1, None, None), (2, None, None)]
    assert (few["tie"], few["evenness"], again["no_forecast"]) == (None, None, few["no_forecast"])
    assert (duel["no_forecast"], [side["rank"] for side in duel["sides"]]) == (None, [2, 1])
    records = {one["shape"]: (one["pairs"], one["enough"]) for one in answer["methods"][0]["records"]}
    assert records == {"2:2": (99.0, False), "1:1": (150.0, True)}


def test_ranks_of_equal_sides_are_equal(four: Running) -> None:
    [match] = asked(four, [["ann", "cy/d"], ["bob"], ["x"]], methods=["elo"])["methods"][0]["matches"]
    assert (match["shape"], [side["rank"] for side in match["sides"]]) == ("1:2", [1, 1, 1])


def test_a_pool_that_forecasts_no_duels_has_no_matchups_and_no_fair_opponents(pool: Running) -> None:
    head = pool.store.live.head("blitz")
    assert head is not None
    only_teams = {"elo": LiveForecasts(model=Elo().forecasts, shapes={"2:2": ELO})}
    boards = {method: LiveBoard(NAMES, RATINGS, total=3) for method in ("elo", ACTIVITY)}
    assert pool.store.live.publish(msgspec.structs.replace(head, online=["elo"], forecasts_by_shape=only_teams, position=10), 1, boards)
    for path in ("matchups?agents=ann&agents=bob&method=elo", "agents/ann/fair-opponents"):
        answer = pool.client.get(f"{URL}/{path}")
        assert (answer.status_code, "forecasts of games 1:1 need 100 results" in answer.json()["detail"]) == (422, True), answer.text
    assert asked(pool, [["ann"], ["bob"]])["methods"][0]["matches"][0]["no_forecast"] is not None


@pytest.mark.parametrize("online", [[], ["elo"]])
def test_a_pool_of_scores_has_no_games_to_forecast(api: Running, online: list[str]) -> None:
    boards = {ACTIVITY: LiveBoard(NAMES, [5.0, 4.0, 3.0], total=3)}
    assert api.store.live.publish(head_of(position=1, kind="scores", online=[]), 1, boards)
    asked_games = {"matches": [{"sides": [["ann"], ["bob"]]}], **({"methods": online} if online else {})}
    answers = [
        api.client.post(f"{URL}/predict", json=asked_games),
        api.client.get(f"{URL}/matchups?agents=ann&agents=bob&method=elo"),
        api.client.get(f"{URL}/agents/ann/fair-opponents"),
    ]
    for answer in answers:
        assert (answer.status_code, "there is no game to forecast in a pool of scores" in answer.text) == (422, True), answer.text


def test_a_pool_without_online_methods_says_that_it_forecasts_nothing(api: Running) -> None:
    assert api.store.live.publish(head_of(position=1, online=[]), 1, {ACTIVITY: LiveBoard(NAMES, [5.0, 4.0, 3.0], total=3)})
    answer = api.client.post(f"{URL}/predict", json={"matches": [{"sides": [["ann"], ["bob"]]}]})
    assert (answer.status_code, "must have an online method" in answer.text) == (422, True), answer.text


def test_a_slice_without_online_methods_is_named_and_not_its_pool(pool: Running) -> None:
    head = pool.store.live.head("blitz")
    assert head is not None
    slices = {"map": SliceDimension(methods=[], values=[SliceValue(value="north", outcomes=5, agents=3)], most=9)}
    boards = {ACTIVITY: LiveBoard(NAMES, [5.0, 4.0, 3.0], total=3)}
    assert pool.store.live.publish(msgspec.structs.replace(head, slices=slices, position=10), 1, boards)
    answer = pool.client.post(f"{URL}/predict?slice=map:north", json={"matches": [{"sides": [["ann"], ["bob"]]}]})
    assert (answer.status_code, "slice must have an online method" in answer.text, "map:north" in answer.text) == (422, True, True), (
        answer.text
    )


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"matches": [{"sides": [["ann"], ["zed"]]}]}, 404, "'zed'"),
        ({"matches": []}, 422, "length >= 1"),
        ({"matches": [{"sides": [["ann"]]}]}, 422, "must be 2 to 64 sides"),
        ({"matches": [{"sides": [["ann"], []]}]}, 422, "must each name at least one agent"),
        ({"matches": [{"sides": [["ann"], ["ann"]]}]}, 422, "each agent once"),
        ({"matches": [{"sides": [["ann"], ["bob"]]}], "methods": ["copeland"]}, 422, "must be an online method of pool blitz"),
        ({"matches": [{"sides": [["ann"], ["bob"]], "task": "x"}]}, 422, "unknown field `task`"),
        ({"matches": [{"sides": [["ann"], ["bob"]]}] * 101}, 422, "length <= 100"),
        ({"matches": [{"sides": [["ann"], [f"x{i}" for i in range(1000)]]}]}, 422, "at most 1000 agents in all"),
        ({"matches": [{"sides": [["ann"], ["x" * 257]]}]}, 422, "agent"),
        ({"matches": [{"sides": [["ann"], ["zed"]]}], "methods": ["melo"]}, 404, "'zed'"),
        ({"matches": [{"sides": [["ann"], ["bob"]]}], "methods": []}, 422, "length >= 1"),
    ],
)
def test_bad_requests_are_refused(pool: Running, body: dict, status: int, text: str) -> None:
    answer = pool.client.post(f"{URL}/predict", json=body)
    assert (answer.status_code, text in answer.json()["detail"]) == (status, True), answer.text


def test_a_body_of_256_kib_is_read_and_a_longer_one_is_refused(pool: Running) -> None:
    body = b'{"matches":[{"sides":[["ann"],["bob"]]}]}'
    for size, status in ((256 << 10, 200), ((256 << 10) + 1, 413)):
        answer = pool.client.post(f"{URL}/predict", content=body.ljust(size), headers={"Content-Type": "application/json"})
        assert answer.status_code == status
    assert "at most 262144 bytes" in answer.json()["detail"]


def test_matchups(pool: Running) -> None:
    answer = pool.client.get(f"{URL}/matchups", params={"agents": ["cy/d", "ann", "bob"], "method": "elo"}).json()
    assert answer["agents"] == ["cy/d", "ann", "bob"]
    scores, ties = answer["expected_scores"], answer["ties"]
    duel = asked(pool, [["ann"], ["bob"]], methods=["elo"])["methods"][0]
    assert scores[1][2] == duel["matches"][0]["sides"][0]["expected_score"]
    assert ties[1][2] == duel["matches"][0]["tie"]
    assert [answer["record"]] == duel["records"]
    for i in range(3):
        assert scores[i][i] is ties[i][i] is None
        for j in range(i):
            assert scores[i][j] + scores[j][i] == pytest.approx(1)
            assert ties[i][j] == pytest.approx(ties[j][i])


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("agents=ann&method=elo", 422, "length >= 2"),
        ("&".join(f"agents=a{i}" for i in range(201)) + "&method=elo", 422, "'a3', 'a4' and 196 more: must have at most 200 values"),
        ("agents=ann&agents=ann&method=elo", 422, "each once"),
        ("agents=ann&agents=zed&method=elo", 404, "'zed'"),
        ("agents=ann&agents=bob&method=melo", 422, "need more than ratings and deviations"),
        ("agents=ann&agents=bob&method=borda", 422, "must be an online method"),
        ("agents=ann&agents=bob", 422, "'method'"),
        ("agents=ann&agents=bob&method=elo&pool=x", 422, "'pool' is not a query parameter"),
    ],
)
def test_bad_matchups_are_refused(pool: Running, query: str, status: int, text: str) -> None:
    answer = pool.client.get(f"{URL}/matchups?{query}")
    assert (answer.status_code, text in answer.json()["detail"]) == (status, True), answer.text


def test_a_pool_without_outcomes_or_of_an_earlier_version_forecasts_nothing(api: Running) -> None:
    body = {"matches": [{"sides": [["ann"], ["bob"]]}]}
    assert api.client.put(URL, json={"kind": "games"}).status_code == 201
    answer = api.client.post(f"{URL}/predict", json=body)
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["title"]) == (404, "1", "nothing yet")
    boards = {"elo": LiveBoard(NAMES, RATINGS, total=3), ACTIVITY: LiveBoard(NAMES, [5.0, 4.0, 3.0], total=3)}
    assert api.store.live.publish(head_of(position=1, online=["elo"]), 1, boards)
    answer = api.client.post(f"{URL}/predict", json=body).json()
    assert answer["methods"] == []
    assert "--set by_shape=true" in answer["without"]["elo"]


def test_an_agent_that_the_board_of_one_method_lacks_leaves_out_that_method(pool: Running) -> None:
    """As for a moment when a generation with another method begins to serve."""
    raw = pool.store.connection
    raw.run(lambda client: client.zrem("equirank:" + pool.log.outcomes.identity + ":{blitz}:live:1:weng_lin", "bob"))
    answer = asked(pool, [["ann"], ["bob"]])
    assert [one["method"] for one in answer["methods"]] == ["elo"]
    assert answer["without"]["weng_lin"] == "its board has no rating of 'bob'"


def test_an_agent_without_outcomes_in_its_season_has_forecasts(pool: Running) -> None:
    """It began the season with the rating of the season before."""
    raw = pool.store.connection
    raw.run(lambda client: client.zadd("equirank:" + pool.log.outcomes.identity + ":{blitz}:live:1:outcomes", {"bob": 0.0}))
    assert [one["method"] for one in asked(pool, [["ann"], ["bob"]])["methods"]] == ["elo", "weng_lin"]


def test_lists_of_pools_leave_out_what_forecasts_need(pool: Running) -> None:
    [listed] = pool.client.get("/v1/pools").json()["pools"]
    assert listed["head"]["forecasts_by_shape"] == {}
    assert pool.client.get(URL).json()["head"]["forecasts_by_shape"]["elo"]["shapes"]["1:1"]["scale"] == 0.8


def test_the_matchmaking_example_of_the_guide_names_the_evenest_neighbours(pool: Running, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs/guides/forecasts.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(compile(block.replace("http://127.0.0.1:8000", pool.url), "example", "exec"), {"__name__": "example"})  # noqa: S102
    rows = pool.client.get("/v1/pools/blitz/boards/elo").json()["rows"]
    ratings = {row["agent"]: row["rating"] for row in rows}
    nearest = sorted(ratings.keys() - {"ann"}, key=lambda agent: abs(ratings[agent] - ratings["ann"]))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == nearest[:3]


def fair(pool: Running, agent: str = "ann", **query: object) -> dict:
    answer = pool.client.get(f"{URL}/agents/{quote(agent, safe='')}/fair-opponents", params=query)
    assert answer.status_code == 200, answer.text
    check_answer(answer.json(), "FairOpponents")
    return answer.json()


def test_the_best_forecaster_has_the_lowest_log_loss_of_those_with_enough_duels() -> None:
    def forecasts(log_loss: float, pairs: float, shape: str = "1:1", model: bool = True) -> LiveForecasts:
        one = ShapeForecasts(scale=1.0, figures=RECORD | {"log_loss": log_loss, "pairs": pairs}, classes=[])
        return LiveForecasts(model=Elo().forecasts if model else None, shapes={shape: one})

    made = {
        "melo": forecasts(0.1, 200.0, model=False),
        "elo": forecasts(0.6, 150.0),
        "sco": forecasts(0.5, 100.0),
        "few": forecasts(0.2, 99.0),
        "teams": forecasts(0.2, 200.0, "2:2"),
    }
    head = head_of(online=list(made), forecasts_by_shape=made)
    assert predictions.best_forecaster(head, head.online) == "sco"
    assert predictions.best_forecaster(head, ["elo", "few"]) == "elo"
    assert predictions.best_forecaster(head, ["melo", "few", "teams"]) == "few", "the first one that forecasts"
    assert predictions.best_forecaster(head, ["melo"]) is None


@pytest.mark.parametrize("method", ["elo", "weng_lin"])
def test_fair_opponents_are_those_with_the_most_even_forecasts(pool: Running, method: str) -> None:
    for agent in NAMES:
        answer = fair(pool, agent, method=method)
        others = [name for name in NAMES if name != agent]
        forecasts = {name: asked(pool, [[agent], [name]], methods=[method])["methods"][0]["matches"][0] for name in others}
        expected = {name: (one["sides"][0]["expected_score"], one["tie"]) for name, one in forecasts.items()}
        found = {row["agent"]: (row["expected_score"], row["tie"]) for row in answer["opponents"]}
        assert found == {name: pytest.approx(both) for name, both in expected.items()}
        assert list(found) == sorted(others, key=lambda name: abs(expected[name][0] - 0.5))
        assert fair(pool, agent, method=method, count=1)["opponents"] == answer["opponents"][:1]


def test_fair_opponents_of_a_large_pool_are_the_nearest_of_all(pool: Running) -> None:
    names = [f"agent-{i:03}" for i in range(300)]
    ratings = np.random.default_rng(1).normal(1500.0, 200.0, len(names)).tolist()
    head = pool.store.live.head("blitz")
    assert head is not None
    head = msgspec.structs.replace(head, online=["melo", "elo"], position=10)
    boards = {method: LiveBoard(names, ratings, total=len(names)) for method in ("elo", "melo", ACTIVITY)}
    assert pool.store.live.publish(head, 1, boards)
    own = dict(zip(names, ratings, strict=True))
    for agent in (names[0], max(names, key=own.__getitem__), min(names, key=own.__getitem__)):
        answer = fair(pool, agent, count=7)
        nearest = sorted((name for name in names if name != agent), key=lambda name: abs(own[name] - own[agent]))[:7]
        assert [row["agent"] for row in answer["opponents"]] == nearest
        assert answer["method"] == "elo", "the first one forecasts nothing"
        assert [row["rating"] for row in answer["opponents"]] == [own[name] for name in nearest]


def test_fair_opponents_are_the_nearest_by_rating_on_both_parts_of_a_board(pool: Running) -> None:
    """A newcomer plays agents of its strength, not the last ones of the board below which it is listed."""
    names = [f"agent-{i:03}" for i in range(90)]
    rng = np.random.default_rng(2)
    ratings = rng.normal(1500.0, 200.0, len(names)).round(-1).tolist()  # many are equal
    marks = (rng.random(len(names)) < 0.3).tolist()
    head = pool.store.live.head("blitz")
    assert head is not None
    board = LiveBoard(names, ratings, total=len(names), provisional=marks)
    counts = LiveBoard(names, [4.0 if mark else 40.0 for mark in marks], total=len(names))
    assert pool.store.live.publish(msgspec.structs.replace(head, online=["elo"], position=10), 1, {"elo": board, ACTIVITY: counts})
    own = dict(zip(names, ratings, strict=True))
    for agent in names:
        opponents = fair(pool, agent, count=7)["opponents"]
        assert agent not in [row["agent"] for row in opponents]
        nearest = sorted(abs(own[name] - own[agent]) for name in names if name != agent)[:7]
        assert [abs(own[row["agent"]] - own[agent]) for row in opponents] == nearest
        for row in opponents:
            assert row["provisional"] is (row["rank"] is None) is marks[names.index(row["agent"])]


def test_the_leading_method_chooses_fair_opponents_if_it_forecasts(pool: Running) -> None:
    assert fair(pool)["method"] == "elo"
    chosen = {"kind": "games", "fold": {"online": {"elo": {}, "weng_lin": {}, "melo": {}}}}
    assert pool.client.put(URL, json=chosen).status_code == 201
    for leading, expected in (("weng_lin", "weng_lin"), ("melo", "elo")):
        assert pool.client.put(f"{URL}/leading_method", json={"method": leading}).status_code == 200
        until(lambda leading=leading: pool.client.get(URL).json()["leading_method"] == leading, "it is read")  # type: ignore[misc]
        assert fair(pool)["method"] == expected


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("zed/fair-opponents", 404, "'zed'"),
        ("ann/fair-opponents?method=melo", 422, "need more than ratings and deviations"),
        ("ann/fair-opponents?method=borda", 422, "must be an online method"),
        ("ann/fair-opponents?count=0", 422, "count"),
        ("ann/fair-opponents?count=201", 422, "count"),
    ],
)
def test_bad_requests_for_fair_opponents_are_refused(pool: Running, path: str, status: int, text: str) -> None:
    answer = pool.client.get(f"{URL}/agents/{path}")
    assert (answer.status_code, text in answer.json()["detail"]) == (status, True), answer.text

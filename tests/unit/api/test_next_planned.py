"""GET /v1/pools/{pool}/next and `equirank next`, on a checkpoint."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.cli.next import table, title
from services.solve import next_matches as next_module
from services.solve.next_matches import plan
from services.wire.events import Event, GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import NOW, Running
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of

NAMES = ("ann", "bob", "cyd", "dan")


def game(i: int) -> GameEvent:
    pair = NAMES[i % 3], NAMES[i % 3 + 1]
    order = pair if i % 5 else pair[::-1]
    return GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=[Side(agents=[name], place=at) for at, name in enumerate(order)])


def measured(i: int) -> ScoreEvent:
    scores = {name: float((7 * i + 3 * at) % 5) for at, name in enumerate(NAMES[:3])}
    return ScoreEvent(v=1, id=str(i), pool="atari", time=0.0, task=f"t{i % 2}", scores=scores)


def checkpointed(api: Running, folder: Path, kind: Kind, events: list[Event], *, built: bool = False) -> None:
    """A pool of these events: its checkpoint and what readers see of it. built: whether the checkpoint holds it as under construction."""
    pool, files = events[0].pool, CheckpointStore((folder / "state").as_uri())
    state = state_of(pool, kind)
    assert fold_events(state, events) == []
    sha256, size = files.write_object(pool, state.arrays(), {})
    entry = PoolEntry(
        pool=pool, kind=kind.value, generation=1, position=9, outcomes=len(events), object=pool, sha256=sha256, bytes=size, digest=""
    )
    manifest = Manifest(
        format=FORMAT, partition=0, position=9, epoch=1, log_identity="log", last_offset=None, last_sha256=None, fold_version=1,
        written_at=0.0, pools=[] if built else [entry], builds=[entry] if built else [],
    )  # fmt: skip
    files.write_manifest(manifest)
    assert api.store.live.publish(head_of(pool, position=9, published_at=NOW, kind=kind.value, online=[]), 1, {})


def ask(api: Running, pool: str, **query: object) -> dict:
    answer = api.client.get(f"/v1/pools/{pool}/next", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(("target", "pairs"), [("all", 6), ("top:1", 6), ("agent:dan", 6)])
def test_rates_of_pairs_are_published_and_sum_to_1(api: Running, tmp_path: Path, target: str, pairs: int) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)])
    found = ask(api, "blitz", target=target, games=40, count=4, floor=0.3)
    assert len(found["matches"]) == 4
    assert found["games"] == 40
    assert found["others"] == pairs - 4
    rates = [row["rate"] for row in found["matches"]]
    assert sum(rates) + found["others"] * found["other_rate"] == pytest.approx(1)
    assert min([*rates, found["other_rate"]]) >= 0.3 / pairs * (1 - 1e-9)
    assert found["after"] <= found["uniform"] < found["before"]
    assert (found["position"], found["agents"], found["left_out"]) == (9, 4, 0)
    if target == "agent:dan":
        assert "dan" in found["matches"][0]["agents"]


def test_a_generation_that_readers_see_is_answered_before_the_next_checkpoint(api: Running, tmp_path: Path) -> None:
    """The checkpoint that lets a build serve holds it as a build: there was no answer until the next checkpoint."""
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)], built=True)
    assert ask(api, "blitz")["agents"] == 4


@pytest.mark.parametrize("again", [False, True])
def test_rates_of_cells_are_published_and_sum_to_1(api: Running, tmp_path: Path, again: bool) -> None:
    checkpointed(api, tmp_path, Kind.SCORES, [measured(i) for i in range(8 if again else 2)])
    found = ask(api, "atari", target="deviation:bob", games=8, count=3)
    assert sum(row["rate"] for row in found["matches"]) + found["others"] * found["other_rate"] == pytest.approx(1)
    assert (len(found["matches"]), found["games"]) == (3, 8)
    assert {row["task"] for row in found["matches"]} <= {"t0", "t1"}
    assert ("as none was measured twice" in found["assumes"]) is not again
    assert found["after"] <= found["before"]


def test_a_kind_of_pool_that_lacks_the_target_says_why(api: Running, tmp_path: Path) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(0)])
    assert "needs a pool of scores" in ask(api, "blitz", target="deviation:ann")["not_applicable"]
    checkpointed(api, tmp_path, Kind.SCORES, [measured(0)])
    assert "needs a pool of games" in ask(api, "atari", target="top:1")["not_applicable"]


@pytest.mark.parametrize("target", ["all", "top:1", "agent:ann"])
def test_a_pool_of_team_games_says_why_no_pair_is_recommended(api: Running, tmp_path: Path, target: str) -> None:
    """Pairs of players were recommended that no game of the pool can have, for a gain of a thousandth."""
    sides = [Side(agents=["ann", "bob"], place=1), Side(agents=["cyd", "dan"], place=2)]
    checkpointed(api, tmp_path, Kind.GAMES, [GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=sides) for i in range(9)])
    found = ask(api, "blitz", target=target)
    assert "games of teams are not counted by pairs" in found["not_applicable"]
    assert (found["position"], found.get("matches", [])) == (9, [])
    head = api.store.live.head("blitz")
    assert head is not None
    told = title(plan(CheckpointStore((tmp_path / "state").as_uri()), head, target, 10, 0.1))
    assert told == f"blitz · {target} · position 9 · not applicable: {found['not_applicable']}"


def test_scores_that_give_no_certain_ratings_say_why(api: Running, tmp_path: Path) -> None:
    """The first were answered as a parameter of the caller's that breaks a rule, the others as a fault of the service."""
    whole = [measured(i) for i in range(2)]
    checkpointed(api, tmp_path, Kind.SCORES, [*whole, ScoreEvent(v=1, id="part", pool="atari", time=0.0, task="t2", scores={"ann": 1.0})])
    lacking = ask(api, "atari", target="deviation:ann")
    assert lacking["not_applicable"] == "needs every agent measured on every task; 2 cells are not measured"
    scores = [{name: 1e12 + ((5 * i + 3 * at + i * at) % 7) / 3 for at, name in enumerate(NAMES)} for i in range(3)]
    far = [ScoreEvent(v=1, id=str(i), pool="far", time=0.0, task=f"t{i}", scores=each) for i, each in enumerate(scores)]
    checkpointed(api, tmp_path, Kind.SCORES, far)
    assert "needs certain ratings" in ask(api, "far", target="deviation:ann")["not_applicable"]


def test_a_solve_that_takes_too_long_is_given_up(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpointed(api, tmp_path, Kind.SCORES, [measured(i) for i in range(2)])
    assert ask(api, "atari", target="deviation:ann").get("not_applicable") is None
    monkeypatch.setattr("services.solve.next_matches._SOLVE_SECONDS", 1e-9)
    assert "needs certain ratings within 1e-09 s" in ask(api, "atari", target="deviation:ann", games=11)["not_applicable"]


def test_wrong_targets_and_pools_without_a_checkpoint_are_told(api: Running, tmp_path: Path) -> None:
    assert api.client.get("/v1/pools/nowhere/next").status_code == 404
    assert api.store.live.publish(head_of("early", position=1, published_at=NOW, online=[]), 1, {})
    early = api.client.get("/v1/pools/early/next")
    assert (early.status_code, early.json()["title"], early.headers["retry-after"]) == (503, "no checkpoint yet", "5")
    assert "no checkpoint of generation 1" in early.json()["detail"]
    assert "equirank_api_store_failures_total 0.0" in api.client.get("/metrics").text, "the store answered"
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(3)])
    for target in ("worst", "top", "top:0", "top:9", "top:x", "agent:", "agent:eve", "all:1"):
        assert api.client.get("/v1/pools/blitz/next", params={"target": target}).status_code == 422, target


def test_how_many_games_are_planned_decides_the_rates_and_how_many_are_listed_nothing(api: Running, tmp_path: Path) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)])
    few, same, many = (ask(api, "blitz", games=games, count=count) for games, count in ((5, 6), (5, 2), (500, 6)))
    assert same["matches"] == few["matches"][:2]
    assert [same[part] for part in ("before", "after", "gap")] == [few[part] for part in ("before", "after", "gap")]
    assert many["after"] < few["after"]
    assert [row["rate"] for row in many["matches"]] != [row["rate"] for row in few["matches"]]


def test_a_parameter_that_is_none_is_refused_naming_those_there_are(api: Running, tmp_path: Path) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(0)])
    refused = api.client.get("/v1/pools/blitz/next", params={"n": 5})
    assert (refused.status_code, refused.json()["title"]) == (422, "no such parameter")
    assert "(it has: target, games, count, floor, slice)" in refused.json()["detail"]
    assert "it has none" in api.client.get("/v1/pools/blitz/slices?count=3").json()["detail"]
    assert api.client.get("/v1/pools/blitz?x=").status_code == 422
    assert api.client.get("/livez?from=probe").status_code == 200


def test_the_command_shows_rates_and_what_they_gain(api: Running, tmp_path: Path) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)])
    head = api.store.live.head("blitz")
    assert head is not None
    found = plan(CheckpointStore((tmp_path / "state").as_uri()), head, "agent:dan", 50, 0.1, 2)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table(found))
    text = console.export_text()
    assert "each of the 4 others" in text
    assert "dan" in text
    assert "after 50 more" in title(found)
    lacking = plan(CheckpointStore((tmp_path / "state").as_uri()), head, "deviation:dan", 2, 0.1)
    assert "not applicable: needs a pool of scores" in title(lacking)


def test_a_recommendation_is_computed_once_for_a_position(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    pairs = next_module._pairs
    monkeypatch.setattr(next_module, "_pairs", lambda given, what, *rest: computed.append(what) or pairs(given, what, *rest))
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)])
    first = ask(api, "blitz", games=20)
    assert ask(api, "blitz", games=20) == first
    assert computed == ["all"]
    ask(api, "blitz", games=20, target="top:1")
    ask(api, "blitz", games=21)
    assert computed == ["all", "top", "all"]


def test_four_hundred_agents_take_part(api: Running, tmp_path: Path) -> None:
    sides = [[Side(agents=[f"a{i}"], place=0), Side(agents=[f"a{(i * 7 + 1) % 405}"], place=1)] for i in range(405)]
    events = [
        GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=both) for i, both in enumerate(sides) if both[0].agents != both[1].agents
    ]
    checkpointed(api, tmp_path, Kind.GAMES, events)
    found = ask(api, "blitz", target="agent:a1", games=1000)
    assert (found["agents"], found["left_out"]) == (400, 5)
    assert found["after"] < found["uniform"] < found["before"]


def test_games_of_hidden_agents_are_not_listed_and_others_have_their_display_names(api: Running, tmp_path: Path) -> None:
    checkpointed(api, tmp_path, Kind.GAMES, [game(i) for i in range(30)])
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    for agent, change in (("ann", {"hidden": True}), ("bob", {"display_name": "Bob 2"})):
        assert api.client.patch(f"/v1/pools/blitz/agents/{agent}", json=change).status_code == 200
    found = ask(api, "blitz", count=6)
    assert {agent for one in found["matches"] for agent in one["agents"]} == {"bob", "cyd", "dan"}
    assert (len(found["matches"]), found["others"], found["hidden_agents"], found["display_names"]) == (3, 3, 1, {"bob": "Bob 2"})
    assert sum(one["rate"] for one in found["matches"]) + 3 * found["other_rate"] == pytest.approx(1.0)
    refused = [api.client.get("/v1/pools/blitz/next", params={"target": f"agent:{name}"}) for name in ("ann", "nobody")]
    assert [(one.status_code, one.json()["detail"]) for one in refused] == [
        (422, f"target must name an agent of the pool, got '{name}'") for name in ("ann", "nobody")
    ], "a hidden agent is no target, and the answer does not say that it is there"

"""GET and POST /v1/pools/POOL/generations: what is folded, and what is asked for."""

import json
from collections.abc import Iterator

import pytest

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.control.log import ControlLog
from services.control.records import DEFAULT_METHODS, Generation
from services.log.partition import partition_of
from services.wire.pools import Kind
from tests.support.api import Running
from tests.support.boards import head_of
from tests.support.waiting import until

PATH = "/v1/pools/blitz/generations"


@pytest.fixture
def control(api: Running) -> Iterator[ControlLog]:
    control = ControlLog(api.log.control)
    yield control
    control.close()


@pytest.fixture
def pool(api: Running, control: ControlLog) -> None:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    created = control.refresh().pools["blitz"]
    control.create_generation(Generation(pool="blitz", number=1, start=0, time=0.0, fold=created.fold))


@pytest.mark.usefixtures("pool")
def test_a_wish_is_durable_and_shown(api: Running, control: ControlLog) -> None:
    fold = {**api.client.get(PATH).json()["serving"]["fold"], "online": {"elo": {"k": 20}}}
    answer = api.client.post(PATH, json={"fold": fold, "bans": ["eve"], "aliases": {"bob2": "bob"}, "start": "now"})
    assert answer.status_code == 202
    waiting = api.client.get(PATH).json()["waiting"]
    assert (waiting["fold"]["online"], waiting["bans"], waiting["start"]) == ({"elo": {"k": 20.0}}, ["eve"], "now")
    found = control.refresh().wish("blitz")
    assert found is not None
    assert answer.json() == {"pool": "blitz", "wish": found[0]}


@pytest.mark.usefixtures("pool")
def test_settings_without_online_methods_have_the_default_ones(api: Running, control: ControlLog) -> None:
    assert api.client.post(PATH, json={"fold": {"per_task": True, "slices": {"map": ["glicko2"]}}}).status_code == 202
    found = control.refresh().wish("blitz")
    assert found is not None
    assert (found[1].fold.online, found[1].fold.by_shape) == ({method: {} for method in DEFAULT_METHODS}, True)


def test_settings_of_a_pool_of_an_earlier_release_can_be_read_changed_and_sent(api: Running, control: ControlLog) -> None:
    """Its record names no methods, which means those of then. GET shows null, and a client sends it back."""
    api.log.control.append(0, [(b"once/1", b'{"type":"pool","pool":"blitz","kind":"games","time":0.0,"fold":{"online":null},"label":""}')])
    created = control.refresh().pools["blitz"]
    control.create_generation(Generation(pool="blitz", number=1, start=0, time=0.0, fold=created.fold))
    until(lambda: api.client.get(PATH).status_code == 200, "the pool is known")
    fold = api.client.get(PATH).json()["serving"]["fold"]
    assert api.client.post(PATH, json={"fold": {**fold, "per_task": True}}).status_code == 202
    found = control.refresh().wish("blitz")
    assert found is not None
    assert (found[1].fold.per_task, found[1].fold.methods(Kind.GAMES)) == (True, {"elo": {}, "sco": {}})
    assert found[1].fold.by_shape is None


def test_each_way_to_create_a_pool_gives_it_the_same_methods_and_records(api: Running, control: ControlLog) -> None:
    game = {"v": 1, "id": "1", "pool": "sent", "sides": [{"agents": ["ann"], "place": 1}, {"agents": ["bob"], "place": 2}]}
    assert api.client.put("/v1/pools/plain", json={"kind": "games"}).status_code == 201
    assert api.client.put("/v1/pools/with-settings", json={"kind": "games", "fold": {"per_task": True}}).status_code == 201
    assert api.client.post("/v1/outcomes", json=game).status_code == 202
    pools = control.refresh().pools
    assert {name: (list(pools[name].fold.online or {}), pools[name].fold.by_shape) for name in pools} == {
        name: (list(DEFAULT_METHODS), True) for name in ("plain", "with-settings", "sent")
    }
    assert api.client.put("/v1/pools/plain", json={"kind": "games"}).status_code == 200


@pytest.mark.usefixtures("pool")
def test_an_empty_wish_folds_the_pool_anew(api: Running, control: ControlLog) -> None:
    assert api.client.post(PATH, json={}).status_code == 202
    assert control.refresh().wish("blitz") is not None


@pytest.mark.usefixtures("pool")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"fold": {"online": {"elo": {"kk": 1}}}}, "kk"),
        ({"fold": {"surprise": 1}}, "surprise"),
        ({"initial": {"glicko9": {"a": 1.0}}}, "glicko9"),
        ({"aliases": {"a": "b", "b": "c"}}, "alias"),
        ({"bans": [""]}, "bans"),
        ({"start": "soon"}, "start"),
        ({"start": -1}, "start"),
        ([], "generation"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_writes_nothing(api: Running, control: ControlLog, body: object, words: str) -> None:
    answer = api.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert words in json.dumps(answer.json())
    assert control.refresh().wish("blitz") is None


@pytest.mark.usefixtures("pool")
def test_other_settings_are_refused_where_the_log_forgot_what_they_need(
    api: Running, control: ControlLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.log.outcomes, "begin", lambda partition: 15 if partition == partition_of("blitz", 8) else 0)
    for body in ({"bans": ["eve"]}, {"start": 14}, {}):
        answer = api.client.post(PATH, json=body)
        assert answer.status_code == 422
        assert "must be now, or at least 15: the log of blitz begins there, and neither topic nor archive (EQUIRANK_ARCHIVE)" in json.dumps(
            answer.json()
        )
    assert control.refresh().wish("blitz") is None
    assert api.client.post(PATH, json={"bans": ["eve"], "start": "now"}).status_code == 202


def test_an_unknown_pool_is_told(api: Running) -> None:
    for answer in (api.client.get("/v1/pools/typo/generations"), api.client.post("/v1/pools/typo/generations", json={})):
        assert answer.status_code == 404
        assert "PUT /v1/pools" in answer.json()["detail"]


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("w-key", 403), ("a-key", 202)])
def test_asking_needs_the_admin_key(keyed: Running, key: str | None, status: int) -> None:
    keyed.client.put("/v1/pools/blitz", json={"kind": "games"}, headers={"Authorization": "Bearer a-key"})
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    assert keyed.client.post(PATH, json={}, headers=headers).status_code == status


@pytest.mark.usefixtures("pool")
class TestBans:
    def bans(self, api: Running) -> list[str]:
        waiting = api.client.get(PATH).json()["waiting"]
        return [] if waiting is None else waiting["bans"]

    def test_one_by_one(self, api: Running) -> None:
        assert api.client.post(PATH, json={"ban": ["eve", "mallory"]}).status_code == 202
        assert api.client.post(PATH, json={"unban": ["eve"]}).status_code == 202
        assert self.bans(api) == ["mallory"]
        assert api.client.post(PATH, json={"unban": ["eve"]}).status_code == 422
        assert api.client.post(PATH, json={"ban": ["a"], "bans": ["b"]}).status_code == 422

    def test_a_list_that_ends_a_ban_is_refused_until_it_is_confirmed(self, api: Running) -> None:
        assert api.client.post(PATH, json={"bans": ["eve"]}).status_code == 202
        refused = api.client.post(PATH, json={"bans": []})
        assert (refused.status_code, "ends the ban of eve" in refused.json()["detail"]) == (409, True)
        assert self.bans(api) == ["eve"]
        assert api.client.post(PATH, json={"bans": [], "confirm": True}).status_code == 202
        assert self.bans(api) == []

    def test_a_name_that_no_agent_has_is_refused_until_it_is_confirmed(self, api: Running) -> None:
        board = LiveBoard(["eve"], [1.0])
        assert api.store.live.publish(head_of(online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        refused = api.client.post(PATH, json={"ban": ["eve", "Eve"]})
        assert (refused.status_code, "no agent Eve" in refused.json()["detail"]) == (409, True)
        assert api.client.post(PATH, json={"ban": ["eve"]}).status_code == 202
        assert api.client.post(PATH, json={"ban": ["Eve"], "confirm": True}).status_code == 202

    def test_an_agent_that_began_the_season_with_a_rating_is_banned_before_its_first_outcome(self, api: Running) -> None:
        boards = {"elo": LiveBoard(["eve"], [1510.0]), ACTIVITY: LiveBoard(["eve"], [0.0])}
        assert api.store.live.publish(head_of(online=["elo"]), 1, boards)
        assert api.client.post(PATH, json={"ban": ["eve"]}).status_code == 202
        assert self.bans(api) == ["eve"]

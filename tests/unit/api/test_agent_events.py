"""What changed an agent's ratings besides outcomes, as its history lists it."""

from pathlib import Path
from typing import Any

import pytest

from services.boards import agent_events as module
from services.boards.agent_events import AgentEvent, Change, OwnChange, agent_events
from services.control.erasures import erased_name
from services.control.log import ControlLog
from services.control.records import ControlRecord, ControlState, FoldSettings, Generation, Opening, PoolCreated, Serve
from services.wire.pools import Kind
from tests.support.api import NOW, Running, check_answer
from tests.support.histories import FOLD, folded, games
from tests.support.served_pools import ServedPool
from tests.support.waiting import until

POOL = "blitz"


def made(number: int, **fields: Any) -> Generation:
    return Generation(**{"pool": POOL, "number": number, "start": 0, "time": 100.0 * number, "fold": FOLD, **fields})


def state_of(*records: ControlRecord) -> ControlState:
    state = ControlState()
    created = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FOLD)
    for offset, record in enumerate([created, *records]):
        state.apply(offset, record)
    return state


def served(*generations: Generation) -> ControlState:
    return state_of(*generations, *(Serve(pool=POOL, number=one.number, time=0.0) for one in generations))


TOKEN = erased_name("mallory", ())
OPENING = Opening(generation=1, position=9, keep=0.5, first=2)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({}, {}, []),
        ({}, {"opening": OPENING, "season": "autumn", "start": 9}, [Change.SEASON]),
        ({}, {"start": 9}, [Change.START]),
        ({}, {"fold": FoldSettings(online={"elo": {"k": 10.0}})}, [Change.SETTINGS]),
        ({}, {"initial": {"elo": {"ann": 1600.0}}}, [Change.INITIAL]),
        ({"retraction_horizon": 4}, {"retraction_horizon": 9}, [Change.RETRACTIONS]),
        ({"aliases": {"x": "ann"}}, {"aliases": {}}, [Change.ALIASES]),
        ({"bans": ("b", "a")}, {"bans": ("a", "b")}, []),
        ({"bans": ("a",)}, {"bans": ("a", "b")}, [Change.BANS]),
        ({}, {"erased": (TOKEN,)}, [Change.ERASURES]),
        ({"fold_version": 1}, {}, [Change.VERSION]),
        ({}, {"bans": ("b",), "aliases": {"x": "y"}, "retraction_horizon": 1}, [Change.RETRACTIONS, Change.ALIASES, Change.BANS]),
    ],
)
def test_an_event_says_what_differs_from_the_generation_before(before: dict, after: dict, changes: list[Change]) -> None:
    total, [event] = agent_events(served(made(1, **before), made(2, **after)), POOL, "nobody")
    assert (total, event) == (1, AgentEvent(time=200.0, generation=2, changes=changes, season=after.get("season")))


def test_an_event_says_what_differs_for_the_agent() -> None:
    steps: list[dict[str, Any]] = [
        {},
        {"bans": ("ann", "bob")},
        {"bans": ("ann",), "aliases": {"old": "ann", "older": "bob"}},
        {"aliases": {"older": "bob"}, "initial": {"elo": {"ann": 1600.0}}},
        {"aliases": {"older": "ann"}, "initial": {"elo": {"ann": 1600.0, "bob": 1.0}}},
    ]
    control = served(*(made(number, **fields) for number, fields in enumerate(steps, 1)))
    own = {agent: [event.own for event in agent_events(control, POOL, agent).newest] for agent in ("ann", "bob", "cid")}
    assert own == {
        "ann": [[OwnChange.BANNED], [OwnChange.ALIASES], [OwnChange.UNBANNED, OwnChange.ALIASES, OwnChange.INITIAL], [OwnChange.ALIASES]],
        "bob": [[OwnChange.BANNED], [OwnChange.UNBANNED, OwnChange.ALIASES], [], [OwnChange.ALIASES, OwnChange.INITIAL]],
        "cid": [[], [], [], []],
    }


def test_a_generation_that_readers_have_not_seen_is_no_event() -> None:
    control = state_of(made(1), made(2), made(3), Serve(pool=POOL, number=2, time=0.0))
    assert [event.generation for event in agent_events(control, POOL, "ann").newest] == [2]
    assert agent_events(state_of(made(1), made(2)), POOL, "ann") == (0, [])
    replaced = state_of(made(1), made(2, bans=("ann",)), made(3), Serve(pool=POOL, number=3, time=0.0))
    assert agent_events(replaced, POOL, "ann") == (1, [AgentEvent(time=300.0, generation=3, changes=[])]), "nobody saw generation 2"
    assert agent_events(ControlState(), "unknown", "ann") == (0, [])


def test_the_newest_events_of_the_time_are_listed_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    control = served(*(made(number) for number in range(1, 9)))
    total, events = agent_events(control, POOL, "ann", since=300.0, until=700.0)
    assert (total, [event.generation for event in events]) == (4, [3, 4, 5, 6])
    monkeypatch.setattr(module, "MOST_EVENTS", 3)
    total, events = agent_events(control, POOL, "ann")
    assert (total, [event.generation for event in events]) == (7, [6, 7, 8])


def test_the_history_of_an_agent_has_its_events(api: Running, tmp_path: Path) -> None:
    pool, control = ServedPool(api.store, tmp_path), ControlLog(api.log.control)
    state = folded(pool, games())
    pool.checkpoint(state, 200, written_at=NOW - 5.0)
    pool.publish(state, 201, published_at=NOW - 1.0)
    url = f"/v1/pools/{POOL}/agents/ann/history"
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FOLD))
    serves = [Serve(pool=POOL, number=number, time=0.0) for number in (2, 3)]
    for record in (made(1), made(2, bans=("ann",)), made(3), *serves):
        control.append(record)
    until(lambda: api.client.get(url).json().get("events_total") == 2, "the API reads the control log")
    answer = api.client.get(url).json()
    check_answer(answer, "AgentHistory")
    assert answer["events"] == [
        {"time": 200.0, "generation": 2, "changes": ["bans"], "own": ["banned"]},
        {"time": 300.0, "generation": 3, "changes": ["bans"], "own": ["unbanned"]},
    ]
    later = api.client.get(url, params={"since": "250"}).json()
    assert (later["events_total"], later["events"]) == (1, answer["events"][1:])
    for path, expected in (("agent-1/history", [None, None]), ("ann/history?method=elo&until=250", [["banned"]])):
        events = api.client.get(f"/v1/pools/{POOL}/agents/{path}").json()["events"]
        assert [event.get("own") for event in events] == expected

"""Which pools a start waits for."""

import json

from services.cli.known_pools import KnownPools, begun
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.wire.pools import Kind


class Api:
    """Answers of an API. heads: pool -> whether the store has its head."""

    def __init__(self, heads: dict[str, bool]) -> None:
        self.heads, self.answers, self.asked = heads, True, 0

    def answer(self, path: str) -> str:
        self.asked += 1
        if not self.answers:
            return ""
        start = int(path.rpartition("start=")[2])
        names = sorted(self.heads)
        pools = [{"pool": name, "head": {"position": 1} if self.heads[name] else None} for name in names[start : start + 2]]
        return json.dumps({"total": len(names), "pools": pools})


def test_pools_with_outcomes_are_waited_for() -> None:
    api = Api({"atari": False, "blitz": True, "empty": False, "rps": False})
    pools = KnownPools(["rps", "blitz", "atari"], api.answer)
    assert not pools.readable()
    assert pools.unread == ["atari", "rps"]
    api.heads |= {"rps": True, "new": False}
    assert not pools.readable()
    assert pools.unread == ["atari"]
    api.heads["atari"] = True
    assert pools.readable()
    assert api.asked == 2 + 3 + 3, "pages of two pools"


def test_a_pool_has_outcomes_if_it_has_a_generation() -> None:
    control = ControlState()
    for offset, pool in enumerate(("atari", "empty")):
        control.apply(offset, PoolCreated(pool=pool, kind=Kind.GAMES, time=0.0))
    control.apply(2, Generation(pool="atari", number=1, start=0, time=0.0, fold=FoldSettings()))
    assert begun(control) == ["atari"]


def test_an_installation_without_pools_is_readable_at_once() -> None:
    api = Api({"empty": False})
    assert KnownPools([], api.answer).readable()
    assert api.asked == 0


def test_an_api_that_does_not_answer_or_does_not_know_a_pool_yet_is_asked_again() -> None:
    api = Api({"atari": True})
    pools = KnownPools(["atari", "blitz"], api.answer)
    api.answers = False
    assert not pools.readable()
    assert pools.unread == ["atari", "blitz"]
    api.answers = True
    assert not pools.readable()
    assert pools.unread == ["blitz"]
    api.heads["blitz"] = True
    assert pools.readable()

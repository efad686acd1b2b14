"""Which pools a start waits for."""

import json

from services.cli.known_pools import KnownPools


class Api:
    """Answers of an API. heads: pool -> whether the store has its head. begun: pools with a generation."""

    def __init__(self, heads: dict[str, bool], begun: set[str]) -> None:
        self.heads, self.begun, self.answers = heads, begun, True
        self.asked: list[str] = []

    def answer(self, path: str) -> str:
        self.asked.append(path)
        if not self.answers:
            return ""
        if path.endswith("/generations"):
            return json.dumps({"serving": {"number": 1} if path.split("/")[3] in self.begun else None})
        start = int(path.rpartition("start=")[2])
        names = sorted(self.heads)
        pools = [{"pool": name, "head": {"position": 1} if self.heads[name] else None} for name in names[start : start + 2]]
        return json.dumps({"total": len(names), "pools": pools})


def test_pools_with_outcomes_are_waited_for() -> None:
    api = Api({"atari": False, "blitz": True, "empty": False, "rps": False}, begun={"atari", "blitz", "rps"})
    pools = KnownPools(api.answer)
    assert not pools.readable()
    assert pools.unread == ["atari", "rps"]
    api.heads["rps"] = True
    api.heads["new"] = False
    api.begun.add("new")
    assert not pools.readable()
    assert pools.unread == ["atari"]
    api.heads["atari"] = True
    assert pools.readable()
    assert sum(path.endswith("/generations") for path in api.asked) == 3, "pools are asked for once"


def test_an_installation_without_pools_is_readable_at_once() -> None:
    assert KnownPools(Api({}, set()).answer).readable()
    assert KnownPools(Api({"empty": False}, set()).answer).readable()


def test_an_api_that_does_not_answer_is_asked_again() -> None:
    api = Api({"atari": True}, begun={"atari"})
    pools = KnownPools(api.answer)
    api.answers = False
    assert not pools.readable()
    assert pools.unread is None
    api.answers = True
    assert pools.readable()

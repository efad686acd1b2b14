"""One installation for all examples of the docs, with the pools of `example_pools`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support import example_pools
from tests.support.example_pools import POOLS, TASK_POOLS, ExamplePool
from tests.support.installation import Installation, installation, until

_ALL: Final = (*POOLS, *TASK_POOLS)
_ARENA_METHODS: Final[dict[str, dict[str, float]]] = {
    "bradley_terry": {},
    "copeland": {},
    "maximal_lottery": {},
    "contextual_bradley_terry": {"prior": 1.0},
}


@contextmanager
def example_system(data: Path) -> Iterator[Installation]:
    """A running installation whose pools have their seasons, and boards of all methods that examples read."""
    example_pools.write(data)
    with installation(data) as one:
        until(lambda: all(one.outcomes(pool.name) >= pool.games for pool in _ALL), "the pools are folded")
        for number in range(max(len(pool.seasons) for pool in _ALL)):
            _start_seasons(one, number)
        _choose(one, "battles", {"methods": _ARENA_METHODS, "slices": {"language": ["bradley_terry"]}})
        changed = [
            {"agent": "Mia", "display_name": "Mia M.", "country": "DE"},
            {"agent": "Ada", "country": "DE"},
            {"agent": "Noah", "country": "SE"},
        ]
        assert one.request("PATCH", "/v1/pools/league/agents", changed)[0] == 200
        until(lambda: all(_solved(one, pool) for pool in TASK_POOLS), "all boards of the tasks count all games")
        yield one


def _start_seasons(one: Installation, number: int) -> None:
    """Start the season of this number in each pool that has it, and wait until the one before has its final boards."""
    pools = [pool for pool in _ALL if number < len(pool.seasons)]
    for pool in pools:
        name, start = pool.seasons[number]
        status, answer = one.post(f"/v1/pools/{pool.name}/seasons", {"name": name, "start": start, "keep": 0.0})
        assert status == 202, answer

    def begun() -> bool:
        seasons = [one.answer(f"/v1/pools/{pool.name}/seasons")["seasons"] for pool in pools]
        return all([season["status"] for season in found[number:]] == ["closed", "running"] for found in seasons)

    until(begun, f"season {number + 1} of {', '.join(pool.name for pool in pools)} has begun")


def _solved(one: Installation, pool: ExamplePool) -> bool:
    """Whether all boards of a pool, of its slices and its insight count all games."""
    names = [
        value["value"] for value in one.answer(f"/v1/pools/{pool.name}/slices")["dimensions"].get("language", {"values": []})["values"]
    ]
    parts = ["", *(f"&slice=language:{name}" for name in names)]
    found = [one.answer(f"/v1/pools/{pool.name}/boards?count=1{part}") for part in parts]
    wanted = _ARENA_METHODS.keys() if pool.name == "battles" else {"bradley_terry"}
    insight = one.get(f"/v1/pools/{pool.name}/insight")
    return (
        insight is not None
        and insight["position"] == pool.games
        and wanted <= set(found[0]["methods"]["solved"])
        and all(board["position"] == pool.games for answer in found for board in answer["boards"])
        and all("bradley_terry" in answer["methods"]["solved"] for answer in found)
    )


def _choose(one: Installation, pool: str, wanted: Any) -> None:
    status, answer = one.request("PUT", f"/v1/pools/{pool}/methods", wanted)
    assert status == 200, answer

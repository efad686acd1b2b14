"""What chaos sends: a seeded stream of records of several pools, with repeats, conflicts, retractions, and everything that is wrong on
purpose.
"""

import random
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from services.log.partition import partition_of
from services.wire.bulk.recognition import STREAM_START
from services.wire.pools import Kind

POOLS: Final[Mapping[str, Kind]] = {**{f"ladder-{i}": Kind.GAMES for i in range(6)}, "marks": Kind.SCORES}
GAMES: Final = [pool for pool, kind in POOLS.items() if kind is Kind.GAMES]
SLICES: Final[Mapping[str, Any]] = {"slices": {"map": ["elo", "sco"]}, "slice_values": 3}
"""Settings of the pools of games: the outcomes on each of the first three maps are a slice."""
_MAPS: Final = 5
_AGENTS: Final = 300
_TASKS: Final = 40
_REPEATABLE: Final = 500
_QUOTES: Final = 500_000
"""Escaped quotes of a string that nothing closes, in a record that is as large as one may be."""
_TOO_LARGE: Final = (1 << 20) + 1

_encode = msgspec.json.encode


class Sent(NamedTuple):
    """One record for the log. partition: None sends it home; refused: item (-1 for the record) -> reason of the dead letter it gives."""

    pool: str
    value: bytes
    outcomes: int = 1
    partition: int | None = None
    refused: Mapping[int, str] = {}


def traffic(seed: int, partitions: int) -> Iterator[Sent]:
    """Records without end. About 9 outcomes each; a few in a hundred are sent before, in conflict with one that was, or wrong."""
    draw, numbers = random.Random(f"chaos {seed}"), count()
    recent: list[Sent] = []
    while True:
        chance = draw.random()
        if recent and chance < 0.05:
            yield draw.choice(recent)
        elif chance < 0.07:
            yield _wrong(draw, next(numbers), partitions)
        elif recent and chance < 0.0715:
            yield _retraction(draw, draw.choice(recent), next(numbers))
        else:
            sent = _sound(draw, numbers)
            recent.append(sent)
            del recent[:-_REPEATABLE]
            yield sent


def _sound(draw: random.Random, numbers: Iterator[int]) -> Sent:
    pool = draw.choice(list(POOLS))
    if POOLS[pool] is Kind.SCORES:
        return Sent(pool, _encode(_scores(draw, pool, next(numbers))))
    if draw.random() < 0.7:
        return Sent(pool, _encode(_game(draw, pool, _identity(draw, numbers))))
    size = draw.randint(10, 50)
    return Sent(pool, _encode([_game(draw, pool, _identity(draw, numbers)) for _ in range(size)]), size)


def _identity(draw: random.Random, numbers: Iterator[int]) -> int:
    """A number of its own, or now and then an old one: two games of one id that differ are a conflict, and the first one counts."""
    number = next(numbers)
    return draw.randrange(number) if number and draw.random() < 0.01 else number


def _game(draw: random.Random, pool: str, number: int) -> dict[str, Any]:
    sizes = _sizes(draw)
    agents = [f"{pool}/agent {agent}" for agent in draw.sample(range(_AGENTS), sum(sizes))]
    numbers = range(1, len(sizes) + 1)
    places = draw.choices(numbers, k=len(sizes)) if draw.random() < 0.3 else draw.sample(numbers, len(sizes))
    sides = [{"agents": [agents.pop() for _ in range(size)], "place": place} for size, place in zip(sizes, places, strict=True)]
    return {"v": 1, "id": f"{pool}:{number}", "pool": pool, "time": 1.7e9 + number / 7, "sides": sides, **_weight(draw), **_tags(number)}


def _sizes(draw: random.Random) -> list[int]:
    """Agents of each side: most games are one against one, the others have teams, up to six sides, or both."""
    chance = draw.random()
    if chance < 0.6:
        return [1, 1]
    sides = 2 if chance < 0.75 else draw.randint(3, 6)
    return [1] * sides if 0.75 <= chance < 0.9 else [draw.randint(1, 4) for _ in range(sides)]


def _weight(draw: random.Random) -> dict[str, float]:
    """One outcome in four has a weight other than 1, which the API leaves out when it writes."""
    return {"weight": draw.choice([0.001, 0.5, 3.0, round(draw.uniform(1.001, 4.0), 3)])} if draw.random() < 0.25 else {}


def _tags(number: int) -> dict[str, Any]:
    """Two outcomes in three have a map, and some of them another tag. They depend on the number alone, not on the draw."""
    if number % 3 == 0:
        return {}
    return {"tags": {"map": f"map {number % _MAPS}", **({"mode": "blitz"} if number % 7 == 0 else {})}}


def fold_of(pool: str, **settings: Any) -> dict[str, Any]:
    """Settings of a pool, as the API takes them. settings: further settings."""
    return {**(SLICES if POOLS[pool] is Kind.GAMES else {}), **settings}


def _retraction(draw: random.Random, sent: Sent, number: int) -> Sent:
    """Of one of its outcomes, which may be sent again afterwards."""
    outcomes = msgspec.json.decode(sent.value)
    outcome = draw.choice(outcomes) if isinstance(outcomes, list) else outcomes
    taken = {"v": 1, "id": f"retraction {number}", "pool": sent.pool, "time": outcome["time"], "retracts": outcome["id"]}
    return Sent(sent.pool, _encode(taken), 0)


def _scores(draw: random.Random, pool: str, number: int) -> dict[str, Any]:
    scores = {f"model {agent}": draw.randint(0, 1000) / 8 for agent in draw.sample(range(30), 3)}
    task = f"task {draw.randrange(_TASKS)}"
    return {"v": 1, "id": f"{pool}:{number}", "pool": pool, "time": float(number), "task": task, "scores": scores, **_weight(draw)}


def _wrong(draw: random.Random, number: int, partitions: int) -> Sent:
    pool = draw.choice(GAMES)
    game = _game(draw, pool, number)
    match draw.randrange(40):
        case 0:
            return Sent(pool, _encode({**game, "meta": "y" * _TOO_LARGE}), 0, None, {-1: "too_large"})
        case kind if kind < 10:
            return Sent(pool, _encode(game)[:-3], 0, None, {-1: "unparsable"})
        case kind if kind < 13:
            return Sent(pool, b"\xff\xfe" + str(number).encode(), 0, None, {-1: "unparsable"})
        case 13:
            return Sent(pool, b'"%d' % number + b'\\"' * _QUOTES, 0, None, {-1: "unparsable"})
        case 14:
            return Sent(pool, STREAM_START + str(number).encode(), 0, None, {-1: "unparsable"})
        case kind if kind < 22:
            return Sent(pool, _encode([game, {**game, "id": f"bad {number}", "weight": -1}]), 1, None, {1: "bad_field"})
        case kind if kind < 28:
            return Sent(pool, _encode(_scores(draw, pool, number)), 0, None, {0: "wrong_kind"})
        case kind if kind < 34:
            elsewhere = (partition_of(pool, partitions) + 1) % partitions
            return Sent(pool, _encode(game), 0, elsewhere, {0: "wrong_partition"})
    return Sent("nobody-made-this", _encode({**game, "pool": "nobody-made-this"}), 0, None, {0: "unknown_pool"})

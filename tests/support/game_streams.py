"""Seeded streams of games, as plain data and as batches. Only integers are drawn, so a seed gives the same games on every machine."""

from typing import NamedTuple

import numpy as np

from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch


class Game(NamedTuple):
    """A game.

    Attributes:
        sides: (members, place) of each side; members are agent ids.
        weight: Weight in units of 2**-20.
        key: Two words in place of the hash of the game's id.
        time: Seconds since 1970.
    """

    sides: tuple[tuple[tuple[int, ...], int], ...]
    weight: int = WEIGHT_ONE
    key: tuple[int, int] = (1, 0)
    time: float = 0.0


def game(*members, places=None, weight=WEIGHT_ONE, key=(1, 0), time=0.0):
    """Make a game. members: sides, each an agent id or a tuple of ids; places: places of the sides; None for 1, 2, 3, ..."""
    teams = [m if isinstance(m, tuple) else (m,) for m in members]
    return Game(tuple(zip(teams, places or range(1, len(teams) + 1), strict=True)), weight, key, time)


def at_times(games, times):
    """Return `games` with these times, in seconds since 1970."""
    return [g._replace(time=float(time)) for g, time in zip(games, times, strict=True)]


def batch_of(games):
    """Return `games` as a batch of columns."""
    sides = [side for g in games for side in g.sides]
    return OutcomeBatch(
        side_start=np.cumsum([0] + [len(g.sides) for g in games], dtype=np.int64),
        place=np.array([place for _, place in sides], np.int32),
        agent_start=np.cumsum([0] + [len(members) for members, _ in sides], dtype=np.int64),
        agent=np.array([agent for members, _ in sides for agent in members], np.int32),
        weight=np.array([g.weight for g in games], np.int64),
        time=np.array([g.time for g in games], np.float64),
        task=np.full(len(games), -1, np.int32),
        key=np.array([g.key for g in games], np.uint64).reshape(-1, 2),
    )


def mixed_games(seed, n, agents=40):
    """Draw `n` games: half are one against one, the others have 7 single agents, or teams of equal or unequal size. Places may tie.

    Weights are 1 in half of the games, and from 0.001 to 8 in the others.
    """
    rng = np.random.default_rng(seed)
    return [_game_of(rng, agents)._replace(key=(seed, number)) for number in range(1, n + 1)]


def duels(seed, n, agents=40):
    """Draw `n` games of one against one. Places may tie; weights are as in `mixed_games`."""
    rng = np.random.default_rng(seed)
    return [_drawn(rng, agents, (1, 1))._replace(key=(seed, number)) for number in range(1, n + 1)]


SHAPES = ((1, 1), (1, 1), (1, 1), (1,) * 7, (2, 2), (1, 3, 2))


def _game_of(rng, agents):
    return _drawn(rng, agents, SHAPES[rng.integers(len(SHAPES))])


def _drawn(rng, agents, sizes):
    members = []
    while len(members) < sum(sizes):
        agent = int(rng.integers(agents))
        if agent not in members:
            members.append(agent)
    sides = []
    for size in sizes:
        sides.append((tuple(members[:size]), int(rng.integers(1, len(sizes) + 2))))
        members = members[size:]
    weight = WEIGHT_ONE if rng.integers(2) else int(rng.integers(1049, 8 * WEIGHT_ONE))
    return Game(tuple(sides), weight)

"""Games of teams, and the record of each agent in them, counted game by game."""

import random
from collections.abc import Iterable, Sequence

from services.wire.events import GameEvent, Side


def team_games(pool: str, count: int, sizes: Sequence[int] = (2, 2), agents: int = 12, seed: int = 0) -> list[GameEvent]:
    """Games between teams of these sizes. Each agent is drawn anew for each game; every fourth game or so has ties, and weights differ."""
    draw, games = random.Random(seed), list[GameEvent]()
    for number in range(count):
        drawn = [f"a{one}" for one in draw.sample(range(agents), sum(sizes))]
        places = [draw.randint(1, 2) for _ in sizes] if draw.random() < 0.25 else draw.sample(range(1, len(sizes) + 1), len(sizes))
        sides = [Side([drawn.pop() for _ in range(size)], place) for size, place in zip(sizes, places, strict=True)]
        weight = draw.choice([1.0, 1.0, 1.0, 0.5])
        games.append(GameEvent(v=1, id=f"t{number}", pool=pool, time=float(number), sides=sides, weight=weight))
    return games


def records(games: Iterable[GameEvent]) -> dict[str, dict[str, float]]:
    """Agent -> its games, wins, draws and losses by the place of its side, and how many of the games it played in a team."""
    found: dict[str, dict[str, float]] = {}
    for game in games:
        places = [side.place for side in game.sides]
        best = min(places)
        for side in game.sides:
            result = "losses" if side.place > best else "wins" if places.count(best) == 1 else "draws"
            for agent in side.agents:
                record = found.setdefault(agent, dict.fromkeys(("games", "wins", "draws", "losses", "team_games"), 0.0))
                record["games"] += game.weight
                record[result] += game.weight
                record["team_games"] += game.weight * (len(side.agents) > 1)
    return found

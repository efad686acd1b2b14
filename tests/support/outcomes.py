"""Games, as JSON of the wire schema and as events."""

from typing import Any

from services.wire.events import GameEvent, Side


def game(identity: str, *agents: str, pool: str = "p", time: float = 0.0, **fields: Any) -> dict[str, Any]:
    """A game as JSON. agents: one agent for each side, best first; fields: fields to add or replace."""
    sides = [{"agents": [agent], "place": place} for place, agent in enumerate(agents, 1)]
    return {"v": 1, "id": identity, "pool": pool, "time": time, "sides": sides, **fields}


def game_event(identity: str, *agents: str, pool: str = "p", time: float = 0.0) -> GameEvent:
    """A game as an event. agents: one agent for each side, best first."""
    return GameEvent(v=1, id=identity, pool=pool, time=time, sides=[Side([agent], place) for place, agent in enumerate(agents, 1)])

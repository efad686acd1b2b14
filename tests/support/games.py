"""Simulated games as JSON for the API."""

from typing import Any

import msgspec

from services.demo import simulated


def outcomes(start: int, stop: int) -> list[dict[str, Any]]:
    """Games from number `start` to before `stop`, with different ids."""
    games = [msgspec.to_builtins(simulated.game(i, float(i))) for i in range(start, stop)]
    return [{"v": 1, **{name: game[name] for name in ("pool", "id", "time", "sides")}} for game in games]

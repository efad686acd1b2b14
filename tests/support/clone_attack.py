"""The demo's clone attack on the Atari table, solved without an installation."""

from importlib.resources import files

import numpy as np

from ratings_core.problems.inputs import ScoresInput
from services.demo import clones
from services.solve.registry.methods import solve


def attacked(waves: int) -> ScoresInput:
    """Table of scores after the first `waves` waves of the attack, as the demo sends them."""
    table: dict[str, dict[str, float]] = {}
    for wave in clones.waves((files("services.demo") / "atari.csv").read_text(), 0.0)[:waves]:
        for event in wave.events:
            table.setdefault(event.task, {}).update(event.scores)
    agents = sorted({agent for scores in table.values() for agent in scores})
    return ScoresInput(tuple(agents), tuple(table), np.array([[scores[agent] for scores in table.values()] for agent in agents]))


def rated_after(waves: int, method: str, *, margins: str) -> list[tuple[str, float]]:
    """(agent, rating) of rated agents after the first `waves` waves, best first."""
    rows = solve(method, attacked(waves), {"margins": margins}).agents
    return [(row.agent, row.rating) for row in rows if row.rating is not None]

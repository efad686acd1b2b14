"""The demo's clone attack on the Atari table, solved on posterior margins: what 20 exact copies of an agent may move."""

from importlib.resources import files

import numpy as np
import pytest

from services.demo import clones
from services.solve.problems.inputs import ScoresInput
from services.solve.registry.methods import solve

FIRST = "r2d2(bandit)"
MOVED = {"maximal_lottery": (0.0, 0), "iterated_maximal_lotteries": (0.16, 2), "nash_average_agents": (0.15, 5)}
"""Largest move of a rating of an agent that was not copied, as a share of the spread before, and agents that changed places."""


def attacked(waves: int) -> ScoresInput:
    """The table after the first `waves` waves of the attack, as the demo sends them."""
    table: dict[str, dict[str, float]] = {}
    for wave in clones.waves((files("services.demo") / "atari.csv").read_text(), 0.0)[:waves]:
        for event in wave.events:
            table.setdefault(event.task, {}).update(event.scores)
    agents = sorted({agent for scores in table.values() for agent in scores})
    return ScoresInput(tuple(agents), tuple(table), np.array([[scores[agent] for scores in table.values()] for agent in agents]))


@pytest.mark.parametrize("method", MOVED)
def test_copies_of_an_agent_leave_the_winner_and_move_others_little(method: str) -> None:
    def standing(waves: int) -> list[tuple[str, float]]:
        rows = solve(method, attacked(waves), {"margins": "posterior"}).agents
        return [(row.agent, row.rating) for row in rows if row.rating is not None]

    before, after = standing(1), standing(2)
    assert len(after) == len(before) + clones.AGENT_COPIES
    assert before[0][0] == after[0][0] == FIRST
    moved, (share, places) = clones.moved(method, before, after), MOVED[method]
    assert moved.share <= share + 0.01
    assert moved.ranks <= places

"""The demo's clone attack on the Atari table, solved on posterior margins: what 20 exact copies of an agent may move."""

import pytest

from services.demo import clones
from tests.support.clone_attack import rated_after

FIRST = "r2d2(bandit)"
MOVED = {"maximal_lottery": (0.0, 0), "iterated_maximal_lotteries": (0.11, 10), "nash_average_agents": (0.27, 10)}
"""Largest move of a rating of an agent that was not copied, as a share of the spread before, and agents that changed places."""


@pytest.mark.parametrize("method", MOVED)
def test_copies_of_an_agent_leave_the_winner_and_move_others_little(method: str) -> None:
    before, after = (rated_after(waves, method, margins="posterior") for waves in (1, 2))
    assert len(after) == len(before) + clones.AGENT_COPIES
    assert before[0][0] == after[0][0] == FIRST
    moved, (share, places) = clones.moved(method, before, after), MOVED[method]
    assert moved.share <= share + 0.01
    assert moved.ranks <= places

"""Games from score tables: what is in them, and what the policies leave out."""

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.games.gamify import agent_vs_agent_vs_task, agent_vs_task

NAN = np.nan
SCORES = np.array([[1.0, 5.0, 2.0, 7.0], [3.0, NAN, 2.0, 9.0], [2.0, 6.0, 2.0, NAN]])
FULL = np.array([[1.0, 5.0, 2.0], [3.0, 4.0, 2.0]])
GAMES = [agent_vs_task, agent_vs_agent_vs_task]


def table_of(made):
    """The part of the table that a game was made from."""
    game = made.game
    return game.payoffs[0] if made.game.players[1] == "task" else game.scores


def test_an_agent_gets_what_the_task_loses():
    game = agent_vs_task(FULL, agents=["a", "b"], tasks=["x", "y", "z"]).game
    assert (game.payoffs[0] == FULL).all()
    assert (game.payoffs[1] == -FULL).all()
    assert game.strategies == (("a", "b"), ("x", "y", "z"))
    assert game.players == ("agent", "task")


def test_the_task_gets_the_difference_of_the_agents():
    game = agent_vs_agent_vs_task(FULL).game
    assert game.payoffs_at(np.array([[0, 1, 0], [1, 0, 1], [1, 1, 2]])).tolist() == [[-2, 2, 2], [-1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("gamify", GAMES)
def test_everything_is_kept_of_a_complete_table(gamify):
    for missing in ("refuse", "drop_tasks", "drop_agents"):
        made = gamify(FULL, missing=missing)
        assert (table_of(made) == FULL).all()
        assert made.agents.all()
        assert made.tasks.all()
        assert (made.dropped_agents.size, made.dropped_tasks.size, made.constant_tasks.size) == (0, 0, 0)


@pytest.mark.parametrize("gamify", GAMES)
def test_dropped_tasks_are_named(gamify):
    made = gamify(SCORES, missing="drop_tasks", tasks=tuple("wxyz"))
    assert (table_of(made) == SCORES[:, [0, 2]]).all()
    assert made.dropped_tasks.tolist() == [1, 3]
    assert made.game.strategies[-1] == ("w", "y")
    assert made.of_tasks(np.array([1.0, 2.0])) == pytest.approx([1, NAN, 2, NAN], nan_ok=True)


@pytest.mark.parametrize("gamify", GAMES)
def test_dropped_agents_are_named(gamify):
    made = gamify(SCORES, missing="drop_agents", agents=tuple("abc"))
    assert (table_of(made) == SCORES[[0]]).all()
    assert made.dropped_agents.tolist() == [1, 2]
    assert made.game.strategies[0] == ("a",)
    assert made.of_agents(np.array([5.0])) == pytest.approx([5, NAN, NAN], nan_ok=True)


@pytest.mark.parametrize("gamify", GAMES)
def test_min_max_puts_tasks_on_0_to_1_and_leaves_out_those_on_which_all_agree(gamify):
    made = gamify(SCORES, missing="drop_tasks", normalise="minmax")
    assert table_of(made).ravel() == pytest.approx([0, 1, 0.5])
    assert made.constant_tasks.tolist() == [2]
    assert made.dropped_tasks.tolist() == [1, 3]
    assert made.tasks.tolist() == [True, False, False, False]


@pytest.mark.parametrize("gamify", GAMES)
@pytest.mark.parametrize(
    ("scores", "options", "argument"),
    [
        (SCORES, {}, r"scores\[1, 1\]"),
        ([], {}, "scores"),
        ([1.0], {}, "scores"),
        ([[np.inf]], {}, r"scores\[0, 0\]"),
        ([["a"]], {}, "scores"),
        (np.full((2, 2), NAN), {"missing": "drop_tasks"}, "missing"),
        (np.full((2, 2), NAN), {"missing": "drop_agents"}, "missing"),
        (FULL, {"missing": "guess"}, "missing"),
        (FULL, {"normalise": "zscore"}, "normalise"),
        (np.ones((2, 2)), {"normalise": "minmax"}, "normalise"),
        (FULL, {"agents": ["a"]}, "agents"),
        (FULL, {"tasks": ["a", "b", "a"]}, "tasks"),
    ],
)
def test_bad_tables_and_policies_are_refused(gamify, scores, options, argument):
    with pytest.raises(InputError, match=argument):
        gamify(scores, **options)


@pytest.mark.parametrize("gamify", GAMES)
def test_the_callers_scores_are_left_alone(gamify):
    scores = FULL.copy()
    scores.flags.writeable = False
    gamify(scores, normalise="minmax")
    assert (scores == FULL).all()

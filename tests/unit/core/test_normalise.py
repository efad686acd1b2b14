"""Normalisers: their definitions, cells not measured, what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.games import agent_vs_task
from ratings_core.games.normalise import normalised

NAN = np.nan
ALL = ["none", "minmax", "z", "rank", "winrate"]


@st.composite
def tables(draw):
    agents, tasks = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    table = rng.integers(0, 4, (agents, tasks)).astype(float)
    table[1:][rng.random((agents - 1, tasks)) < 0.3] = NAN
    return np.column_stack([table, np.arange(agents)])  # a task on which all differ


def by_loops(column, how):
    """The definitions, over the agents measured."""
    own = [x for x in column if not np.isnan(x)]
    levels = sorted(set(own))
    rules = {
        "none": lambda x: x,
        "minmax": lambda x: (x - min(own)) / (max(own) - min(own)),
        "z": lambda x: (x - np.mean(own)) / np.std(own),
        "rank": lambda x: levels.index(x) / (len(levels) - 1),
        "winrate": lambda x: (sum(y < x for y in own) + (sum(y == x for y in own) - 1) / 2) / (len(own) - 1) if len(own) > 1 else 0.5,
    }
    return [NAN if np.isnan(x) else rules[how](x) for x in column]


@pytest.mark.parametrize("how", ALL)
@given(tables())
def test_they_are_their_definitions(how, table):
    found, defined = normalised(table, how)
    assert defined[-1]
    assert found.shape == (len(table), defined.sum())
    for own, wanted in zip(found.T, table.T[defined], strict=True):
        assert own == pytest.approx(by_loops(wanted, how), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("how", ["minmax", "z", "rank"])
def test_tasks_on_which_all_agree_have_no_scale(how):
    found, defined = normalised(np.array([[1.0, 0.1], [2.0, 0.1], [2.0, 0.1]]), how)
    assert defined.tolist() == [True, False]
    assert found.shape == (3, 1)
    with pytest.raises(InputError, match="normalise"):
        normalised(np.ones((2, 3)), how)


def test_on_which_nobody_wins_more_than_half():
    assert normalised(np.ones((3, 1)), "winrate")[0].tolist() == [[0.5]] * 3


@pytest.mark.parametrize("how", ["minmax", "z", "rank", "winrate"])
@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0), (1e6, 1e7), (3, -1e9)])
def test_the_unit_of_a_task_does_not_matter(how, scale, shift):
    table = np.random.default_rng(0).integers(0, 99, (7, 3)).astype(float)
    assert normalised(table * scale + shift, how)[0] == pytest.approx(normalised(table, how)[0], abs=1e-6)


@pytest.mark.parametrize("how", ALL)
def test_merged_before_copies_do_not_move_the_others(how):
    table = np.random.default_rng(1).integers(0, 5, (5, 4)).astype(float)
    ids = [0, 1, 1, 1, 1, 2, 3, 4]
    plain, copied = agent_vs_task(table, normalise=how), agent_vs_task(table[ids], normalise=how)
    assert copied.game.payoffs[0] == pytest.approx(plain.game.payoffs[0])
    assert copied.agent_side.at.tolist() == [plain.agent_side.at[i] for i in ids]
    moved = agent_vs_task(table[ids], normalise=how, merge=False).game.payoffs[0][[0, 1, 5, 6, 7]]
    assert (moved == pytest.approx(plain.game.payoffs[0])) == (how not in ("z", "winrate"))


def test_another_word_is_refused():
    with pytest.raises(InputError, match="normalise"):
        normalised(np.eye(2), "zscore")

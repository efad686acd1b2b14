"""Published Nash averages: Balduzzi et al. 2018, Examples 1 and 2 and Appendix F; the Atari table of Marris et al."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ratings_core.equilibria import nash_average, nash_average_agents
from ratings_core.games import ZeroSumOptions

GOLDEN = Path(__file__).parents[2] / "golden"
EXAMPLE_1 = json.loads((GOLDEN / "nash_averaging/example1.json").read_text())
EXAMPLE_2 = json.loads((GOLDEN / "nash_averaging/example2.json").read_text())
APPENDIX_F = json.loads((GOLDEN / "nash_averaging/appendixF.json").read_text())
CLOSED_FORM = list(csv.DictReader((GOLDEN / "nash_averaging/example2_closed_form.csv").read_text().splitlines()))
ATARI = json.loads((GOLDEN / "deviation/atari_2p_nash_computed.json").read_text())
ATARI_TABLE = list(csv.reader((GOLDEN / "deviation/atari_table3.csv").read_text().splitlines()))


def test_the_cases_are_all_there():
    assert len(CLOSED_FORM) == 10
    assert (len(ATARI_TABLE), len(ATARI_TABLE[0])) == (54, 21)


@pytest.mark.parametrize("name", ["A", "A_prime"])
def test_example_1_where_a_clone_moves_the_uniform_average_but_not_this_one(name):
    found = nash_average_agents(EXAMPLE_1[name])
    mix = [float(Fraction(share)) for share in EXAMPLE_1[f"maxent_nash_{name}"]]
    assert found.agent_dist == pytest.approx(mix, abs=1e-9)
    assert found.ratings == pytest.approx(EXAMPLE_1[f"nash_average_{name}"], abs=1e-9)


def test_example_1_has_the_same_entropy_without_merging():
    """Here the equilibria's entropy does not depend on the clone, so the published even split needs no merging."""
    mix = [float(Fraction(share)) for share in EXAMPLE_1["maxent_nash_A_prime"]]
    assert nash_average_agents(EXAMPLE_1["A_prime"], options=ZeroSumOptions(merge=False)).agent_dist == pytest.approx(mix, abs=1e-9)


@pytest.mark.parametrize("row", CLOSED_FORM, ids=lambda row: row["eps"])
def test_example_2_along_its_closed_form(row):
    eps = float(row["eps"])
    found = nash_average_agents(np.array(EXAMPLE_2["C"]) + eps * np.array(EXAMPLE_2["T"]))
    assert found.agent_dist == pytest.approx([float(row[f"p{i}"]) for i in (1, 2, 3)], abs=1e-9)
    assert found.ratings == pytest.approx([float(row[f"n{i}"]) for i in (1, 2, 3)], abs=1e-9)


def test_example_2_at_its_jump_has_a_segment_of_equilibria():
    found = nash_average_agents(np.array(EXAMPLE_2["C"]) + 0.5 * np.array(EXAMPLE_2["T"]))
    assert not found.unique
    assert found.agent_dist[1] == 0


@pytest.mark.parametrize("name", ["T", "C"])
def test_appendix_f(name):
    found = nash_average_agents(APPENDIX_F[name])
    assert found.agent_dist == pytest.approx(APPENDIX_F[f"maxent_{name}"], abs=1e-9)
    assert found.ratings == pytest.approx(APPENDIX_F[f"nash_average_{name}"], abs=1e-9)


def atari():
    scores = np.array([[float(score) for score in row[1:]] for row in ATARI_TABLE[1:]]).T
    return ATARI_TABLE[0][1:], [row[0] for row in ATARI_TABLE[1:]], scores


def test_atari_has_the_value_and_mixes_computed_from_the_published_table():
    agents, tasks, scores = atari()
    found = nash_average(scores)
    assert found.value == pytest.approx(ATARI["value"], abs=1e-9)
    assert found.agent_dist == pytest.approx([ATARI["agent_dist"].get(agent, 0.0) for agent in agents], abs=1e-6)
    assert found.task_dist == pytest.approx([ATARI["task_dist"].get(task, 0.0) for task in tasks], abs=1e-6)
    assert found.agent_unique
    assert found.task_unique


def test_exactly_four_atari_agents_tie_on_top():
    agents, _, scores = atari()
    ratings = nash_average(scores).ratings
    top = {agents[i] for i in np.flatnonzero(ratings > ratings.max() - 1e-7)}
    assert top == {"r2d2(bandit)", "agent57", "muzero", "r2d2"}


def test_atari_ratings_less_the_value_are_the_deviation_ratings():
    """Where the equilibrium is the only one the two methods agree; the other one's ratings come from another program."""
    agents, tasks, scores = atari()
    rows = csv.DictReader((GOLDEN / "deviation/atari_deviation_2p_computed.csv").read_text().splitlines())
    expected = {(row["player"], row["strategy"]): float(row["rating"]) for row in rows}
    assert len(expected) == len(agents) + len(tasks) == 73
    found = nash_average(scores)
    assert found.ratings - found.value == pytest.approx([expected["agent", agent] for agent in agents], abs=1e-7)
    assert found.task_ratings + found.value == pytest.approx([expected["task", task] for task in tasks], abs=1e-7)

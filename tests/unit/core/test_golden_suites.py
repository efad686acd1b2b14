"""Golden cases, counted; what a redundant task does to averages, and a cycle that no Elo can say (Balduzzi et al. 2018)."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.equilibria import nash_average, nash_average_agents, uniform
from ratings_core.games import agent_vs_task
from tests.support.shared import shared_file

GOLDEN = Path(__file__).parents[2] / "golden"
SUITES = list(csv.DictReader((GOLDEN / "nash_averaging/benchmark_suites.csv").read_text().splitlines()))
CYCLE = json.loads((GOLDEN / "nash_averaging/alphago3.json").read_text())
CASES = {
    "deviation": {"atari_2p_nash_computed.json", "atari_deviation_2p_computed.csv", "atari_table3.csv", "shapley.json"},
    "nash_averaging": {"alphago3.json", "appendixF.json", "benchmark_suites.csv", "elo_clones.json", "example1.json", "example2.json"}
    | {"example2_closed_form.csv", "melo2_update.json"},
    "equilibrium": {"affinity_rbf_computed.json", "clone_affinity_entropy.csv", "king_of_the_hill_toy.json"}
    | {"two_action_clone_example.json"},
    "vase": {"clone_elo_fig2.csv", "clone_elo_fig2_published.json", "pentathlon.json", "prompt_profiles_reconstructed.json"}
    | {"prompt_table17_published.csv", "properties_tables1_4.json"},
    "sco": {"diplomacy_published.json", "e3_true_skills.json", "eq11_profile.json", "kendall_discrete_loss.json"}
    | {"missing_data_sec43.csv", "sec43_parameters.json", "table2_preflib_published.csv"},
}
TASKS = {"1": ["t1", "t2", "t3a"], "2": ["t1", "t2", "t3a", "t3b"]}


def scores(suite):
    return np.array([[float(row[task]) for task in TASKS[suite]] for row in SUITES if row["suite"] == suite])


def column(suite, name):
    return [float(row[name]) for row in SUITES if row["suite"] == suite]


@pytest.mark.parametrize("folder", CASES)
def test_every_case_is_carried_and_used(folder):
    assert {path.name for path in (GOLDEN / folder).iterdir()} == CASES[folder] | {"SOURCE.md"}
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name)
    here = Path(__file__).read_text().partition("CASES = ")[0]
    assert [name for name in CASES[folder] if name not in tests + here] == []


@pytest.mark.parametrize("folder", CASES)
def test_there_are_no_others(folder):
    assert {path.name for path in shared_file(f"golden/{folder}").iterdir()} == CASES[folder]


@pytest.mark.parametrize("suite", TASKS)
def test_averages_of_the_suites_are_the_published_ones(suite):
    ratings = uniform(agent_vs_task(scores(suite)).game).ratings
    assert len(ratings) == 3
    assert ratings == pytest.approx(column(suite, "average_exact"), abs=1e-12)
    assert np.floor(ratings + 0.5) == pytest.approx(column(suite, "average_printed"))


def test_a_redundant_task_overturns_averages_but_hardly_moves_nash_averages():
    """The best by average becomes the worst; Nash averages of the two suites differ by less than the two like tasks do."""
    first, second = (np.array(column(suite, "average_exact")) for suite in TASKS)
    assert (np.argsort(-first).tolist(), np.argsort(-second).tolist()) == ([0, 1, 2], [2, 1, 0])
    before, after = nash_average(scores("1")).ratings, nash_average(scores("2")).ratings
    alike = np.abs(scores("2")[:, 2] - scores("2")[:, 3]).max()
    assert np.abs(after - before).max() <= alike
    assert np.abs(nash_average(scores("1")[:, [0, 1, 2, 2]]).ratings - before).max() <= 1e-9


def test_elo_of_three_agents_in_a_cycle_is_wrong_about_who_beats_whom():
    wins = np.nan_to_num(np.array(CYCLE["empirical"], float))
    fitted = bradley_terry(wins)
    chances = np.array([[fitted.expected_score(a, b) for b in range(3)] for a in range(3)])
    assert chances == pytest.approx(np.array(CYCLE["elo_fit_on_these_3_only_computed"]), abs=1e-4)
    assert (chances[0, 1] < 0.5 < wins[0, 1], chances[0, 2] > 0.5 > wins[0, 2]) == (True, True)
    found = nash_average_agents(wins - wins.T)
    assert (found.agent_dist > 0).all(), "all three are needed to answer each other"
    assert found.ratings == pytest.approx(np.zeros(3), abs=1e-9)


def test_the_published_fits_are_chances_but_for_one_misprint():
    off = ~np.eye(3, dtype=bool)
    for name, wrong in (("elo_published_fit_on_8_agents", 0), ("mElo2_published_fit_on_8_agents", 2)):
        table = np.array(CYCLE[name], float)
        assert np.count_nonzero(np.abs((table + table.T)[off] - 1) > 1e-9) == wrong

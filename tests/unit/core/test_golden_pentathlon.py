"""The pentathlon of VasE (fig. 1 and 4, app. B and C.2): Copeland finds the Condorcet winner, Elo ties it with another."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.voting.copeland import CondorcetWinners, condorcet_winners, copeland

GOLDEN = Path(__file__).parents[2] / "golden"
CASE = json.loads((GOLDEN / "vase" / "pentathlon.json").read_text())
NAMES = CASE["alternatives"]
N = np.array(CASE["N"])


def test_the_published_tallies_are_those_of_the_votes():
    counted = np.zeros((3, 3), int)
    for vote in CASE["votes"]:
        order = [NAMES.index(name) for name in vote["ranking"]]
        for place, agent in enumerate(order):
            counted[agent, order[place + 1 :]] += vote["weight"]
    assert (counted == N).all()
    assert (np.array(CASE["M"]) == N - N.T).all()


def test_copeland():
    solved = copeland(CASE["M"])
    assert dict(zip(NAMES, solved.ratings.tolist(), strict=True)) == CASE["copeland"]
    assert solved.ranking.order(NAMES) == CASE["ranking_all_condorcet_methods_and_stv"]


def test_condorcet_winner():
    assert condorcet_winners(CASE["M"]) == CondorcetWinners(strong=2, weak=(2,))
    assert NAMES[2] == CASE["condorcet_winner_strong"]


def test_elo():
    ratings = dict(zip(NAMES, bradley_terry(N).ratings.tolist(), strict=True))
    relative = {name: ratings[name] - ratings["B"] for name in NAMES}
    assert relative == pytest.approx({name: CASE["elo_mle_computed"][name] for name in NAMES}, abs=1e-9)
    assert relative["A"] == pytest.approx(400 * math.log10(7 / 3), abs=1e-9)


def test_elo_of_the_soft_condorcet_example_prefers_the_wrong_agent():
    """SCO, eq. 11: Elo's order is A, C, B though C is the strong Condorcet winner."""
    case = json.loads((GOLDEN / "sco" / "eq11_profile.json").read_text())
    ratings = bradley_terry(case["N"]).ratings
    published = [case["elo_mle_computed_relative_to_bottom"][name] for name in "ABC"]
    assert ratings - ratings.min() == pytest.approx(published, abs=1e-8)
    assert ["ABC"[agent] for agent in np.argsort(-ratings)] == case["elo_order"]
    assert condorcet_winners(case["M"]).strong == "ABC".index(case["condorcet_winner_strong"])

"""What copies of an agent do to Elo: published cases of Balduzzi et al. 2018 (app. A) and of VasE (fig. 2)."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry

GOLDEN = Path(__file__).parents[2] / "golden"


def off_diagonal(probabilities):
    return np.array(probabilities) * (1 - np.eye(len(probabilities)))


def beats(copies):
    """A, `copies` of B, C, each pair meeting equally often; p(A, B) = .55, p(B, C) = .52, p(A, C) = .9."""
    m = copies + 2
    wins = np.full((m, m), 0.5)
    wins[0, 1:-1], wins[1:-1, 0] = 0.55, 0.45
    wins[1:-1, -1], wins[-1, 1:-1] = 0.52, 0.48
    wins[0, -1], wins[-1, 0] = 0.9, 0.1
    return off_diagonal(wins)


def test_a_clone_moves_the_ratings_of_a_cycle():
    case = json.loads((GOLDEN / "nash_averaging" / "elo_clones.json").read_text())
    assert bradley_terry(off_diagonal(case["P3"]), options=BradleyTerryOptions(centre=0.0)).ratings == pytest.approx(
        case["elo3"], abs=1e-10
    )
    assert bradley_terry(off_diagonal(case["P4"]), options=BradleyTerryOptions(centre=0.0)).ratings == pytest.approx(
        case["elo4_mle_computed"], abs=1e-9
    )


def test_the_error_of_elo_grows_with_the_copies():
    rows = list(csv.DictReader((GOLDEN / "vase" / "clone_elo_fig2.csv").read_text().splitlines()))
    assert len(rows) == 10
    for row in rows:
        solved = bradley_terry(beats(int(row["n_copies_of_B"])))
        last = len(solved.ratings) - 1
        assert solved.ratings[0] - solved.ratings[last] == pytest.approx(float(row["rA_minus_rC"]), abs=1e-8)
        assert solved.ratings[0] - solved.ratings[1] == pytest.approx(float(row["rA_minus_rB"]), abs=1e-8)
        assert solved.expected_score(0, last) == pytest.approx(float(row["phat_AC"]), abs=1e-8)
    assert solved.ratings[0] - solved.ratings[last] == pytest.approx(87.6, abs=0.05)
    assert solved.expected_score(0, last) == pytest.approx(0.6235, abs=5e-5)
    printed = json.loads((GOLDEN / "vase" / "clone_elo_fig2_published.json").read_text())
    assert {"rA_minus_rC": solved.ratings[0] - solved.ratings[last], "phat_AC": solved.expected_score(0, last)} == pytest.approx(
        printed["computed_mle"], abs=1e-5
    )
    assert 1 / (1 + 10 ** (-printed["rA_minus_rC_published"] / 400)) == pytest.approx(0.637, abs=5e-4)
    assert printed["phat_AC_published"] == 0.631, "the two printed numbers contradict each other"

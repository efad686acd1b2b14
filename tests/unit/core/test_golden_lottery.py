"""Published lotteries: the pentathlon of Lanctot et al. 2023 (App. B, C.2.9) and the subgame of their Figure 12."""

import json
from pathlib import Path

import numpy as np
import pytest

from ratings_core.voting.lotteries import iterated_maximal_lotteries, maximal_lottery

PENTATHLON = json.loads((Path(__file__).parents[2] / "golden/vase/pentathlon.json").read_text())
NAMES = PENTATHLON["alternatives"]


def test_the_pentathlons_lottery():
    found = maximal_lottery(PENTATHLON["M"])
    assert dict(zip(NAMES, found.lottery, strict=True)) == PENTATHLON["maximal_lottery"]


def test_the_pentathlons_levels_and_scores():
    found = iterated_maximal_lotteries(PENTATHLON["M"])
    levels = [{NAMES[a]: p for a, p in zip(level.agents, level.lottery, strict=True)} for level in found.levels]
    assert levels == PENTATHLON["iml_levels"]
    assert dict(zip(NAMES, found.ratings, strict=True)) == PENTATHLON["iml_score"]


def test_the_level_of_figure_12():
    """Three agents whose margins the expected values printed with the figure give: 2, 2 and 20 around a cycle."""
    M = np.array([[0, -2, 2], [2, 0, -20], [-2, 20, 0]], float)
    assert maximal_lottery(M).lottery == pytest.approx([0.8333, 0.0833, 0.0833], abs=1e-4)

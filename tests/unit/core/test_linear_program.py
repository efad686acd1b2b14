"""HiGHS prints nothing, in every version: standard output belongs to the command's results."""

import re
import subprocess
import sys
from pathlib import Path

import highspy
import pytest

from ratings_core.errors import SolverError
from ratings_core.games.linear_program import SilentHighs, new_model, silent_packages
from tests.support.syntax import source

ROOT = Path(__file__).parents[3]
SOLVES = """
import numpy as np
from scipy import sparse
from ratings_core.analysis.flips import flip_to
from ratings_core.equilibria.master import Master
from ratings_core.games.membership import playable
from ratings_core.games.sparse_symmetric import _by_program
from ratings_core.voting.profile import Profile
from ratings_core.voting.kemeny_cuts import bounded_order

cycle = np.array([[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]])
playable(np.zeros((2, 2)), np.array([True, False]), np.array([False, True]))
_by_program(sparse.csr_array(cycle), 1e-6, 100)
bounded_order(cycle, [0, 1, 2], 10)
flip_to(Profile.from_orders([[0, 1, 2], [0, 1, 2]]), 2)
master = Master(3)
master.add(cycle)
master.solve()
"""


def test_solves_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """In a fresh process, because HiGHS prints its banner once a process."""
    subprocess.run([sys.executable, "-c", SOLVES], cwd=ROOT, check=True)
    assert capfd.readouterr() == ("", "")


def test_no_other_class_makes_models() -> None:
    files = [path for package in ("ratings_core", "services", "benchmarks") for path in sorted((ROOT / package).rglob("*.py"))]
    assert [str(path) for path in files if re.search(r"\bHighs\(\)", source(path))] == []


def test_a_rejected_option_is_named() -> None:
    with pytest.raises(SolverError, match="HiGHS rejects the option solver=none"):
        new_model({"solver": "none"})


def test_other_packages_get_their_class_back() -> None:
    original = highspy.Highs
    with silent_packages():
        assert highspy.Highs is SilentHighs
    assert highspy.Highs is original

"""CONTRIBUTING, measured: a toy rater is added to a copy of the project by its steps, and passes all laws."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = "win_points"
RATER = '''"""A toy: a fixed number of points for each win, taken from the loser."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import number
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.online.games import NO_KEYS, Scoring, scoring
from ratings_core.online.pairwise import Keys, fold_pairs, no_noise
from ratings_core.online.plain import PlainRater
from ratings_core.online.prequential import Prequential
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, tracing
from ratings_core.records.games import GameColumns, games_of
from ratings_core.records.outcomes import OutcomeBatch


@dataclass(frozen=True)
class WinPoints(PlainRater):
    """Each pair of an outcome moves `points` times weight, divided by the number of opponents; a tie moves nothing.

    points: 0 to 1e6. start: rating before any outcome. Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "win_points"

    points: float = 3.0
    start: float = 0.0

    def __post_init__(self) -> None:
        self._set("points", number("points", self.points, low=0.0, high=1e6))
        self._set("start", number("start", self.start, low=-1e9, high=1e9))

    def fold(
        self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None
    ) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` says."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        self.grow(state, n)
        _fold(state.rating, state.outcomes, games, NO_KEYS, self._slope, self.points, scoring(score, games), traced)

    @property
    def _slope(self) -> float:
        return 0.01


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, key: Keys, slope: float, points: float, scoring: Scoring,
    trace: Tracing,
) -> None:  # fmt: skip
    fold_pairs(rating, outcomes, games, key, slope, points, scoring, trace, no_noise, _push, _moved)


@inlined
def _push(_points: float, _x: float, result: float, _luck: float) -> float:
    return result - 0.5


@inlined
def _moved(points: float, rating: float, _outcomes: int, weight: float, opponents: int, _members: int, push: float) -> float:
    return rating + points * weight / opponents * push
'''
TWIN = """

def win_points_twin(rater, games):
    book = Book(rater.start)
    for game in games:
        weight = game.weight / WEIGHT_ONE
        means = [book.side(members) for members, _ in game.sides]
        gains = [0.0] * len(means)
        for i, (_, place) in enumerate(game.sides):
            for j, (_, other) in enumerate(game.sides):
                if i != j:
                    gains[i] += result_between(place, other) - 0.5
                if i < j:
                    book.predicted(0.01 * (means[i] - means[j]), result_between(place, other), weight)
        for (members, _), gain in zip(game.sides, gains, strict=True):
            for member in members:
                book.rating[member] += rater.points * weight / (len(means) - 1) * gain
                book.outcomes[member] = book.outcomes.get(member, 0) + 1
        book.settle()
    return book
"""
SECTION = """### win_points

**Answers.** Who has more points.

**Takes.** Games.

<!-- parameters of win_points -->
<!-- end -->

`points` is what a win moves, `start` the rating before any outcome.

**Certificate.** None.

**Holds.** Nothing.

**Does not hold.** Everything else.

**Source.** None.

**Departures.** None.

**Reproduce.** No table of the five papers. Compared with its twin: `python -m pytest tests/unit/core/test_online_laws.py`.

"""


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{file.name} has no {old!r}: adapt this test, and the step in CONTRIBUTING.md"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that git knows, and those of them that changed."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\n"):
        if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def add_rater(root: Path) -> None:
    """Steps 1, 2 and 5 of "Add an online rater", twin and subject of step 3, and the line of `SETTINGS` of step 4."""
    online, tests, docs = root / "ratings_core/online", root / "tests", root / "docs"
    (online / f"{NAME}.py").write_text(RATER)
    last = "from ratings_core.online.weng_lin"
    replaced(online / "__init__.py", last, f"from ratings_core.online.win_points import WinPoints\n{last}")
    replaced(online / "__init__.py", "for rater in (", "for rater in (WinPoints, ")
    replaced(online / "__init__.py", '"RATERS",', '"RATERS", "WinPoints",')
    with (tests / "support/online_twins.py").open("a") as file:
        file.write(TWIN)
    subjects = tests / "support/online_subjects.py"
    replaced(subjects, "SUBJECTS = [\n", "SUBJECTS = [\n    pytest.param(WinPoints(), win_points_twin, id='win-points'),\n")
    for module, name in (("ratings_core.online", "WinPoints"), ("tests.support.online_twins", "win_points_twin")):
        replaced(subjects, f"from {module} import ", f"from {module} import {name}\nfrom {module} import ")
    replaced(tests / "unit/shard/test_online_methods.py", '    "sco": {},\n', '    "sco": {},\n    "win_points": {"points": 2.0},\n')
    methods = docs / "reference" / "methods.md"
    row = re.search(r"^\| \[sco\]\(#sco\).*$", methods.read_text(encoding="utf-8"), re.MULTILINE)
    assert row
    replaced(methods, row[0], f"{row[0]}\n{row[0].replace('sco', NAME)}")
    replaced(methods, "### fenchel_young\n", f"{SECTION}### fenchel_young\n")
    library = docs / "guides" / "library.md"
    row_of_sco = "| `sco` | `ratings_core.online.Sco`"
    replaced(library, row_of_sco, f"| `{NAME}` | `ratings_core.online.WinPoints` | the same |\n{row_of_sco}")


def test_a_rater_that_is_added_by_the_steps_passes_every_law(copy: Path) -> None:
    add_rater(copy)
    subprocess.run([sys.executable, "scripts/reference"], cwd=copy, check=True, timeout=300)
    chosen = ["tests/unit/core/test_online_laws.py", "tests/unit/shard/test_online_methods.py", "tests/unit/docs/test_docs.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "win_points or win-points or every_method or every_rater or table", *chosen],
        cwd=copy, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed
    assert int(passed[1]) >= 15, ran.stdout[-500:]

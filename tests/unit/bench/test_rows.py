"""Rows of `equirank bench`: ratios, exponents, marks beside an earlier run, the files, and the page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bench.comparing import marks
from benchmarks.bench.measure import difference_of
from benchmarks.bench.pages import page
from benchmarks.bench.rows import Results, Row, Scaling
from ratings_core.errors import InputError

ROW = Row("elo", "evalica elo", 1_000, ours=0.5, theirs=2.0, difference=1e-12, tolerance=1e-6, compared="ratings in points")
OTHER_MODEL = replace(ROW, peer="trueskill", tolerance=None, difference=0.2, why="another likelihood")
FAILED = Row("elo", "absent", 1_000, error="ModuleNotFoundError: No module named 'absent'", tolerance=1e-6)


def results(*rows, scaling=(), quick=False):
    return Results(quick, {"cores": 2}, {"ours": {"numpy": "2"}}, rows, scaling)


def test_a_ratio_is_the_peers_seconds_over_ours():
    assert ROW.ratio == 4.0
    assert FAILED.ratio is None


def test_values_are_equal_within_the_tolerance_and_have_no_verdict_for_another_model():
    assert ROW.equal is True
    assert replace(ROW, difference=1e-3).equal is False
    assert replace(ROW, difference=float("inf")).equal is False
    assert OTHER_MODEL.equal is None
    assert FAILED.equal is None


def test_the_exponent_is_the_slope_of_logarithms():
    sizes = (10, 100, 1_000)
    assert Scaling("elo", "games", sizes, tuple(3e-6 * n**1.5 for n in sizes)).exponent == pytest.approx(1.5)
    assert Scaling("elo", "games", (10,), (1.0,)).exponent is None


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([1.0, np.nan], [1.5, np.nan], 0.5),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0, 2.0], [1.0], np.inf),
        ([], [], 0.0),
    ],
)
def test_the_difference_is_the_largest_and_nan_equals_only_nan(ours, theirs, expected):
    assert difference_of({"x": np.array(ours)}, {"x": np.array(theirs)}, ordered=False) == expected


def test_values_without_a_common_name_differ():
    assert difference_of({"x": np.ones(2)}, {"y": np.ones(2)}, ordered=False) == np.inf


def test_the_order_is_compared_by_kendalls_tau():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0])
    assert difference_of({"x": a}, {"x": a * 7}, ordered=True) == pytest.approx(0.0)
    assert difference_of({"x": a}, {"x": b}, ordered=True) == pytest.approx(1 - 1 / 3)


def test_marks_compare_ratios_and_not_seconds():
    slow_machine = replace(ROW, ours=5.0, theirs=20.0)
    assert [mark.word for mark in marks(results(ROW), results(slow_machine), ["elo"])] == ["same"]


@pytest.mark.parametrize(
    ("before", "now", "word", "regression"),
    [
        (ROW, replace(ROW, ours=1.0), "slower", True),
        (ROW, replace(ROW, ours=0.7), "same", False),
        (ROW, replace(ROW, ours=0.2), "faster", False),
        (ROW, replace(ROW, difference=0.1), "value", True),
        (ROW, replace(ROW, ours=None, theirs=None, difference=None, error="ended"), "failed", True),
        (replace(ROW, error="ended"), ROW, "new", False),
        (OTHER_MODEL, OTHER_MODEL, "same", False),
        (FAILED, FAILED, "same", False),
        (replace(ROW, size=7), ROW, "new", False),
    ],
)
def test_what_a_mark_says(before, now, word, regression):
    mark = marks(results(before), results(now), ["elo"])[0]
    assert (mark.word, mark.regression) == (word, regression)


def test_the_margin_is_a_factor_of_the_ratio():
    wide = marks(results(ROW), results(replace(ROW, ours=1.0)), ["elo"], margin=3.0)
    assert [mark.word for mark in wide] == ["same"]


def test_a_row_that_only_the_earlier_run_has_is_gone_if_its_task_ran():
    words = {tasks: [mark.word for mark in marks(results(ROW), results(), list(tasks))] for tasks in (("elo",), ("csv",))}
    assert words == {("elo",): ["gone"], ("csv",): []}


def test_results_survive_their_file_and_other_readers_find_ratios_and_exponents(tmp_path):
    scaling = Scaling("elo", "games", (10, 100), (1.0, 10.0))
    before = results(ROW, OTHER_MODEL, FAILED, scaling=(scaling,))
    before.write(tmp_path / "bench.json")
    assert Results.read(tmp_path / "bench.json") == before
    written = json.loads((tmp_path / "bench.json").read_text())
    assert [row["ratio"] for row in written["rows"]] == [4.0, 4.0, None]
    assert written["scaling"][0]["exponent"] == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 0}', '{"format": 1, "rows": []}', '{"format": 1, "rows": [{"speed": 1}]}'])
def test_a_file_of_another_kind_is_refused(tmp_path, text):
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(InputError, match=r"must be a bench\.json of format 1"):
        Results.read(tmp_path / "old.json")


def test_the_page_counts_the_first_runs_that_equirank_loses():
    text = page(results(replace(ROW, first_ours=0.5, first_theirs=0.1), replace(ROW, first_ours=0.5, first_theirs=1.0), FAILED), [])
    assert "takes longer than the peer's in 1 of 2 rows" in text
    assert [line.rsplit("| ", 1)[1] for line in text.splitlines() if "| - | - | 0.5 s" in line] == ["**0.2x** |", "2x |"]


def test_the_page_has_values_losses_failures_scaling_and_marks():
    lost = replace(ROW, peer="faster peer", theirs=0.1)
    now = results(ROW, lost, OTHER_MODEL, FAILED, scaling=(Scaling("elo", "games", (10, 100), (1.0, 10.0)),))
    text = page(now, marks(results(replace(ROW, theirs=8.0)), now, ["elo"]), "old.json")
    assert "| elo | evalica elo | 1,000 games | equal (1e-12) | 0.5 s | 2 s | 4x | memory: two random agents a game |" in text
    assert "| **0.2x** |" in text
    assert "another model, tau 0.800" in text
    assert "failed: ModuleNotFoundError: No module named 'absent'" in text
    assert "| elo | 10, 100 games | 1 s, 10 s | 1.00 |" in text
    assert "| elo | evalica elo | 1,000 | 16x | 4x | **slower** |" in text

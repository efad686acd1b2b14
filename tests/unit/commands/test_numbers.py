"""Ratings in tables for people."""

from services.boards.result import Intervals
from services.cli.cells import interval_line, shower, tied_within


def test_what_a_solver_leaves_over_is_nought_beside_the_largest_rating() -> None:
    shown = shower([-3.4e-8, 3e-8, -0.205179, None])
    assert [shown(rating) for rating in (-3.4e-8, -0.205179, None, 0.0, -1e-6)] == ["0", "-0.205179", "-", "0", "-1e-06"]


def test_a_column_of_small_ratings_keeps_them() -> None:
    shown = shower([2e-9, -1.5e-9], digits=2)
    assert [shown(2e-9), shown(-1.5e-9)] == ["2e-09", "-1.5e-09"]
    assert shower([None])(None) == "-"
    assert shower([])(3.0) == "3"


def test_what_ties_with_nought_is_nought_where_the_whole_column_is() -> None:
    """The first rows of a Nash average: all in its mix, none above 0."""
    shown = shower([0.0, 6.9e-18, -1.4e-17], tied=tied_within({"tie_tolerance": 1e-9}))
    assert [shown(rating) for rating in (0.0, 6.9e-18, -1.4e-17, -2e-9)] == ["0", "0", "0", "-2e-09"]
    assert tied_within({}) == tied_within({"tie_tolerance": None}) == 0.0


def test_a_line_about_intervals_says_what_was_done() -> None:
    for kind, replicates, said in (
        ("posterior", 64, "95% intervals (posterior) of 64 draws;"),
        ("cells", 128, "95% intervals (cells) of 128 refits;"),
        ("sandwich", 0, "95% intervals (sandwich);"),
    ):
        assert interval_line(Intervals(kind=kind, replicates=replicates, assumes="nothing")).startswith(said)
    assert "all ranks" in interval_line(Intervals(kind="tasks"))
    unproven = interval_line(Intervals(kind="tasks", assumes="nothing", proven=False))
    assert unproven == "Intervals (tasks); assumption: nothing"

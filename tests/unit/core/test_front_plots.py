"""Plots of results: they say what the printed tables say of agents without a rating, and of agents that do not compare."""

from typing import Any

import pytest

from ratings_core import compare, rate
from ratings_core.errors import InputError
from ratings_core.front.figures import add_title, figure

GAMES = [("top", "a"), ("top", "b"), ("a", "b"), ("b", "a"), ("x", "y"), ("y", "x")]
"""`top` lost no game, and no game links x and y to the others."""


def lines_of(plot: Any) -> list[Any]:
    """The lines of agents in a plot of ranks."""
    return [part for part in plot.data if part.mode == "lines"]


def test_a_plot_has_the_remarks_of_the_table() -> None:
    for method, words in (("bradley_terry", ("1 without a rating", "2 groups")), ("elo", ("2 groups",))):
        rating = rate(GAMES, method)
        said = rating.plot().layout.title.subtitle.text.replace("<br>", " ")
        for start in words:
            line = next(line for line in str(rating).splitlines() if line.startswith(start))
            assert line in said
    assert rate(GAMES[2:4]).plot().layout.title.subtitle.text is None


def test_a_plot_of_ranks_has_a_gap_where_a_method_gives_no_rating() -> None:
    plot = compare(GAMES, ["elo", "bradley_terry"]).plot()
    heights = {line.name: list(line.y) for line in lines_of(plot)}
    assert heights["top"] == [1, 1, None, None]
    assert all(None not in heights[agent] for agent in "abxy")
    assert plot.layout.title.text == "ranks of 5 agents: 1 without a rating by some method"
    assert "bradley_terry: 1 without a rating" in plot.layout.title.subtitle.text
    assert "top" in " ".join(plot.layout.yaxis.ticktext)
    assert "top" not in " ".join(plot.layout.yaxis2.ticktext)


def test_a_plot_of_ranks_draws_nobody_whom_no_method_rates() -> None:
    games = [("a", "b"), ("b", "a"), ("a", "c")]
    plot = compare(games, ["bradley_terry"]).plot()
    assert [line.name for line in lines_of(plot)] == ["a", "b"]
    assert plot.layout.title.text == "ranks of 3 agents: 1 without a rating"
    assert not lines_of(compare(games[2:], ["bradley_terry"]).plot())


def test_labels_of_a_plot_of_ranks_have_a_row_each_however_many_agents_tie() -> None:
    games = [(f"a{i:02}", f"a{j:02}") for i in range(40) for j in range(i + 1, 40)]
    both = compare(games, ["maximal_lottery", "copeland"])
    plots = {top: both.plot(top) for top in (10, 40)}
    for top, plot in plots.items():
        for axis in (plot.layout.yaxis, plot.layout.yaxis2):
            assert list(axis.tickvals) == list(dict.fromkeys(axis.tickvals))
            assert sorted(axis.tickvals) == list(range(1, top + 1))
        assert {line.y[1] for line in lines_of(plot)[1:]} == {2}, "agents that tie meet in one point"
        assert len({(line.line.color, line.line.dash) for line in lines_of(plot)[:20]}) == min(20, top), "no two lines look alike"
    assert plots[40].layout.height - plots[10].layout.height > 30 * 16, "a row is higher than its text"
    assert plots[10].layout.title.text == "ranks of 40 agents: 30 not shown"
    assert len(lines_of(both.plot())) == 20


def test_a_plot_of_ranks_shows_ranks_among_all_agents_and_names_as_text() -> None:
    long = "<b>" + "x" * 100
    plot = compare([("a", "b"), ("b", long), ("a", long)], ["elo", "copeland"]).plot()
    assert plot.layout.yaxis.ticktext[-1].startswith("&lt;b&gt;xxx")
    assert len(plot.layout.yaxis.ticktext[-1]) < 60
    games = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), *[("e", "f")] * 9]
    both = compare(games, ["copeland", "elo"])
    plot = both.plot(2)
    (points,) = (part for part in plot.data if part.mode == "markers+text")
    shown = [line.name for line in lines_of(plot)]
    assert list(points.text) == [str(both[method][agent].rank) for agent in shown for method in both.ratings]
    assert max(map(int, points.text)) > 2
    assert max(points.y) == 2


def test_long_remarks_are_wrapped_shown_as_text_and_have_space() -> None:
    long, short = figure("a test"), figure("a test")
    add_title(long, "Ratings", ["<b>words</b> " * 20], height=200)
    add_title(short, "Ratings", [], height=200)
    lines = long.layout.title.subtitle.text.split("<br>")
    assert len(lines) > 2
    assert lines[0].startswith("&lt;b&gt;words")
    assert long.layout.height - short.layout.height == long.layout.margin.t - short.layout.margin.t > 0


@pytest.mark.parametrize("agents", [0, -1, 1.5, "x"])
def test_a_number_of_agents_that_is_none_is_refused(agents: Any) -> None:
    rating = rate([("a", "b"), ("b", "a")])
    for take in (rating.top, rating.plot):
        with pytest.raises(InputError, match="agents"):
            take(agents)


def test_a_plot_of_many_ratings_leaves_less_than_a_row_blank_above_and_below() -> None:
    games = [(f"a{i:02}", f"a{j:02}") for i in range(40) for j in range(i + 1, 40)]
    for agents in (2, 40):
        low, high = rate(games, "elo").plot(agents).layout.yaxis.range
        assert -1 < low < 0
        assert agents - 1 < high < agents

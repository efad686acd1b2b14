"""Plots of results: they say what the printed tables say of agents without a rating, and of agents that do not compare."""

from ratings_core import compare, rate
from ratings_core.front.figures import add_title, figure

GAMES = [("top", "a"), ("top", "b"), ("a", "b"), ("b", "a"), ("x", "y"), ("y", "x")]
"""`top` lost no game, and no game links x and y to the others."""


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
    ranks = {line.name: list(line.y) for line in plot.data}
    assert ranks["top"] == [1, None]
    assert all(None not in ranks[agent] for agent in "abxy")
    assert "bradley_terry: 1 without a rating" in plot.layout.title.subtitle.text
    assert "top" not in " ".join(one.text for one in plot.layout.annotations)


def test_long_remarks_are_wrapped_shown_as_text_and_have_space() -> None:
    long, short = figure("a test"), figure("a test")
    add_title(long, "Ratings", ["<b>words</b> " * 20], height=200)
    add_title(short, "Ratings", [], height=200)
    lines = long.layout.title.subtitle.text.split("<br>")
    assert len(lines) > 2
    assert lines[0].startswith("&lt;b&gt;words")
    assert long.layout.height - short.layout.height == long.layout.margin.t - short.layout.margin.t > 0

"""Bump charts: one line for each agent through its ranks by several methods."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ratings_core.front.figures import COLOURS, DASHES, figure
from ratings_core.front.tables import cut

_Rows: TypeAlias = "Sequence[int | None]"
"""A number for each agent shown, from 1 for the best; None for an agent without a rating."""
_WIDEST: Final = 32
"""Largest number of characters of a name beside the chart."""
_EDGE: Final = 0.3
"""Distance of the labels from the first and the last method, in distances of two methods."""
_ROW: Final = 24
"""Height in pixels of a row, which a label or a point with its rank needs."""
_TIED: Final = "#888"
"""Colour of a point of several agents."""
_AXES: Final = 120
"""Height in pixels of the title, the names of the methods and the space around them."""


def height_of(agents: int) -> int:
    """Height in pixels of a chart of so many agents, in which no labels overlap."""
    return _AXES + _ROW * agents


def bump_chart(names: Sequence[str], ranks: Mapping[str, _Rows]) -> Any:
    """A figure of plotly without a title, with methods from left to right and the best rank at the top.

    The height of a point is the agent's rank among the agents shown, and the number in the point is its rank among all agents. Lines of
    agents that share a rank meet in one point. Labels are at both ends, one in each row: n agents that share a rank take n rows.

    Args:
        names: Names of the agents shown.
        ranks: Method -> rank of each of these agents among all agents, None for an agent without a rating: its line has a gap there.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    drawing, last = figure("plotting ranks"), len(ranks) - 1
    columns = list(ranks.values())
    heights = [_heights(column) for column in columns]
    left, right = _rows(heights[0]), _rows(heights[-1])
    _add_lines(drawing, names, heights, left, right)
    _add_points(drawing, names, ranks, heights)
    drawing.add_scatter(x=[0], y=[1], yaxis="y2", opacity=0, hoverinfo="skip", mode="markers")  # an axis without points is not drawn
    texts = [html.escape(cut(name, _WIDEST)) for name in names]
    y = {"range": [len(names) + 0.6, 0.4], "automargin": True, "tickcolor": "white", "showline": False, "fixedrange": True}
    x = {"range": [-_EDGE, last + _EDGE], "automargin": True, "fixedrange": True}
    return drawing.update_layout(
        template="simple_white",
        showlegend=False,
        margin={"l": 10, "r": 10, "b": 50},
        xaxis=x | {"tickvals": list(range(len(ranks))), "ticktext": list(ranks)},
        yaxis=y | _labels(left, [f"{text}  {rank}" for text, rank in zip(texts, columns[0], strict=True)]),
        yaxis2={**y, "overlaying": "y", "side": "right"}
        | _labels(right, [f"{rank}  {text}" for text, rank in zip(texts, columns[-1], strict=True)]),
    )


def _add_lines(drawing: Any, names: Sequence[str], heights: Sequence[_Rows], left: _Rows, right: _Rows) -> None:
    """Draw the line of each agent from its label on the left to that on the right."""
    for i, name in enumerate(names):
        drawing.add_scatter(
            x=[-_EDGE, *range(len(heights)), len(heights) - 1 + _EDGE],
            y=[left[i], *(column[i] for column in heights), right[i]],
            name=html.escape(name),
            mode="lines",
            hoverinfo="skip",
            line={"color": _colour(i), "width": 2, "dash": DASHES[i // len(COLOURS) % len(DASHES)]},
        )


def _add_points(drawing: Any, names: Sequence[str], ranks: Mapping[str, _Rows], heights: Sequence[_Rows]) -> None:
    """Draw a point for each rank of each method, with the rank in it. Under the pointer it names its agents."""
    points: dict[tuple[int, int], list[int]] = {}  # method and height -> agents
    for i in range(len(names)):
        for at, column in enumerate(heights):
            if (height := column[i]) is not None:
                points.setdefault((at, height), []).append(i)
    methods = list(ranks)
    texts = [str(ranks[methods[at]][tied[0]]) for (at, _), tied in points.items()]
    drawing.add_scatter(
        x=[at for at, _ in points],
        y=[height for _, height in points],
        text=texts,
        hovertext=[
            f"rank {text} by {methods[at]}:<br>{'<br>'.join(html.escape(names[i]) for i in tied)}"
            for text, ((at, _), tied) in zip(texts, points.items(), strict=True)
        ],
        hoverinfo="text",
        mode="markers+text",
        textfont={"size": 10, "color": "#222"},
        marker={
            "size": 20,
            "color": "white",
            "line": {"color": [_colour(tied[0]) if len(tied) == 1 else _TIED for tied in points.values()], "width": 2},
        },
    )


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _heights(ranks: _Rows) -> list[int | None]:
    """Rank of each agent among the agents shown; None without a rating."""
    known = [rank for rank in ranks if rank is not None]
    return [None if rank is None else 1 + sum(other < rank for other in known) for rank in ranks]


def _rows(heights: _Rows) -> list[int | None]:
    """Row of each agent's label, all different: agents that share a height follow each other below it. None without a rating."""
    order = sorted((height, i) for i, height in enumerate(heights) if height is not None)
    rows: list[int | None] = [None] * len(heights)
    for row, (_, i) in enumerate(order, 1):
        rows[i] = row
    return rows


def _labels(rows: _Rows, texts: Sequence[str]) -> dict[str, Any]:
    """The ticks of an axis that labels the rows."""
    known = [(row, text) for row, text in zip(rows, texts, strict=True) if row is not None]
    return {"tickvals": [row for row, _ in known], "ticktext": [text for _, text in known]}

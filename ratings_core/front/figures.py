"""Figures of plotly that notebooks show, also after a conversion to HTML."""

import html
import json
import textwrap
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from ratings_core import extras

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colours of lines that differ for all kinds of colour vision (Okabe and Ito 2008), without yellow, which is faint on white."""
DASHES: Final = ("solid", "dash", "dot")
"""Kinds of lines: with more lines than colours, the next kind begins."""
_HEIGHT: Final = 460
"""Height in pixels of a figure without one."""
_TOP: Final = 60
"""Space in pixels above a plot with a title of one line."""
_LINE: Final = 17
"""Height in pixels of a line below a title."""
_WIDTH: Final = 90
"""Largest number of characters of a line below a title. A notebook shows about 700 pixels."""


def figure(purpose: str) -> Any:
    """An empty figure of plotly.

    Args:
        purpose: What is drawn, as the subject of a sentence, for the error.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    extras.load("plotly.graph_objects", "plot", purpose)
    return _figure_class()()


def add_title(drawing: Any, title: str, remarks: Iterable[str], *, height: int) -> None:
    """Give a figure its title, remarks below it, and its height.

    Args:
        drawing: The figure.
        title: One line.
        remarks: Sentences that a reader of the figure needs, as plain text. Long ones are wrapped.
        height: Height in pixels without remarks.
    """
    lines = [html.escape(line, quote=False) for remark in remarks for line in textwrap.wrap(remark, _WIDTH)]
    drawing.update_layout(
        title={
            "text": title, "yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 16},
            "subtitle": {"text": "<br>".join(lines), "font": {"size": 12}} if lines else None,
        },
        height=height + _LINE * len(lines), margin={"t": _TOP + _LINE * len(lines)},
    )  # fmt: skip


@cache
def _figure_class() -> Any:
    import plotly.graph_objects as graphs  # noqa: PLC0415 - an extra

    class NotebookFigure(graphs.Figure):  # type: ignore[misc]  # plotly is an extra
        """A figure that gives a notebook both plotly's form and HTML.

        By default plotly gives a notebook its own form alone, which nbconvert leaves out of an HTML page. The HTML is a separate frame,
        because the scripts of such a page keep plotly from loading in the page itself. It loads plotly from plotly's server.
        """

        _ipython_display_ = None  # would show plotly's form alone

        def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
            page, height = self.to_html(include_plotlyjs="cdn"), (self.layout.height or _HEIGHT) + 40
            frame = f'<iframe srcdoc="{html.escape(page)}" width="100%" height="{height:g}" style="border: 0"></iframe>'
            return {"application/vnd.plotly.v1+json": json.loads(self.to_json()), "text/html": frame}

    return NotebookFigure

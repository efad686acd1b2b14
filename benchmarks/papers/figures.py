"""Drawing: one style for all figures, and files that are the same in each run.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; lines also differ by their dashes and markers.
"""

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C7A00")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 1)), (0, (3, 1)))
SEQUENTIAL: Final = "cividis"
DIVERGING: Final = "RdBu"
_STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "equirank",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
}
_DOTS_PER_INCH: Final = 110
mpl.rcParams.update(_STYLE)


def grid(rows: int = 1, columns: int = 1, width: float = 6.0, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure of `width` x `height` inches, and its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(rows * columns)]


def line(axes: Axes, number: int, x: object, y: object, label: str = "", *, markers: bool = True) -> None:
    """Draw the curve with the colour, dashes and marker of its number."""
    axes.plot(
        x,  # type: ignore[arg-type]
        y,  # type: ignore[arg-type]
        color=COLOURS[number % len(COLOURS)],
        linestyle=DASHES[number % len(DASHES)],
        marker=MARKERS[number % len(MARKERS)] if markers else None,
        label=label or None,
    )


def band(axes: Axes, number: int, x: object, low: object, high: object) -> None:
    """Shade between two curves in the colour of a number."""
    axes.fill_between(x, low, high, color=COLOURS[number % len(COLOURS)], alpha=0.18, linewidth=0)  # type: ignore[arg-type]


def save(figure: Figure, file: Path) -> None:
    """Write FILE.svg and FILE.png. Both are the same bytes in each run with the same version of matplotlib."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_STYLE):
        figure.savefig(file.with_name(file.name + ".svg"), metadata={"Date": None, "Creator": None})
        png = file.with_name(file.name + ".png")
        figure.savefig(png, dpi=_DOTS_PER_INCH, metadata={"Software": None}, pil_kwargs={"optimize": True})

"""Tables of results as text and as HTML."""

import html
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from ratings_core.words import counted

_WIDEST: Final = 60
"""Largest number of characters of a name in a table as text. With one name of 256, which is allowed, every row would wrap in a terminal."""


def drawn(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: Iterable[str], *, left: int = 1) -> str:
    """A table as text: numbers to the right, names, in the column `left`, to the left. Long names are cut. more: lines below it."""
    cells = [[cut(cell, _WIDEST) if i == left else cell for i, cell in enumerate(row)] for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["  ".join(_padded(cell, widths[i], to_left=i == left) for i, cell in enumerate(row)) for row in cells]
    return "\n".join([title, *(line.rstrip() for line in lines), *more])


def _padded(cell: str, width: int, *, to_left: bool) -> str:
    return cell.ljust(width) if to_left else cell.rjust(width)


def cut(text: str, widest: int) -> str:
    """A text of at most `widest` characters. The middle of a longer one becomes an ellipsis, because long names often differ at the end."""
    if len(text) <= widest:
        return text
    end = widest // 3
    return f"{text[: widest - end - 1]}…{text[-end:]}"


def drawn_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: Iterable[str]) -> str:
    """The same table as HTML, for notebooks. A cell can have several lines."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    below = "".join(f"<p>{html.escape(line)}</p>" for line in more)
    return f"<p><b>{html.escape(title)}</b></p><table><tr>{head}</tr>{body}</table>{below}"


def _cell(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def not_shown(agents: int, shown: int) -> list[str]:
    """A line that says how many of the agents a table does not show; none if it shows all."""
    more = agents - shown
    return [f"{counted(more, 'more agent')} {'is' if more == 1 else 'are'} not shown: table() has all {agents}"] if more > 0 else []


def number(value: float) -> str:
    """A rating as text; a hyphen for none."""
    if not np.isfinite(value):
        return "-"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4g}"

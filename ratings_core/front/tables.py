"""Tables of results as text and as HTML."""

import html
from collections.abc import Iterable, Sequence

import numpy as np


def drawn(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: Iterable[str], *, left: int = 1) -> str:
    """A table as text: numbers to the right, the column `left` to the left. more: lines below it."""
    cells = [list(heads), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["  ".join(_padded(cell, widths[i], to_left=i == left) for i, cell in enumerate(row)) for row in cells]
    return "\n".join([title, *(line.rstrip() for line in lines), *more])


def _padded(cell: str, width: int, *, to_left: bool) -> str:
    return cell.ljust(width) if to_left else cell.rjust(width)


def drawn_html(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: Iterable[str]) -> str:
    """The same table as HTML, for notebooks."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    below = "".join(f"<p>{html.escape(line)}</p>" for line in more)
    return f"<p><b>{html.escape(title)}</b></p><table><tr>{head}</tr>{body}</table>{below}"


def number(value: float) -> str:
    """A rating as text; a hyphen for none."""
    if not np.isfinite(value):
        return "-"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.4g}"

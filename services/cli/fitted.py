"""Tables that fit a narrow terminal without cutting what they show.

Times, numbers and headings stay whole. Names and texts are folded: they take several lines. If that is not enough, the table leaves out
columns that its command calls least important, and says which. Programs read JSON instead, which contains everything.
"""

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

_FOLDED: Final = 14
"""Width in characters down to which a column of names or texts is folded before other columns are left out."""
_BORDERS: Final = 3
"""Characters that each column takes beside its cells: a space on both sides, and a line."""


def whole(name: str, *, right: bool = False) -> Column:
    """A column of numbers, times or words, which are never cut. right: Whether its cells are at the right."""
    return Column(name, justify="right" if right else "left", no_wrap=True)


def folded(name: str) -> Column:
    """A column of names or texts, which take several lines in a narrow terminal."""
    return Column(name, overflow="fold")


def cut(name: str) -> Column:
    """A column of beginnings of texts. A narrow terminal shows less of them."""
    return Column(name, overflow="ellipsis")


class FittedTable:
    """A table that chooses its columns when it is printed, by the width of the terminal.

    Args:
        columns: Columns of `whole`, `folded` and `cut`.
        least: Headings of columns that may be left out, the least important one first.
        title: Title of the table.
    """

    def __init__(self, *columns: Column, least: Sequence[str] = (), title: str | None = None) -> None:
        self._columns, self._least, self._title = columns, least, title
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column. Text is shown as it is, without markup."""
        if len(cells) != len(self._columns):
            msg = f"a row has {len(cells)} cells and the table {len(self._columns)} columns"
            raise ValueError(msg)
        self._rows.append([cell if isinstance(cell, Text) else Text(cell) for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table with as many columns as fit, and a line that names the others."""
        out: list[str] = []
        least = [name for name in self._least if any(column.header == name for column in self._columns)]
        while least and self._least_width(out) > options.max_width:
            out.append(least.pop(0))
        shown = [i for i, column in enumerate(self._columns) if column.header not in out]
        table = Table(*(_copy(self._columns[i]) for i in shown))
        if self._title is not None:
            table.title, table.title_justify = Text(self._title), "left"
        for row in self._rows:
            table.add_row(*(row[i] for i in shown))
        yield table
        if out:
            yield Text(f"left out, because a line has {options.max_width} characters: {', '.join(out)}")

    def _least_width(self, out: Sequence[str]) -> int:
        """The least width of the table without the columns `out`, in characters."""
        widths = [self._width(i) for i, column in enumerate(self._columns) if column.header not in out]
        return sum(widths) + _BORDERS * len(widths) + 1

    def _width(self, i: int) -> int:
        column = self._columns[i]
        heading = Text(str(column.header))
        cells = heading, *(row[i] for row in self._rows)
        widest = max(line.cell_len for cell in cells for line in cell.split("\n", allow_blank=True))
        return widest if column.no_wrap else min(widest, _FOLDED)


def _copy(column: Column) -> Column:
    """A column for one table: `Table` keeps the cells in its columns."""
    return Column(column.header, justify=column.justify, overflow=column.overflow, no_wrap=column.no_wrap)

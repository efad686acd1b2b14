"""Tables that fit a narrow terminal without cutting what they show.

Times, numbers and headings stay whole. Names and texts are folded: they take several lines. If that is not enough, the table leaves out
columns that its command calls least important, and says which. Programs read JSON instead, which contains everything.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

_FOLDED: Final = 14
"""Width in characters down to which a column of names or texts is folded before other columns are left out."""
_BORDERS: Final = 3
"""Characters that each column takes beside its cells: a space on both sides, and a line."""


class Heading(NamedTuple):
    """A column of a `FittedTable`.

    Attributes:
        name: Its heading.
        right: Whether its cells are at the right.
        least: Width in characters down to which its cells are folded or cut before other columns are left out; None for cells that stay
            whole.
        cut: Whether cells that do not fit are cut; otherwise they are folded.
    """

    name: str
    right: bool = False
    least: int | None = None
    cut: bool = False

    def column(self) -> Column:
        """A column for one table."""
        justify: Literal["left", "right"] = "right" if self.right else "left"
        return Column(self.name, justify=justify, no_wrap=self.least is None, overflow="ellipsis" if self.cut else "fold")


def whole(name: str, *, right: bool = False) -> Heading:
    """A column of numbers, times or words, which are never cut. right: Whether its cells are at the right."""
    return Heading(name, right)


def folded(name: str, *, right: bool = False, least: int = _FOLDED) -> Heading:
    """A column of names or texts, which take several lines in a narrow terminal. right, least: As in `Heading`."""
    return Heading(name, right, least)


def cut(name: str) -> Heading:
    """A column of beginnings of texts. A narrow terminal shows less of them."""
    return Heading(name, least=_FOLDED, cut=True)


class FittedTable:
    """A table that chooses its columns when it is printed, by the width of the terminal.

    Args:
        columns: Columns, made by `whole`, `folded` and `cut`. Their names differ.
        least: Headings of columns that may be left out, the least important one first.
        title: Title of the table.
    """

    def __init__(self, *columns: Heading, least: Sequence[str] = (), title: str | None = None) -> None:
        self._columns, self._least, self._title = columns, least, title
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column. Text is shown as it is, without markup."""
        if len(cells) != len(self._columns):
            msg = f"a row has {len(cells)} cells and the table {len(self._columns)} columns"
            raise ValueError(msg)
        self._rows.append([cell if isinstance(cell, Text) else Text(cell) for cell in cells])

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """The table with as many columns as fit, and a line that names the others."""
        widths = {column.name: self._width(i) for i, column in enumerate(self._columns)}
        out: list[str] = []
        for name in self._least:
            if sum(widths.values()) + _BORDERS * len(widths) + 1 <= options.max_width:
                break
            if widths.pop(name, None) is not None:
                out.append(name)
        shown = [i for i, column in enumerate(self._columns) if column.name in widths]
        table = Table(*(self._columns[i].column() for i in shown))
        if self._title is not None:
            table.title, table.title_justify = Text(self._title), "left"
        for row in self._rows:
            table.add_row(*(row[i] for i in shown))
        yield table
        if out:
            yield Text(f"left out, because a line has {options.max_width} characters: {', '.join(out)}")

    def _width(self, i: int) -> int:
        """The least width of a column in characters."""
        column = self._columns[i]
        cells = Text(column.name), *(row[i] for row in self._rows)
        widest = max(line.cell_len for cell in cells for line in cell.split("\n", allow_blank=True))
        return widest if column.least is None else min(widest, column.least)

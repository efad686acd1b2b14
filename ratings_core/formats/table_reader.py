"""What all readers of tables share: cells, and the texts of a complete column."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ratings_core.formats.options import ReadOptions
from ratings_core.formats.tables.block import Block, Table
from ratings_core.formats.tables.cells import Cells
from ratings_core.formats.tables.numbers import Numbers

Again: TypeAlias = Callable[[], Table]
"""Opens a table once more, from its beginning. The table that is read stays open."""


class TableReader:
    """Reads the cells of a table.

    Args:
        options: How rows are read.
        again: Opens the table once more, for columns whose rows decide together how they are read; None for a table that is read once,
            whose first rows then have to decide.
        decimal_comma: Whether a comma can be the decimal point where the options leave it open.
        has_one_mark: Whether all columns of numbers have the same decimal mark.

    Attributes:
        remarks: Column -> how it is used, where that differs from what its header says.
    """

    def __init__(
        self, options: ReadOptions, *, again: Again | None = None, decimal_comma: bool = False, has_one_mark: bool = False
    ) -> None:
        self.options, self._reopen = options, again
        self.remarks: dict[str, str] = {}
        self._numbers = Numbers(options.decimal, self.texts_of if decimal_comma else None, has_one_mark=has_one_mark)

    def cells(self, block: Block) -> Cells:
        """The cells of a block."""
        return Cells(block, trim=self.options.trim, numbers=self._numbers)

    def chosen(self, block: Block) -> Block:
        """The rows of a block that count. Here, all."""
        return block

    def check(self) -> None:
        """Raise `InputError` for what only all rows show. Here, nothing."""

    def texts_of(self, column: str) -> Iterator[list[str]]:
        """The distinct texts of a column in the rows that count, block by block, from the beginning."""
        if self._reopen is None:
            return
        for block in self._reopen().blocks(list(dict.fromkeys([column, *(one for one, _ in self.options.where)]))):
            yield self.cells(self.chosen(block)).coded(column).texts.names()

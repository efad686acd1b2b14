"""Parquet files as blocks of columns. Only wanted columns are read."""

import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ratings_core.formats.errors import FormatError
from ratings_core.formats.parquet import opened, refused
from ratings_core.formats.tables.block import Block, check_names, flat_names, is_text, select
from ratings_core.formats.tables.row_hashes import row_hashes

_ROWS: Final = 1 << 16
"""Rows of a block."""
_WHOLE_ROWS: Final = 1 << 11
"""Rows of a block if rows are hashed completely, because a row can hold long texts."""


class ParquetTable:
    """A Parquet file.

    Args:
        stream: The file; seekable, because Parquet stores its index at the end.

    Raises:
        InputError: The file is damaged.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._schema = opened(stream).schema_arrow
        self.header = flat_names(self._schema)
        check_names(self._schema.names)

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows. A row's number counts from 1. See `Table.blocks`."""
        for column in columns:
            if column not in self.header:
                raise FormatError(1, column, self.header, "must be a column of the header")
        begin = 1
        for rows in self._batches(columns, hashed=hashed):
            with refused():
                hashes = row_hashes(rows) if hashed else None
                selected = select(rows, columns)
            yield Block(selected, np.arange(begin, begin + len(rows)), hashes)
            begin += len(rows)

    def _batches(self, columns: Sequence[str], *, hashed: bool) -> Iterator[Any]:
        """Batches that never span two row groups, because dictionaries differ between them. Long texts stay in their dictionaries."""
        flat = [field.name for field in self._schema if not field.type.num_fields]
        tops = dict.fromkeys(name for column in columns for name in self._schema.names if column == name or column.startswith(f"{name}."))
        texts = {field.name for field in self._schema if is_text(field.type)}
        file = opened(self._stream, [name for name in flat if name in texts and (name in tops or hashed)])
        needed = list(dict.fromkeys([*(flat if hashed else ()), *columns]))
        for group in range(file.num_row_groups):
            batches = file.iter_batches(_WHOLE_ROWS if hashed else _ROWS, row_groups=[group], columns=needed, use_threads=False)
            while True:
                with refused():
                    rows = next(batches, None)
                if rows is None:
                    break
                yield rows

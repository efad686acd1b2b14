"""Cells of a block by column: texts, numbers and times, with a mask of the cells that are missing.

Texts are read once for each distinct text of a block.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arena, arrow_texts, numbers, whole
from ratings_core.arrays.coded import Coded
from ratings_core.errors import InputError
from ratings_core.formats.tables.block import Block
from ratings_core.formats.tables.numbers import Numbers
from ratings_core.formats.tables.texts import is_missing
from ratings_core.solution import Floats

Mask = NDArray[np.bool_]
PLAIN: Final = Numbers()
_EMPTY: Final = arrow_texts(Arena(np.zeros(0, np.uint8), np.zeros(2, np.int64)))
"""An array of one empty text."""


class Cells:
    """The cells of a block.

    Args:
        block: The block.
        trim: Whether white space at both ends of texts is removed.
        numbers: Reads texts as numbers.
    """

    def __init__(self, block: Block, *, trim: bool = False, numbers: Numbers = PLAIN) -> None:
        self.block, self._trim, self._numbers = block, trim, numbers
        self._at = {name: i for i, name in enumerate(block.rows.schema.names)}
        self._read: dict[str, Coded] = {}

    def __len__(self) -> int:
        return len(self.block.numbers)

    def value(self, column: str, row: int) -> Any:
        """The cell as a Python object, for errors."""
        return self._column(column)[row].as_py()

    def coded(self, column: str) -> Coded:
        """A column as texts, each of which a row has; empty for a null. Raises `InputError` for a column of lists or fields."""
        if column not in self._read:
            self._read[column] = self._coded(column)
        return self._read[column]

    def each(self, column: str, read: Callable[[str], Any], kind: Any) -> NDArray[Any]:
        """The value of each cell (n,), read from its text. read: called once for each distinct text; kind: NumPy type of the values."""
        coded = self.coded(column)
        values = np.array([read(text) for text in coded.texts.names()], kind)
        return values[coded.code] if len(coded.texts) else np.zeros(len(self), kind)

    def missing(self, column: str) -> Mask:
        """Mask of the cells without a value, bool (n,)."""
        return np.asarray(self.each(column, is_missing, np.bool_), np.bool_)

    def numbers(self, column: str) -> Floats:
        """A column as float64 (n,): NaN for a missing cell, and for a text that is no finite number."""
        values = self._column(column)
        kind = values.type
        if pa.types.is_boolean(kind):
            values = values.cast(pa.int8())
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            floats = numbers(values.cast(pa.float64(), safe=False))
            return np.where(np.isfinite(floats), floats, np.nan)
        coded = self.coded(column)
        return self._numbers.read(column, coded.texts)[coded.code] if len(self) else np.zeros(0)

    def wide_numbers(self, column: str) -> Floats | None:
        """A column of integers or doubles as float64 (n,), NaN for a null. None for another type: its texts hold more, or other digits."""
        values = self._column(column)
        return numbers(values) if pa.types.is_integer(values.type) or pa.types.is_float64(values.type) else None

    def moments(self, column: str) -> Floats | None:
        """A column of times as seconds since 1970, float64 (n,), NaN for a null; None for a column of texts or numbers."""
        values = self._column(column)
        if not (pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)):
            return None
        micros = values.cast(pa.timestamp("us", getattr(values.type, "tz", None)), safe=False).cast(pa.int64())
        return numbers(micros) / 1e6

    def _column(self, column: str) -> Any:
        return self.block.rows.column(self._at[column])

    def _coded(self, column: str) -> Coded:
        values = self._column(column)
        try:
            encoded = values if pa.types.is_dictionary(values.type) else values.cast(pa.large_string()).dictionary_encode()
            texts = encoded.dictionary.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"column {column!r}", str(values.type)[:80], "must hold texts or numbers") from error
        if self._trim:
            texts = pc.utf8_trim_whitespace(texts)
        if texts.null_count:
            texts = texts.fill_null(_EMPTY[0])
        if encoded.null_count or not len(texts):  # a null is an empty text
            texts = pa.concat_arrays([texts, _EMPTY])
        return Coded(arena(texts), whole(encoded.indices, len(texts) - 1).astype(np.int32)).used()


def texts_of(values: Sequence[str]) -> str:
    """Some texts of a column, for an error."""
    shown = ", ".join(repr(value) for value in values[:10])
    return f"{shown}, ..." if len(values) > 10 else shown

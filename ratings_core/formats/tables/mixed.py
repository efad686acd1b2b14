"""Cells of different types in one column, as texts."""

import json
import math
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

_MISSING: Final = ("NAType", "NaTType")
"""Types of missing values of pandas, which the library does not import."""


def mixed_texts(cells: Iterable[Any]) -> Any:
    """Arrow array of the texts of cells. Each is the text that the cell has in a column of one type."""
    return pa.array([_text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str | None:
    if cell is None or type(cell).__name__ in _MISSING:
        return None
    if isinstance(cell, str):
        return cell.encode(errors="replace").decode()
    if isinstance(cell, float):
        text: str = pa.scalar(cell, pa.float64()).cast(pa.string()).as_py()
        return text if math.isfinite(cell) else None
    return json.dumps(cell, ensure_ascii=False, default=str) if isinstance(cell, bool | list | dict) else str(cell)

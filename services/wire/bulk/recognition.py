"""Recognition of Arrow IPC streams among records. It imports no pyarrow, because records in JSON pass here too."""

from typing import Final

STREAM_START: Final = b"\xff\xff\xff\xff"
"""Begins every message of an Arrow IPC stream since format version 0.15. No JSON text begins so, because the bytes are no UTF-8."""


def is_stream(value: bytes) -> bool:
    """Whether a record or request is an Arrow IPC stream; else it is read as JSON."""
    return value.startswith(STREAM_START)

"""Recognition of Arrow IPC streams among records. The module does not import pyarrow, so programs that read only JSON do not load it."""

from typing import Final

STREAM_START: Final = b"\xff\xff\xff\xff"
"""First bytes of every message of an Arrow IPC stream since format version 0.15. They are invalid UTF-8, so no JSON text begins so."""


def is_stream(value: bytes) -> bool:
    """Whether a record or request is an Arrow IPC stream. Otherwise it is read as JSON."""
    return value.startswith(STREAM_START)

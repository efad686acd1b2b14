"""Logs as JSON lines on standard error, with time, level, logger, message, id of the request, and fields such as pool and position."""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

_FIELDS: Final = ("pool", "position", "request_id", "partition", "method")
_request_id: ContextVar[str] = ContextVar("equirank_request_id")


@contextmanager
def in_request(request_id: str) -> Iterator[None]:
    """Add the id of the request to every line that this thread or task logs inside of the `with` block."""
    token = _request_id.set(request_id)
    try:
        yield
    finally:
        _request_id.reset(token)


class LogThrottle:
    """Limits repeated warnings: the first of each message is logged at once, then at most one in `seconds`. clock: monotonic seconds."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._told_at: dict[str, float] = {}

    def warn(self, logger: logging.Logger, message: str, error: object, **fields: str | int) -> None:
        """Log `message` about `error`, unless the same message was logged in the last `seconds`."""
        now = self._clock()
        if now - self._told_at.get(message, float("-inf")) >= self._seconds:
            self._told_at[message] = now
            logger.warning(message, error, extra=fields)

    def over(self, message: str) -> None:
        """The problem of `message` is over. Its next warning is logged at once."""
        self._told_at.pop(message, None)


class JsonFormatter(logging.Formatter):
    """Formats each line as one JSON object. JSON escapes line breaks in text from outside, such as the path of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """`record` as a line of JSON, without the line feed."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        given = {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if (request_id := _request_id.get(None)) is not None:
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line | given, default=str)


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send all loggers of this process, including uvicorn's, to one JSON handler.

    Args:
        level: Lowest level of Equirank's own lines. Other loggers have fixed levels.
        stream: Output; standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("equirank").setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING if name == "uvicorn.access" else logging.INFO)

"""Logs as JSON lines on standard error: time, level, logger, message, the request, and what the line is about (pool, position, ...)."""

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
    """Every line logged inside, by this thread or task, carries the id of the request."""
    token = _request_id.set(request_id)
    try:
        yield
    finally:
        _request_id.reset(token)


class LogThrottle:
    """Warnings of what may last: the first of each kind is logged at once, and then one every `seconds`. clock: never goes back."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._told_at: dict[str, float] = {}

    def warn(self, logger: logging.Logger, message: str, error: object, **fields: str | int) -> None:
        """Log `message` about `error`, unless the same message was logged not long ago."""
        now = self._clock()
        if now - self._told_at.get(message, float("-inf")) >= self._seconds:
            self._told_at[message] = now
            logger.warning(message, error, extra=fields)

    def over(self, message: str) -> None:
        """That trouble is gone: the next one is news again."""
        self._told_at.pop(message, None)


class JsonFormatter(logging.Formatter):
    """One JSON object a line. Text of others, such as a request's path, cannot break the line: it is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """`record` as a line without its end."""
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
    """Send every logger of this process, uvicorn's too, through one JSON handler. stream: standard error unless given."""
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

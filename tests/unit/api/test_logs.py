import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from services.runtime.logging import JsonFormatter, LogThrottle, configure, in_request


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure("INFO", stream)
    yield stream
    root.handlers[:], root.level = before


def test_a_line_is_an_object_with_its_request_and_what_it_is_about(lines: io.StringIO) -> None:
    log = logging.getLogger("equirank.test")
    with in_request("r1"):
        log.info("folded %d", 3, extra={"pool": "blitz", "position": 7})
    log.info("after")
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert {k: first[k] for k in ("level", "logger", "message", "pool", "position", "request_id")} == {
        "level": "INFO",
        "logger": "equirank.test",
        "message": "folded 3",
        "pool": "blitz",
        "position": 7,
        "request_id": "r1",
    }
    assert not second.keys() & {"pool", "request_id"}


def test_foreign_text_cannot_forge_a_line(lines: io.StringIO) -> None:
    logging.getLogger("equirank.test").warning("path %s", '/x\n{"level":"ERROR"}\u2028')
    assert len(lines.getvalue().splitlines()) == 1


def test_exceptions_are_carried() -> None:
    try:
        int("no")
    except ValueError:
        record = logging.LogRecord("equirank", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    assert "ValueError: invalid" in json.loads(JsonFormatter().format(record))["exception"]


def test_uvicorn_goes_the_same_way(lines: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").info("started")
    assert json.loads(lines.getvalue())["logger"] == "uvicorn.error"


def test_what_lasts_is_told_at_once_and_then_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    troubles, logger = LogThrottle(60.0, lambda: now), logging.getLogger("equirank.test")
    for i in range(600):
        now = i / 4
        troubles.warn(logger, "the store is away: %s", i)
        troubles.warn(logger, "the log is away: %s", i)
    assert [record.args for record in caplog.records if "store" in record.msg] == [(0,), (240,), (480,)]
    troubles.over("the store is away: %s")
    troubles.warn(logger, "the store is away: %s", "again")
    assert len(caplog.records) == 7

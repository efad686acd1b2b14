"""The control log as every process reads it: what one cannot read stays unread, and says so each time."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.control import records as pools
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.log.protocol import Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.wire.pools import Kind


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    yield log
    log.close()


def _erasure(salt: str) -> bytes:
    name = {"token": "t", "salt": salt, "name_hash": "00"}
    return msgspec.json.encode({"type": "erasure", "pool": "first", "name": name, "by": "", "time": 0.0})


UNREADABLE = {
    "of a later version": msgspec.json.encode({"type": "pool", "surprise": 1}),
    "no UTF-8": b'{"type":"pool","pool":"\xff"}',
    "a key that is no hexadecimal": _erasure(salt="zz"),
    "a key of 65 bytes": _erasure(salt="00" * 65),
    "too deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_cannot_be_read_is_refused_each_time_it_is_read(log: Log, name: str) -> None:
    first, last = (PoolCreated(pool=name, kind=Kind.GAMES, time=0.0) for name in ("first", "last"))
    log.control.append(0, [pools.encode(first), (b"x", UNREADABLE[name]), pools.encode(last)])
    control = ControlLog(log.control)
    for _ in range(2):
        with pytest.raises(LogError, match="control record 1 is not of this version") as raised:
            control.refresh()
        assert not raised.value.retriable

"""The pools as readers know them, where the log does not answer."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from services.api import directory as directories
from services.api.directory import Directory
from services.control.generations import default_fold
from services.control.records import ControlState, PoolCreated, encode
from services.runtime.settings import Settings
from services.wire.pools import Kind
from tests.support.api import NOW, Running
from tests.support.waiting import PATIENCE, until


class Control:
    """A control log that hangs until it is let go."""

    def __init__(self) -> None:
        self.go, self.state = threading.Event(), ControlState()
        self.asked = 0

    def refresh(self) -> ControlState:
        self.asked += 1
        assert self.go.wait(PATIENCE)
        return self.state


def test_a_log_that_hangs_holds_no_reader_up() -> None:
    control = Control()
    now = [0.0]
    directory = Directory(control, lambda: now[0])
    for second in range(5):
        now[0] = 10.0 * second
        assert directory.seen() == {}
    assert control.asked == 1, "one thread asks, however many read"
    made = PoolCreated(pool="blitz", kind=Kind.GAMES, time=0.0)
    control.state.apply(0, made)
    control.go.set()

    def is_seen() -> bool:
        now[0] += 10.0
        return "blitz" in directory.seen()

    until(is_seen, "the pool is seen")


def test_a_log_that_hangs_delays_the_readers_of_details_once(monkeypatch: pytest.MonkeyPatch) -> None:
    control, now, waits = Control(), [100.0], list[float | None]()

    class Tried(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return False

    monkeypatch.setattr(directories, "time", SimpleNamespace(monotonic=lambda: now[0]))
    directory = Directory(control, None)  # type: ignore[arg-type]
    directory._tried = Tried()
    for second in (0.0, 1.5, 2.0, 30.0):
        now[0] = 100.0 + second
        directory.until_tried(2.0)
    control.go.set()
    assert waits == [2.0, 0.5, 0.0, 0.0]


def test_of_two_requests_that_create_a_pool_at_once_one_is_told_that_it_did(
    api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, append = api.log.control, api.log.control.append
    other = PoolCreated(pool="blitz", kind=Kind.GAMES, time=NOW - 1.0, fold=default_fold(Settings(data=tmp_path)))

    def second(partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        append(partition, [encode(other)])
        return append(partition, records)

    monkeypatch.setattr(topic, "append", second)
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 200
    monkeypatch.setattr(topic, "append", append)
    assert api.client.put("/v1/pools/chess", json={"kind": "games"}).status_code == 201

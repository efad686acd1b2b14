"""Faults planted in streams and in what they read: readers who follow a pool through restarts find each of them.

Every test runs twice, with the fault and without it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from services.api.app import create_app
from services.api.stream_events import Reader, State
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard import worker
from services.shard.publishing.writing import BoardWriter
from tests.chaos.oracle import Pool, expected
from tests.chaos.stream_readers import StreamReader, differences
from tests.support.api import served
from tests.support.boards import head_of
from tests.support.guards import careless, without_comparison
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, play, published, store_of, until, working

GAMES, MORE = 60, 70
NOWHERE = "http://127.0.0.1:9"
"""No server listens at this address."""
planted = pytest.mark.parametrize("planted", [False, True], ids=["sound", "planted"])
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "BATCH_RECORDS", 1)


@contextmanager
def api(settings: Settings, log: Log) -> Iterator[str]:
    """An API of the installation. Yields its address."""
    with store_of(settings, log) as store, served(create_app(settings, log, store)) as url:
        yield url


@contextmanager
def following(reader: StreamReader) -> Iterator[StreamReader]:
    """A reader at work. The APIs have to end before the block does, because a reader of a silent stream ends with its next comment."""
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()
        reader.join(PATIENCE)
    reader.check()


def wanted(log: Log) -> Pool:
    """What the oracle makes of the log."""
    reader = log.outcomes.reader({HOME: 0})
    records = [(HOME, record.offset, record.value) for record in reader.poll(1.0, 10_000)[HOME]]
    reader.close()
    return expected(records, {}, {}).pools[simulated.POOL]


def wait_for(reader: StreamReader, outcomes: int) -> None:
    until(lambda: reader.check() or reader.shown.outcomes == outcomes, f"the reader is shown {outcomes} games")


@pytest.mark.smoke
@planted
def test_a_stream_that_shows_an_older_state(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    play(log, 0, GAMES)
    addresses = [NOWHERE]
    with (
        following(StreamReader(simulated.POOL, lambda: addresses[-1])) as reader,
        store_of(settings, log) as store,
        api(settings, log) as url,
    ):
        addresses.append(url)
        with working(settings, log):
            wait_for(reader, GAMES)
        for checkpoint in (settings.data / "state" / "checkpoints").rglob("*.json"):
            checkpoint.unlink()
        if planted:
            monkeypatch.setattr(BoardWriter, "_ask", careless)
            without_comparison(monkeypatch)
        _show_each_publication(monkeypatch, store, reader)
        play(log, GAMES, MORE)
        with working(settings, log):
            wait_for(reader, MORE)
        assert ["promise 7" in complaint for complaint in reader.complaints] == [True] * planted
        assert differences(simulated.POOL, reader.shown, wanted(log)) == []


def _show_each_publication(monkeypatch: pytest.MonkeyPatch, store: RedisStore, reader: StreamReader) -> None:
    """From now on a publication waits until the reader is shown what the store has."""
    write = BoardWriter.write

    def shown() -> bool:
        head = store.live.head(simulated.POOL)
        return head is None or not reader.is_alive() or head.outcomes == reader.shown.outcomes

    def write_and_wait(self: BoardWriter, updates: Any) -> Any:
        ends = write(self, updates)
        until(shown, "the reader is shown the publication")
        return ends

    monkeypatch.setattr(BoardWriter, "write", write_and_wait)


@pytest.mark.smoke
@planted
def test_a_returning_reader_who_is_told_that_nothing_changed(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    if planted:
        monkeypatch.setattr(State, "id_of", lambda self, wanted: "the same id for each state")
    play(log, 0, GAMES)
    addresses = [NOWHERE]
    with working(settings, log), following(StreamReader(simulated.POOL, lambda: addresses[-1], leaves=False)) as reader:
        with api(settings, log) as url:
            addresses.append(url)
            wait_for(reader, GAMES)
        play(log, GAMES, MORE)
        until(lambda: published(settings) == MORE, "the other games are published while no API runs")
        with api(settings, log) as url:
            addresses.append(url)
            until(lambda: reader.resumed > 0 if planted else reader.shown.outcomes == MORE, "the reader is back")
            found = differences(simulated.POOL, reader.shown, wanted(log))
    assert bool(found) == planted, found
    assert reader.complaints == []


@planted
def test_a_returning_reader_who_is_sent_the_state_that_it_has(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """Nothing is folded, so the state does not change by itself."""
    if planted:
        make = Reader.__init__
        monkeypatch.setattr(Reader, "__init__", lambda self, wanted, last_id: make(self, wanted, ""))
    addresses = [NOWHERE]
    first, second = (StreamReader(simulated.POOL, lambda: addresses[-1], leaves=False) for _ in range(2))
    with ExitStack() as readers, store_of(settings, log) as store, api(settings, log) as url:
        board = LiveBoard(["rock"], [1500.0])
        assert store.live.publish(head_of(simulated.POOL, position=1, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        addresses.append(url)
        readers.enter_context(following(first))
        until(lambda: first.states == 1, "the first reader has the state")
        second.last_id = first.last_id
        readers.enter_context(following(second))
        until(lambda: second.complaints if planted else second.unchanged, "the second reader has its answer")
    assert ["promise 9" in complaint for complaint in second.complaints] == [True] * planted

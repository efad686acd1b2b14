"""Check retractions and new generations of a pool under load, on a topic that keeps records for a short time.

Both need the first outcomes, which the topic has dropped and the archive holds.

`tests/system/test_short_retention.py` is the short form, `scripts/short-retention` the long one.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from services.admin.verify import verify_partition
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from tests.support.worker import board, folded_without, store_of, until

_BATCH: Final = 10
"""Outcomes of one record."""


class Report(NamedTuple):
    """Result of a run.

    Attributes:
        sent: Number of sent outcomes.
        retracted: Number of retracted outcomes: the first ones, one in each round.
        begin: First offset of the topic at the end.
        end: Offset after the topic's last record at the end.
        slowest: Seconds from request to board, of the slowest retraction and of the slowest change of K.
        wrong: Descriptions of differences; empty if all comparisons are equal.
    """

    sent: int
    retracted: int
    begin: int
    end: int
    slowest: tuple[float, float]
    wrong: list[str]


class _Feed(threading.Thread):
    """Sends games until it is stopped. sent: number of sent games."""

    def __init__(self, log: Log, rate: float) -> None:
        super().__init__()
        self.sent, self._log, self._rate, self._stopping = 0, log, rate, threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(_BATCH / self._rate):
            games = [simulated.game(i, float(i)) for i in range(self.sent, self.sent + _BATCH)]
            append(self._log, events.encode_records(games, _BATCH))
            self.sent += _BATCH

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def append(log: Log, records: list[bytes]) -> None:
    """Append records of the pool."""
    log.outcomes.append(_home(log), [(simulated.POOL.encode(), record) for record in records])


def hold(settings: Settings, log: Log, forget: Callable[[], None], seconds: float, rate: float) -> Report:
    """Retract the first outcomes one by one, and change K after each retraction, while games are sent. Then verify from offset 0.

    Args:
        settings: Settings of an installation that folds and archives the pool of `services.demo.simulated`.
        log: The installation's log.
        forget: Function that waits until the topic has dropped its first records.
        seconds: Minimum time under load. At least one round is made.
        rate: Number of outcomes sent per second.
    """
    feed, began = _Feed(log, rate), time.monotonic()
    feed.start()
    retractions, changes = list[float](), list[float]()
    try:
        until(lambda: _head(settings) is not None, "the pool is there")
        while not changes or time.monotonic() < began + seconds:
            forget()
            number = len(changes)
            retractions.append(_seconds_until(settings, lambda number=number: _retract(log, number), number + 1, None))
            forget()
            k = 10.0 + number % 7
            changes.append(_seconds_until(settings, lambda k=k: _ask(log, k), number + 1, k, log))
    finally:
        feed.stop()
    until(lambda: (head := _head(settings)) is not None and head.outcomes == feed.sent - len(changes), "all is folded")
    forget()
    return Report(
        sent=feed.sent,
        retracted=len(changes),
        begin=log.outcomes.begin(_home(log)),
        end=log.outcomes.end(_home(log)),
        slowest=(max(retractions), max(changes)),
        wrong=_wrong(settings, log, feed.sent, len(changes)),
    )


def _home(log: Log) -> int:
    return partition_of(simulated.POOL, log.outcomes.partitions)


def _head(settings: Settings) -> PoolHead | None:
    with store_of(settings) as store:
        return store.live.head(simulated.POOL)


def _seconds_until(settings: Settings, ask: Callable[[], None], left_out: int, k: float | None, log: Log | None = None) -> float:
    """Call `ask`, and wait until the published head has this number of left-out outcomes and this K. Returns the seconds.

    k: expected K of Elo; None accepts any K.
    """
    began = time.monotonic()
    ask()

    def is_seen() -> bool:
        head = _head(settings)
        if head is None:
            return False
        assert head.building is None or head.building.failed is None, head.building.failed
        return head.left_out == left_out and (k is None or log is None or _served(log, head.generation).online == {"elo": {"k": k}})

    until(is_seen, f"{left_out} outcomes are left out, with K {k}")
    return time.monotonic() - began


def _retract(log: Log, number: int) -> None:
    gone = simulated.game(number, 0.0).id
    append(log, events.encode_records([events.RetractEvent(v=1, id=f"r-{gone}", pool=simulated.POOL, time=0.0, retracts=gone)], 1))


def _ask(log: Log, k: float) -> None:
    control = ControlLog(log.control)
    standing = control.standing(simulated.POOL)
    fold = msgspec.structs.replace(standing.fold, online={"elo": {"k": k}})
    control.want(generations.wish(standing, time=time.time(), fold=fold))
    control.close()


def _control(log: Log) -> ControlState:
    control = ControlLog(log.control)
    try:
        return control.refresh()
    finally:
        control.close()


def _served(log: Log, generation: int) -> FoldSettings:
    return _control(log).generations[simulated.POOL][generation].fold


def _wrong(settings: Settings, log: Log, sent: int, retracted: int) -> list[str]:
    """Differences between checkpoint and boards and a fold of archive and topic, and between the board and a fold of the sent games."""
    with store_of(settings) as store:
        found = list(verify_partition(_home(log), log, CheckpointStore(settings.checkpoint_url), store.live))
    wrong = [f"{one.what} at {one.position}: {one.difference}" for one in found if one.difference is not None]
    wrong += [] if {"checkpoint", "live boards"} <= {one.what for one in found} else [f"verified only {found}"]
    head = _head(settings)
    assert head is not None
    expected, seen = folded_without(range(retracted), sent, _served(log, head.generation)), board(settings)
    return wrong if expected == seen else [*wrong, f"the board has {seen}, what was sent gives {expected}"]

"""The room where chaos happens: a feed that never gives up, faults on a seeded schedule, and the account at the end.

What runs in it is a `System`: Equirank on Kafka and Redis, or embedded. The room knows of neither: it sends, breaks, waits, and
compares what readers see with what `oracle` makes of the log.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

from services.boards.store.protocol import PoolHead, StoreError
from services.log.partition import partition_of
from tests.chaos.account import is_settled, settle
from tests.chaos.archived import position
from tests.chaos.held import positions
from tests.chaos.helper import Helper
from tests.chaos.oracle import mark
from tests.chaos.readers import Readers
from tests.chaos.report import Report
from tests.chaos.stream_readers import StreamReaders
from tests.chaos.system import System
from tests.chaos.traffic import POOLS, Sent, traffic
from tests.support.waiting import PATIENCE

_AT_ONCE: Final = 40
_LOOK_SECONDS: Final = 0.1


def run(system: System, seed: int, *, seconds: float, outcomes: int, gap: tuple[float, float], say: Callable[[str], None]) -> Report:
    """Faults for `seconds`, every kind at least once, while so many outcomes are sent; then the account.

    gap: least and most seconds of peace between two faults; they do not wait for the last one's recovery. say: told of each fault.
    """
    stream = traffic(seed, system.partitions)
    draw, report, began = random.Random(f"faults {seed}"), Report(), time.monotonic()
    feed, watch, readers = Feed(system, stream, outcomes, seconds), Watch(system), Readers(system.reader, system.log_ends)
    streams = StreamReaders(list(POOLS), lambda: system.api)
    helpers: list[Helper] = [feed, watch, readers, *streams.readers]

    def wait(condition: Callable[[], bool], seconds: float) -> None:
        _until(condition, system, report, seconds, helpers)

    for helper in helpers:
        helper.start()
    try:
        wait(lambda: watch.all_there, PATIENCE)
        for name in schedule(draw, sorted(system.faults)):
            if (late := time.monotonic() - began > seconds) and not system.faults.keys() - report.faults.keys():
                break
            if late and report.faults[name]:
                continue
            wait(lambda: False, draw.uniform(*gap))
            say(f"{time.monotonic() - began:6.1f} s, {feed.outcomes} outcomes: {name}")
            with ExitStack() as blinded:
                if name in system.forgetful:
                    blinded.enter_context(readers.blind())
                    blinded.enter_context(streams.blind())
                system.faults[name](draw)
            report.faults[name] += 1
            watch.mark(name)
        wait(lambda: feed.outcomes >= outcomes, PATIENCE)
    finally:
        feed.stop()
    wait(lambda: not feed.is_alive(), PATIENCE)
    feed.finish()
    watch.mark("the end")
    wait(lambda: watch.caught_up, PATIENCE)
    wait(lambda: all(map(partial(is_settled, system), POOLS)), PATIENCE)
    wait(lambda: streams.have(system.heads()), PATIENCE)
    watch.stop()
    readers.stop()
    streams.stop()
    wait(lambda: _checkpointed(system) and _archived(system), PATIENCE)
    report.catch_up, report.seconds = watch.seconds, time.monotonic() - began
    report.records, report.looks = feed.records, readers.looks
    report.streamed, report.resumed = (sum(getattr(one, name) for one in streams.readers) for name in ("states", "resumed"))
    report.wrong += [*readers.complaints, *streams.complaints, *(f"never caught up with: {name}" for name in watch.waiting)]
    settle(system, feed.refused, feed.accepted, streams.shown, report)
    return report


def schedule(draw: random.Random, names: Sequence[str]) -> Iterator[str]:
    """Faults without end: all of them in some order, then all in another."""
    while True:
        yield from draw.sample(names, len(names))


class Feed(Helper):
    """Sends so many outcomes of `stream` within most of `seconds`, and then goes on slowly. What was not accepted is sent again."""

    def __init__(self, system: System, stream: Iterator[Sent], outcomes: int, seconds: float) -> None:
        super().__init__("feed")
        self._system, self._stream, self._wanted, self._rate = system, stream, outcomes, outcomes / (0.85 * seconds)
        self.outcomes = self.records = 0
        self.accepted: set[bytes] = set()
        self.refused: dict[bytes, Mapping[int, str]] = {}

    def work(self) -> None:
        waiting: list[Sent] = []
        while waiting or not self._stopping.is_set():
            if not self._stopping.is_set():
                waiting += [next(self._stream) for _ in range(_AT_ONCE - len(waiting))]
            waiting = self._sent(waiting)

    def stop(self) -> None:
        self._stopping.set()

    def finish(self) -> None:
        if self.is_alive():
            raise AssertionError("the feed waits for the log, which takes nothing")
        self.check()

    def _sent(self, batch: list[Sent]) -> list[Sent]:
        """Those of `batch` that have to be sent again."""
        began, left = time.monotonic(), []
        for sent in batch:
            if sent.refused:
                self.refused[mark(sent.value)] = sent.refused
        outcomes = 0
        for sent, accepted in zip(batch, self._system.send(batch), strict=True):
            if not accepted:
                left.append(sent)
            elif (name := mark(sent.value)) not in self.accepted:
                self.accepted.add(name)
                outcomes += sent.outcomes
        self.records += len(batch) - len(left)
        self.outcomes += outcomes
        rate = self._rate if self.outcomes < self._wanted else self._rate / 10
        self._stopping.wait(max(0.0, outcomes / rate - (time.monotonic() - began)))
        return left


class Watch(Helper):
    """Looks at the store all the time, and takes how long after each fault readers saw all that was accepted by its end."""

    def __init__(self, system: System) -> None:
        super().__init__("watch")
        self._system, self._marks = system, list[tuple[str, float, dict[int, int]]]()
        self.seconds: dict[str, float] = {}
        self.all_there = False

    def mark(self, name: str) -> None:
        """A fault is over now."""
        self._marks.append((name, time.monotonic(), self._system.ends()))

    @property
    def caught_up(self) -> bool:
        return not self._marks

    @property
    def waiting(self) -> list[str]:
        return [name for name, _, _ in self._marks]

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def work(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                heads = self._system.heads()
            except StoreError:
                continue
            self.all_there = heads.keys() >= POOLS.keys()
            now = time.monotonic()
            for name, since, ends in list(self._marks):
                if self.all_there and _reached(heads, ends, self._system.partitions):
                    self.seconds[name] = max(self.seconds.get(name, 0.0), now - since)
                    self._marks.remove((name, since, ends))


def _checkpointed(system: System) -> bool:
    """Whether the newest checkpoint of every partition has the generations that readers see, where they are: tallies are read from there.

    A switch of generations moves no position, so positions alone would accept a checkpoint from before it.
    """
    held = positions(system.checkpoints, system.partitions)
    return all(held.get((pool, head.generation), -1) >= head.position for pool, head in system.heads().items())


def _archived(system: System) -> bool:
    """Whether the archive holds every record of the log that nobody skipped."""
    ends = system.log_ends()
    return bool(ends) and all(position(system.archive, number) >= _kept_to(system, number, end) for number, end in ends.items())


def _kept_to(system: System, partition: int, end: int) -> int:
    """One past the last record below `end` that nobody skipped."""
    while (partition, end - 1) in system.skipped:
        end -= 1
    return end


def _reached(heads: Mapping[str, PoolHead], ends: Mapping[int, int], partitions: int) -> bool:
    return all(heads[pool].position >= ends.get(partition_of(pool, partitions), 0) for pool in POOLS)


def _until(condition: Callable[[], bool], system: System, report: Report, seconds: float, helpers: Sequence[Helper]) -> None:
    """Wait for `condition`, at most so long, while the orchestrator does its work. Raises at once what a helper died of."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        for helper in helpers:
            helper.check()
        report.revived.update(system.keep())
        time.sleep(_LOOK_SECONDS)

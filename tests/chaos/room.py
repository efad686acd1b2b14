"""The room where chaos happens: a feed that never gives up, faults on a seeded schedule, and the account at the end.

What runs in it is a `System`: Equirank on Kafka and Redis, or embedded. The room knows of neither: it sends, breaks, waits, and
compares what readers see with what `oracle` makes of the log.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from services.boards.store.protocol import ACTIVITY, PoolHead, StoreError, StoreReader
from services.log.partition import partition_of
from tests.chaos.oracle import Expected, Letter, Record, expected, mark
from tests.chaos.traffic import POOLS, Sent, traffic

_AT_ONCE: Final = 40
_LOOK_SECONDS: Final = 0.1
_FLOW_SECONDS: Final = 60.0
_END_SECONDS: Final = 240.0
_PAGE: Final = 1000

Fault = Callable[[random.Random], None]


class System(Protocol):
    """An installation under test. faults: name -> what breaks it; each returns once what it broke is whole or on its way; k: of Elo, by
    pool, where one of them changed it.
    """

    partitions: int
    faults: Mapping[str, Fault]
    k: Mapping[str, float]

    def send(self, batch: Sequence[Sent]) -> list[bool]:
        """Which records the log accepted. One that it did not may be there all the same."""

    def ends(self) -> dict[int, int]:
        """One past the newest accepted offset of each partition that has any."""

    def heads(self) -> Mapping[str, PoolHead]:
        """What the store shows of every pool. Raises `StoreError` while it does not answer."""

    def board(self, pool: str, method: str) -> dict[str, float]:
        """A live board, whole."""

    def generations(self, pool: str) -> Any:
        """What the API says of the generations of a pool; None while it does not answer."""

    def records(self) -> Iterator[Record]:
        """All that is in the log, each partition in order."""

    def letters(self) -> Iterator[tuple[Letter, str]]:
        """Every dead letter delivered: its place and its reason."""

    def keep(self) -> Sequence[str]:
        """Start again what ended by itself and has nobody else who would; its names."""

    def verify(self) -> tuple[bool, str]:
        """Whether `equirank verify` finds no difference, and what it said."""


@dataclass
class Report:
    """What a run did and found."""

    faults: Counter[str] = field(default_factory=Counter)
    revived: Counter[str] = field(default_factory=Counter)
    records: int = 0
    outcomes: int = 0
    repeated: int = 0
    conflicts: int = 0
    retracted: int = 0
    switches: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    seconds: float = 0.0
    catch_up: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    verified: str = ""

    def __str__(self) -> str:
        slowest = max(self.catch_up, key=self.catch_up.__getitem__, default="")
        lines = [
            f"faults injected: {self.faults.total()} ({_listed(self.faults)})",
            f"outcomes: {self.outcomes} of {self.records} records in {self.seconds:.0f} s",
            f"dropped: {self.repeated} repeats, {self.conflicts} conflicts, {self.retracted} retracted",
            f"generations switched to: {self.switches}",
            f"bad ones in the dead letters with their reason: {self.bad.total()} ({_listed(self.bad)})",
            f"lost: {self.lost}",
            f"doubled: {self.doubled}",
            f"max catch-up seconds: {self.catch_up.get(slowest, 0.0):.1f} ({slowest})",
            f"started again by the orchestrator: {self.revived.total()} ({_listed(self.revived)})",
            self.verified,
            *self.wrong,
        ]
        return "\n".join(lines)


def run(
    system: System, seed: int, *, seconds: float, outcomes: int, gap: tuple[float, float], say: Callable[[str], None]
) -> Report:
    """Faults for `seconds`, every kind at least once, while so many outcomes are sent; then the account.

    gap: least and most seconds of peace between two faults; they do not wait for the last one's recovery. say: told of each fault.
    """
    stream = traffic(seed, system.partitions)
    draw, report, began = random.Random(f"faults {seed}"), Report(), time.monotonic()
    feed, watch = Feed(system, stream, outcomes, seconds), Watch(system)

    def wait(condition: Callable[[], bool], seconds: float) -> None:
        _until(condition, system, report, seconds, [feed, watch])

    feed.start()
    watch.start()
    try:
        wait(lambda: watch.all_there, _FLOW_SECONDS)
        for name in schedule(draw, sorted(system.faults)):
            if (late := time.monotonic() - began > seconds) and not system.faults.keys() - report.faults.keys():
                break
            if late and report.faults[name]:
                continue
            wait(lambda: False, draw.uniform(*gap))
            say(f"{time.monotonic() - began:6.1f} s, {feed.outcomes} outcomes: {name}")
            system.faults[name](draw)
            report.faults[name] += 1
            watch.mark(name)
        wait(lambda: feed.outcomes >= outcomes, _END_SECONDS)
    finally:
        feed.stop()
    wait(lambda: not feed.is_alive(), _END_SECONDS)
    feed.finish()
    watch.mark("the end")
    wait(lambda: watch.caught_up, _END_SECONDS)
    wait(lambda: all(map(partial(_settled, system), POOLS)), _END_SECONDS)
    watch.stop()
    report.catch_up, report.seconds = watch.seconds, time.monotonic() - began
    report.wrong += [f"never caught up with: {name}" for name in watch.waiting]
    settle(system, feed, report)
    return report


def schedule(draw: random.Random, names: Sequence[str]) -> Iterator[str]:
    """Faults without end: all of them in some order, then all in another."""
    while True:
        yield from draw.sample(names, len(names))


class Helper(threading.Thread):
    """A thread of the room. What it dies of is kept, and raised where the room waits next: nobody goes on without it."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - raised again by `check`
            self._failure = error

    def work(self) -> None:
        """What it does until it is stopped."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise what it died of."""
        if self._failure is not None:
            raise AssertionError(f"the {self.name} thread died") from self._failure


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


def whole_board(store: StoreReader, pool: str, method: str) -> dict[str, float]:
    """Agent -> rating of a live board."""
    rows: dict[str, float] = {}
    while (page := store.live(pool, method, len(rows), _PAGE)) is not None and page.rows:
        rows |= {row.agent: row.rating for row in page.rows if row.rating is not None}
    return rows


def settle(system: System, feed: Feed, report: Report) -> None:
    """The account: what readers see against what the log must give, and what `verify` says."""
    wanted = expected(system.records(), feed.refused, system.k)
    report.records = feed.records
    for pool, kept in sorted(wanted.pools.items()):
        if pool in POOLS:
            report.outcomes += kept.outcomes
            report.repeated += kept.duplicates
            report.conflicts += kept.conflicts
            report.retracted += len(kept.retracted)
    if missing := len(feed.accepted - wanted.seen):
        report.wrong.append(f"{missing} accepted records are not in the log")
    _boards(system, wanted, report)
    _letters(system.letters(), wanted, report)
    fine, said = system.verify()
    report.verified = said.strip().splitlines()[-1] if said.strip() else "verify said nothing"
    if not fine:
        report.wrong.append(f"verify:\n{said}")


def _boards(system: System, wanted: Expected, report: Report) -> None:
    heads = system.heads()
    for pool in POOLS:
        kept, head = wanted.pools[pool], heads.get(pool)
        if head is None:
            report.wrong.append(f"the store lacks {pool}")
            report.lost += kept.outcomes
            continue
        report.switches += head.generation - 1
        if not _settled(system, pool):
            report.wrong.append(f"{pool} never came to its newest generation: {head}"[:400])
        report.lost += max(0, kept.outcomes - head.outcomes)
        report.doubled += max(0, head.outcomes - kept.outcomes)
        counts = (head.outcomes, head.duplicates, head.conflicts)
        if counts != (kept.outcomes, kept.duplicates, kept.conflicts):
            report.wrong.append(f"{pool} shows (outcomes, duplicates, conflicts) {counts}, the log gives {kept}"[:300])
        shown = system.board(pool, ACTIVITY)
        if shown != kept.activity:
            differing = sorted(name for name in shown.keys() | kept.activity.keys() if shown.get(name) != kept.activity.get(name))
            report.wrong.append(f"{pool}: {len(differing)} agents count wrongly, such as {differing[0]}")
        if kept.elo and (off := _furthest(system.board(pool, "elo"), kept.elo)) > 1e-6:
            report.wrong.append(f"{pool}: Elo is off by {off}")


def _furthest(shown: Mapping[str, float], wanted: Mapping[str, float]) -> float:
    return max(abs(shown.get(name, 0.0) - value) for name, value in wanted.items())


def _letters(delivered: Iterable[tuple[Letter, str]], wanted: Expected, report: Report) -> None:
    """At least once each, with its reason, and none that should not be."""
    found = dict(delivered)
    report.bad.update(reason for place, reason in wanted.letters.items() if found.get(place) == reason)
    for place in sorted(found.keys() | wanted.letters.keys()):
        if found.get(place) != wanted.letters.get(place):
            report.wrong.append(f"dead letter at {place}: {found.get(place)}, not {wanted.letters.get(place)}")


def _reached(heads: Mapping[str, PoolHead], ends: Mapping[int, int], partitions: int) -> bool:
    return all(heads[pool].position >= ends.get(partition_of(pool, partitions), 0) for pool in POOLS)


def _settled(system: System, pool: str) -> bool:
    """Whether readers see the newest generation of a pool, and nothing waits to become another."""
    found = system.generations(pool)
    if found is None or found["waiting"] is not None or found["serving"] != found["newest"]:
        return False
    head = system.heads()[pool]
    newest = found["newest"]["number"] if found["newest"] else 1
    return bool(head.generation == newest and head.pending == 0 and head.building is None)


def _until(condition: Callable[[], bool], system: System, report: Report, seconds: float, helpers: Sequence[Helper]) -> None:
    """Wait for `condition`, at most so long, while the orchestrator does its work. Raises at once what a helper died of."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        for helper in helpers:
            helper.check()
        report.revived.update(system.keep())
        time.sleep(_LOOK_SECONDS)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items())) or "none"

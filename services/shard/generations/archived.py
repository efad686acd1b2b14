"""What the archive holds of a build's pool, as columns: faster than its records, and nothing of other pools is read.

A thread reads ahead, so the fold of the stream never waits for files.
"""

from collections.abc import Collection, Iterator
from concurrent.futures import Future, wait

from services.archive.history import History, Part
from services.log.protocol import Topic
from services.runtime.deadlines import start
from services.shard.generations.build import Build


class ArchivedPool:
    """Reads what an archive holds of one pool on a thread. parts: that, from offset `begin` on."""

    def __init__(self, parts: Iterator[Part], begin: int) -> None:
        self.position, self.ended, self._parts = begin, False, parts
        self._next = self._read()

    def take(self, seconds: float) -> Part | None:
        """The next part; None where none is there within `seconds`, and after the last one. Raises what reading the archive raises."""
        if not wait([self._next], seconds).done:
            return None
        part = self._next.result()
        self.ended = part is None or not part.records
        if part is not None:
            self.position = part.end
        if not self.ended:
            self._next = self._read()
        return part

    def _read(self) -> "Future[Part | None]":
        return start(lambda: next(self._parts, None), "archive")


class ArchivedBuilds:
    """Which builds of a partition read the archive, and how far they are. topic: the outcome log."""

    def __init__(self, topic: Topic, partition: int) -> None:
        self._history, self._partition = topic if isinstance(topic, History) else None, partition
        self._pools: dict[tuple[str, int, bool], ArchivedPool] = {}

    def of(self, build: Build) -> ArchivedPool | None:
        """What a build reads on in; None where the archive does not hold what follows."""
        if self._history is None:
            return None
        scans = build.state is None
        key = (*build.key, scans)
        if key not in self._pools:
            parts = self._history.parts_of(build.key[0], self._partition, build.position, retractions=scans)
            self._pools[key] = ArchivedPool(parts, build.position)
        pool = self._pools[key]
        return pool if pool.position == build.position and not pool.ended else None

    def forget(self, builds: Collection[tuple[str, int]]) -> None:
        """Drop what builds read that are not among `builds`, by pool and number. A thread ends after what it reads now."""
        for key in [key for key in self._pools if key[:2] not in builds]:
            del self._pools[key]

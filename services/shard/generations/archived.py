"""What the archive holds of a build's pool, as columns: faster than its records, and nothing of other pools is read.

A thread reads ahead, so the fold of the stream never waits for files.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.archive.history import History
from services.log.dead_letters import DeadLetter, excerpt
from services.log.protocol import Topic
from services.runtime.deadlines import start
from services.shard.batch import Outcomes
from services.shard.generations.build import Build
from services.state.pool import Refused
from services.wire import events
from services.wire.columns import GameColumns
from services.wire.events import RetractEvent

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader

_ROWS: Final = 10_000
"""Rows of a part, about: some of them fold in ten milliseconds."""
_COLUMNS: Final = (
    "offset", "item", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta",
)  # fmt: skip


class Run(NamedTuple):
    """Outcomes of one pool that follow each other, as columns or as events.

    Attributes:
        outcomes: The outcomes, in the order of the log.
        offset: int64 (n,), offset of the record of each.
        item: int32 (n,), index of each in its record.
        rows: The same as rows of the archive.
    """

    outcomes: Outcomes
    offset: NDArray[np.int64]
    item: NDArray[np.int32]
    rows: Any

    def retractions(self) -> list[tuple[int, RetractEvent]]:
        """The retractions, each with its record's offset."""
        if isinstance(self.outcomes, GameColumns):
            return []
        return [(int(self.offset[i]), event) for i, event in enumerate(self.outcomes) if isinstance(event, RetractEvent)]

    def letter(self, refused: Refused, partition: int, generation: int) -> DeadLetter:
        """The entry for an outcome that was not folded."""
        from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`

        (event,) = decode.events(self.rows.slice(refused.at, 1))
        return DeadLetter(
            generation=generation,
            partition=partition,
            offset=int(self.offset[refused.at]),
            item=int(self.item[refused.at]),
            reason=refused.reason,
            path=refused.path,
            rule=refused.rule,
            pool=event.pool,
            excerpt=excerpt(events.encode([event])),
        )


class Part(NamedTuple):
    """What a pool has of the records below offset `end`, from where the part before ended. The last part has no runs."""

    runs: Sequence[Run]
    end: int


class ArchivedPool:
    """Reads one pool's rows of an archive from `begin` on. It opens the archive on its thread, too.

    Args:
        open_: Opens the archive; None where it does not hold what follows `begin`.
        pool: Name of the pool.
        begin: First offset to read.
        retractions: Read nothing else.
    """

    def __init__(self, open_: "Callable[[], ArchiveReader | None]", pool: str, begin: int, *, retractions: bool) -> None:
        self.position, self.ended = begin, False
        self._parts = _opened(open_, pool, begin, retractions=retractions)
        self._next = self._read()

    def take(self, seconds: float) -> Part | None:
        """The next part; None where none is there within `seconds`, and after the last one. Raises what reading the archive raises."""
        if not wait([self._next], seconds).done:
            return None
        part = self._next.result()
        self.ended = part is None or not part.runs
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
            opened = partial(self._history.archive, self._partition, build.position)
            self._pools[key] = ArchivedPool(opened, build.key[0], build.position, retractions=scans)
        pool = self._pools[key]
        return pool if pool.position == build.position and not pool.ended else None

    def forget(self, builds: Collection[tuple[str, int]]) -> None:
        """Drop what builds read that are not among `builds`, by pool and number. A thread ends after what it reads now."""
        for key in [key for key in self._pools if key[:2] not in builds]:
            del self._pools[key]


def _opened(open_: "Callable[[], ArchiveReader | None]", pool: str, begin: int, *, retractions: bool) -> Iterator[Part]:
    if (archive := open_()) is not None:
        yield from _parts(archive, pool, begin, retractions=retractions)


def _parts(archive: "ArchiveReader", pool: str, begin: int, *, retractions: bool) -> Iterator[Part]:
    from services.archive.schema import RETRACTION  # noqa: PLC0415 - needs the extra `archive`

    kind = RETRACTION if retractions else None
    for table in archive.read(begin, pool=pool, kind=kind, columns=_COLUMNS, coded=True):
        offset = table["offset"].to_numpy()
        for first, last in _cuts(offset):
            rows = table.slice(first, last - first).combine_chunks()
            yield Part(list(_runs(rows)), int(offset[last - 1]) + 1)
    yield Part([], archive.position)


def _cuts(offset: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of about `_ROWS` rows that divide no record."""
    first = 0
    while first < len(offset):
        last = min(first + _ROWS, len(offset))
        last = int(np.searchsorted(offset, offset[last - 1], side="right"))
        yield first, last
        first = last


def _runs(rows: Any) -> Iterator[Run]:
    """Runs of rows of one kind: games as columns, others as events."""
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
    from services.archive.schema import GAME  # noqa: PLC0415 - as above

    kinds = rows["kind"].combine_chunks().dictionary_encode()
    names, code = kinds.dictionary.to_pylist(), kinds.indices.to_numpy()
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])).tolist()
    for first, last in zip(starts, [*starts[1:], len(code)], strict=True):
        run = rows.slice(first, last - first)
        outcomes: Outcomes = decode.games(run) if names[code[first]] == GAME else decode.events(run)
        offset, item = run["offset"].to_numpy(), run["item"].to_numpy()
        yield Run(outcomes, offset, item, run)

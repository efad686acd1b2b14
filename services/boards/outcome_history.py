"""The history of a pool's outcomes as readers see it: files of complete segments, and the newest outcomes in the checkpoint.

It has the position of the checkpoint. Files are opened when they are first needed, and stay open for later readers.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.history_files import HistoryFiles, SegmentFile, chained
from services.checkpoints.objects import BadObject
from services.checkpoints.segments import Rows, Segment, row_type, segment_in_memory
from services.state.history import TracedOutcomes

log = logging.getLogger("equirank.boards")

_FIRST_ROWS: Final = 256
LAST_TIMES_SEGMENTS: Final = 16
"""Newest segments in which `last_times` looks. They have a million agents of outcomes, so half a million duels."""


class HistoryRow(NamedTuple):
    """A row of an agent, and the segment that has it. values: a record of `row_type`."""

    segment: Segment
    values: Any

    @property
    def outcome(self) -> int:
        """Number of the outcome among all outcomes of the pool's generation: 1 for the first."""
        return self.segment.first + int(self.values["outcome"]) + 1


class RatingSeries(NamedTuple):
    """An agent's outcomes, oldest first: number (k,), time in seconds since 1970, and ratings by a method before and after each."""

    outcome: NDArray[np.int64]
    time: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]


class PastState(NamedTuple):
    """The state of a pool after some of its outcomes.

    outcomes: Number of them. within: Number of searched outcomes whose time is the requested one or later. time: The requested time, or
    that of the first outcome after the state if this is the oldest one that is kept. is_reached: Whether it is as old as was asked for.
    """

    outcomes: int
    within: int
    time: float
    is_reached: bool


class OutcomeHistoryReader:
    """The kept history of one generation of a pool at one checkpoint. Thread-safe.

    Args:
        files: The files of history.
        entry: The pool in the checkpoint.
        listed: Files of the pool's generation.
        window: Outcomes in the checkpoint itself.
        known: History at an earlier checkpoint of the generation, whose open files are used again.
    """

    def __init__(
        self,
        files: HistoryFiles,
        entry: PoolEntry,
        listed: Sequence[SegmentFile],
        window: TracedOutcomes,
        known: "OutcomeHistoryReader | None" = None,
    ) -> None:
        self._files, self._entry, self._window = files, entry, window
        self._chain = chained(listed, window.first)
        names = {file.name for segment in self._chain for file in segment}
        self._asked: tuple[float, PastState | None] | None = None
        """Time and answer of the newest search of `state_at`."""
        self._open: dict[str, Segment | None] = {} if known is None else {name: known.opened[name] for name in names & known.opened.keys()}

    @classmethod
    def load(
        cls, store: CheckpointStore, partition: int, entry: PoolEntry, window: TracedOutcomes, known: "OutcomeHistoryReader | None" = None
    ) -> "OutcomeHistoryReader":
        """The history that belongs to a checkpoint. Raises `OSError` if the file system fails."""
        files = HistoryFiles(store.blobs)
        listed = [file for file in files.files(partition) if (file.pool, file.generation) == (entry.pool, entry.generation)]
        return cls(files, entry, listed, window, known)

    @property
    def methods(self) -> tuple[str, ...]:
        """Online methods whose ratings are recorded."""
        return tuple(self._window.traces)

    @property
    def outcomes(self) -> int:
        """Number of outcomes of the pool's generation at the checkpoint."""
        return self._window.end

    @property
    def opened(self) -> dict[str, Segment]:
        """Files that were opened so far, and are not damaged."""
        return {name: segment for name, segment in self._open.copy().items() if segment is not None and not segment.damaged}

    @property
    def nbytes(self) -> int:
        """Bytes of memory held. Local files are mapped, so their memory is shared."""
        window = len(self._window.agent) * row_type(self.methods).itemsize
        return window + (0 if self._files.is_local else sum(segment.nbytes for segment in self.opened.values()))

    @property
    def missing(self) -> int:
        """Number of outcomes of the pool that should be kept, and are in no readable file as far as files were opened."""
        spans = [files[0] for files in self._chain if not all(self._is_bad(file.name) for file in files)]
        expired = self._entry.history_from
        held = sum(max(0, span.end - max(span.first, expired)) for span in spans)
        return max(0, self._window.first - expired) - held

    @cached_property
    def _newest(self) -> Segment:
        return segment_in_memory(self._window)

    def segments(self) -> Iterator[Segment]:
        """All readable segments, newest first. Raises `OSError` if the file system fails."""
        yield self._newest
        for files in self._chain:
            opened = (self._opened(file.name) for file in files)
            if (segment := next((segment for segment in opened if segment is not None), None)) is not None:
                yield segment

    def newest(self, agent: int, outcomes: int, before: int | None = None) -> Iterator[HistoryRow]:
        """The rows of an agent, newest first. Raises `OSError`, `BadObject`.

        Args:
            agent: Id of the agent.
            outcomes: Number of its outcomes at the checkpoint. Files that are older than all of these are not opened.
            before: Only outcomes with a lower number.
        """
        for segment, rows in self._newest_rows(agent, outcomes, before):
            for values in rows:
                yield HistoryRow(segment, values)

    def streak(self, agent: int, outcomes: int) -> tuple[int, int] | None:
        """The result of an agent's newest outcome, and the number of newest outcomes with this result; None if none is kept.

        Arguments and errors as of `newest`.
        """
        result, length = None, 0
        for _, rows in self._newest_rows(agent, outcomes):
            results = rows["result"]
            result = int(results[0]) if result is None else result
            others = np.flatnonzero(results != result)
            if len(others):
                return result, length + int(others[0])
            length += len(results)
        return None if result is None else (result, length)

    def last_times(self, agents: Collection[int]) -> dict[int, float]:
        """Times of the newest outcomes of agents in seconds since 1970, by their ids. Raises `OSError`, `BadObject`.

        It looks in the `LAST_TIMES_SEGMENTS` newest segments alone, so that a page of agents that rest opens no more files. An agent
        without an outcome in these is absent.
        """
        times: dict[int, float] = {}
        left = np.array(sorted(agents), np.int32)
        for segment in islice(self.segments(), LAST_TIMES_SEGMENTS):
            ends = segment.ends_of(left)
            here = ends > 0
            for agent, end in zip(left[here].tolist(), ends[here].tolist(), strict=True):
                times[agent] = float(segment.rows(end - 1, end)["time"][0])
            left = left[~here]
            if not len(left):
                break
        return times

    def state_at(self, time: float) -> PastState | None:
        """The state of the pool at a time; None if no outcome is kept. Raises `OSError`, `BadObject`.

        Times need not ascend in the log, so this is the state that the times of the fewest outcomes contradict, the oldest of several. A
        late outcome within the day does not end the day, and one outcome of a clock that is ahead does not begin it. The search goes
        back to a complete segment whose outcomes are all before the time, at most through `LAST_TIMES_SEGMENTS` segments, and not beyond
        outcomes that cannot be read.

        Args:
            time: Seconds since 1970.
        """
        asked = self._asked  # another thread may replace it
        if asked is None or asked[0] != time:  # all boards of a pool ask for the same time
            asked = self._asked = time, self._state_at(time)
        return asked[1]

    def _state_at(self, time: float) -> PastState | None:
        outcomes = begin = self._window.end
        oldest, within, margin, largest = None, 0, 0, 0
        for segment in self._unbroken():
            begin, here = segment.first, segment.times >= time
            if len(here):
                margins = margin + np.cumsum(np.where(here, 1, -1)[::-1])[::-1]  # outcomes at or after the time, less others, from each on
                margin, best, oldest = int(margins[0]), int(np.argmax(margins)), float(segment.times[0])
                if margins[best] >= largest:
                    outcomes, largest = begin + best, int(margins[best])
                within += int(np.count_nonzero(here))
            if segment is not self._newest and not here.any():
                break
        if oldest is None:
            return None
        is_reached = outcomes > begin
        return PastState(outcomes, within, time if is_reached else oldest, is_reached)

    def ratings_before(self, agents: Collection[int], outcomes: int, method: str) -> dict[int, float]:
        """Ratings of agents after the first `outcomes` outcomes of the pool, by their ids. Raises `OSError`, `BadObject`.

        An agent without an outcome in the `LAST_TIMES_SEGMENTS` newest segments is absent.

        Args:
            agents: Ids of the agents.
            outcomes: That of a state by `state_at`.
            method: Online method of the ratings.
        """
        places: dict[int, tuple[Segment, int, str]] = {}
        for segment in self._unbroken():
            for agent in sorted(agents if segment.end > outcomes else set(agents) - places.keys()):
                begin, end = segment.places_of(agent)
                at = begin + segment.before(agent, outcomes) if end > begin else end
                if at < end:  # the agent's first outcome in the segment that is after the state
                    places[agent] = segment, at, "before"
                elif end > begin and agent not in places:
                    places[agent] = segment, end - 1, "after"
            if segment.end <= outcomes and len(places) == len(agents):
                break
        return {agent: float(segment.rows(at, at + 1)[f"{when}.{method}"][0]) for agent, (segment, at, when) in places.items()}

    def _unbroken(self) -> Iterator[Segment]:
        """At most `LAST_TIMES_SEGMENTS` segments, newest first, up to the first outcome that cannot be read. Raises `OSError`."""
        begin = self._window.end
        for segment in islice(self.segments(), LAST_TIMES_SEGMENTS):
            if segment.end != begin:
                return
            yield segment
            begin = segment.first

    def _newest_rows(self, agent: int, outcomes: int, before: int | None = None) -> Iterator[tuple[Segment, Rows]]:
        """Parts of the rows of an agent, newest first, with their segments: few rows at first, then more at once. As `newest`."""
        size = _FIRST_ROWS
        for segment, begin, end in self._places(agent, outcomes):
            stop = end if before is None else begin + segment.before(agent, before - 1)
            while stop > begin:
                start = max(begin, stop - size)
                yield segment, segment.rows(start, stop)[::-1]
                stop, size = start, 2 * size

    def oldest(self, agent: int, outcomes: int) -> HistoryRow | None:
        """The first row of an agent; None if it is not kept. Arguments and errors as of `newest`."""
        places = list(self._places(agent, outcomes))
        if not places or sum(end - begin for _, begin, end in places) < outcomes:
            return None
        segment, begin, _ = places[-1]
        return HistoryRow(segment, segment.rows(begin, begin + 1)[0])

    def series(self, agent: int, outcomes: int, method: str) -> RatingSeries:
        """All kept outcomes of an agent with its ratings by a method. Other arguments and errors as of `newest`."""
        parts = [(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))]
        for segment, begin, end in self._places(agent, outcomes):
            rows = segment.rows(begin, end)
            numbers = segment.first + rows["outcome"].astype(np.int64) + 1
            parts.append((numbers, rows["time"], rows[f"before.{method}"], rows[f"after.{method}"]))
        return RatingSeries(*(np.concatenate(column) for column in zip(*reversed(parts), strict=True)))

    def parts(self, agent: int, outcomes: int) -> Iterator[tuple[Segment, Rows]]:
        """All kept rows of an agent, oldest first, with the segments that have them. Arguments and errors as of `newest`."""
        for segment, begin, end in reversed(list(self._places(agent, outcomes))):
            yield segment, segment.rows(begin, end)

    def _places(self, agent: int, outcomes: int) -> Iterator[tuple[Segment, int, int]]:
        """Segments that have an agent, newest first, with its first row and the row after its last one."""
        segments = self.segments()
        while outcomes > 0 and (segment := next(segments, None)) is not None:
            begin, end = segment.places_of(agent)
            if end > begin:
                yield segment, begin, end
                outcomes -= end - begin

    def _opened(self, name: str) -> Segment | None:
        """A segment's file, opened once; None if it is damaged or gone. Readers then see that its outcomes are missing."""
        if name not in self._open:
            try:
                self._open[name] = self._files.open(name)
            except BadObject as error:
                log.warning("a file of history cannot be read: %s", error)
                self._open[name] = None
        return None if self._is_bad(name) else self._open[name]

    def _is_bad(self, name: str) -> bool:
        """Whether a file was found damaged, when it was opened or read."""
        return name in self._open and ((segment := self._open[name]) is None or segment.damaged)

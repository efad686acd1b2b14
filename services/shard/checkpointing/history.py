"""Writes the segments of history that a partition completes, on a thread beside the fold."""

import logging
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.history_files import HistoryFiles
from services.state.history import TracedOutcomes

log = logging.getLogger("equirank.checkpoint")

MOST: Final = 16
"""Number of segments that may wait. The fold waits for the writer if there are more, so its memory is bounded."""
PATIENCE: Final = 5.0
"""Seconds that the fold waits for one segment to be written. After them, the file system counts as failing until a write succeeds."""


class _Waiting(NamedTuple):
    pool: str
    generation: int
    outcomes: TracedOutcomes


class HistoryWriter:
    """Segments of one partition that wait to be written.

    A segment is written before the manifest of the first checkpoint whose window begins after it. While the file system fails, no
    checkpoint is written, and folding continues. Then the oldest segments beyond `MOST` are dropped, and answers count their outcomes as
    missing.

    Args:
        store: The checkpoints.
        epoch: Epoch under which the partition is owned.

    Attributes:
        dropped: Number of segments that were dropped.
    """

    def __init__(self, store: CheckpointStore, epoch: int) -> None:
        self._files, self._epoch = HistoryFiles(store.blobs), epoch
        self._waiting: deque[_Waiting] = deque()
        self._lock, self._fails = threading.Lock(), False
        self._executor: ThreadPoolExecutor | None = None
        self._job: Future[None] | None = None
        self._progress = threading.Event()
        """Set when a segment was written, and when the job ends."""
        self.dropped = 0

    def put(self, pool: str, generation: int, outcomes: TracedOutcomes) -> None:
        """Add a completed segment. Called by the folding thread."""
        self._waiting.append(_Waiting(pool, generation, outcomes))

    def step(self, partition: int) -> None:
        """Begin to write what waits. Called by the folding thread.

        If too much waits, it waits until enough is written, but for each segment `PATIENCE` at most.
        """
        if not self._waiting:
            return
        if self._job is not None:
            self._wait(self._job)
            self._job = None if self._job.done() else self._job
        if self._fails:
            self._drop()
        elif self._job is None:
            self._executor = self._executor or ThreadPoolExecutor(1, "history")
            self._job = self._executor.submit(self._try, partition)
            self._job.add_done_callback(lambda _: self._progress.set())

    def _wait(self, job: "Future[None]") -> None:
        """Wait while too much waits and the writer makes progress."""
        while len(self._waiting) > MOST and not self._fails:
            self._progress.clear()
            if job.done() or len(self._waiting) <= MOST:
                return
            if not self._progress.wait(PATIENCE):
                self._fails = True

    def write(self, partition: int) -> None:
        """Write all segments that wait now. A checkpoint calls it before it writes its manifest. Raises `OSError`."""
        with self._lock:
            for _ in range(len(self._waiting)):
                try:
                    segment = self._waiting.popleft()
                except IndexError:  # the folding thread dropped segments
                    return
                try:
                    self._files.write(partition, segment.pool, segment.generation, segment.outcomes, self._epoch)
                except BaseException:
                    self._waiting.appendleft(segment)
                    self._fails = True
                    raise
                self._fails = False
                self._progress.set()

    def close(self) -> None:
        """End the thread."""
        if self._executor is not None:
            self._executor.shutdown()

    def _try(self, partition: int) -> None:
        try:
            self.write(partition)
        except OSError as error:
            log.warning("history was not written; the next checkpoint tries again: %s", error, extra={"partition": partition})

    def _drop(self) -> None:
        """Drop the oldest segments beyond `MOST`. The lock is not needed, and a call that hangs may hold it."""
        while len(self._waiting) > MOST:
            pool, generation, outcomes = self._waiting.popleft()
            self.dropped += 1
            log.warning(
                "history of outcomes %d to %d is lost, because checkpoints cannot be written",
                outcomes.first + 1,
                outcomes.end,
                extra={"pool": pool, "generation": generation},
            )

"""Records that a partition has folded before, read once more for its builds."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from services.control.log import ControlLog
from services.log.protocol import Reader, Record, Topic
from services.log.skipping import open_reader

_RECORDS: Final = 2000


class PastReader:
    """Reads one partition of a topic in slices. cut: cuts records into slices that fold in a moment."""

    def __init__(
        self, topic: Topic, partition: int, control: ControlLog, cut: Callable[[Sequence[Record]], Iterator[Sequence[Record]]]
    ) -> None:
        self._topic, self._partition, self._control, self._cut = topic, partition, control, cut
        self._reader: Reader | None = None
        self._slices: deque[tuple[int, Sequence[Record]]] = deque()
        """Slices that were read and not taken yet, each with the offset from which on it is complete."""
        self._read_to = 0

    def take(self, start: int, timeout: float) -> tuple[int, Sequence[Record]] | None:
        """The next slice for a build that has to go on at `start`, with the offset from which on it is complete.

        None where the log gave no record within `timeout` seconds. Raises `LogError`.
        """
        if self._slices and self._slices[0][0] > start:
            self.close()  # slices that were read ahead do not help a build that begins before them
        if not self._slices:
            self._read(start, timeout)
        return self._slices.popleft() if self._slices else None

    def close(self) -> None:
        """Give the reader's connection back."""
        self._slices.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _read(self, start: int, timeout: float) -> None:
        if self._reader is None or self._read_to != start:
            self.close()
            self._reader = open_reader(self._topic, {self._partition: start}, self._control.known().partitions.skipped)
            self._read_to = start
        for part in self._cut(self._reader.poll(timeout, _RECORDS).get(self._partition, [])):
            self._slices.append((self._read_to, part))
            self._read_to = part[-1].offset + 1

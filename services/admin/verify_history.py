"""Verify files of history: a segment follows from the outcomes alone, so the log that is folded again gives the same bytes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.checkpoints.checkpoint import PoolEntry
from services.checkpoints.history_files import HistoryFiles
from services.checkpoints.objects import BadObject
from services.checkpoints.segments import Segment, packed_segment
from services.state.history import TracedOutcomes


class ComparedHistory(NamedTuple):
    """Result for the files of one generation of a pool. difference: None if all files that were compared are equal."""

    entry: PoolEntry
    difference: str | None


class HistoryComparison:
    """Compares the segments of pools that are folded again with the files that a checkpoint needs.

    A missing file is no difference: readers count the outcomes that it would hold (`missing`), and a shard drops segments while it cannot
    write files. Neither is a damaged file beside an equal one, which readers take instead. A file that is not damaged must be equal,
    because readers can take it.

    Args:
        files: The files of history.
        partition: Number of the partition.
        entries: The entries of the checkpoint.
    """

    def __init__(self, files: HistoryFiles, partition: int, entries: Iterable[PoolEntry]) -> None:
        self._files, self._entries = files, {(entry.pool, entry.generation): entry for entry in entries if entry.stopped is None}
        self._names: defaultdict[tuple[str, int, int, int], list[str]] = defaultdict(list)
        for file in files.files(partition):
            self._names[file.pool, file.generation, file.first, file.end].append(file.name)
        self._compared: dict[tuple[str, int], list[str]] = {}
        """Pool and generation -> descriptions of the segments whose files differ."""

    def add(self, pool: str, generation: int, outcomes: TracedOutcomes) -> None:
        """Compare a segment. Raises `OSError`."""
        entry = self._entries.get((pool, generation))
        if entry is None or not entry.history_from < outcomes.end <= entry.outcomes:
            return
        names = self._names[pool, generation, outcomes.first, outcomes.end]
        kept = [data for name in names if (data := self._files.read(name)) is not None]
        if kept:
            wrong = self._compared.setdefault((pool, generation), [])
            expected = b"".join(packed_segment(outcomes))
            if expected not in kept or any(data != expected and _is_undamaged(data) for data in kept):
                wrong.append(f"{outcomes.first} to {outcomes.end}")

    def results(self) -> Iterator[ComparedHistory]:
        """A result for each generation of a pool of which a file was compared."""
        for key, wrong in self._compared.items():
            text = f"the files of outcomes {', '.join(wrong[:3])} differ from what the log and its archive give ({len(wrong)} segments)"
            yield ComparedHistory(self._entries[key], text if wrong else None)


def _is_undamaged(data: bytes) -> bool:
    """Whether readers can read a file with these bytes."""
    try:
        Segment(lambda start, stop: data[start:stop]).check_data()
    except BadObject:
        return False
    return True

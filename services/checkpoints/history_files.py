"""The files of history below the URL of checkpoints: their names, writing, reading, and the removal of old ones.

The name of a file has its pool, generation, first and last outcome, and the epoch of the shard that wrote it. A segment follows from the
outcomes alone, so files of two epochs for the same outcomes have equal bytes, unless their writer died. A file is never overwritten.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.objects import BadObject, Read
from services.checkpoints.segments import Segment, packed_segment
from services.state.history import TracedOutcomes

_FRONT: Final = 1 << 20
"""Bytes read at once from the beginning of a file on an object store: more than its index, so that an open file took one request."""
_NAME: Final = re.compile(r"(.+)-(\d+)-(\d{20})-(\d{20})-(\d{20})\.eqh$")


class SegmentFile(NamedTuple):
    """A file of history. first, end: numbers of outcomes of the generation before the segment, and up to its last outcome."""

    name: str
    pool: str
    generation: int
    first: int
    end: int
    epoch: int


class HistoryFiles:
    """Files of history. All methods raise `OSError` if the file system fails or exceeds its deadline."""

    def __init__(self, blobs: BlobFiles) -> None:
        self._blobs = blobs

    @property
    def is_local(self) -> bool:
        """Whether files are mapped into memory, so that processes share it."""
        return self._blobs.is_local

    def files(self, partition: int) -> list[SegmentFile]:
        """All files of a partition, in no order."""
        matches = [(name, _NAME.match(name)) for name in self._blobs.names(folder_of(partition))]
        return [
            SegmentFile(f"{folder_of(partition)}/{name}", match[1], *map(int, match.groups()[1:]))
            for name, match in matches
            if match is not None
        ]

    def write(self, partition: int, pool: str, generation: int, outcomes: TracedOutcomes, epoch: int) -> None:
        """Write a segment, unless this epoch has written it. The next manifest makes its name durable.

        The shard folds a generation again if its build failed. Readers may have mapped the file, which must not be overwritten then.
        """
        span = f"{outcomes.first:020d}-{outcomes.end:020d}"
        name, parts = f"{folder_of(partition)}/{pool}-{generation}-{span}-{epoch:020d}.eqh", packed_segment(outcomes)
        if not self._has(name, sum(map(len, parts))):
            self._blobs.write(name, parts)

    def _has(self, name: str, size: int) -> bool:
        """Whether a file of this size exists."""
        try:
            return len(self._blobs.read_range(name, size - 1, size + 1)) == 1
        except FileNotFoundError:
            return False

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if it was removed."""
        try:
            return self._blobs.read(name)
        except FileNotFoundError:
            return None

    def open(self, name: str) -> Segment:
        """Open a segment. Raises `BadObject` if it is missing or damaged. A local file is mapped into memory."""
        try:
            if self._blobs.is_local:
                mapped = self._blobs.map(name)
                return Segment(lambda start, stop: mapped[start:stop])
            front = self._blobs.read_range(name, 0, _FRONT)
            read: Read = lambda start, stop: self._blobs.read_range(name, start, stop)  # noqa: E731 - two ways to read
            return Segment(read, lambda start, stop: front[start:stop] if stop <= len(front) else read(start, stop))
        except FileNotFoundError as error:
            raise BadObject(f"{name}: not found") from error

    def prune(self, partition: int, epoch: int, kept: Mapping[tuple[str, int], int]) -> None:
        """Remove the files that no checkpoint needs.

        A generation that began after the newest checkpoint is in none yet, but the caller may have written files of it. So files of this
        epoch are kept unless a later generation of the pool has a checkpoint. Those of a failed build go then, or with the next epoch.

        Args:
            partition: Number of the partition.
            epoch: Epoch of the caller. Files of later epochs are kept.
            kept: For each pool and generation of the kept checkpoints, the number of its outcomes whose history has expired. A segment is
                removed if all its outcomes have expired.
        """
        newest = dict(sorted(kept))
        files = [file for file in self.files(partition) if file.epoch <= epoch]
        own = {file[1:5] for file in files if file.epoch == epoch}
        for file in files:
            expired = kept.get((file.pool, file.generation))
            if expired is None:
                is_needed = file.epoch == epoch and file.generation > newest.get(file.pool, 0)
            else:
                is_needed = file.end > expired and (file.epoch == epoch or file[1:5] not in own)
            if not is_needed:
                self._blobs.remove(file.name)


def chained(files: Sequence[SegmentFile], end: int) -> list[list[SegmentFile]]:
    """The files that together hold the outcomes before outcome `end`, newest first.

    Each entry has the files of one segment, those of later epochs first. Segments that another one covers are left out.
    """
    chain: list[list[SegmentFile]] = []
    left = sorted(files, key=lambda file: (file.end, -file.first, file.epoch), reverse=True)
    for file in left:
        if chain and file[1:5] == chain[-1][0][1:5]:
            chain[-1].append(file)
        elif file.end <= end:
            chain.append([file])
            end = file.first
    return chain


def folder_of(partition: int) -> str:
    """Folder of the files of a partition."""
    return f"history/p{partition:05d}"

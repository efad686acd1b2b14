"""Manifests of the checkpoints of one partition."""

from collections.abc import Callable

from services.checkpoints.checkpoint import FORMAT, Manifest
from services.control.records import FOLD_VERSION
from services.shard.partition import Partition


class Manifests:
    """Makes manifests under one epoch. clock: seconds since 1970."""

    def __init__(self, log_identity: str, epoch: int, clock: Callable[[], float]) -> None:
        self._log_identity, self._epoch, self._clock = log_identity, epoch, clock

    def make(self, partition: Partition, newest: Manifest | None, written: Manifest | None) -> Manifest:
        """The manifest of a partition as it is now, without its pools.

        Args:
            partition: What to write.
            newest: Manifest of the newest checkpoint, of this epoch or an earlier one.
            written: Manifest of the newest checkpoint of this epoch.
        """
        offset, sha256 = partition.last or (None, None)
        sequence = 0
        if newest is not None and partition.position == newest.position:  # the later of two manifests of a position counts
            sequence = 1 if written is None else written.sequence + 1
        return Manifest(
            format=FORMAT,
            partition=partition.number,
            position=partition.position,
            epoch=self._epoch,
            log_identity=self._log_identity,
            last_offset=offset,
            last_sha256=sha256,
            fold_version=FOLD_VERSION,
            written_at=self._clock(),
            pools=[],
            sequence=sequence,
        )

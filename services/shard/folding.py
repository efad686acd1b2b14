"""Folds records into a partition, writes the dead letters, and counts both."""

import threading
import time

from services.control.erasures import NameMatcher
from services.log import dead_letters
from services.log.dead_letters import DeadLetter, LettersRefused
from services.log.protocol import LogError, Records, Topic
from services.shard.feed import retry
from services.shard.figures import ShardFigures
from services.shard.partition import Directory, Partition
from services.shard.partition_runtime import PartitionRuntime


class Folding:
    """Folds records and writes dead letters for all partitions of a shard. directory: gives the pools and their generations."""

    def __init__(self, directory: Directory, dead_letter_topic: Topic, stopping: threading.Event, figures: ShardFigures) -> None:
        self._directory, self._dead_letters, self._stopping, self._figures = directory, dead_letter_topic, stopping, figures

    def fold(self, runtime: PartitionRuntime, records: Records) -> None:
        """Fold records of a partition in order, and write their dead letters. Raises `LettersRefused`, `LogError`, `Fenced`."""
        began = time.perf_counter()
        retry(lambda: runtime.letters.extend(runtime.partition.fold(records, self._directory)), self._stopping)
        runtime.folded_at = records[-1].time
        self._figures.counts.update(records=len(records), bytes=records.nbytes, batches=1)
        self._figures.folds.add(time.perf_counter() - began)
        self.write_letters(runtime)

    def write_letters(self, runtime: PartitionRuntime) -> None:
        """Write the partition's dead letters that are not yet written.

        Raises:
            LettersRefused: Trying again would not help. The partition must stop.
            LogError: The shard must end, and the log still does not answer.
        """
        if runtime.letters:
            try:
                retry(lambda: self.send_letters(runtime), self._stopping)
            except LogError as error:
                if error.retriable:
                    raise
                raise LettersRefused(runtime.partition.number, len(runtime.letters), error) from error
            self.settle_letters(runtime)

    def send_letters(self, runtime: PartitionRuntime) -> None:
        """Write the partition's dead letters once. Changes nothing here, so any thread may call this for a stopped partition.

        Raises `LogError`.
        """
        dead_letters.write(self._dead_letters, [_without_names(letter, runtime.partition) for letter in runtime.letters])

    def settle_letters(self, runtime: PartitionRuntime) -> None:
        """Count the partition's dead letters, which were written, and drop them."""
        self._figures.dead_letters.update(letter.reason for letter in runtime.letters)
        runtime.letters = []


def _without_names(letter: DeadLetter, partition: Partition) -> DeadLetter:
    """Replace the names that the letter's pool erases. If the pool is unknown, replace the names that any pool of the partition erases."""
    pools = partition.pools if letter.pool is None else [letter.pool]
    for pool in pools:
        if (state := partition.pools.get(pool)) is not None and state.generation.erased:
            letter = letter.edited(NameMatcher(state.generation.erased).in_text)
    return letter

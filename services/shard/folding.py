"""Folds records into a partition and writes its dead letters, with the figures of both."""

import threading
import time
from collections import Counter
from collections.abc import Sequence

from services.control.erasures import NameMatcher
from services.log import dead_letters
from services.log.dead_letters import DeadLetter
from services.log.protocol import Record, Topic
from services.runtime.durations import Durations
from services.shard.feed import retry
from services.shard.partition import Directory, Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.slices import size


class Folding:
    """directory: where partitions learn what their pools are; set before the first fold.

    counters: records, bytes and batches folded. reasons: dead letters by reason. durations: seconds of each call of the fold.
    """

    directory: Directory

    def __init__(self, dead_letter_topic: Topic, stopping: threading.Event) -> None:
        self._dead_letters, self._stopping = dead_letter_topic, stopping
        self.counters = {"records": 0, "bytes": 0, "batches": 0}
        self.reasons: Counter[str] = Counter()
        self.durations = Durations()

    def fold(self, runtime: PartitionRuntime, records: Sequence[Record]) -> None:
        """Fold records of a partition in order, and write the dead letters they give. Raises `LogError`, `Fenced`."""
        began = time.perf_counter()
        retry(lambda: runtime.letters.extend(runtime.partition.fold(records, self.directory)), self._stopping)
        runtime.folded_at = records[-1].time
        self.counters["records"] += len(records)
        self.counters["bytes"] += size(records)
        self.counters["batches"] += 1
        self.durations.add(time.perf_counter() - began)
        self.write_letters(runtime)

    def write_letters(self, runtime: PartitionRuntime) -> None:
        """Write the dead letters that a partition holds. Raises `LogError`."""
        if runtime.letters:
            self.reasons.update(letter.reason for letter in runtime.letters)
            letters = [_without_names(letter, runtime.partition) for letter in runtime.letters]
            retry(lambda: dead_letters.write(self._dead_letters, letters), self._stopping)
            runtime.letters = []


def _without_names(letter: DeadLetter, partition: Partition) -> DeadLetter:
    """The entry without names that its pool erases; without those of all pools where its pool could not be read."""
    pools = partition.pools if letter.pool is None else [letter.pool]
    for pool in pools:
        if (state := partition.pools.get(pool)) is not None and state.generation.erased:
            letter = letter.edited(NameMatcher(state.generation.erased).in_text)
    return letter

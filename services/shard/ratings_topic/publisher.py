"""Publishes the ratings of a shard's pools to the ratings topic, after its boards.

The folding thread copies rows; another thread writes them, one round at a time. Changes that wait are flags of agents, so a broker that is
slow or down costs no memory, and neither folding nor the boards wait for it. Rows are absolute values. A pool is written after its boards,
so the topic follows what readers see.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Final

from services.runtime.deadlines import start
from services.shard.fencing import Fenced
from services.shard.figures import ShardFigures
from services.shard.partition import Partition
from services.shard.publishing.updates import Update
from services.shard.ratings_topic.contents import TopicContents
from services.shard.ratings_topic.copying import RatingsTrack, RatingsUpdate, copy_ratings
from services.shard.ratings_topic.writer import PartitionPart, PartResult, TopicWriter, WriteEnd
from services.state.pool import PoolState

_FAILED_SECONDS: Final = 1.0
"""Least pause after a failed round."""
_MOST_PAUSE: Final = 5.0
"""Longest pause after a round. A pause is as long as its round, so that the fold gets most of the time."""
_LOOK_SECONDS: Final = 1.0
_POOLS_A_LOOK: Final = 200
"""Pools whose solved boards are compared with the topic in one look, and the seconds between two looks."""
_DRAIN_SECONDS: Final = 5.0
"""Longest wait for the topic when the shard ends. The next owner writes what is missing."""


class RatingsPublisher:
    """Publishes to the topic. Every `now` is monotonic time in seconds.

    interval: least seconds from the end of a round to the next one. figures: receive results, and since when each partition lacks rows.
    """

    def __init__(self, writer: TopicWriter, interval: float, figures: ShardFigures, timer: Callable[[], float] = time.monotonic) -> None:
        self._writer, self._interval, self._figures, self._timer = writer, interval, figures, timer
        self._began = self._next = self._next_look = float("-inf")
        self._tracks: dict[str, RatingsTrack] = {}
        self._contents: dict[int, TopicContents] = {}
        self._looked_to: dict[int, str] = {}
        self._job: Future[list[PartResult]] | None = None

    def note(self, update: Update) -> None:
        """Note an update that was written to the store. Updates of heads alone change no row."""
        if update.head_only:
            return
        pool = update.head.pool
        if (track := self._track_of(pool, update.state)) is None:
            track = self._tracks[pool] = RatingsTrack(update.head, update.track.recovered)
        track.note(update.head, update.ids, self._timer())

    def step(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> None:
        """Apply the results of a finished round, and start the next one if it is due. Raises `Fenced`."""
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job.result(), now, partitions)
        if now < self._next:
            return
        began = time.perf_counter()
        parts = list(self._parts(now, partitions, epochs))
        if any(part.updates for part in parts):
            self._figures.copies.add(time.perf_counter() - began)
        self._report(partitions)
        self._began, self._next = now, now + self._interval
        if parts:
            self._job = start(partial(self._writer.write, parts), "ratings")

    def drain(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> None:
        """Write the remaining rows once, if the topic answers in time. Raises `Fenced`."""
        deadline = self._timer() + _DRAIN_SECONDS
        if self._ended(deadline):
            self._next = self._next_look = float("-inf")
            self.step(now, partitions, epochs)
            if self._ended(deadline) and self._job is not None:
                self._settle(self._job.result(), now, partitions)

    def close(self) -> None:
        """Close the connections, unless a round that does not end uses them."""
        if self._job is None or self._job.done():
            self._writer.close()

    def _ended(self, deadline: float) -> bool:
        """Wait for the round under way. Returns whether it ended before `deadline`, by the timer."""
        if self._job is not None:
            wait([self._job], max(0.0, deadline - self._timer()))
        return self._job is None or self._job.done()

    def _parts(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> Iterator[PartitionPart]:
        look = now >= self._next_look
        if look:
            self._next_look = now + _LOOK_SECONDS
        for number, partition in partitions.items():
            if not partition.pools:
                continue
            contents = self._contents.get(number)
            if contents is None:
                if self._figures.ratings_since.get(number) is None:
                    self._figures.ratings_since[number] = now
                yield PartitionPart(number, epochs[number], None)
                continue
            updates = list(self._updates(now, partition, epochs[number], contents))
            pools = self._pools_to_compare(partition) if look else []
            if updates or pools:
                yield PartitionPart(number, epochs[number], contents, updates, pools)

    def _updates(self, now: float, partition: Partition, epoch: int, contents: TopicContents) -> Iterator[RatingsUpdate]:
        for pool, state in partition.pools.items():
            if (track := self._track_of(pool, state)) is None:
                continue
            if not track.compared:
                track.compare(state, contents[pool].get(None), now)
            if track.is_due(state, partition) and (update := copy_ratings(track, state, partition, epoch)) is not None:
                yield update

    def _pools_to_compare(self, partition: Partition) -> list[str]:
        """The next pools whose solved boards are compared, in the order of names. After the last one, the first ones follow."""
        names = sorted(partition.pools)
        following = [pool for pool in names if pool > self._looked_to.get(partition.number, "")] or names
        pools = following[:_POOLS_A_LOOK]
        self._looked_to[partition.number] = pools[-1] if len(following) > len(pools) else ""
        return pools

    def _settle(self, results: list[PartResult], now: float, partitions: Mapping[int, Partition]) -> None:
        self._job = None
        failed = any(result.end is WriteEnd.FAILED for result in results)
        self._next = now + max(self._interval, _FAILED_SECONDS if failed else 0.0, min(now - self._began, _MOST_PAUSE))
        counts = self._figures.counts
        for result in results:
            part = result.part
            counts["ratings_records"] += result.records
            match result.end:
                case WriteEnd.SUPERSEDED:
                    raise Fenced(f"partition {part.partition} was taken over by a newer shard than epoch {part.epoch}")
                case WriteEnd.WRITTEN:
                    if result.contents is not None:
                        self._contents[part.partition] = result.contents
                    for update in part.updates:
                        update.track.written()
                case WriteEnd.FAILED:
                    counts["ratings_failures"] += 1
                    for update in part.updates:
                        update.track.failed(update.ids)
                    if result.contents is None and self._contents.pop(part.partition, None) is not None:
                        self._forget_topic(partitions[part.partition])

    def _forget_topic(self, partition: Partition) -> None:
        """Compare all pools again, because the topic was replaced by another one."""
        for pool in partition.pools:
            if (track := self._tracks.get(pool)) is not None:
                track.lose_topic()

    def _report(self, partitions: Mapping[int, Partition]) -> None:
        """Update since when the topic lacks rows of each partition."""
        for number, partition in partitions.items():
            if number in self._contents:
                tracks = [track for pool, state in partition.pools.items() if (track := self._track_of(pool, state)) and not state.broken]
                self._figures.ratings_since[number] = min((at for track in tracks if (at := track.lacking_since) is not None), default=None)

    def _track_of(self, pool: str, state: PoolState) -> RatingsTrack | None:
        """The track of a state; None if its boards were not written yet."""
        track = self._tracks.get(pool)
        return track if track is not None and track.is_of(state) else None

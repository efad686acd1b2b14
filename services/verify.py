"""Verification: the log folded again must give what checkpoints hold and what readers see. Talks to no shard.

For each partition the newest checkpoint that is whole with all its objects gives position and digests (newer ones that are not are
told as differences); the log is folded from its beginning to that position and compared; then on to each position that the store
shows, and compared with every value on the live boards. Where the log no longer holds its beginning, the oldest checkpoint kept takes
its place, and findings say from where they hold.
"""

import time
from collections.abc import Iterator
from typing import Final

import msgspec

from ratings_core.digest import digest
from services.control import ControlLog
from services.log.protocol import Log, Record
from services.pools import ControlState
from services.shard.checkpoint import CheckpointStore, Manifest, SkippedCheckpoint
from services.shard.directory import FixedDirectory
from services.shard.partition import Partition
from services.shard.pool import PoolState
from services.shard.recovery import beginning, restore
from services.store.protocol import ACTIVITY, StoreReader

_READ_SECONDS: Final = 5.0
_RECORDS: Final = 5000
_PAGE: Final = 1000
_TRIES: Final = 5
_CATCH_UP_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.1


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison. difference: what differs, None where nothing does; since: what was folded below it is taken from a checkpoint."""

    partition: int
    pool: str | None
    what: str
    position: int
    difference: str | None = None
    since: int | None = None


def verify_partition(number: int, log: Log, checkpoints: CheckpointStore, store: StoreReader | None) -> Iterator[Finding]:
    """Findings of one partition. store: None compares checkpoints only."""
    control = ControlLog(log.control)
    state = control.refresh()
    control.close()
    damaged, manifest = _newest(number, checkpoints)
    for one in damaged:
        yield Finding(partition=number, pool=None, what="checkpoint", position=one.position, difference=one.reason)
    start = _start(number, log, state, checkpoints)
    if isinstance(start, str):
        yield Finding(partition=number, pool=None, what="log", position=log.outcomes.begin(number), difference=start)
        return
    since = start.position if start.position > beginning(number, log.outcomes, state) else None
    folded = _Refolded(start, log, state)
    try:
        for finding in _compared(folded, manifest, store):
            yield msgspec.structs.replace(finding, since=since)
    finally:
        folded.close()


def _compared(folded: "_Refolded", manifest: Manifest | None, store: StoreReader | None) -> Iterator[Finding]:
    if manifest is not None:
        folded.to(manifest.position)
        yield from _against_checkpoint(folded.partition, manifest)
    if store is not None:
        yield from _against_boards(folded, store)


def _start(number: int, log: Log, control: ControlState, checkpoints: CheckpointStore) -> Partition | str:
    """Where folding starts: empty where the log holds all that counts, else the oldest checkpoint from which it goes on; or why not."""
    topic = log.outcomes
    begin = topic.begin(number)
    if begin <= beginning(number, topic, control):
        return Partition(number, topic.partitions, begin)
    found = checkpoints.oldest(number, begin)
    if found is None:
        return f"the log begins at {begin}, and no checkpoint from there on is kept: nothing can be verified"
    return restore(*found, topic.partitions, control)


def _newest(number: int, checkpoints: CheckpointStore) -> tuple[list[SkippedCheckpoint], Manifest | None]:
    """The newest checkpoint that is whole with all its objects, and those newer ones that are not (and were not just removed)."""
    skipped: list[SkippedCheckpoint] = []
    found = checkpoints.recover(number, skipped)
    standing = checkpoints.manifests(number) if skipped else []
    return [one for one in skipped if one.name in standing], found[0] if found else None


class _Refolded:
    """A partition folded again, forwards only, from where it starts."""

    def __init__(self, start: Partition, log: Log, control: ControlState) -> None:
        self.partition, self._number = start, start.number
        self._directory = FixedDirectory(control)
        self._ahead: list[Record] = []
        self._reader = log.outcomes.reader({start.number: start.position})

    def to(self, position: int) -> None:
        """Fold every record below `position`."""
        while self.partition.position < position:
            if not self._ahead:
                self._ahead = self._reader.poll(_READ_SECONDS, _RECORDS).get(self._number, [])
                if not self._ahead:
                    return  # the log ends here: positions beyond the last record mean the same state
            cut = sum(record.offset < position for record in self._ahead)
            if cut == 0:
                return
            self.partition.fold(self._ahead[:cut], self._directory)
            self._ahead = self._ahead[cut:]

    def close(self) -> None:
        """Give the reader's connection back."""
        self._reader.close()


def _against_checkpoint(partition: Partition, manifest: Manifest) -> Iterator[Finding]:
    for entry in manifest.pools:
        if entry.stopped is not None:
            difference: str | None = f"the pool is stopped: {entry.stopped}"
        else:
            state = partition.pools.get(entry.pool)
            found = digest(state.arrays()) if state is not None else "no such pool"
            difference = None if found == entry.digest else f"the checkpoint has digest {entry.digest}, the log gives {found}"
        yield Finding(partition=partition.number, pool=entry.pool, what="checkpoint", position=manifest.position, difference=difference)
    for pool in sorted(partition.pools.keys() - {entry.pool for entry in manifest.pools}):
        lacks = "the checkpoint lacks this pool"
        yield Finding(partition=partition.number, pool=pool, what="checkpoint", position=manifest.position, difference=lacks)


def _against_boards(folded: _Refolded, store: StoreReader) -> Iterator[Finding]:
    number = folded.partition.number
    heads = sorted((head for head in store.pools() if head.partition == number), key=lambda head: head.position)
    for pool in sorted(folded.partition.pools.keys() - {head.pool for head in heads}):
        yield Finding(
            partition=number, pool=pool, what="live boards", position=folded.partition.position, difference="the store lacks this pool"
        )
    for head in heads:
        yield _against_store(folded, head.pool, store)


def _against_store(folded: _Refolded, pool: str, store: StoreReader) -> Finding:
    """Compare the live boards with the state at the position shown. A pool on the move is read again: positions only rise."""
    difference: str | None = "the store forgot the pool while it was read"
    position = folded.partition.position
    for _ in range(_TRIES):
        before = store.head(pool)
        if before is None:
            break
        seen = {method: _whole(store, pool, method) for method in [*before.online, ACTIVITY]}
        position = before.position
        folded.to(position)
        difference = _board_difference(folded.partition.pools.get(pool), seen)
        if difference is None:
            break
        _catch_up(store, pool, folded.partition.position)
    return Finding(partition=folded.partition.number, pool=pool, what="live boards", position=position, difference=difference)


def _catch_up(store: StoreReader, pool: str, position: int) -> None:
    """Give the store a while to reach `position`: a shard whose store was away publishes after its checkpoint."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while (head := store.head(pool)) is not None and head.position < position and head.stopped is None and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _whole(store: StoreReader, pool: str, method: str) -> dict[str, float]:
    rows: dict[str, float] = {}
    start = 0
    while (page := store.live(pool, method, start, _PAGE)) is not None and page.rows:
        rows |= {row.agent: row.rating for row in page.rows if row.rating is not None}
        start += len(page.rows)
    return rows


def _board_difference(state: PoolState | None, seen: dict[str, dict[str, float]]) -> str | None:
    if state is None:
        return "the store shows a pool that the log does not give"
    names = state.agents.names()
    for method, board in seen.items():
        values = state.activity if method == ACTIVITY else state.online[method].rating
        expected = dict(zip(names, values[: len(names)].tolist(), strict=True))
        wrong = sorted(name for name in expected.keys() | board.keys() if expected.get(name) != board.get(name))
        if wrong:
            first = wrong[0]
            return f"{len(wrong)} agents differ on {method}; {first!r} has {board.get(first)}, the log gives {expected.get(first)}"
    return None

"""Verify checkpoints and live boards: fold the log again and compare the results. No shard takes part.

For each partition, the log is folded from its beginning to the position of the newest complete checkpoint, and digests are compared.
Records that the archive holds are read from the archive, also if the topic holds them too. So a changed outcome in the archive is found.
Newer incomplete checkpoints are reported as differences. The log is then folded to the position of each pool in the store, and every value
on its live boards is compared.

Each pool is folded by the checkpoint's generation. A generation under construction, or another serving generation, is folded in parallel.
If the log lacks the beginning of one of these generations, that is reported as a difference. Segments of history that are folded on the way
are compared with the files of the checkpoint.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from ratings_core.arrays.digest import digest
from services.admin.verify_history import HistoryComparison
from services.admin.verify_seasons import SeasonsBefore
from services.archive.history import ArchiveFails
from services.boards.evidence import few_outcomes
from services.boards.slice_boards import SliceName, method_of, slice_boards
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import ACTIVITY, PoolHead
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry, SkippedCheckpoint
from services.checkpoints.history_files import HistoryFiles
from services.control import seasons
from services.control.directory import FixedDirectory
from services.control.log import control_state
from services.control.records import ControlState, Generation
from services.log.protocol import Log, Records, forgotten
from services.log.reading import no_answer
from services.log.records import NO_RECORDS, count_below
from services.log.skipping import open_reader
from services.runtime.settings import PROVISIONAL, Provisional
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.publishing.updates import slices_of
from services.shard.recovery import WrongLog, beginning, check_bound, check_log, retracted
from services.state.content import PoolContent
from services.state.pool import PoolState

_READ_SECONDS: Final = 5.0
_SILENT_POLLS: Final = 6
"""Consecutive polls without progress after which a read fails. A poll without records makes progress if it passes a gap of offsets."""
_RECORDS: Final = 5000
_PAGE: Final = 1000
_TRIES: Final = 5
_CATCH_UP_SECONDS: Final = 5.0
WRITING_SECONDS: Final = 1.0
"""Pause before a difference is checked again: what is being written or removed looks damaged for a moment."""
_LOOK_SECONDS: Final = 0.1


class _Value(NamedTuple):
    """An agent's values on a live board. provisional: Whether it is among the provisional agents, which follow the settled ones."""

    rating: float
    deviation: float | None = None
    provisional: bool = False


_Seen: TypeAlias = "dict[str, _Value]"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one comparison.

    Attributes:
        partition: Number of the partition; None for all partitions.
        pool: Name of the pool; None for a comparison of the partition.
        what: Compared object, such as `checkpoint`.
        position: Position of the comparison.
        difference: Description of the difference; None if there is no difference.
        made: False if the comparison was not possible; `difference` then has the reason and the remedy.
    """

    partition: int | None
    pool: str | None
    what: str
    position: int
    difference: str | None = None
    made: bool = True

    def __str__(self) -> str:
        """Name of the comparison and its position, without its result."""
        pool = "" if self.pool is None else f" {self.pool}"
        where = "" if self.partition is None else f"partition {self.partition}{pool} "
        at = f" at {self.position}" if self.made else ""
        return f"{where}{self.what}{at}"


def verify_partition(number: int, log: Log, checkpoints: CheckpointStore, store: LiveBoards | None) -> Iterator[Finding]:
    """Verify checkpoints and live boards of one partition.

    Args:
        number: Number of the partition.
        log: The log, with its archive.
        checkpoints: Checkpoints to compare.
        store: Live boards to compare; None compares checkpoints only.

    Returns:
        A finding for each comparison, also those without a difference.

    Raises:
        LogError: The log cannot be read.
        StoreError: The store failed.
    """
    for last in (False, True):
        try:
            yield from list(_verified(number, log, checkpoints, store))
        except ArchiveFails as error:
            if last or not error.retriable:
                yield Finding(partition=number, pool=None, what="archive", position=0, difference=str(error), made=False)
                return
            time.sleep(WRITING_SECONDS)  # an erasure may have replaced the files that were being read
        else:
            return


def _verified(number: int, log: Log, checkpoints: CheckpointStore, store: LiveBoards | None) -> Iterator[Finding]:
    """See `verify_partition`. Raises `ArchiveFails`, too."""
    state = control_state(log.control)
    damaged, manifest = _newest(number, checkpoints)
    for checkpoint in damaged:
        yield Finding(partition=number, pool=None, what="checkpoint", position=checkpoint.position, difference=checkpoint.reason)
    try:
        check_bound(number, log.outcomes, state)
        if manifest is not None:
            check_log(manifest, log.outcomes)
    except WrongLog as error:
        yield Finding(partition=number, pool=None, what="log", position=log.outcomes.end(number), difference=str(error))
        return
    chosen, further = _generations(number, state, manifest, store)
    begin = log.history.begin(number)
    first = min([made.start for made in (*chosen.values(), *further)], default=beginning(number, log.history, state))
    if (needed := state.partitions.beyond(number, first)) < begin:
        yield Finding(partition=number, pool=None, what="log", position=begin, difference=forgotten(log.history, number, needed))
        return
    ends = SeasonsBefore(log, state, checkpoints)
    for made in [ended.by for pool in chosen for ended in seasons.ended(state, pool)]:
        if (compared := ends.compared(made, number)) is not None:
            yield Finding(partition=number, pool=made.pool, **compared._asdict())
    start = _start(Partition(number, log.outcomes.partitions, begin), chosen, further, log, ends)
    history = HistoryComparison(HistoryFiles(checkpoints.blobs), number, manifest.entries if manifest is not None else ())
    start.on_segment = history.add
    with closing(_Refolded(start, log, state, FixedDirectory(state, chosen))) as folded:
        yield from _compared(folded, manifest, store)
    for entry, difference in history.results():
        yield Finding(partition=number, pool=entry.pool, what="history", position=entry.position, difference=difference)


def _generations(
    number: int, control: ControlState, manifest: Manifest | None, store: LiveBoards | None
) -> tuple[dict[str, Generation], list[Generation]]:
    """Generations to fold: those of checkpoint and store that the control log contains.

    Returns:
        Pool -> first generation, and a list of further generations of these pools.
    """
    shown = [(head.pool, head.generation) for head in store.pools() if head.partition == number] if store is not None else []
    held = [(entry.pool, entry.generation) for entry in manifest.entries] if manifest is not None else []
    chosen: dict[str, Generation] = {}
    further: list[Generation] = []
    for pool, generation in dict.fromkeys([*held, *shown]):
        made = control.generations.get(pool, {}).get(generation)
        if made is not None and chosen.setdefault(pool, made) is not made:
            further.append(made)
    return chosen, further


def _compared(folded: "_Refolded", manifest: Manifest | None, store: LiveBoards | None) -> Iterator[Finding]:
    if manifest is not None:
        for entry in sorted(manifest.builds, key=lambda build: build.position):
            folded.to(entry.position)
            yield _against_entry(folded, entry, "generation under construction", entry.position)
        folded.to(manifest.position)
        yield from _against_checkpoint(folded, manifest)
    if store is not None:
        yield from _against_boards(folded, store)


def _start(
    partition: Partition, chosen: Mapping[str, Generation], further: Sequence[Generation], log: Log, ends: SeasonsBefore
) -> Partition:
    """Add the generations to fold to `partition`, and return it.

    The fold creates the state of a chosen generation at its first record. The state exists before if retractions were applied, or if an
    operator skipped records: then the pool may have no record, as `Partition.begin_unread` says.
    """
    skips = ends.control.partitions.has_skips(partition.number)
    for made in chosen.values():
        if made.retraction_horizon or made.opening is not None or skips:
            partition.pools[made.pool] = _empty(made, partition.number, log, ends)
    for made in further:
        build = Build.restored(_empty(made, partition.number, log, ends), max(made.start, partition.position))
        partition.builds[build.key] = build
    return partition


def _empty(made: Generation, number: int, log: Log, ends: SeasonsBefore) -> PoolState:
    """State of a pool before the first record of a generation. Raises `LogError`."""
    return PoolState(ends.control.pools[made.pool], made, retracted(made, log, number, ends.control), ends.final(made, number))


def _newest(number: int, checkpoints: CheckpointStore) -> tuple[list[SkippedCheckpoint], Manifest | None]:
    """Newer damaged checkpoints, and the newest usable one.

    A checkpoint that a shard is writing or removing looks damaged for a moment. So the checkpoints are read again after a pause, and only
    those are returned that are damaged both times and still there.
    """
    skipped: list[SkippedCheckpoint] = []
    newest = checkpoints.recover(number, skipped)
    if not skipped:
        return [], newest[0] if newest else None
    time.sleep(WRITING_SECONDS)
    still_skipped: list[SkippedCheckpoint] = []
    newest = checkpoints.recover(number, still_skipped)
    standing = {checkpoint.name for checkpoint in skipped}.intersection(checkpoints.manifests(number))
    return [checkpoint for checkpoint in still_skipped if checkpoint.name in standing], newest[0] if newest else None


class _Refolded:
    """A partition that is folded again, from the position of `start` to higher positions."""

    def __init__(self, start: Partition, log: Log, control: ControlState, directory: FixedDirectory) -> None:
        self.partition, self.log, self._number = start, log, start.number
        self._directory = directory
        self._ahead: Records = NO_RECORDS
        topic = log.outcomes if log.archived is None else log.archived.archive_first()
        self._reader = open_reader(topic, {start.number: start.position}, control.partitions.skipped)

    def to(self, position: int) -> None:
        """Fold every record below `position`. Raises `LogError`; it is retriable if the log gives no records."""
        while self.partition.position < position:
            if not len(self._ahead) and not self._read_on(position):
                return  # no record follows below `position`, so the state is the same there
            cut = count_below(self._ahead, position)
            if not cut:
                return
            self.partition.fold(self._ahead[:cut], self._directory)
            self._ahead = self._ahead[cut:]

    def _read_on(self, position: int) -> bool:
        """Read the next records. Returns False if none follow below `position`.

        A broker that does not answer gives no records either, so the end is confirmed by the reader's position.
        """
        tries = 0
        while tries < _SILENT_POLLS:
            begin = self._reader.position(self._number)
            self._ahead = self._reader.poll(_READ_SECONDS, _RECORDS).get(self._number, NO_RECORDS)
            at = self._reader.position(self._number)
            if len(self._ahead) or at >= min(position, self.log.outcomes.end(self._number)):
                return len(self._ahead) > 0
            tries = tries + 1 if at == begin else 0
        raise no_answer(self.log.outcomes, self._number, begin, tries * _READ_SECONDS)

    def state(self, pool: str, generation: int) -> PoolState | None:
        """State of a pool in a generation; None if this generation is not folded."""
        state = self.partition.pools.get(pool)
        if state is not None and state.generation.number == generation:
            return state
        build = self.partition.builds.get((pool, generation))
        return build.state if build is not None else None

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()


def _against_entry(folded: _Refolded, entry: PoolEntry, what: str, position: int) -> Finding:
    if entry.stopped is not None:
        difference: str | None = f"the pool is stopped: {entry.stopped}"
    else:
        state = folded.state(entry.pool, entry.generation)
        actual = digest(state.arrays()) if state is not None else f"no generation {entry.generation} of this pool"
        difference = None if actual == entry.digest else f"the checkpoint has digest {entry.digest}, the log and its archive give {actual}"
    return Finding(partition=folded.partition.number, pool=entry.pool, what=what, position=position, difference=difference)


def _against_checkpoint(folded: _Refolded, manifest: Manifest) -> Iterator[Finding]:
    partition = folded.partition
    for entry in manifest.pools:
        yield _against_entry(folded, entry, "checkpoint", manifest.position)
    held = {entry.pool for entry in manifest.pools}
    for pool in sorted(pool for pool, state in partition.pools.items() if pool not in held and any(state.content.counts.values())):
        lacks = "the checkpoint lacks this pool"
        yield Finding(partition=partition.number, pool=pool, what="checkpoint", position=manifest.position, difference=lacks)


def _against_boards(folded: _Refolded, store: LiveBoards) -> Iterator[Finding]:
    number = folded.partition.number
    heads = sorted((head for head in store.pools() if head.partition == number), key=lambda head: head.position)
    for pool in sorted(folded.partition.pools.keys() - {head.pool for head in heads}):
        yield Finding(
            partition=number, pool=pool, what="live boards", position=folded.partition.position, difference="the store lacks this pool"
        )
    for head in heads:
        yield _against_store(folded, head.pool, store)


def _against_store(folded: _Refolded, pool: str, store: LiveBoards) -> Finding:
    """Compare a pool's live boards with the state at their position.

    A shard may publish while the boards are read: it writes rows first, and then the head. A difference is therefore checked up to `_TRIES`
    times, at the newest position, and once after a pause.
    """
    difference: str | None = "the store forgot the pool while it was read"
    position = folded.partition.position
    for tries in range(_TRIES):
        if tries == 1:
            time.sleep(WRITING_SECONDS)
        before = store.head(pool)
        if before is None:
            break
        if folded.state(pool, before.generation) is None and before.generation > 1:
            return _against_newer(folded, before, store)
        seen = {name: _read_board(store, pool, name) for name in (*before.stored, *slice_boards(before.slices))}
        position = before.position
        folded.to(position)
        state = folded.state(pool, before.generation)
        limits = None if before.provisional_outcomes is None else PROVISIONAL._replace(outcomes=before.provisional_outcomes)
        difference = _slice_difference(state, before) or _board_difference(state, seen, before.beliefs, limits)
        if difference is None:
            break
        _catch_up(store, pool, folded.partition.position)
    return Finding(partition=folded.partition.number, pool=pool, what="live boards", position=position, difference=difference)


def _against_newer(folded: _Refolded, head: PoolHead, store: LiveBoards) -> Finding:
    """Compare with a generation that started to serve after the verification began. The log is folded again for this pool alone."""
    number, log = folded.partition.number, folded.log
    state = control_state(log.control)
    made = state.generations.get(head.pool, {}).get(head.generation)
    if made is None or state.partitions.beyond(number, made.start) < log.history.begin(number):
        missing = "the control log has no such generation" if made is None else forgotten(log.history, number, made.start, head.pool)
        difference = f"the store shows generation {head.generation}; {missing}"
        return Finding(partition=number, pool=head.pool, what="live boards", position=head.position, difference=difference)
    start = Partition(number, log.outcomes.partitions, made.start)
    start.pools[head.pool] = _empty(made, number, log, SeasonsBefore(log, state, None))
    with closing(_Refolded(start, log, state, FixedDirectory(ControlState()))) as newer:
        return _against_store(newer, head.pool, store)


def _catch_up(store: LiveBoards, pool: str, position: int) -> None:
    """Wait up to `_CATCH_UP_SECONDS` until the store reaches `position`: after an outage, boards may be older than the checkpoint."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while (head := store.head(pool)) is not None and head.position < position and head.stopped is None and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _read_board(store: LiveBoards, pool: str, method: str) -> _Seen:
    rows: _Seen = {}
    start = 0
    while (page := store.page(pool, method, start, _PAGE)) is not None and page.rows:
        rows |= {row.agent: _Value(row.rating, row.deviation, row.provisional) for row in page.rows if row.rating is not None}
        start += len(page.rows)
    return rows


def _board_difference(
    state: PoolState | None, seen: Mapping[str, _Seen], believed: Collection[str] = (), limits: Provisional | None = None
) -> str | None:
    """Description of the difference between boards and a state; None if they are equal.

    Args:
        state: Expected state; None if the log has no such pool.
        seen: Method -> board in the store.
        believed: Methods with beliefs in the store; only their deviations are compared. Early releases wrote no beliefs.
        limits: The least evidence for a rank by which the boards were separated; None if they were not, as by early releases.
    """
    if state is None:
        return "the store shows a pool that the log does not give"
    for method, board in seen.items():
        expected = _expected(state, method, limits, deviations=method_of(method) in believed)
        wrong = sorted(name for name in expected.keys() | board.keys() if expected.get(name) != board.get(name))
        if wrong:
            first = wrong[0]
            has, gives = _value_text(board.get(first)), _value_text(expected.get(first))
            return f"{len(wrong)} agents differ on {method}; {first!r} has {has}, the log and its archive give {gives}"
    return None


def _slice_difference(state: PoolState | None, head: PoolHead) -> str | None:
    """Description of the difference between the slices of a head and of a state; None if they are equal."""
    if state is None or (expected := slices_of(state)) == head.slices:
        return None
    for dimension in sorted(expected.keys() | head.slices.keys()):
        if (gives := expected.get(dimension)) != (shows := head.slices.get(dimension)):
            return f"the slices by {dimension} differ: the store shows {shows}, the log and its archive give {gives}"
    return None


def _content_of(state: PoolState, board: str) -> PoolContent | None:
    """The content of the pool, or of the slice, that has a board; None for a slice that the state does not have."""
    if board == method_of(board) or state.slices is None:
        return state.content
    slices = {SliceName(*key).board(method_of(board)): made.content for key, made in state.slices.slices.items()}
    return slices.get(board)


def _expected(state: PoolState, board: str, limits: Provisional | None, *, deviations: bool) -> dict[str, _Value]:
    """Expected values of the agents on a board.

    Deviations are evaluated at the pool time, as readers of the store do.
    """
    method, content = method_of(board), _content_of(state, board)
    if content is None:
        return {}
    ids, names = np.arange(len(content.agents), dtype=np.int32), content.agents.names()
    if method == ACTIVITY:
        return {name: _Value(float(count)) for name, count in zip(names, content.ratings.activity[ids].tolist(), strict=True)}
    reading, model = content.ratings.read(method, ids), content.ratings.beliefs.get(method)
    spread: Iterable[float | None] = [None] * len(ids)
    if model is not None and reading.beliefs is not None and deviations:
        spread = (model.deviation(belief, state.content.clock.time) for belief in reading.beliefs.each())
    mask = state.rated(method) if content is state.content else None
    rated = [True] * len(ids) if mask is None else mask.tolist()
    marks = [False] * len(ids) if limits is None else few_outcomes(content.ratings.activity[ids], limits).tolist()
    values = zip(names, reading.rating.tolist(), spread, marks, rated, strict=True)
    return {name: _Value(rating, deviation, mark) for name, rating, deviation, mark, has_one in values if has_one}


def _value_text(value: _Value | None) -> str:
    if value is None:
        return "nothing"
    deviation = "" if value.deviation is None else f" with deviation {value.deviation}"
    return f"{value.rating}{deviation}{', provisional' if value.provisional else ''}"

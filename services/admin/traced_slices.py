"""The history of a slice: its outcomes with the ratings before and after each, folded again on request from archive and topic.

The fold of a pool records the history of the pool alone. A slice is a pure fold of its outcomes, so its history is made when it is asked
for, and nothing is stored. It is checked: the folded content has to have the digest of the slice in the checkpoint.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from ratings_core.arrays.digest import digest
from ratings_core.columns.outcomes import Games
from ratings_core.errors import InputError
from services.admin.pool_range import PoolRange
from services.admin.solve_pool import PoolSlice, counted_outcomes
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.outcome_history import OutcomeHistoryReader
from services.boards.slice_boards import SliceName
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.history_files import HistoryFiles
from services.checkpoints.objects import BadObject
from services.control.generations import erasing
from services.control.records import ControlState, Generation
from services.log.partition import partition_of
from services.log.protocol import Log
from services.solve.kept_answers import KeptAnswers
from services.solve.outcome_columns import TAGS
from services.state.content import PoolContent
from services.state.history import TracedOutcomes
from services.state.slices import slice_generation
from services.wire.pools import Kind

MOST_OUTCOMES: Final = 2_000_000
"""Largest number of outcomes of a pool whose slices have a history. They are all read, which takes about ten seconds of processor time."""
KEPT: Final = 2
"""Number of indexes that a process keeps. The history of a million duels by two methods has some 130 MB."""
_Indexes: TypeAlias = KeptAnswers[AgentIndex]


class TracedSlices:
    """Makes indexes of slices with a history, and keeps the last used ones. Thread-safe; one is made at a time.

    Args:
        log: The log, with its archive.
        control: Returns the state of the control log.
        files: Opens the checkpoints.
        most: Largest number of outcomes of the pool.
    """

    def __init__(
        self, log: Log, control: Callable[[], ControlState], files: Callable[[], CheckpointStore], most: int = MOST_OUTCOMES
    ) -> None:  # fmt: skip
        self._log, self._control, self._files, self._most = log, control, files, most
        self._indexes = _Indexes(KEPT)

    def index(self, head: PoolHead, part: str) -> AgentIndex:
        """The index of a slice at the newest checkpoint, with the history of all of its outcomes.

        Args:
            head: Head of the pool. It has the slice.
            part: The slice, such as `language:English`.

        Raises:
            InputError: The pool has too many outcomes, is one of scores, or its log and archive do not have its beginning.
            NoIndex: There is no checkpoint with the slice yet; it cannot be read now; or it counts other outcomes than the archive, because
                some were retracted or erased since, or repeat ids of the season before.
            MissingExtraError: The extra `archive` is not installed.
            LogError: The log or the archive cannot be read.
        """
        if head.kind != Kind.GAMES:
            raise InputError("pool", head.pool, "must be a pool of games: outcomes with scores have no history")
        if head.outcomes > self._most:
            rule = f"must be one of a pool with at most {self._most} outcomes, which are folded for this answer"
            raise InputError("slice", part, f"{rule}; it has {head.outcomes}: `equirank solve --where` rates it offline")
        files = self._files()
        try:
            newest = files.newest_entry(head.partition, head.pool, head.generation, part)
        except (BadObject, OSError) as error:
            raise NoIndex(f"the checkpoint of pool {head.pool} cannot be read now: {error}", retriable=True) from error
        if newest is None:
            raise NoIndex(f"slice {part} of pool {head.pool} has no checkpoint of generation {head.generation} yet", retriable=True)
        entry, written_at = newest
        key = (entry.pool, part, entry.generation, entry.digest)
        return self._indexes.get(key, lambda: self._traced(files, entry, written_at))

    def _traced(self, files: CheckpointStore, entry: PoolEntry, written_at: float) -> AgentIndex:
        control = self._control()
        made = control.generations.get(entry.pool, {}).get(entry.generation)
        if made is None or entry.part is None:
            raise NoIndex(f"the control log does not have generation {entry.generation} of pool {entry.pool} yet", retriable=True)
        content, traced = _folded(self._log, control, made, entry, SliceName(entry.part.dimension, entry.part.value))
        arrays = content.arrays()
        if digest(arrays) != entry.digest:
            what = f"slice {entry.slice} of pool {entry.pool} has no history now: its checkpoint at {entry.position}"
            why = "some were retracted or erased since, which ends with the next generation, or repeat ids of the season before"
            raise NoIndex(f"{what} counts other outcomes than log and archive: {why}", retriable=True)
        index = AgentIndex(msgspec.structs.replace(entry, history_from=0), written_at, arrays, mapped=False)
        index.history = OutcomeHistoryReader(HistoryFiles(files.blobs), index.entry, (), traced)
        return index


def _folded(log: Log, control: ControlState, made: Generation, entry: PoolEntry, name: SliceName) -> tuple[PoolContent, TracedOutcomes]:
    """Fold the outcomes of a slice up to a checkpoint. Raises as `TracedSlices.index`."""
    kind = Kind(entry.kind)
    generation = slice_generation(kind, made, name.dimension)
    content = PoolContent(kind, msgspec.structs.replace(generation, fold=msgspec.structs.replace(generation.fold, history=1)))
    segments: list[TracedOutcomes] = []
    if content.history is None:
        raise InputError("slice", str(name), "must have an online method")
    content.history.sink = segments.append
    wanted = PoolSlice(PoolRange(made.pool, 0, entry.position), [(f"{TAGS}{name.dimension}", name.value)])
    if made.start < (begin := log.history.begin(partition_of(made.pool, log.outcomes.partitions))):
        rule = f"must be in log and archive (EQUIRANK_ARCHIVE) from the pool's start at position {made.start}, but they begin at {begin}"
        raise InputError("slice", str(name), rule)
    for _, columns in counted_outcomes(log, control, wanted, erasing(control, made), Counter()):
        if isinstance(columns, Games) and len(columns):
            content.count(columns)
    return content, TracedOutcomes.joined([*segments, content.history.window])

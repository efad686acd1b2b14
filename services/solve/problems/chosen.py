"""The outcomes of a file of the wire schema that `equirank solve` chooses, divided into slices.

Each id counts once in the file, and retractions apply to it, before outcomes are chosen. So an id that repeats in another slice does not
count there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.options import NOT_CHOSEN, ReadOptions
from ratings_core.records.tags import tags_of
from services.solve.outcome_columns import COLUMNS, META, TAGS, cell_text, check_tags, field_text
from services.state.dedupe import MAX_CAPACITY, NEW, DedupeWindow
from services.state.edits import NONE, Retracted
from services.wire.columns import Retractions, by_kind
from services.wire.events import Event, RetractEvent


class CountedOnce:
    """Finds the outcomes that count: the first one of each id, unless it is retracted. Memory takes 28 bytes for each id."""

    def __init__(self) -> None:
        self._seen, self._retracted = DedupeWindow(MAX_CAPACITY), NONE

    def retract(self, retractions: Retractions) -> None:
        """Do not count these outcomes. retractions: all of the file."""
        self._retracted = Retracted.of([retractions.id_hash])

    def mask(self, columns: Games | TaskScores) -> NDArray[np.bool_]:
        """Whether each outcome counts, bool (n,)."""
        first = self._seen.admit(columns.id_hash, columns.body_hash) == NEW
        return np.asarray(first & ~self._retracted.among(columns.id_hash))


class Chosen:
    """Outcomes of a file, chosen by `where` and divided by `slice_by`.

    Args:
        options: `where` and `slice_by` are used.
        retractions: All retractions of the file.

    Attributes:
        left_out: Reason -> number of outcomes that were left out.

    Raises:
        InputError: A column does not exist in files.
    """

    def __init__(self, options: ReadOptions, retractions: Retractions) -> None:
        self._where, self._slice_by, self._once = options.where, options.slice_by, CountedOnce()
        self._columns, self._keys = options.columns, set[str]()
        if "offset" in self._columns:
            raise InputError("column", "offset", "must be left out for a file, whose outcomes have no offsets in a log")
        self._once.retract(retractions)
        self.left_out = Counter[str]()

    def check(self) -> None:
        """Raise `InputError` for a column that no outcome so far has. Call it after the last outcome."""
        check_tags(self._columns, self._keys)

    def slices(self, events: Sequence[Event]) -> Iterator[tuple[str, Games | TaskScores]]:
        """Yield value and outcomes of each slice, in order. The value is empty without `slice_by`."""
        for at, columns in by_kind(events):
            if isinstance(columns, Retractions):
                continue
            counted = self._once.mask(columns)
            if columns.tags is not None:
                self._keys.update(*(tags_of(text) for text in columns.tags.texts.names()))
            chosen, own = counted.copy(), [events[i] for i in at.tolist()]
            for column, value in self._where:
                chosen &= _values(own, column) == value
            self.left_out[NOT_CHOSEN] += int(np.count_nonzero(counted & ~chosen))
            values = np.full(len(own), "", object) if self._slice_by is None else _values(own, self._slice_by)
            for value in sorted(set(values[chosen].tolist())):
                yield value, columns.take(chosen & (values == value))


def _values(events: Sequence[Event], column: str) -> NDArray[np.object_]:
    values = np.empty(len(events), object)
    values[:] = [_value(event, column) for event in events]
    return values


def _value(event: Event, column: str) -> str:
    if isinstance(event, RetractEvent):
        return ""
    if column in COLUMNS:
        return cell_text(getattr(event, column))
    if column.startswith(META):
        meta: Any = None if event.meta is UNSET else msgspec.json.decode(event.meta)
        return field_text(meta, column)
    return "" if event.tags is UNSET else event.tags.get(column.removeprefix(TAGS), "")

"""Files of outcomes as records of the log, which `equirank replay` sends.

Rows of files become records of columns (schema v1c). Outcomes of the wire schema stay JSON, because they can be of any kind and
can have fields that columns do not.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.reading import FileReading, in_order_of_time
from ratings_core.records.names import hidden_character, invisible_rule
from ratings_core.records.outcomes import MAX_TIME
from services.imports.row_ids import RowIds
from services.imports.wire_files import accepted, outcome_lines
from services.wire import events
from services.wire.bulk.writing import encode
from services.wire.pools import Kind

_LINES: Final = 5_000
"""Outcomes of the wire schema that are checked at a time."""
_RECORD_OUTCOMES: Final = events.RECORD_OUTCOMES


class Sent(NamedTuple):
    """A record. outcomes: number of outcomes in it."""

    record: bytes
    outcomes: int


class SentFile:
    """The records of a file.

    Args:
        reading: The reading of the file.
        pool: Name of the pool.
        now: Time of outcomes that have none, in seconds since 1970.
        time: Time of all outcomes instead of those of the rows; None for the times of the rows.
        by_time: Whether games are sent in the order of their times.

    Attributes:
        counts: Counts of the rows that were read so far.
        kinds: Kinds of pools that the outcomes belong to.

    Raises:
        InputError: The file holds no outcomes, or only a guess says that it holds scores.
    """

    def __init__(self, reading: FileReading, pool: str, *, now: float, time: float | None = None, by_time: bool = False) -> None:
        if reading.kind in (FileKind.MARGINS, FileKind.PROFILE):
            rule = f"must hold outcomes; {reading.kind} are solved offline (equirank solve)"
            raise InputError("file", str(reading.source.path), rule)
        if reading.note:
            raise InputError("file", str(reading.source.path), f"must be named as scores to be sent (--input scores): {reading.note}")
        self._reading, self._pool, self._now, self._time, self._by_time = reading, pool, now, time, by_time
        self.counts, self.kinds = RowCounts(), set[Kind]()

    @property
    def pool_kind(self) -> Kind | None:
        """Kind of pool of the outcomes read so far; None if all are retractions. Raises `InputError` for both games and scores."""
        if len(self.kinds) > 1:
            raise InputError("file", sorted(self.kinds), "must hold outcomes of one kind, with sides or with scores")
        return next(iter(self.kinds), None)

    def records(self) -> Iterator[Sent]:
        """Yield the records of all outcomes that readers of the log accept, in order. The same file gives the same outcomes.

        Raises:
            InputError: The file is not of its kind, or is damaged. Bad rows are counted.
        """
        return self._of_outcomes() if self._reading.kind is FileKind.OUTCOMES else self._of_rows()

    def _of_outcomes(self) -> Iterator[Sent]:
        now = self._now if self._time is None else self._time
        lines = outcome_lines(self._reading.source, self._pool, now, self.counts, one_pool=True)
        while chunk := list(islice(lines, _LINES)):
            sound = accepted(chunk, self.counts)
            self.kinds.update(event.kind for event in sound if event.kind is not None)
            for record, outcomes in events.sized_records(sound, _RECORD_OUTCOMES):
                yield Sent(record, outcomes)

    def _of_rows(self) -> Iterator[Sent]:
        ids = RowIds(self._reading.kind)
        parts = self._reading.parts(hashed=True)
        for part in in_order_of_time(list(parts)) if self._by_time else parts:
            self.counts = self._reading.counts
            sound = self._checked(self._timed(part))
            if not len(sound) or sound.hashes is None:
                continue
            self.kinds.add(Kind.GAMES if isinstance(sound.columns, Games) else Kind.SCORES)
            meta = _meta(sound, [feature.text if feature.columns else None for feature in self._reading.options.features])
            for record, outcomes in encode(sound.columns, ids.ids(sound.hashes), self._pool, meta):
                yield Sent(record, outcomes)
        self.counts = self._reading.counts

    def _timed(self, part: FilePart) -> FilePart:
        """The outcomes with the time of all, or with `now` where a row has no time."""
        columns = part.columns
        if self._time is not None:
            time = np.full(len(part), self._time)
        else:
            time = columns.time if part.timed is None else np.where(part.timed, columns.time, self._now)
        return replace(part, columns=replace(columns, time=time))

    def _checked(self, part: FilePart) -> FilePart:
        """The outcomes of a valid time whose names have only visible characters. The others are counted as bad rows."""
        columns = part.columns
        wrong: dict[int, FormatError] = {}
        for i in np.flatnonzero(~(np.abs(columns.time) <= MAX_TIME)).tolist():
            wrong[i] = FormatError(int(part.rows[i]), "time", float(columns.time[i]), f"must be within +-{MAX_TIME:g} seconds of 1970")
        for i, (name, character) in _hidden(columns).items():
            wrong.setdefault(i, FormatError(int(part.rows[i]), None, name, invisible_rule(character)))
        if not wrong:
            return part
        self._reading.counts.refuse(wrong[i] for i in sorted(wrong))
        mask = np.ones(len(part), np.bool_)
        mask[list(wrong)] = False
        return part.take(mask)


def _hidden(columns: Games | TaskScores) -> dict[int, tuple[str, str]]:
    """Index of each outcome with a hidden character in a name or in its tags -> this text and the character."""
    if isinstance(columns, Games):
        owner = np.repeat(np.arange(len(columns)), np.diff(columns.agent_start[columns.side_start]))
        task_owner = np.flatnonzero(columns.task_of >= 0)
    else:
        owner, task_owner = np.repeat(np.arange(len(columns)), np.diff(columns.start)), np.arange(len(columns))
    hidden = _hidden_texts(columns.names, owner)
    hidden |= _hidden_texts(Coded.of(columns.tasks), task_owner)
    if columns.tags is None:
        return hidden
    tagged = np.flatnonzero(columns.tags.code >= 0)
    return _hidden_texts(Coded(columns.tags.texts, columns.tags.code[tagged]), tagged) | hidden


def _hidden_texts(names: Coded, owner: NDArray[np.int64]) -> dict[int, tuple[str, str]]:
    used = names.used()
    if used.texts.bytes.tobytes().isascii():
        return {}
    texts = used.texts.names()
    hidden = {code: (text, character) for code, text in enumerate(texts) if (character := hidden_character(text)) is not None}
    if not hidden:
        return {}
    bad = np.flatnonzero(np.isin(used.code, list(hidden)))
    return {int(owner[k]): hidden[int(used.code[k])] for k in reversed(bad.tolist())}


def _meta(part: FilePart, names: list[str | None]) -> Arena | None:
    """JSON texts with the features of each outcome, by their names; None without features.

    names: Name of each feature; None for one that every game has, which is left out.
    """
    if part.features is None or not any(names):
        return None
    rows = [{name: value for name, value in zip(names, row, strict=True) if name is not None} for row in part.features.tolist()]
    return pack([msgspec.json.encode(row).decode() for row in rows])

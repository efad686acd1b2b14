"""Read all outcomes of a small file at once."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratings_core.columns import Games, TaskScores
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.reading import FileReading, joined
from ratings_core.formats.source import FileSource
from ratings_core.formats.stream import unpacked
from services.imports.sent_files import SentFile
from services.wire import events
from services.wire.events import Event


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a file as the log would get them."""

    events: list[Event]
    counts: RowCounts


def outcomes_of(path: Path, pool: str, now: float = 0.0, options: ReadOptions = PLAIN) -> Outcomes:
    """The outcomes that `equirank replay` would send, decoded by the reader of the log."""
    with FileSource(path) as source:
        file = SentFile(FileReading(source, options), pool, now=now)
        decoded = events.decode([sent.record for sent in file.records()])
    assert decoded.refusals == []
    return Outcomes(decoded.events, file.counts)


def part_of_file(path: Path, options: ReadOptions = PLAIN, *, hashed: bool = False) -> tuple[FilePart | None, RowCounts]:
    """All outcomes of a file in one part, and the counts of its rows."""
    with FileSource(path) as source:
        reading = FileReading(source, options)
        return joined(list(reading.parts(hashed=hashed))), reading.counts


def rows_of(part: FilePart | None) -> list[tuple[Any, ...]]:
    """Games as (row, agents, places), measurements as (row, task, {agent: score})."""
    if part is None:
        return []
    columns, names = part.columns, part.columns.names.names()
    start = columns.side_start if isinstance(columns, Games) else columns.start
    found: list[tuple[Any, ...]] = []
    for i, row in enumerate(part.rows.tolist()):
        agents = tuple(names[start[i] : start[i + 1]])
        if isinstance(columns, TaskScores):
            scores = dict(zip(agents, columns.score[start[i] : start[i + 1]].tolist(), strict=True))
            found.append((row, columns.tasks.names()[i], scores))
        else:
            found.append((row, agents, tuple(columns.place[start[i] : start[i + 1]].tolist())))
    return found


def stream_of(data: bytes | str) -> io.BufferedReader:
    """Bytes or text as a stream of a reader."""
    return unpacked(io.BytesIO(data.encode() if isinstance(data, str) else data))

"""Files of outcomes as events of the wire schema: what `equirank replay` sends and `equirank solve` counts.

The id of an outcome is a hash of the file's kind, its whole row and how often that row came before, because real tables hold
equal rows: the same file gives the same ids always, and no two of its rows share one.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, ScoreFile, guess, read_battles, read_results, read_scores
from ratings_core.formats.results import Unplayed
from ratings_core.formats.table import text_lines
from services import events
from services.events import Event, GameEvent, Reason, ScoreEvent, Side
from services.pools import Kind

_HEAD_CHARACTERS: Final = 1 << 16
_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that became no outcome. line: of the file, from 1; path and rule: as in `events.Refusal`."""

    line: int
    reason: Reason
    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class EventFile:
    """A file's outcomes, in its order. lines: of the file, one an event; rows: rows of data; unplayed: rows left out as they hold
    no result; refused: what broke a rule.
    """

    kind: FileKind
    events: list[Event]
    lines: list[int]
    rows: int
    unplayed: int = 0
    refused: list[Refused] = field(default_factory=list)

    @property
    def pool_kind(self) -> Kind | None:
        """The kind of pool that the outcomes are for, None where all are retractions. Raises `InputError` for sides and scores in one."""
        kinds = {event.kind for event in self.events if event.kind is not None}
        if len(kinds) > 1:
            raise InputError("file", sorted(kinds), "must hold outcomes of one kind, with sides or with scores")
        return kinds.pop() if kinds else None


def read_text(path: Path) -> str:
    """The file's text. Raises `InputError` where it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("file", str(path), f"must be readable ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError("file", str(path), f"must be UTF-8 text (byte {error.start} is not)") from error


def kind_of(path: Path, text: str, kind: FileKind | None = None) -> FileKind:
    """`kind`, or the file's kind by its name and beginning. Raises `InputError` where it cannot be told."""
    return kind or guess(path.name, _head(text))


def _head(text: str) -> str:
    """Whole lines from the beginning, at least two: half a line could be taken for another name."""
    if len(text) <= _HEAD_CHARACTERS:
        return text
    end = max(text.rfind("\n", 0, _HEAD_CHARACTERS), text.find("\n", text.find("\n") + 1))
    return text if end < 0 else text[: end + 1]


def read_events(
    path: Path, pool: str, *, now: float, kind: FileKind | None = None, unplayed: Unplayed = "refuse", time: float | None = None
) -> EventFile:
    """The outcomes in a file. pool: they go to; time: of all of them (seconds since 1970), in place of what a table's rows say.

    now: the time of those that have none; unplayed: what to do with results without scores. Raises `InputError` (`FormatError` among
    them) where the file is not of its kind; outcomes of the wire schema that break a rule are in `refused`.
    """
    text = read_text(path)
    kind = kind_of(path, text, kind)
    build = _Builder(kind, pool, now, time)
    match kind:
        case FileKind.RESULTS:
            return _results(text, build, unplayed)
        case FileKind.BATTLES:
            battles = read_battles(text).battles
            games = [build.game(one.content, (one.model_a, one.model_b), one.places, one.time) for one in battles]
            return EventFile(kind, list(games), [one.row for one in battles], len(battles))
        case FileKind.SCORES:
            return _scores(read_scores(text), build)
        case FileKind.OUTCOMES:
            return _outcomes(text, build)
        case FileKind.MARGINS | FileKind.PROFILE:
            raise InputError("file", str(path), f"must hold outcomes; {kind} are solved offline (equirank solve)")


class _Builder:
    """Makes events of one file: ids by row and occurrence, times by row, option or clock."""

    def __init__(self, kind: FileKind, pool: str, now: float, time: float | None) -> None:
        self.kind, self.pool, self.now, self._time = kind, pool, now, time
        self._seen: Counter[str] = Counter()

    def id(self, row: str) -> str:
        """128 bits as hexadecimal digits, another one each time the same row comes."""
        self._seen[row] += 1
        text = json.dumps([self.kind, row, self._seen[row]], ensure_ascii=True)
        return hashlib.blake2b(text.encode(), digest_size=_ID_BYTES).hexdigest()

    def time(self, of_row: float | None) -> float:
        if self._time is not None:
            return self._time
        return self.now if of_row is None else of_row

    def game(self, row: str, agents: tuple[str, str], places: tuple[int, int], time: float | None) -> GameEvent:
        sides = [Side([agent], place) for agent, place in zip(agents, places, strict=True)]
        return GameEvent(v=1, id=self.id(row), pool=self.pool, time=self.time(time), sides=sides)

    def scores(self, row: str, task: str, scores: dict[str, float]) -> ScoreEvent:
        return ScoreEvent(v=1, id=self.id(row), pool=self.pool, time=self.time(None), task=task, scores=scores)


def _results(text: str, build: _Builder, unplayed: Unplayed) -> EventFile:
    found = read_results(text, unplayed=unplayed)
    games = [build.game(json.dumps(game.cells), (game.first, game.second), game.places, game.time) for game in found.games]
    return EventFile(build.kind, list(games), [game.line for game in found.games], found.rows, len(found.unplayed))


def _scores(table: ScoreFile, build: _Builder) -> EventFile:
    """One event a task; a task on which nobody was measured is left out."""
    found: list[Event] = []
    lines: list[int] = []
    for j, (task, line) in enumerate(zip(table.tasks, table.lines, strict=True)):
        measured = np.flatnonzero(~np.isnan(table.scores[:, j])).tolist()
        if scores := {table.agents[i]: float(table.scores[i, j]) for i in measured}:
            found.append(build.scores(json.dumps([task, scores]), task, scores))
            lines.append(line)
    return EventFile(build.kind, found, lines, len(table.tasks), len(table.tasks) - len(found))


def _outcomes(text: str, build: _Builder) -> EventFile:
    """Lines of JSON, each an outcome or an array; what lacks an id or a time is given one."""
    taken: list[Event] = []
    lines: list[int] = []
    refused: list[Refused] = []
    rows = 0
    for line, content in enumerate(text_lines(text), 1):
        if not content.strip():
            continue
        found = events.decode_request(content.encode(), now=build.time(None), new_id=_ids_of(content, build), future_seconds=float("inf"))
        rows += len(found.events) + len(found.refusals)
        refused += [Refused(line, one.reason, one.path, one.rule) for one in found.refusals]
        for event in found.events:
            if event.pool == build.pool:
                taken.append(event)
                lines.append(line)
            else:
                refused.append(Refused(line, Reason.MIXED_POOLS, "$.pool", f"must be the pool asked for ({build.pool})"))
    return EventFile(build.kind, taken, lines, rows, 0, refused)


def _ids_of(content: str, build: _Builder) -> Callable[[], str]:
    return lambda: build.id(content)


def pools_named(text: str) -> Sequence[str]:
    """Pools of a file of outcomes, in order of their names."""
    lines = [line.encode() for line in text_lines(text) if line.strip()]
    requests = [events.decode_request(line, now=0.0, new_id=lambda: "-", future_seconds=float("inf")) for line in lines]
    return sorted({event.pool for found in requests for event in found.events})

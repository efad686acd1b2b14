"""Games of chess (PGN): players, result and time. Moves are skipped: ratings do not use them. Needs the extra `chess`."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, TextIO, cast

from ratings_core import extras
from ratings_core.formats.checked import name
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.options import NO_RESULT, Unplayed
from ratings_core.formats.stream import MAX_LINE_BYTES, text_lines
from ratings_core.records.times import midnight

_RESULTS: Final = {"1-0": (1, 2), "0-1": (2, 1), "1/2-1/2": (1, 1)}
_UNKNOWN: Final = frozenset({"", "?"})
_UNPLAYED: Final = frozenset({"", "*", "?", "0-0"})
"""Results of games without a result; 0-0 means that both players lost it outside the board."""
_ESCAPED: Final = re.compile(r'\\(["\\])')
_DATE: Final = re.compile(r"(\d{4})\.(\d\d)\.(\d\d)", re.ASCII)
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ChessGame:
    """One game. number: its number in the file, from 1; line: its first line; places: of White and Black; content: its full text, for ids.

    time: seconds since 1970 by UTCDate and UTCTime, or midnight UTC of UTCDate or Date if there is no clock time; None for an unknown day.
    """

    number: int
    line: int
    white: str
    black: str
    places: tuple[int, int]
    time: float | None
    content: str


def iter_games(stream: io.BufferedReader, unplayed: Unplayed = "skip") -> Iterator[ChessGame | Skipped | FormatError]:
    """Read the games of a PGN file in file order, one at a time.

    Args:
        stream: The file, as `unpacked` returns it.
        unplayed: What to do with games without a result (`*`, `?`, `0-0` or no result at all).

    Yields:
        A `ChessGame`; a `Skipped` with the reason: a player is unknown (`?`), or the game has no result; or the error of a game that lacks
        a player or has another result, with the game's number and line.

    Raises:
        FormatError: The text is not UTF-8, or a game is too long.
        MissingExtraError: The package chess is not installed.
    """
    pgn = extras.load("chess.pgn", "chess", "reading PGN")
    handle = _Handle(stream)
    number = 0
    while (headers := pgn.read_headers(cast("TextIO", handle))) is not None:
        number += 1
        try:
            yield _game(_Tags(headers, number, handle.begun), handle.taken(), unplayed)
        except FormatError as error:
            yield error


class _Handle:
    """File object for the PGN parser, which reads it line by line. begun: first line of the current game."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._lines = text_lines(stream)
        self._kept: list[str] = []
        self._size = 0
        self.begun = 0

    def readline(self) -> str:
        number, line = next(self._lines, (0, None))
        if line is None:
            return ""
        if line.strip() or self._kept:
            self._keep(number, line)
        return line + "\n"

    def taken(self) -> str:
        """Return the text of the current game, without empty lines around it, and start the next game."""
        text = "\n".join(self._kept).strip("\n")
        self._kept, self._size = [], 0
        return text

    def _keep(self, number: int, line: str) -> None:
        if not self._kept:
            self.begun = number
        self._kept.append(line)
        self._size += len(line)
        if self._size > MAX_LINE_BYTES:
            raise FormatError(self.begun, None, self._kept[0], f"must be a game of at most {MAX_LINE_BYTES} bytes")


class _Tags:
    """The tags of a game, and errors with its number and line."""

    def __init__(self, headers: Mapping[str, str], number: int, line: int) -> None:
        self._headers, self.number, self.line = headers, number, line

    def __getitem__(self, tag: str) -> str:
        if tag not in self._headers:
            raise self.error(tag, None, "must be a tag of the game")
        return _ESCAPED.sub(r"\1", self._headers[tag])

    def text(self, tag: str) -> str:
        """Value of the tag, or an empty text if the tag is missing."""
        return self._headers.get(tag, "").strip()

    def get(self, tag: str) -> str:
        """Value of the tag, or an empty text if the tag is missing or contains `?` (unknown)."""
        text = self._headers.get(tag, "")
        return "" if "?" in text else text

    def player(self, tag: str) -> str:
        return name(self[tag], self.line, self._place(tag))

    def error(self, tag: str, value: str | None, rule: str) -> FormatError:
        return FormatError(self.line, self._place(tag), value, rule)

    def _place(self, tag: str) -> str:
        return f"{tag} of game {self.number}"


def _game(tags: _Tags, content: str, unplayed: Unplayed) -> ChessGame | Skipped:
    players = tags["White"], tags["Black"]
    result = tags.text("Result")
    if result in _UNPLAYED and unplayed != "refuse":
        return Skipped(tags.line, NO_RESULT)
    if result not in _RESULTS:
        raise tags.error("Result", result, "must be 1-0, 0-1 or 1/2-1/2 (* is left out by unplayed=skip)")
    if not _UNKNOWN.isdisjoint(players):
        return Skipped(tags.line, "a player is unknown")
    white, black = tags.player("White"), tags.player("Black")
    if white == black:
        raise tags.error("Black", black, "must differ from White")
    return ChessGame(tags.number, tags.line, white, black, _RESULTS[result], _time(tags), content)


def _time(tags: _Tags) -> float | None:
    tag = "UTCDate" if tags.get("UTCDate") else "Date"
    day, clock = tags.get(tag), tags.get("UTCTime") if tag == "UTCDate" else ""
    if not day:
        return None
    try:
        if not clock:
            return midnight(date(*_numbers(_DATE, day)))
        return datetime(*_numbers(_DATE, day), *_numbers(_CLOCK, clock), tzinfo=UTC).timestamp()
    except ValueError as error:
        raise tags.error(tag, f"{day} {clock}".strip(), "must be a day as YYYY.MM.DD, with ? where unknown (UTCTime: HH:MM:SS)") from error


def _numbers(pattern: re.Pattern[str], text: str) -> tuple[int, int, int]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2]), int(match[3])

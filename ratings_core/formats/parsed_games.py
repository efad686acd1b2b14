"""Games of parsers that read one game at a time, PGN and contests, as columns."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.arrays.hashing import hash128
from ratings_core.columns.duels import distinct, singles
from ratings_core.formats.contests import Contest
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.pgn import ChessGame
from ratings_core.records.outcomes import MAX_SIDES, MAX_WEIGHT, MIN_WEIGHT

_GAMES: Final = 4096
"""Games of one part."""


class Parsed(NamedTuple):
    """One game of single agents. row: number of its row; content: the complete text, for ids."""

    row: int
    agents: tuple[str, ...]
    places: tuple[int, ...]
    time: float | None
    weight: float
    content: str


Read: TypeAlias = Iterable[Parsed | Skipped | FormatError]


def chess_games(games: Iterable[ChessGame | Skipped | FormatError]) -> Read:
    """The games of a PGN file. The row of a game is its first line."""
    for one in games:
        yield Parsed(one.line, (one.white, one.black), one.places, one.time, 1.0, one.content) if isinstance(one, ChessGame) else one


def contest_games(contests: Iterable[Contest | Skipped | FormatError]) -> Read:
    """Contests as games in which every participant is a side. A contest of more than 64 participants or of another weight is refused."""
    for one in contests:
        if not isinstance(one, Contest):
            yield one
        elif len(one.handles) > MAX_SIDES:
            yield FormatError(one.row, "standings", len(one.handles), f"must hold at most {MAX_SIDES} participants to be a game")
        elif not MIN_WEIGHT <= one.weight <= MAX_WEIGHT:
            yield FormatError(one.row, "weight", one.weight, f"must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
        else:
            yield Parsed(one.row, one.handles, one.places, one.time, one.weight, one.content)


def parts_of(read: Read, counts: RowCounts, *, hashed: bool) -> Iterator[FilePart]:
    """Yield the games in order, some thousands at a time, and count all rows. hashed: Whether hashes of the games' texts are wanted."""
    rows = iter(read)
    while chunk := list(islice(rows, _GAMES)):
        counts.rows += len(chunk)
        counts.left_out.update(one.why for one in chunk if isinstance(one, Skipped))
        counts.refuse(one for one in chunk if isinstance(one, FormatError))
        yield _part([one for one in chunk if isinstance(one, Parsed)], hashed=hashed)


def _part(games: list[Parsed], *, hashed: bool) -> FilePart:
    texts = pack([game.content for game in games]) if hashed else None
    timed = np.array([game.time is not None for game in games], np.bool_)
    return FilePart(
        columns=singles(
            distinct(Coded.of(pack([agent for game in games for agent in game.agents]))),
            np.array([len(game.agents) for game in games], np.int64),
            np.array([place for game in games for place in game.places], np.int32),
            weight=np.array([game.weight for game in games], np.float64),
            time=np.array([game.time or 0.0 for game in games], np.float64),
        ),
        rows=np.array([game.row for game in games], np.int64),
        hashes=None if texts is None else hash128(texts.bytes, texts.start),
        timed=timed,
    )

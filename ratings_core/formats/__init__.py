"""Readers of what people have: each gives typed records and names row and column of what it cannot take.

The kinds of files and how one is guessed: `ratings_core.formats.kinds`. Readers touch no file system. Events (battles, results,
games of chess, contests) come one at a time from a binary stream, as `unpacked` makes one of any open file, so that a file larger
than memory can be read; what is no outcome comes as a `Skipped` that says why. Tables and profiles come whole, as arrays, from a text
or from such a stream.
"""

from ratings_core.formats.battles import Battle, iter_battles
from ratings_core.formats.contests import Contest, contests_profile, iter_contests
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.kinds import FileKind, guess
from ratings_core.formats.margins import MarginTable, read_margins
from ratings_core.formats.pgn import ChessGame, iter_games
from ratings_core.formats.profile import read_profile, write_profile
from ratings_core.formats.results import Result, ResultColumns, iter_results
from ratings_core.formats.scores import ScoreFile, TaskScores, iter_scores, read_scores
from ratings_core.formats.stream import unpacked

__all__ = [
    "Battle",
    "ChessGame",
    "Contest",
    "FileKind",
    "FormatError",
    "MarginTable",
    "Result",
    "ResultColumns",
    "ScoreFile",
    "Skipped",
    "TaskScores",
    "contests_profile",
    "guess",
    "iter_battles",
    "iter_contests",
    "iter_games",
    "iter_results",
    "iter_scores",
    "read_margins",
    "read_profile",
    "read_scores",
    "unpacked",
    "write_profile",
]

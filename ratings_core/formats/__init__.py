"""Readers of outcome files. Each yields typed records and names the row and column of invalid input.

Readers never open files. Battles, results, chess games and contests are read one at a time from a binary stream, so a file may be larger
than memory; a row that is not an outcome is yielded as `Skipped` with its reason. Tables and profiles are read completely, as arrays.

May import: `ratings_core.voting.profile`, `ratings_core.records`.
Read first: `kinds.py` (the kinds of files and how a kind is guessed), `stream.py`, `battles.py`.
"""

from ratings_core.formats.battles import Battle, iter_battles
from ratings_core.formats.contests import Contest, contests_profile, iter_contests
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.kinds import FileKind, guess
from ratings_core.formats.margins import MarginTable, read_margins
from ratings_core.formats.pgn import ChessGame, iter_games
from ratings_core.formats.profile import read_profile, write_profile
from ratings_core.formats.results import Result, ResultColumns, iter_results
from ratings_core.formats.rows import RowRules
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
    "RowRules",
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

"""Readers of what people have: each returns a typed record and names row and column of what it cannot take.

The kinds of files and how one is guessed: `ratings_core.formats.kinds`. Readers take text, not paths, and touch no file system.
"""

from ratings_core.formats.battles import Battles, read_battles
from ratings_core.formats.kinds import FileKind, guess
from ratings_core.formats.margins import MarginTable, read_margins
from ratings_core.formats.profile import read_profile
from ratings_core.formats.results import Result, ResultColumns, Results, read_results
from ratings_core.formats.scores import ScoreFile, read_scores
from ratings_core.formats.table import FormatError

__all__ = [
    "Battles",
    "FileKind",
    "FormatError",
    "MarginTable",
    "Result",
    "ResultColumns",
    "Results",
    "ScoreFile",
    "guess",
    "read_battles",
    "read_margins",
    "read_profile",
    "read_results",
    "read_scores",
]

"""Words of columns of results, and scores in one cell."""

import re
from collections.abc import Mapping
from typing import Final

from ratings_core.formats.roles import Roles
from ratings_core.formats.tables.texts import is_missing

FIRST: Final = 1
SECOND: Final = -1
TIE: Final = 0
NOT_PLAYED: Final = 2
UNKNOWN: Final = 3
"""Meanings of a word: who won, or that the game was not played, or neither."""
_NOT_PLAYED: Final = frozenset({"w/o", "wo", "walkover", "def.", "abn", "abandoned", "cancelled", "postponed", "*", "?", "unplayed"})
_TIES: Final = (
    "tie", "tied", "draw", "drawn", "d", "x", "tie (bothbad)", "both_bad", "bothbad", "0.5", ".5", "1/2", "½",
    "1/2-1/2", "½-½", "1/2 - 1/2",
)  # fmt: skip
_SIDES: Final = (("first", "second"), ("1", "2"), ("1-0", "0-1"), ("model_a", "model_b"))
"""Words for the two sides whatever their columns are called."""
_FAMILIES: Final = (
    (("home", "away"), ("h", "a")),
    (("left", "right"), ("l", "r")),
    (("white", "black"), ("w", "b")),
    (("a", "b"), ("model_a", "model_b")),
)
"""Beginning or end of the headers of the two sides -> another spelling of it. Such words are known only with these headers."""
_RESULTS: Final = (("1", "0"), ("1.0", "0.0"), ("w", "l"), ("win", "loss"), ("won", "lost"), ("true", "false"))
"""Results of the first side."""
_CELL: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*[-–—:]\s*(\d+(?:\.\d+)?)(?:\s.*)?", re.ASCII)
_MEANINGS: Final = {"first": FIRST, "second": SECOND, "tie": TIE, "unplayed": NOT_PLAYED}


def is_not_played(text: str) -> bool:
    """Whether a cell says that there is no result."""
    return is_missing(text) or text.strip().lower() in _NOT_PLAYED


def meanings(roles: Roles, values: Mapping[str, str], *, results: bool) -> dict[str, int]:
    """Word, in lower case -> its meaning, besides the names of the agents.

    Args:
        roles: The columns of the two sides. Their headers are words too, and decide which others are known.
        values: Words of the caller. If they name a side, no other word names one.
        results: Whether the column holds results of the first side: 1, 1/2 and 0, or W and L.
    """
    known = {word.lower(): _MEANINGS[meaning] for word, meaning in values.items()}
    if not {FIRST, SECOND} & set(known.values()):
        for first, second in (*_of_headers(roles), *(_RESULTS if results else ()), *_SIDES):
            if first != second and known.get(first, FIRST) == FIRST and known.get(second, SECOND) == SECOND:
                known |= {first: FIRST, second: SECOND}
    ties = _TIES if results else [word for word in _TIES if word != "x"]  # an x among names of winners is a name
    return {**dict.fromkeys(ties, TIE), **known}


def _of_headers(roles: Roles) -> list[tuple[str, str]]:
    """Pairs of words from the headers of the two sides."""
    if roles.first is None or roles.second is None:
        return []
    headers = roles.first.strip().lower(), roles.second.strip().lower()
    pairs = [headers]
    for words, others in _FAMILIES:
        if all(header.startswith(word) or re.split(r"[\W_]", header)[-1] == word for header, word in zip(headers, words, strict=True)):
            pairs += [words, others]
    return pairs


def won_of_cell(text: str) -> int:
    """Who won by two scores in one cell, such as 4-1."""
    if is_not_played(text):
        return NOT_PLAYED
    match = _CELL.fullmatch(text)
    if match is None:
        return UNKNOWN
    first, second = float(match[1]), float(match[2])
    return (first > second) - (first < second)

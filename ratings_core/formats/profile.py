"""Ballots in PrefLib's files: soc, soi, toc and toi (orders, strict or with ties, complete or not)."""

import re
from collections.abc import Sequence
from typing import Final

from ratings_core.errors import InputError
from ratings_core.formats.table import FormatError, text_lines
from ratings_core.voting.profile import Ballot, Profile

_NAME: Final = re.compile(r"# ALTERNATIVE NAME (\d+):(.*)")
_BALLOT: Final = re.compile(r"(\d+)\s*:\s*(.*)")
_LEVEL: Final = re.compile(r"\{([^{}]*)\}|([^{},]+)")


def read_profile(text: str) -> Profile:
    """The votes in `text`, names as it spells them.

    Raises `FormatError` naming the line, `InputError` for a file without alternatives or ballots.
    """
    numbers: dict[int, int] = {}
    names: list[str] = []
    ballots: list[Ballot] = []
    for line, content in enumerate(text_lines(text), 1):
        if (found := _NAME.match(content)) is not None:
            _add_name(line, found, numbers, names)
        elif content.strip() and not content.startswith("#"):
            ballots.append(_ballot(line, content.strip(), numbers))
    if not names or not ballots:
        raise InputError("profile", (len(names), len(ballots)), "must hold alternatives with names, and ballots")
    return Profile.from_ballots(ballots, names)


def _add_name(line: int, found: re.Match[str], numbers: dict[int, int], names: list[str]) -> None:
    text = found[2].strip()
    if not text or int(found[1]) in numbers or text in names:
        raise FormatError(line, "ALTERNATIVE NAME", text, "must name each alternative, once")
    numbers[int(found[1])] = len(names)
    names.append(text)


def _ballot(line: int, content: str, numbers: dict[int, int]) -> Ballot:
    found = _BALLOT.fullmatch(content)
    if found is None or int(found[1]) < 1:
        raise FormatError(line, None, content, "must be COUNT: ORDER with a count of at least 1")
    if _LEVEL.sub("", found[2]).replace(",", "").strip():
        raise FormatError(line, None, content, "must be numbers parted by commas, tied ones in braces")
    levels = [_level(line, (tied or alone).split(","), numbers) for tied, alone in _LEVEL.findall(found[2]) if (tied or alone).strip()]
    members = [member for level in levels for member in level]
    if not members or len(set(members)) != len(members):
        raise FormatError(line, None, content, "must list one or more alternatives, each once")
    return Ballot(int(found[1]), tuple(levels))


def _level(line: int, cells: Sequence[str], numbers: dict[int, int]) -> tuple[int, ...]:
    try:
        return tuple(numbers[int(cell)] for cell in cells)
    except (ValueError, KeyError) as error:
        raise FormatError(line, None, ",".join(cells), "must be numbers of alternatives named above") from error

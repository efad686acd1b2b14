"""Reader and writer of PrefLib's ballot files: soc, soi, toc and toi (orders, strict or with ties, complete or incomplete)."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import Source, text_lines
from ratings_core.voting.profile import Ballot, Profile

TYPES: Final = ("soc", "soi", "toc", "toi")
_NAME: Final = re.compile(r"# ALTERNATIVE NAME (\d{1,15}):(.*)", re.ASCII)
_STATED: Final = re.compile(r"# (NUMBER ALTERNATIVES|NUMBER VOTERS|NUMBER UNIQUE ORDERS|DATA TYPE):(.*)")
_BALLOT: Final = re.compile(r"(\d{1,15})\s*:\s*(.*)", re.ASCII)
_LEVEL: Final = re.compile(r"\{([^{}]*)\}|([^{},]+)")
_MEMBER: Final = re.compile(r"\s*\d{1,15}\s*", re.ASCII)
_MOST: Final = 2.0**53


def read_profile(source: Source) -> Profile:
    """Read the votes of a text or a stream, line by line. Names are kept unchanged.

    If the header states numbers or a data type, the content must agree with them. A line of count 0 is an order without voters. It is
    checked like every line and counts in NUMBER UNIQUE ORDERS, but the profile does not contain it.

    Raises `FormatError` with the line, `InputError` for a file without alternatives or without a ballot of count 1 or more.
    """
    numbers: dict[int, int] = {}
    names: dict[str, None] = {}
    votes = _Votes()
    uncast = 0
    stated: dict[str, tuple[int, str]] = {}
    for line, content in _lines(source):
        if (match := _NAME.match(content)) is not None:
            _add_name(line, match, numbers, names)
        elif (match := _STATED.match(content)) is not None:
            stated[match[1]] = line, match[2].strip()
        elif content.strip() and not content.startswith("#"):
            ballot = _ballot(line, content.strip(), numbers)
            if ballot.weight:
                votes.add(ballot)
            else:
                uncast += 1
    if not names or not votes.weight:
        raise InputError("profile", (len(names), len(votes.weight)), "must hold alternatives with names, and ballots of count 1 or more")
    profile = votes.profile(tuple(names))
    _check_stated(stated, profile, uncast)
    return profile


class _Votes:
    """Buffer for votes during reading: 8 bytes for each listed alternative and 16 bytes for each vote."""

    def __init__(self) -> None:
        self.agent, self.level = array("i"), array("i")
        self.start, self.weight = array("q", [0]), array("d")

    def add(self, ballot: Ballot) -> None:
        for level, members in enumerate(ballot.levels):
            self.agent.extend(sorted(members))
            self.level.extend([level] * len(members))
        self.start.append(len(self.agent))
        self.weight.append(ballot.weight)

    def profile(self, names: tuple[str, ...]) -> Profile:
        """The profile of all votes in the buffer."""
        agent, level = (np.frombuffer(column, np.int32) for column in (self.agent, self.level))
        return Profile(names, np.frombuffer(self.start, np.int64), agent, level, np.frombuffer(self.weight, np.float64))


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    if isinstance(source, str):
        return enumerate(source.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1)
    return text_lines(source)


def write_profile(profile: Profile, title: str = "") -> str:
    """Write `profile` as a PrefLib file of its narrowest data type. Equal ballots are combined, most voters first.

    Weights must be whole numbers from 1, because PrefLib counts voters. Names and title must each be one line without white space at an
    end. Raises `InputError`. Reading the file gives the same alternatives in the same order, and the same counts of the same orders.
    """
    counted: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for ballot in checks.instance("profile", profile, Profile).ballots:
        if not 1 <= ballot.weight < _MOST or ballot.weight != int(ballot.weight):
            raise InputError("weight", ballot.weight, "must be a whole number of voters, 1 or more")
        counted[ballot.levels] += int(ballot.weight)
    _check_line("title", title)
    for name in profile.names:
        _check_line("names", name)
        if not name:
            raise InputError("names", name, "must not be empty")
    kind = data_type(profile)
    head = {"FILE NAME": f"profile.{kind}", "TITLE": title, "DESCRIPTION": "", "DATA TYPE": kind, "MODIFICATION TYPE": "synthetic"}
    head |= {"RELATES TO": "", "RELATED FILES": "", "PUBLICATION DATE": "", "MODIFICATION DATE": ""}
    head |= {"NUMBER ALTERNATIVES": str(len(profile.names)), "NUMBER VOTERS": str(counted.total())}
    head |= {"NUMBER UNIQUE ORDERS": str(len(counted))}
    head |= {f"ALTERNATIVE NAME {i}": name for i, name in enumerate(profile.names, 1)}
    lines = [f"# {field}: {value}".rstrip() for field, value in head.items()]
    lines += [f"{count}: {_order(levels)}" for levels, count in sorted(counted.items(), key=lambda one: -one[1])]
    return "\n".join(lines) + "\n"


def data_type(profile: Profile) -> str:
    """The narrowest PrefLib type of a profile: strict (so) or with ties (to), then complete (c) or incomplete (i)."""
    tied = any(len(level) > 1 for ballot in profile.ballots for level in ballot.levels)
    return ("to" if tied else "so") + ("c" if profile.complete else "i")


def _check_line(argument: str, text: str) -> None:
    if text != text.strip() or len(text.splitlines()) > 1:
        raise InputError(argument, text, "must be one line without leading or trailing white space")


def _order(levels: tuple[tuple[int, ...], ...]) -> str:
    members = [", ".join(str(i + 1) for i in level) for level in levels]
    return ", ".join(f"{{{text}}}" if len(level) > 1 else text for text, level in zip(members, levels, strict=True))


def _add_name(line: int, match: re.Match[str], numbers: dict[int, int], names: dict[str, None]) -> None:
    text = match[2].strip()
    if not text or int(match[1]) in numbers or text in names:
        raise FormatError(line, "ALTERNATIVE NAME", text, "must name each alternative, once")
    numbers[int(match[1])] = len(names)
    names[text] = None


def _check_stated(stated: dict[str, tuple[int, str]], profile: Profile, uncast: int) -> None:
    actual = {
        "NUMBER ALTERNATIVES": str(len(profile.names)),
        "NUMBER VOTERS": f"{profile.voters:.0f}",
        "NUMBER UNIQUE ORDERS": str(len(profile) + uncast),
    }
    for field, (line, text) in stated.items():
        if field in actual and text != actual[field]:
            raise FormatError(line, field, text, f"must be {actual[field]}, as the file's orders give")
        if field == "DATA TYPE" and text in TYPES and not _holds(text, data_type(profile)):
            raise FormatError(line, field, text, f"must hold the file's orders, which are {data_type(profile)}")


def _holds(wide: str, narrow: str) -> bool:
    return narrow[0] <= wide[0] and narrow[2] <= wide[2]  # s before t, c before i


def _ballot(line: int, content: str, numbers: dict[int, int]) -> Ballot:
    match = _BALLOT.fullmatch(content)
    if match is None:
        raise FormatError(line, None, content, "must be COUNT: ORDER with a count of 0 or more")
    if _LEVEL.sub("", match[2]).replace(",", "").strip():
        raise FormatError(line, None, content, "must be numbers separated by commas, with tied numbers in braces")
    levels = [_level(line, (tied or alone).split(","), numbers) for tied, alone in _LEVEL.findall(match[2]) if (tied or alone).strip()]
    members = [member for level in levels for member in level]
    if not members or len(set(members)) != len(members):
        raise FormatError(line, None, content, "must list one or more alternatives, each once")
    return Ballot(int(match[1]), tuple(levels))


def _level(line: int, cells: Sequence[str], numbers: dict[int, int]) -> tuple[int, ...]:
    if all(map(_MEMBER.fullmatch, cells)) and all(int(cell) in numbers for cell in cells):
        return tuple(numbers[int(cell)] for cell in cells)
    raise FormatError(line, None, ",".join(cells), "must be numbers of alternatives named above")

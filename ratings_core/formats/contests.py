"""Contests with many participants in the format of the Elo-MMR project (Ebtekar and Liu 2021).

A contest is a JSON object: `name`, `time_seconds` (end of the contest since 1970, optional), `weight` (default 1), and `standings`, a list
of [handle, first place, last place]. Tied participants share this range of places, from 0. Other fields (`id`, `url`, `perf_ceiling`)
are only part of the content. A file contains one contest, several consecutive contests, or an array of contests.
"""

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.checked import name
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.json_items import content, json_values
from ratings_core.voting.profile import Profile

MAX_PLACES: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Contest:
    """One contest. row: its number in the file, from 1; places: of the handles, from 0; equal places tie; content: JSON text, for ids."""

    row: int
    title: str
    time: float | None
    weight: float
    handles: tuple[str, ...]
    places: tuple[int, ...]
    content: str


def iter_contests(stream: io.BufferedReader) -> Iterator[Contest | Skipped | FormatError]:
    """Read the contests of a file in file order, one at a time. stream: as `unpacked` returns it.

    Yields a `Skipped` for a contest of fewer than two participants, and the error of an invalid contest, with its number and the field.
    Raises `FormatError` for a text that is not JSON.
    """
    for row, item in json_values(stream):
        try:
            yield _contest(row, item)
        except FormatError as error:
            yield error


def contests_profile(contests: Iterable[Contest]) -> Profile:
    """A profile with one ballot per contest, of the contest's weight, which lists its participants.

    Raises `InputError` if there is no contest, and for other records, such as a `Skipped`.
    """
    ids: dict[str, int] = {}
    start, agent, level, weight = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], []
    for i, contest in enumerate(contests):
        checks.instance(f"contests[{i}]", contest, Contest)
        places = np.array(contest.places)
        order = np.argsort(places, kind="stable")
        agent.append(np.array([ids.setdefault(handle, len(ids)) for handle in contest.handles], np.int32)[order])
        level.append(np.unique(places, return_inverse=True)[1].astype(np.int32)[order])
        start.append(start[-1] + len(places))
        weight.append(contest.weight)
    if not weight:
        raise InputError("contests", 0, "must contain a contest with at least two participants")
    return Profile(tuple(ids), np.array(start), np.concatenate(agent), np.concatenate(level), np.array(weight))


def _contest(row: int, item: Any) -> Contest | Skipped:
    if not isinstance(item, dict):
        raise FormatError(row, None, item, "must be a contest, as a JSON object")
    standings = item.get("standings")
    if not isinstance(standings, list):
        raise FormatError(row, "standings", standings, "must be a list of [handle, first place, last place]")
    title = item.get("name", "")
    if not isinstance(title, str):
        raise FormatError(row, "name", title, "must be a text")
    handles, places = _standings(row, standings)
    if len(handles) < 2:
        return Skipped(row, "fewer than two participants")
    return Contest(row, title, _number(item, row, "time_seconds", None), _weight(item, row), handles, places, content(item, row))


def _standings(row: int, standings: list[Any]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    places: dict[str, int] = {}
    last_of: dict[int, int] = {}
    for i, one in enumerate(standings):
        at = f"standings[{i}]"
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[0], str):
            raise FormatError(row, at, one, "must be [handle, first place, last place]")
        handle, first, last = name(one[0], row, at), _place(one[1], row, at), _place(one[2], row, at)
        if handle in places:
            raise FormatError(row, at, handle, "must name each handle once")
        if first > last or last_of.setdefault(first, last) != last:
            raise FormatError(row, at, one, "must have the same range of places, first to last, as all tied participants")
        places[handle] = first
    return tuple(places), tuple(places.values())


def _place(value: Any, row: int, at: str) -> int:
    if type(value) is not int or not 0 <= value <= MAX_PLACES:
        raise FormatError(row, at, value, f"must be a place from 0 to {MAX_PLACES}")
    return value


def _weight(item: Mapping[str, Any], row: int) -> float:
    weight = _number(item, row, "weight", 1.0)
    if weight is None or weight <= 0:
        raise FormatError(row, "weight", weight, "must be above 0")
    return weight


def _number(item: Mapping[str, Any], row: int, field: str, missing: float | None) -> float | None:
    value = item.get(field)
    if value is None:
        return missing
    if type(value) not in (int, float) or not abs(value) < 2.0**63:
        raise FormatError(row, field, value, "must be a finite number")
    return float(value)

"""Seasons of a pool: named spans of its outcomes. Pure functions of the state of the control log.

A season is a chain of generations with one name. The generations of a later season have an `Opening`, which says where the season before
ended. So the list of seasons follows from generations and needs no other records.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from ratings_core.errors import InputError
from services.control import generations
from services.control.records import ControlState, Generation, GenerationRequest, SeasonStart, SeasonWithdrawn, Start


class SeasonStatus(StrEnum):
    """Status of a season.

    `requested`: it was asked for, and no generation begins it yet. `starting`: its first generation is being folded. `running`: readers see
    its boards. `ended`: another season began; its final boards are being computed. `closed`: all of its final boards are kept.
    """

    REQUESTED = "requested"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    CLOSED = "closed"


class NoRequest(InputError):  # noqa: N818 - names the fact
    """The pool has no season of this name."""


class SeasonBegan(InputError):  # noqa: N818 - names the fact
    """The season has begun, so its request cannot be withdrawn."""


class Ended(NamedTuple):
    """A season that ended: the generation that served it at its end, and the generation that began the next season.

    name: Name of the season. position: Log offset of its end. by: First generation of the next season.
    """

    name: str
    generation: Generation
    position: int
    by: Generation


class Season(NamedTuple):
    """One season.

    Attributes:
        name: Its name.
        status: Its status; `ended` also stands for seasons whose final boards are complete, because the control log does not know that.
        generation: The newest generation that served it or serves it, or that is being folded; None for a requested season.
        start: Log offset at which it begins; None for a season that is requested before the pool's first outcome.
        end: Log offset at which it ends; None before.
        began_at, ended_at: Times of the records that began and ended it, seconds since 1970.
        keep: Share of the ratings' distances to their mean that its soft reset left; None for the first season.
    """

    name: str
    status: SeasonStatus
    generation: int | None
    start: int | None
    end: int | None
    began_at: float | None
    ended_at: float | None
    keep: float | None


def ended(control: ControlState, pool: str) -> list[Ended]:
    """The seasons of a pool that ended for readers, oldest first: a generation of a later season was served."""
    made = control.generations.get(pool, {})
    ends: dict[str, Ended] = {}
    for number in sorted(made):
        by = made[number]
        if by.opening is None or by.opening.first > control.served(pool) or by.opening.generation not in made:
            continue
        closed = made[by.opening.generation]
        ends.setdefault(closed.season, Ended(closed.season, closed, by.opening.position, by))
    return list(ends.values())


def find_ended(control: ControlState, pool: str, name: str) -> Ended | None:
    """The season of this name if it ended; otherwise None."""
    return next((season for season in ended(control, pool) if season.name == name), None)


def seasons(control: ControlState, pool: str) -> list[Season]:
    """All seasons of a pool, oldest first."""
    made, ends = control.generations.get(pool, {}), {season.name: season for season in ended(control, pool)}
    first: dict[str, Generation] = {}
    for number in sorted(made):
        first.setdefault(made[number].season, made[number])
    listed = [_season(control, made, begun, ends.get(name)) for name, begun in first.items()]
    _, waiting = control.wish(pool) or (None, None)
    if waiting is not None and waiting.season is not None:
        start = waiting.start if isinstance(waiting.start, int) else None
        listed.append(Season(waiting.season.name, SeasonStatus.REQUESTED, None, start, None, None, None, waiting.season.keep))
    return listed


def _season(control: ControlState, made: Mapping[int, Generation], begun: Generation, end: Ended | None) -> Season:
    numbers = [number for number, generation in made.items() if generation.season == begun.season]
    served = [number for number in numbers if number <= control.served(begun.pool)]
    status = SeasonStatus.RUNNING if served else SeasonStatus.STARTING
    generation = max(served or numbers)
    if end is not None:
        status, generation = SeasonStatus.ENDED, end.generation.number
    return Season(
        name=begun.season,
        status=status,
        generation=generation,
        start=made[generation].start,
        end=None if end is None else end.position,
        began_at=begun.time,
        ended_at=None if end is None else end.by.time,
        keep=None if begun.opening is None else begun.opening.keep,
    )


def season_request(
    control: ControlState, standing: Generation | GenerationRequest, season: SeasonStart, start: Start | None, time: float
) -> GenerationRequest:  # fmt: skip
    """The request that begins a season.

    Args:
        control: State of the control log.
        standing: The newest settings of the pool, which the season keeps. Initial ratings belong to the season before, if there is one.
        season: Name of the season, and how much of the ratings it keeps.
        start: `now` or a log offset; None for `now`.
        time: Time of the request, seconds since 1970.

    Raises:
        InputError: The name is taken, another season is being started, or the start is not after that of the present season.
    """
    listed = seasons(control, standing.pool)
    if season.name in {known.name for known in listed}:
        raise InputError("name", season.name, "must be the name of no season of this pool")
    unfinished = [known.name for known in listed if known.status in (SeasonStatus.REQUESTED, SeasonStatus.STARTING)]
    if unfinished:
        raise InputError("name", season.name, f"must wait until season {unfinished[0]} has started")
    serving = control.serving(standing.pool)
    if start == "same" or (isinstance(start, int) and serving is not None and start <= serving.start):
        least = 0 if serving is None else serving.start + 1
        raise InputError("start", start, f"must be now, or a log offset of {least} or more: the present season begins before")
    initial = None if serving is None else dict[str, dict[str, float]]()
    return generations.wish(standing, time=time, initial=initial, start="now" if start is None else start, season=season)


def withdrawal(control: ControlState, pool: str, name: str, time: float) -> SeasonWithdrawn:
    """The record that withdraws the request for a season.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        name: Name of the season.
        time: Seconds since 1970.

    Raises:
        NoRequest: The pool has no such season.
        SeasonBegan: A generation of the season exists.
    """
    if name not in {season.name for season in seasons(control, pool)}:
        raise NoRequest("season", name, f"must be a season of pool {pool} that was requested and has not begun")
    check_not_begun(control, pool, name)
    return SeasonWithdrawn(pool=pool, season=name, time=time)


def check_not_begun(control: ControlState, pool: str, name: str) -> None:
    """Raise `SeasonBegan` if a generation of the season exists. Its shard can make it while a withdrawal is written."""
    begun = [season for season in seasons(control, pool) if season.name == name and season.generation is not None]
    if begun:
        raise SeasonBegan("season", name, f"must not have begun, but it is {begun[0].status}: nothing was withdrawn")


def generation_at(control: ControlState, pool: str, position: int | None, time: float = 0.0) -> Generation | None:
    """The generation whose boards readers now see of an earlier moment: the one that serves the season of this moment.

    That is the serving generation for the present season, and the one that served an ended season at its end. If the present season's
    outcomes count from a later position only, it is the newest generation before that counts from an earlier one.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        position: Log offset up to which outcomes are counted; None to go by `time`.
        time: Seconds since 1970. A season ends with the record that began the next one.

    Returns:
        The generation; None if no generation of the pool counts outcomes from `position` or an earlier one.
    """
    for end in ended(control, pool):
        if position < end.position if position is not None else time < end.by.time:
            return end.generation if position is None or end.generation.start <= position else None
    made, served = control.generations.get(pool, {}), control.served(pool)
    begun = [number for number in made if number <= served and (position is None or made[number].start <= position)]
    return made[max(begun)] if begun else None

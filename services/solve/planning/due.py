"""Which solves are due, and in which order: a pure function of (now, offered, ledger, pace), tested without Ray and without waiting.

Due jobs wait in one queue. Two handicaps, each a multiple of the solve interval, change the order of arrival: jobs that are expensive, of
slices or of intervals wait one interval more for each cost class, and a pool waits one interval more for each of its jobs that runs or was
just chosen. The slices of a pool take their own turns, so a pool's own boards do not wait for hundreds of its slices. Both handicaps are
bounded, so every job comes first after a bounded wait: no job starves, however many cheaper jobs or busier pools there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from services.solve.planning.jobs import Job, JobStatus
from services.solve.planning.ledger import Entry, Given, Ledger

_MOST_DOUBLED: Final = 6
"""Largest number of times that the pause after a lost try doubles."""


INTERVALS_COST: Final = 5
"""Cost classes that the intervals of a board add to those of its method. They thus follow solves and insight that became due then."""
SLICE_COST: Final = 5
"""Cost classes that a slice adds. Its boards thus follow the solves and insight of complete pools that became due then."""


class SolvePace(NamedTuple):
    """How often a job may start: `seconds` after its newest start, or as soon as `outcomes` new outcomes are there."""

    seconds: float
    outcomes: int


def due(now: float, offered: Mapping[Job, Given], ledger: Ledger, pace: SolvePace, cost: Mapping[str, int]) -> list[Job]:
    """The jobs to start now, in order.

    A job is due when the pool has outcomes, no try of it runs, its data or parameters changed since the newest try, and `pace` allows
    another one. A job that was lost with its process is also due on the same data, after a pause that doubles with every loss.

    Args:
        now: Seconds of a timer that never goes back.
        offered: Every job -> what a try of it would work on.
        ledger: The jobs that are known.
        pace: How often a job may start.
        cost: Method -> cost class; lower is cheaper. A method without one fails at once, so it comes first.

    Returns:
        Due jobs, first to start first. Ties are broken by cost, pool and name of the board.
    """
    ready = [job for job, given in offered.items() if given.outcomes and _ready(ledger.newest(job), given, now, pace)]
    classes = {job: cost.get(job.method, 0) + INTERVALS_COST * job.intervals + SLICE_COST * job.sliced for job in ready}
    waiting = ledger.waiting()
    claims = ((waiting.get(job, now) + classes[job] * pace.seconds, classes[job], job) for job in ready)
    return _taking_turns(claims, ledger.running(), pace.seconds)


def pause_after(losses: int, seconds: float) -> float:
    """The pause before the same data are tried again, after so many lost tries in a row. seconds: between two tries otherwise."""
    return seconds * 2.0 ** min(losses, _MOST_DOUBLED)


def _ready(entry: Entry | None, given: Given, now: float, pace: SolvePace) -> bool:
    if entry is None or entry.newest is None:
        return True
    newest = entry.newest
    if entry.status is JobStatus.RUNNING:
        return False
    if newest.data == given.data and newest.parameters == given.parameters:
        return entry.losses > 0 and entry.started <= now - pause_after(entry.losses, pace.seconds)
    return entry.started <= now - pace.seconds or given.outcomes - newest.outcomes >= pace.outcomes


def _taking_turns(claims: Iterable[tuple[float, int, Job]], running: Iterable[Job], handicap: float) -> list[Job]:
    """Jobs by claim, smallest first. Each job of a pool that runs or comes first adds `handicap` to the claims behind it in that pool.

    Jobs of the pool's slices are counted apart.
    """
    before, delayed = Counter((job.pool, job.sliced) for job in running), []
    for since, cost, job in sorted(claims):
        turn = job.pool, job.sliced
        delayed.append((since + before[turn] * handicap, cost, job))
        before[turn] += 1
    return [job for _, _, job in sorted(delayed)]

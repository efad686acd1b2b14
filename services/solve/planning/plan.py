"""Which solves are due, and in which order: a pure function of (now, pools, ledger, pace), tested without Ray and without waiting.

A due job waits in a queue in which cheap methods have a head start of one interval for each class of cost between them, and a pool
falls back by one interval for each of its solves that runs or was just chosen. As these handicaps are bounded, whoever has
waited that much longer comes first: nobody starves, however many cheaper jobs or busier pools there are.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

_MOST_DOUBLED: Final = 6
Parameters: TypeAlias = Mapping[str, float | str | bool]


class Job(NamedTuple):
    """One method on one pool."""

    pool: str
    method: str


class Pace(NamedTuple):
    """How often a job may start: `seconds` after its last start, or as soon as that many new outcomes are there."""

    seconds: float
    outcomes: int


@dataclass(frozen=True, slots=True)
class PoolView:
    """What a checkpoint offers to solve. data: changes exactly when the pool's outcomes did (their state's digest)."""

    pool: str
    data: str
    outcomes: int
    methods: Mapping[str, Parameters]


@dataclass(frozen=True, slots=True)
class Tried:
    """The newest try of a job: on what, with what, when it began, whether it still runs, and how often in a row it was lost."""

    data: str
    outcomes: int
    parameters: Parameters
    started: float
    running: bool
    lost: int = 0


@dataclass(slots=True)
class Ledger:
    """What was tried, and since when due jobs wait. The planner reads it; the engine writes it."""

    tried: dict[Job, Tried] = field(default_factory=dict)
    waiting: dict[Job, float] = field(default_factory=dict)

    def queue(self, jobs: Iterable[Job], now: float) -> None:
        """Note who waits: these jobs, those of them that did before since then."""
        self.waiting = {job: self.waiting.get(job, now) for job in jobs}

    def start(self, job: Job, view: PoolView, now: float) -> None:
        """Note that a job begins."""
        self.waiting.pop(job, None)
        lost = self.tried[job].lost if job in self.tried else 0
        self.tried[job] = Tried(view.data, view.outcomes, dict(view.methods[job.method]), now, running=True, lost=lost)

    def finish(self, job: Job, lost: bool = False) -> None:
        """Note that its try ended: with an answer or a failure that would come again, or `lost` with its process."""
        last = self.tried[job]
        self.tried[job] = replace(last, running=False, lost=last.lost + 1 if lost else 0)

    def forget(self, job: Job) -> None:
        """Drop what is noted of a job that ended and is wanted no more."""
        if job in self.tried and not self.tried[job].running:
            del self.tried[job]


def due(now: float, pools: Iterable[PoolView], ledger: Ledger, pace: Pace, cost: Mapping[str, int]) -> list[Job]:
    """Jobs to start now, in order. cost: method -> cost class, lower is cheaper; a method without one fails at once, so it goes first.

    A job is due when the pool has outcomes, none of its tries runs, its data or parameters changed since the last try, and `pace`
    allows another. One that was lost with its process is due on the same data, too, after a time that doubles with every loss.
    Equal claims go by cost, pool and method.
    """
    ready = [
        Job(view.pool, method)
        for view in pools
        if view.outcomes
        for method, parameters in view.methods.items()
        if _ready(ledger.tried.get(Job(view.pool, method)), view, parameters, now, pace)
    ]
    classes = {job: cost.get(job.method, 0) for job in ready}
    claims = {job: (ledger.waiting.get(job, now) + classes[job] * pace.seconds, classes[job], job) for job in ready}
    return _taking_turns(claims, Counter(job.pool for job, tried in ledger.tried.items() if tried.running), pace.seconds)


def fitting(jobs: Sequence[Job], need: Callable[[Job], int], running: Sequence[int], workers: int, memory: int | None) -> list[Job]:
    """The first of `jobs` that may start beside those that run. need: bytes that a job is taken to need; running: those of the jobs that
    run; memory: of all together, None for any.

    One that does not fit waits at the head of the queue, and those behind it with it: else small ones would keep it waiting for ever.
    Alone every job may run; its own limit bounds it.
    """
    chosen: list[Job] = []
    taken = list(running)
    for job in jobs[: max(0, workers - len(running))]:
        if taken and memory is not None and sum(taken) + need(job) > memory:
            break
        chosen.append(job)
        taken.append(need(job))
    return chosen


def _ready(last: Tried | None, view: PoolView, parameters: Parameters, now: float, pace: Pace) -> bool:
    if last is None:
        return True
    if last.running:
        return False
    if last.data == view.data and last.parameters == parameters:
        return last.lost > 0 and last.started <= now - pace.seconds * 2 ** min(last.lost, _MOST_DOUBLED)
    return last.started <= now - pace.seconds or view.outcomes - last.outcomes >= pace.outcomes


def _taking_turns(claims: Mapping[Job, tuple[float, int, Job]], chosen: Counter[str], handicap: float) -> list[Job]:
    """Jobs by their claims, least first, each pool put back by `handicap` for every job of it chosen so far."""
    queues: defaultdict[str, list[tuple[float, int, Job]]] = defaultdict(list)
    for claim in sorted(claims.values(), reverse=True):
        queues[claim[2].pool].append(claim)
    heap = [_put_back(queue, chosen, handicap) for queue in queues.values()]
    heapq.heapify(heap)
    order: list[Job] = []
    while heap:
        job = heapq.heappop(heap)[2]
        order.append(job)
        chosen[job.pool] += 1
        queues[job.pool].pop()
        if queues[job.pool]:
            heapq.heappush(heap, _put_back(queues[job.pool], chosen, handicap))
    return order


def _put_back(queue: list[tuple[float, int, Job]], chosen: Counter[str], handicap: float) -> tuple[float, int, Job]:
    since, cost, job = queue[-1]
    return since + chosen[job.pool] * handicap, cost, job

"""Which solves are due: a pure function of (now, pools, ledger, interval), so it is tested without Ray and without waiting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Parameters: TypeAlias = Mapping[str, float | str | bool]


class Job(NamedTuple):
    """One method on one pool."""

    pool: str
    method: str


@dataclass(frozen=True, slots=True)
class PoolView:
    """What a checkpoint offers to solve. data: changes exactly when the pool's outcomes did (their state's digest)."""

    pool: str
    data: str
    outcomes: int
    methods: Mapping[str, Parameters]


@dataclass(frozen=True, slots=True)
class Tried:
    """The newest try of a job: on what, with what, when it began, and whether it still runs."""

    data: str
    parameters: Parameters
    started: float
    running: bool


@dataclass(slots=True)
class Ledger:
    """What was tried. The planner reads it; the engine writes it."""

    tried: dict[Job, Tried] = field(default_factory=dict)

    def start(self, job: Job, view: PoolView, now: float) -> None:
        """Note that a job begins."""
        self.tried[job] = Tried(view.data, dict(view.methods[job.method]), now, running=True)

    def finish(self, job: Job) -> None:
        """Note that its try ended, well or not."""
        last = self.tried[job]
        self.tried[job] = Tried(last.data, last.parameters, last.started, running=False)


def due(now: float, pools: Iterable[PoolView], ledger: Ledger, interval: float, cost: Mapping[str, int]) -> list[Job]:
    """Jobs to start now, in order: cheap methods first, then those that waited longest, then by name.

    A job is due when the pool has outcomes, none of its tries runs, its data or parameters changed since the last try, and
    that one began at least `interval` seconds ago. cost: method -> cost class, lower is cheaper.
    """
    ready = [
        Job(view.pool, method)
        for view in pools
        if view.outcomes
        for method, parameters in view.methods.items()
        if _ready(ledger.tried.get(Job(view.pool, method)), view.data, parameters, now - interval)
    ]
    return sorted(ready, key=lambda job: (cost[job.method], _started(ledger, job), job))


def _ready(last: Tried | None, data: str, parameters: Parameters, before: float) -> bool:
    if last is None:
        return True
    changed = last.data != data or last.parameters != parameters
    return changed and not last.running and last.started <= before


def _started(ledger: Ledger, job: Job) -> float:
    last = ledger.tried.get(job)
    return float("-inf") if last is None else last.started

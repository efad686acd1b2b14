"""What intervals do in processes of their own: read what is redrawn once, and solve slices of its replicates."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ratings_core.options import Value
from services.boards.result import Intervals
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.solve.intervals.replicates import Sample, most_of, sample
from services.solve.problems.checkpointed import with_groups
from services.solve.problems.inputs import Problem
from services.solve.registry import methods
from services.solve.uncertainty.resampling import normal_reach, resampling
from services.solve.worker.limits import memory_limit
from services.wire.pools import Kind


class Prepared(NamedTuple):
    """What a method takes of a pool, and its parameters: what slices share in the object store."""

    method: str
    problem: Problem
    values: dict[str, Value]

    @property
    def taken(self) -> methods.Taken:
        """As `methods.taken` gave it."""
        return methods.Taken(methods.find(self.method), self.problem, self.values, {})


class Facts(NamedTuple):
    """names: of the agents that are redrawn; about: how they are; reach: as `normal_reach` says; seconds: that it took to find out."""

    names: tuple[str, ...]
    about: Intervals
    reach: float
    seconds: float


def prepare(url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int) -> tuple[Facts, Prepared]:
    """(What the engine has to know, what is redrawn), of the data object that `entry` names. Raises what `solve_pool` does."""
    began, pool = time.perf_counter(), msgspec.json.decode(entry, type=PoolEntry)
    with memory_limit(memory):
        arrays = CheckpointStore(url).read_pool(pool, mapped=True)
        found = methods.taken(method, with_groups(methods.problem_for(method, Kind(pool.kind), arrays), arrays), parameters)
        most_of(len(found.problem.names))
        source = resampling(found.problem, found.method, found.values)
        facts = Facts(found.problem.names, source.about, normal_reach(found.method, source), time.perf_counter() - began)
        return facts, Prepared(method, found.problem, found.values)


def solve_slice(prepared: Prepared, seed: int, first: int, most: int, seconds: float, memory: int) -> Sample:
    """Replicates from `first` on, as `intervals.sample` solves them. Raises `InputError` where the data cannot be redrawn."""
    with memory_limit(memory):
        taken = prepared.taken
        return sample(taken, resampling(taken.problem, taken.method, taken.values), seed, first, most, seconds)

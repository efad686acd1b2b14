"""The tasks of intervals in worker processes: one task reads the problem, each of the others solves a slice of replicates."""

import time
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from ratings_core.methods import registry
from ratings_core.methods.refits import Sample, most_of, sample
from ratings_core.methods.resampling import normal_reach, resampling
from ratings_core.options import Value
from ratings_core.problems.inputs import Problem
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.solve.intervals.replicates import Facts, about
from services.solve.problems.checkpointed import with_groups
from services.solve.registry import methods
from services.solve.worker.limits import memory_limit
from services.wire.pools import Kind

Prepared: TypeAlias = tuple[Problem, dict[str, Value]]
"""The part of the pool's data that a method takes, and accepted values of its parameters. All slices read both from the object store."""


def prepare(url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int) -> tuple[Facts, Prepared]:
    """Read a pool's data object and prepare its problem for resampling.

    Args:
        url: Address of the checkpoints.
        entry: `PoolEntry` of the pool, as JSON.
        method: Name of the method.
        parameters: Parameters of the solve.
        memory: Memory limit in bytes.

    Returns:
        Facts for the engine, and the prepared problem for the slices.

    Raises:
        OutOfMemory: The task needs more than its memory limit.
        BadObject: The data object cannot be read.
        InputError: The data cannot be resampled, or there are too many agents.
    """
    began, pool = time.perf_counter(), msgspec.json.decode(entry, type=PoolEntry)
    with memory_limit(memory):
        arrays = CheckpointStore(url).read_pool(pool, mapped=True)
        found = registry.taken(method, with_groups(methods.problem_for(method, Kind(pool.kind), arrays), arrays), parameters)
        most_of(len(found.problem.names))
        source = resampling(found.problem, found.method, found.values)
        facts = Facts(found.problem.names, about(source), normal_reach(found.method, source), time.perf_counter() - began)
        return facts, (found.problem, found.values)


def solve_slice(method: str, prepared: Prepared, seed: int, first: int, most: int, seconds: float, memory: int) -> Sample:
    """Solve a slice of replicates, as `replicates.sample` does. memory: limit in bytes.

    Raises `InputError` if the data cannot be resampled, and `OutOfMemory` beyond the limit.
    """
    with memory_limit(memory):
        taken = registry.Taken(registry.find(method), *prepared, about={})
        return sample(taken, resampling(taken.problem, taken.method, taken.values), seed, first, most, seconds)

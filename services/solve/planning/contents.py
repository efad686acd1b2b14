"""What can be solved: the checkpointed pools, their slices, and the methods that are chosen for each of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from services.boards.slice_boards import SliceName, part_of
from services.checkpoints.checkpoint import PoolEntry
from services.control.records import ControlState, SolvePlan
from services.solve.planning.jobs import ContentKey, Job, Parameters
from services.solve.planning.ledger import Given, data_of
from services.solve.registry.choice import chosen_for
from services.wire.pools import Kind


class _OfPool(NamedTuple):
    """What can be solved of a pool, and the checkpoint and plan that decide it."""

    entry: PoolEntry
    plan: SolvePlan | None
    contents: Mapping[ContentKey, PoolEntry]
    offered: Mapping[Job, Given]


class KnownContents:
    """What can be solved, computed again only for pools whose checkpoint or plan changed. A pool with slices can have thousands of jobs."""

    def __init__(self) -> None:
        self._pools: dict[str, _OfPool] = {}

    def of(self, entries: Iterable[PoolEntry], control: ControlState) -> tuple[dict[ContentKey, PoolEntry], dict[Job, Given]]:
        """`contents_of` these pools, and `offered_methods` of these contents."""
        self._pools = {entry.pool: self._of_pool(entry, control) for entry in entries}
        contents: dict[ContentKey, PoolEntry] = {}
        offered: dict[Job, Given] = {}
        for pool in self._pools.values():
            contents |= pool.contents
            offered |= pool.offered
        return contents, offered

    def _of_pool(self, entry: PoolEntry, control: ControlState) -> _OfPool:
        known, plan = self._pools.get(entry.pool), control.plans.get(entry.pool)
        if known is not None and known.entry is entry and known.plan is plan:
            return known
        contents = contents_of([entry], control)
        return _OfPool(entry, plan, contents, offered_methods(contents, control))


def contents_of(entries: Iterable[PoolEntry], control: ControlState) -> dict[ContentKey, PoolEntry]:
    """The checkpointed pools, and those of their slices that are solved by a method, each with the entry whose arrays it has."""
    return {key: entry for pool in entries for key, entry in _contents(pool, control.plans.get(pool.pool))}


def offered_methods(contents: Mapping[ContentKey, PoolEntry], control: ControlState) -> dict[Job, Given]:
    """The jobs of the methods that are chosen for pools and slices, and what they would work on.

    A slice has its own digest, so its jobs are due only when outcomes of the slice were counted.
    """
    return {
        Job(key.pool, method + key.part): Given(data_of(entry.generation, entry.digest), entry.outcomes, parameters)
        for key, entry in contents.items()
        for method, parameters in chosen_of(entry, control.plans.get(key.pool)).items()
    }


def chosen_of(entry: PoolEntry, plan: SolvePlan | None) -> Mapping[str, Parameters]:
    """The methods that are chosen for a pool or slice, with the parameters of the pool."""
    chosen = chosen_for(plan, Kind(entry.kind))
    if entry.part is None:
        return chosen
    return {method: chosen[method] for method in (plan.slices.get(entry.part.dimension, ()) if plan else ()) if method in chosen}


def _contents(pool: PoolEntry, plan: SolvePlan | None) -> Iterator[tuple[ContentKey, PoolEntry]]:
    yield ContentKey(pool.pool), pool
    tags = () if plan is None else plan.slices
    for one in pool.slices if tags else ():
        if one.dimension in tags:
            yield ContentKey(pool.pool, part_of(SliceName(one.dimension, one.value).board(""))), pool.of_slice(one)

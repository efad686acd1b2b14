"""New pools: their records in the control log, and their empty states."""

from typing import Any

from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.state.pool import PoolState
from services.wire.pools import Kind


def pool_of(name: str = "p", kind: Kind = Kind.GAMES, fold: FoldSettings | None = None) -> PoolCreated:
    """The record of a pool that was created at time 0."""
    return PoolCreated(pool=name, kind=kind, time=0.0, fold=(fold or FoldSettings()).with_defaults(kind))


def first_generation(created: PoolCreated, **fields: Any) -> Generation:
    """Generation 1 of a pool, from offset 0, with the pool's settings. fields: fields to add or replace."""
    return Generation(**{"pool": created.pool, "number": 1, "start": 0, "time": 0.0, "fold": created.fold, **fields})


def state_of(name: str = "p", kind: Kind = Kind.GAMES, fold: FoldSettings | None = None, **fields: Any) -> PoolState:
    """Empty state of a new pool. fields: fields of its generation."""
    created = pool_of(name, kind, fold)
    return PoolState(created, first_generation(created, **fields))


def control_of(*pools: PoolCreated, **fields: Any) -> ControlState:
    """State of a control log with these pools and their first generations. fields: fields of the generations."""
    control = ControlState()
    for created in pools:
        control.apply(control.position, created)
        control.apply(control.position, first_generation(created, **fields))
    return control

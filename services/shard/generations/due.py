"""When a pool needs a new generation, and which one."""

import time
from collections.abc import Callable

from services.control import generations
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.shard.generations.pace import Pace
from services.shard.partition import Partition
from services.state.pool import PoolState


class DueGenerations:
    """Decides for the pools of one partition. clock: seconds since 1970, which records of the control log show."""

    def __init__(self, partition: Partition, pace: Pace, clock: Callable[[], float]) -> None:
        self._partition, self._pace, self._clock = partition, pace, clock
        self._since: dict[str, float] = {}

    def due(self, state: PoolState, control: ControlState, now: float) -> Generation | None:
        """The generation of a pool to make now, if one is due. now: seconds that never go back."""
        wanted = self._wanted(state, control, now)
        if wanted is not None:
            self._since.pop(wanted.pool, None)
        return wanted

    def _wanted(self, state: PoolState, control: ControlState, now: float) -> Generation | None:
        """Retractions wait for the build under way; after one that failed, for a wish."""
        pool, newest = state.generation.pool, control.newest(state.generation.pool)
        if newest is None:
            return None
        position = self._partition.position
        if (wish := control.wish(pool)) is not None and generations.is_reached(wish[1], position):
            return generations.after_wish(control, wish, position, self._horizon(state), self._clock())
        if newest.fold_version < FOLD_VERSION:
            return generations.again(control, newest, position, self._clock())
        if state.stopped is not None or state.pending_retractions <= 0 or newest.number != state.generation.number:
            return None
        if now - self._since.setdefault(pool, now) < self._pace.quiet or not self._pace.ready(time.monotonic()):
            return None
        if not self._changes_something(state):
            self._since[pool] = now
            return None
        return generations.again(control, newest, position, self._clock())

    def _changes_something(self, state: PoolState) -> bool:
        """Whether a pending retraction takes back an outcome that was folded. A later call finds an outcome that comes later."""
        began = time.monotonic()
        effective = state.review_retractions()
        self._pace.spend((ended := time.monotonic()) - began, ended)
        return effective > 0

    def _horizon(self, state: PoolState) -> int:
        """Below which position a new generation of the pool must leave retracted outcomes out; 0 where none were retracted."""
        if state.stopped is not None or state.pending_retractions > 0:
            return self._partition.position
        return state.generation.retraction_horizon

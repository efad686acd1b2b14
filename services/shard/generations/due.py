"""Decides when a pool needs a new generation, and when a failed build is tried again."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from services.control import generations
from services.control.records import FOLD_VERSION, ControlState, Generation, GenerationRequest
from services.shard.generations.build import Build
from services.shard.generations.pace import BuildPace
from services.shard.partition import Partition
from services.state.pool import PoolState

_AGAIN_SECONDS: Final = (60.0, 300.0, 1800.0, 3600.0)
"""Seconds from the first, second, ... failure of a generation to the next try. The last value is used for all later failures."""


class DueGenerations:
    """Decides for the pools of one partition. clock: seconds since 1970, for records of the control log."""

    def __init__(self, partition: Partition, pace: BuildPace, clock: Callable[[], float]) -> None:
        self._partition, self._pace, self._clock = partition, pace, clock
        self._since: WeakKeyDictionary[PoolState, float] = WeakKeyDictionary()
        """Time since which the pending retractions of a serving state wait. Another generation has another state."""

    def due(self, state: PoolState, control: ControlState, now: float, reached: int = 0) -> Generation | None:
        """Return the generation to create for a pool now; None if none is due. now, reached: as of `Builder.create_due`.

        While a newer generation than the serving one exists, pending retractions wait: until it serves, or for a request.
        """
        pool, newest = state.generation.pool, control.newest(state.generation.pool)
        if newest is None:
            return None
        position = self._partition.position
        reached, wish = max(position, reached), control.wish(pool)
        if wish is not None and generations.is_reached(wish[1], reached) and not self._delays_season(wish[1], state, newest, position):
            return generations.after_wish(control, wish, position, self._horizon(state), self._clock())
        if newest.fold_version < FOLD_VERSION:
            return generations.make_successor(control, newest, position, self._clock())
        if generations.lacks_erasures(control, newest):
            return generations.make_successor(control, newest, self._horizon(state), self._clock())
        if newest.number != state.generation.number:
            return None
        season = wish is not None and wish[1].season is not None and generations.is_reached(wish[1], reached)
        if wish is not None and season:  # what delays it
            horizon = max(newest.retraction_horizon, _end_before(wish[1], position))
            return generations.make_successor(control, newest, horizon, self._clock())
        if state.stopped is not None or state.retractions.count <= 0:
            return None
        if now - self._since.setdefault(state, now) < self._pace.quiet or not self._pace.ready(time.monotonic()):
            return None
        if not self._changes_something(state):
            self._since[state] = now
            return None
        return generations.make_successor(control, newest, position, self._clock())

    def _delays_season(self, wish: GenerationRequest, state: PoolState, newest: Generation, position: int) -> bool:
        """Whether a season must wait: for retractions that change the season before, or because that one stopped.

        The generation that applies the retractions, or folds the stopped pool again, comes first. Retractions from the end of that season
        on count in the next one: if they delayed it, a season would never begin in a pool in which somebody always retracts something.
        """
        if wish.season is None:
            return False
        if newest.number != state.generation.number:
            build = self._partition.builds.get((newest.pool, newest.number))
            return build is None or build.failed is None or state.stopped is not None
        if state.stopped is not None:
            return True
        waits = state.retractions.count > 0 and self._changes_something(state)
        return waits and state.retractions.changes_below(_end_before(wish, position))

    def _changes_something(self, state: PoolState) -> bool:
        """Whether a pending retraction names an outcome that was folded. The caller repeats this, because the outcome may come later."""
        began = time.monotonic()
        if state.retractions.review():
            state.changes.mark_head()
        self._pace.spend((ended := time.monotonic()) - began, ended)
        return state.retractions.waiting > 0

    def _horizon(self, state: PoolState) -> int:
        """Return the retraction horizon of a new generation of the pool; 0 if nothing was retracted."""
        if state.stopped is not None or state.retractions.count > 0:
            return self._partition.position
        return state.generation.retraction_horizon


def _end_before(wish: GenerationRequest, position: int) -> int:
    """Log offset at which the season before the requested one ends, for a shard at `position`."""
    return min(wish.start, position) if isinstance(wish.start, int) else position


class _Failure(NamedTuple):
    """A failed build.

    times: number of failures of its generation. again_at: time of the next try, monotonic seconds. skips: number of skipped ranges of the
    partition when the build failed.
    """

    build: Build
    times: int
    again_at: float
    skips: int


class Retries:
    """Schedules new tries of failed builds, because causes such as a lack of memory may end. Waits grow with each failure, up to one hour.

    If an operator skips unreadable records, builds are tried again at once.
    """

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], _Failure] = {}

    def step(self, builds: dict[tuple[str, int], Build], now: float, skips: int) -> None:
        """Note failed builds, and remove from `builds` those whose next try is due.

        Args:
            builds: Builds of the partition, by pool and number.
            now: Monotonic time in seconds.
            skips: Number of ranges of the partition that operators skipped.
        """
        for key, build in [(key, build) for key, build in builds.items() if build.failed is not None]:
            noted = self._failures.get(key)
            if noted is None or noted.build is not build:
                times = 0 if noted is None else noted.times
                wait = _AGAIN_SECONDS[min(times, len(_AGAIN_SECONDS) - 1)]
                self._failures[key] = _Failure(build, times + 1, now + wait, skips)
            elif now >= noted.again_at or skips != noted.skips:
                del builds[key]

    def succeeded(self, build: Build) -> None:
        """Forget the failures of a generation, because it serves now."""
        self._failures.pop(build.key, None)

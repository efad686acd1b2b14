"""Where partitions learn what their pools are: from the control log, creating on first use where that is allowed."""

from collections.abc import Callable, Mapping

from services.control import generations
from services.control.log import ControlLog, PoolExists, TooManyPools
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.wire.pools import Kind


class FixedDirectory:
    """Knows what one reading of the control log knew; creates nothing. For `verify` and other readers.

    chosen: pool -> the generation to fold it by, where that is not the one that serves.
    """

    def __init__(self, state: ControlState, chosen: Mapping[str, Generation] | None = None) -> None:
        self._state, self._chosen = state, chosen or {}

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:  # noqa: ARG002
        """As the control log says; None for a pool that has no generation."""
        made = self._chosen.get(pool) or self._state.serving(pool)
        return None if made is None else (self._state.pools[pool], made)


class LiveDirectory:
    """Reads the control log when a pool is not known yet, makes its first generation, and creates it where `create` allows.

    Generation 1 starts at the first record seen after the pool's creation: no earlier one can have counted.
    check: raises where the control log says that nothing may be begun any more. A shard that slept through a takeover holds records that
    the next one has refused, as their pool was not there yet.
    """

    def __init__(
        self,
        control: ControlLog,
        fold: FoldSettings,
        max_pools: int,
        clock: Callable[[], float],
        *,
        create: bool,
        check: Callable[[ControlState], None] = lambda _: None,
    ) -> None:
        self._control, self._fold, self._max_pools, self._clock, self._create = control, fold, max_pools, clock, create
        self._check = check

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:
        """As the control log says, after reading it to its end where it did not say so far."""
        state = self._control.known()
        if state.serving(pool) is None:
            self._check(self._control.refresh())
        if pool not in state.pools and not self._created(pool, kind):
            return None
        created = state.pools[pool]
        return created, state.serving(pool) or self._control.create_generation(self._first(created, offset))

    def _first(self, created: PoolCreated, offset: int) -> Generation:
        if (wish := self._control.known().wish(created.pool)) is not None:
            return generations.first(wish, offset, self._clock())
        return Generation(pool=created.pool, number=1, start=offset, time=self._clock(), fold=created.fold)

    def _created(self, pool: str, kind: Kind | None) -> bool:
        if not self._create or kind is None:
            return False
        wanted = PoolCreated(pool=pool, kind=kind, time=self._clock(), fold=self._fold)
        try:
            self._control.create_pool(wanted, self._max_pools)
        except PoolExists:
            return True  # somebody else was first; their record counts
        except TooManyPools:
            return False
        return True

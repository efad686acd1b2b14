"""Lookup of a pool and its generation in the control log. The lookup creates missing pools if the installation allows it."""

from collections.abc import Callable, Mapping

from services.control import generations
from services.control.log import ControlLog, PoolExists, TooManyPools
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.wire.pools import Kind


class FixedDirectory:
    """Lookup in one snapshot of the control log, for `verify` and other readers. It creates nothing.

    Args:
        state: The snapshot.
        chosen: Generation by pool, for the pools that are not folded by the serving generation.
    """

    def __init__(self, state: ControlState, chosen: Mapping[str, Generation] | None = None) -> None:
        self._state, self._chosen = state, chosen or {}

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:  # noqa: ARG002
        """The pool and its generation; None for a pool without a generation."""
        made = self._chosen.get(pool) or self._state.serving(pool)
        return None if made is None else (self._state.pools[pool], made)


class LiveDirectory:
    """Lookup in the live control log. It writes generation 1 of a pool at its first outcome, and creates the pool if `create` is true.

    Generation 1 starts at the first record that is folded after the pool was created. Earlier records of the pool were refused.

    Args:
        control: The control log.
        fold: Settings of created pools.
        max_pools: Maximal number of pools of the installation.
        clock: Returns seconds since 1970.
        create: Whether the first outcome of an unknown pool creates it.
        check: Raises if this shard was superseded. Without the check, a shard that was paused during a takeover could begin a pool at
            records that its successor has already refused, because the pool did not exist then.
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
        """The pool and its generation. The control log is read to its end if the pool has no known generation.

        Args:
            pool: Name of the pool.
            kind: Kind of the outcome at `offset`; None for a retraction, which creates no pool.
            offset: First offset of generation 1, if it has to be made.

        Returns:
            None if the pool does not exist and is not created.
        """
        state = self._control.known()
        if state.serving(pool) is None:
            self._check(self._control.refresh())
        if pool not in state.pools and not self._create_pool(pool, kind):
            return None
        created = state.pools[pool]
        made = state.serving(pool) or self._control.create_generation(self._make_first_generation(created, offset))
        return None if made is None else (created, made)

    def _make_first_generation(self, created: PoolCreated, offset: int) -> Generation:
        if (wish := self._control.known().wish(created.pool)) is not None:
            return generations.make_first(wish, offset, self._clock())
        return Generation(pool=created.pool, number=1, start=offset, time=self._clock(), fold=created.fold)

    def _create_pool(self, pool: str, kind: Kind | None) -> bool:
        if not self._create or kind is None:
            return False
        wanted = PoolCreated(pool=pool, kind=kind, time=self._clock(), fold=self._fold)
        try:
            self._control.create_pool(wanted, self._max_pools)
        except PoolExists:
            return True  # another process created the pool first; its record counts
        except TooManyPools:
            return False
        return True

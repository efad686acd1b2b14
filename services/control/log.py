"""Access to the control log: reading to its end, appending, and the operations that check its state before they append."""

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

import msgspec
from msgspec.structs import replace

from ratings_core.errors import InputError
from services.control import generations, seasons
from services.control import records as pools
from services.control.details import DetailsChange
from services.control.details_records import KEY_PREFIX, changed_details, records_of
from services.control.erasures import NameMatcher
from services.control.records import ControlRecord, ControlState, Generation, GenerationRequest, PoolCreated, SeasonWithdrawn, without_names
from services.log.protocol import LogError, Reader, Topic
from services.wire.pools import check_pool_name

_READ_SECONDS: Final = 30.0
"""Longest time without a record before the end of the log. A log with details of millions of agents takes longer in all."""
_DETAILS_KEY: Final = KEY_PREFIX.encode()
_PARTITION: Final = 0
_RECORDS_AN_APPEND: Final = 16
"""Records of details in one append, so at most 16,000 agents or about 16 MB. If a later append of a request fails, those before it stay."""
_MOST_BYTES: Final = 1_000_000
"""Maximal bytes of a request for a generation. The limit is below that of a record, because the generation that is made from the request is
a little longer."""


class PoolExists(Exception):  # noqa: N818 - names the fact, as the caller reads it
    """A pool with this name exists with another kind or other settings."""

    def __init__(self, wanted: PoolCreated, standing: PoolCreated) -> None:
        self.standing = standing
        super().__init__(
            f"pool {wanted.pool} exists as {standing.kind} with settings {msgspec.to_builtins(standing.fold)}; "
            f"its kind never changes, its settings by `equirank pools settings {wanted.pool}` or POST /v1/pools/{wanted.pool}/generations"
        )


class TooManyPools(Exception):  # noqa: N818
    """The limit of pools of the installation is reached."""

    def __init__(self, pool: str, limit: int) -> None:
        super().__init__(f"pool {pool} would exceed the limit of {limit} pools: raise EQUIRANK_MAX_POOLS")


class NoPool(Exception):  # noqa: N818
    """No pool with this name exists."""

    def __init__(self, pool: str) -> None:
        super().__init__(f"no pool has the name {pool}: `equirank pools list` lists the pools; PUT /v1/pools/{pool} creates it")


class ControlLog:
    """The control topic and its folded state. Threads of a process can share it.

    `refresh` reads up to the end that the log had at the call. So the caller sees every record that was acknowledged before the call.

    Args:
        topic: The control topic.
        details: Whether the state has the details of agents. Without them, their records are not decoded: a pool may have millions.
    """

    def __init__(self, topic: Topic, *, details: bool = False) -> None:
        self._topic, self._details = topic, details
        self._state = ControlState()
        self._lock, self._writing = threading.RLock(), threading.Lock()
        self._reader: Reader | None = None

    def refresh(self) -> ControlState:
        """Read to the log's present end and return the state. Raises `LogError` if the log cannot be read."""
        with self._lock:
            try:
                self._read_to(self._topic.end(_PARTITION))
            except BaseException:
                self.close()  # the reader may have passed records that are not in the state, so the next call needs a new reader
                raise
            return self._state

    def has_news(self) -> bool:
        """Whether the log has records that the last `refresh` did not read. Raises `LogError`."""
        return self._topic.end(_PARTITION) > self._state.position

    def known(self) -> ControlState:
        """The state after the last `refresh`. It is always the same object, which each `refresh` updates in place."""
        return self._state

    def append(self, record: ControlRecord) -> int:
        """Append a record and return its offset. The state includes the record after the next `refresh`."""
        return self._topic.append(_PARTITION, [pools.encode(record)])[0]

    def create_pool(self, wanted: PoolCreated, max_pools: int | None = None) -> PoolCreated:
        """Create a pool if it does not exist, and return its record. A call with equal kind and settings can be repeated.

        The record names the online methods and has `by_shape`. If `wanted` leaves them out, a new pool has the defaults, and an
        existing pool may have any.

        Args:
            wanted: The pool to create.
            max_pools: Maximal number of pools of the installation; None for no limit.

        Raises:
            PoolExists: The pool exists with another kind or other settings.
            TooManyPools: The limit of pools is reached.
            InputError: The name or the settings are invalid.
        """
        check_pool_name(wanted.pool)
        made = replace(wanted, fold=wanted.fold.with_defaults(wanted.kind))
        generations.check(made.kind, made.fold)
        state = self.refresh()
        if wanted.pool not in state.pools:
            if max_pools is not None and len(state.pools) >= max_pools:
                raise TooManyPools(wanted.pool, max_pools)
            self.append(made)
            state = self.refresh()
        existing = state.pools[wanted.pool]
        if existing.kind is not wanted.kind or not existing.fold.has_asked(wanted.fold, wanted.kind):
            raise PoolExists(wanted, existing)
        return existing

    def standing(self, pool: str) -> Generation | GenerationRequest:
        """The newest settings of `pool`: its waiting request, else its newest generation, else those of its creation. Raises `NoPool`."""
        state = self.refresh()
        if (created := state.pools.get(pool)) is None:
            raise NoPool(pool)
        if (waiting := state.wish(pool)) is not None:
            return waiting[1]
        return state.newest(pool) or GenerationRequest(pool=pool, time=created.time, fold=created.fold)

    def want(self, wanted: GenerationRequest, *, begins_season: bool = False) -> int:
        """Append a request for a new generation. Erased names in the request are replaced by their tokens.

        A request that changes the settings of a pool keeps the season of the request that waits. If that season begins or is withdrawn
        before the new request is in the log, the new one asks for no season: its settings apply to the present one.

        Args:
            wanted: The request.
            begins_season: Whether the request asks for its season itself, and does not keep one that was asked for before.

        Returns:
            Offset of the request in the control log.

        Raises:
            NoPool: The pool does not exist.
            InputError: The generation could not run, or the request is too long.
        """
        state = self.refresh()
        if (created := state.pools.get(wanted.pool)) is None:
            raise NoPool(wanted.pool)
        wanted = without_names(wanted, NameMatcher(state.erasures.names(wanted.pool)))
        generations.check(created.kind, wanted.fold, wanted.initial, wanted.aliases, wanted.bans)
        generations.check_initial(state, wanted)
        if (size := len(pools.encode(wanted)[1])) > _MOST_BYTES:
            rule = f"must fit into {_MOST_BYTES} bytes together with the settings (about 20,000 names)"
            raise InputError("initial, aliases and bans", size, rule)
        waiting, read_to = state.wish(wanted.pool), state.position
        offset = self.append(wanted)
        if wanted.season is not None and not begins_season:
            name = wanted.season.name
            is_requested = waiting is not None and waiting[1].season is not None and waiting[1].season.name == name
            if not is_requested or _ended_request(self.refresh(), wanted.pool, name, read_to, offset):
                self.append(SeasonWithdrawn(pool=wanted.pool, season=name, time=wanted.time))
        return offset

    def write_details(self, pool: str, changes: Mapping[str, DetailsChange], now: float, *, most_agents: int) -> int:
        """Write changes of agents' details. All are checked before any is written. Changes that change nothing are not written.

        Two requests that change one agent at the same moment can both start from the same details: the later one then counts in all fields.

        Args:
            pool: Name of the pool.
            changes: Agent -> change.
            now: Seconds since 1970.
            most_agents: Largest number of agents with details in the pool.

        Returns:
            Number of agents whose details changed.

        Raises:
            NoPool: The pool does not exist.
            InputError: A change breaks a rule.
            LogError: The log failed. Some records may be written: repeat the request.
        """
        if not self._details:
            raise RuntimeError("this control log is read without details")
        with self._writing:  # another request of this process waits, so that its change starts from the result of this one
            state = self.refresh()
            if pool not in state.pools:
                raise NoPool(pool)
            wanted = changed_details(state.details.of(pool), changes, most_agents=most_agents, erased=state.erasures.names(pool))
            records = [pools.encode(record) for record in records_of(pool, wanted, now)]
            for start in range(0, len(records), _RECORDS_AN_APPEND):
                self._topic.append(_PARTITION, records[start : start + _RECORDS_AN_APPEND])
            if records:
                self.refresh()
            return len(wanted)

    def withdraw_season(self, pool: str, name: str, now: float) -> None:
        """Withdraw the request for a season.

        Raises:
            NoPool: The pool does not exist.
            NoRequest: The pool has no such season.
            SeasonBegan: A generation of the season exists.
            LogError: The log failed.
        """
        state = self.refresh()
        if pool not in state.pools:
            raise NoPool(pool)
        self.append(seasons.withdrawal(state, pool, name, now))
        seasons.check_not_begun(self.refresh(), pool, name)

    def create_generation(self, wanted: Generation) -> Generation | None:
        """Append a generation, and return the valid generation with its number: the first record with this number in the log.

        None if the generation would begin a season that was withdrawn.

        Another shard may have written that record. The appended generation applies all erasures of the pool in the control log.
        """
        self.append(generations.erasing(self.refresh(), wanted))
        return self.refresh().generations.get(wanted.pool, {}).get(wanted.number)

    def close(self) -> None:
        """Close the reader. The next `refresh` opens a new one."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def _read_to(self, end: int) -> None:
        deadline = time.monotonic() + _READ_SECONDS
        while self._state.position < end:
            if self._reader is None:
                self._reader = self._topic.reader({_PARTITION: self._state.position})
            if records := self._reader.poll(1.0, 10_000).get(_PARTITION):
                deadline = time.monotonic() + _READ_SECONDS
            for record in records or ():
                if self._details or not (record.key or b"").startswith(_DETAILS_KEY):
                    self._state.apply(record.offset, _decode(record.offset, record.value))
            self._state.position = self._reader.position(_PARTITION)
            if time.monotonic() > deadline:
                raise LogError(
                    f"no record of the control log could be read for {_READ_SECONDS:g} s, before its end at {end}", retriable=True
                )
        self._state.details.erase()


def _ended_request(state: ControlState, pool: str, season: str, begin: int, end: int) -> bool:
    """Whether a season was withdrawn from offset `begin` to before `end`, or began by a request before `end`."""
    began = any(made.season == season and made.wanted < end for made in state.generations.get(pool, {}).values())
    return began or begin <= state.withdrawn.get((pool, season), -1) < end


def control_state(topic: Topic) -> ControlState:
    """Read the state up to the present end of the control topic once. Raises `LogError`."""
    with closing(ControlLog(topic)) as control:
        return control.refresh()


def _decode(offset: int, value: bytes) -> ControlRecord:
    try:
        return pools.decode(value)
    except msgspec.DecodeError as error:
        msg = f"control record {offset} is not of this version ({error}); upgrade before running on this log"
        raise LogError(msg, retriable=False) from error

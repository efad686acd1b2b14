"""Accepts outcomes: checks all of a request, then writes all of it. Accepted outcomes are durable in the log before the answer."""

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from services.api.directory import Directory
from services.api.problems import ApiError, no_pool, refuse
from services.control.generations import default_fold
from services.control.log import PoolExists, TooManyPools
from services.control.records import PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.runtime.metrics import Metrics
from services.runtime.settings import Settings
from services.wire.bulk.recognition import is_stream
from services.wire.events import FUTURE_SECONDS, Decoded, Event, RetractEvent, decode_request, encode_records, is_array
from services.wire.new_names import hidden_names
from services.wire.pools import Kind
from services.wire.refusals import Reason, Refusal
from services.wire.rules import MAX_RECORD_BYTES

MAX_BODY: Final = MAX_RECORD_BYTES
"""Most bytes of a request. Equal to the limit of one record, so that every accepted outcome fits a record of the log."""


_FIELD: Final = {Kind.GAMES: "sides", Kind.SCORES: "scores"}


class Accepted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Outcomes that were written to the log.

    Attributes:
        accepted: Number of outcomes and retractions.
        ids: Their ids in the order of the request, as sent or as generated.
        positions: Pool -> position. A board counts the outcomes when its `position` is at least this value.
        note: When retractions take effect; absent without retractions.
    """

    accepted: int
    ids: list[str]
    positions: dict[str, int]
    note: str = ""


class Intake:
    """Checks requests and writes their outcomes. Called on worker threads, because a call waits until the log has made records durable."""

    def __init__(self, settings: Settings, log: Log, directory: Directory, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._settings, self._log, self._directory = settings, log, directory
        self._metrics, self._clock = metrics, clock

    def take(self, body: bytes, *, may_retract: Callable[[], None]) -> Accepted:
        """Check and write one request. Raises `ApiError`, `LogError`.

        may_retract: raises an error if the client may not retract outcomes.
        """
        now = self._clock()
        if is_stream(body) and (taken := self._take_games(body, now)) is not None:
            return taken
        decoded = decode_request(body, now=now, new_id=lambda: uuid.uuid4().hex, future_seconds=FUTURE_SECONDS)
        self._refuse(decoded.refusals)
        self._refuse(_hidden(decoded, body))
        retracts = RetractEvent in map(type, decoded.events)
        if retracts:
            may_retract()
        self._refuse(self._wrong_kinds(decoded, now, single=not is_array(body)))
        positions = {pool: self._write(pool, encode_records(events)) for pool, events in _by_pool(decoded.events).items()}
        self._metrics.counter("equirank_api_outcomes_accepted_total").inc(len(decoded.events))
        ids, note = [event.id for event in decoded.events], self._of_retractions() if retracts else ""
        return Accepted(accepted=len(ids), ids=ids, positions=positions, note=note)

    def _take_games(self, body: bytes, now: float) -> Accepted | None:
        """Write a stream of valid games unchanged, without decoding it into an object per game; None if it needs the detailed checks."""
        from services.wire.bulk.games import plain  # noqa: PLC0415 - loads pyarrow, which JSON does not need

        games = plain(body)
        if games is None or not games.is_ascii or games.columns.time.max() > now + FUTURE_SECONDS:
            return None
        if self._kind_of(games.pool, [Kind.GAMES], now) is not Kind.GAMES:
            return None
        position = self._write(games.pool, [body])
        ids = games.ids.names()
        self._metrics.counter("equirank_api_outcomes_accepted_total").inc(len(ids))
        return Accepted(accepted=len(ids), ids=ids, positions={games.pool: position})

    def _of_retractions(self) -> str:
        soon = f"a new generation without the retracted outcomes starts {self._settings.retraction_seconds:g} s after the first retraction"
        later = "or later, if the previous one took long"
        unknown = "an unknown id takes effect when an outcome with this id arrives"
        return f"{soon}, {later}; {unknown}; the pool's head counts such ids as `unmatched`"

    def _refuse(self, refusals: Sequence[Refusal]) -> None:
        for refusal in refusals:
            self._metrics.counter("equirank_api_outcomes_refused_total").labels(str(refusal.reason)).inc()
        if refusals:
            refuse(refusals)

    def _wrong_kinds(self, decoded: Decoded, now: float, *, single: bool) -> list[Refusal]:
        """Return a refusal for each outcome of a kind other than its pool's. Creates missing pools if the settings allow it."""
        wrong: list[Refusal] = []
        for pool, events in _by_pool(decoded.events).items():
            kinds = [event.kind for event in events]
            kind = self._kind_of(pool, kinds, now)
            items = [item for event, item in zip(decoded.events, decoded.item, strict=True) if event.pool == pool]
            rule = f"must be left out: pool {pool} takes {kind} ({'sides' if kind is Kind.GAMES else 'task and scores'})"
            wrong += [
                Refusal(0, item, Reason.WRONG_KIND, f"{'$' if single else f'$[{item}]'}.{_FIELD[given]}", rule)
                for item, given in zip(items, kinds, strict=True)
                if given is not None and given is not kind
            ]
        return wrong

    def _kind_of(self, pool: str, kinds: Sequence[Kind | None], now: float) -> Kind:
        standing = self._directory.find(pool)
        if standing is not None:
            return standing.kind
        wanted = next((kind for kind in kinds if kind is not None), None)
        if wanted is None or not self._settings.creates_pools:
            raise no_pool(pool)
        if any(kind not in {None, wanted} for kind in kinds):
            return wanted  # the caller refuses the request, so the pool must not be created
        return self._create(PoolCreated(pool=pool, kind=wanted, time=now, fold=default_fold(self._settings)))

    def _create(self, wanted: PoolCreated) -> Kind:
        try:
            return self._directory.create(wanted, self._settings.max_pools).kind
        except PoolExists as error:
            return error.standing.kind  # a concurrent request created the pool
        except TooManyPools as error:
            raise ApiError(409, "too many pools", str(error)) from error

    def _write(self, pool: str, values: Sequence[bytes]) -> int:
        """Append records of a pool. Returns the first position of a board that includes them."""
        topic, key = self._log.outcomes, pool.encode()
        records = [(key, value) for value in values]
        began = time.perf_counter()
        try:
            offsets = topic.append(partition_of(pool, topic.partitions), records)
        except LogError:
            self._metrics.counter("equirank_api_log_failures_total").inc()
            raise
        self._metrics.histogram("equirank_api_append_seconds").observe(time.perf_counter() - began)
        return offsets[-1] + 1


def _hidden(decoded: Decoded, body: bytes) -> list[Refusal]:
    """Return a refusal for each outcome with a name that contains invisible characters. body: the request's body."""
    if body.isascii() and b"\\" not in body:
        return []  # no such character is in the body
    single = not is_array(body)
    items = [(decoded.item[number], broken) for number, broken in hidden_names(decoded.events).items()]
    return [
        Refusal(0, item, Reason.BAD_FIELD, broken.path if single else f"$[{item}]{broken.path[1:]}", broken.rule) for item, broken in items
    ]


def _by_pool(events: Sequence[Event]) -> dict[str, list[Event]]:
    pools: dict[str, list[Event]] = {}
    for event in events:
        pools.setdefault(event.pool, []).append(event)
    return pools

"""A cache of the answers that many readers poll. An answer is built once per publication and then looked up.

Before an answer is sent, its version is compared with the pool's version in the store, so a cached answer is never older than the store.
If the store does not answer, or was emptied and is being filled again, readers get the last known answer, marked with its age.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from services.api.batched import Batched
from services.api.pool_agents import PoolAgents
from services.api.problems import ApiError
from services.api.replies import Boards, Value
from services.api.workers import Workers
from services.boards.cursors import digest
from services.boards.earlier import day_before
from services.boards.insight import Insight
from services.boards.reading import Board, ShownProvisional
from services.boards.store.protocol import INSIGHT, PoolHead, PoolVersion, StoreError
from services.boards.store.versions import Versions
from services.control.details import VISIBLE, AgentFilter

_PAUSE_SECONDS: Final = 0.003
"""Pause between two reads of versions. A poll waits at most this long before its read begins, in addition to a read under way."""
_AGE_SECONDS: Final = 1.0
"""The ages in a cached answer are updated once they are this many seconds old."""
_REFILL_SECONDS: Final = 30.0
"""After the store was emptied, readers get a pool's last known answer for this long. Its owner writes the pool again within seconds."""
_BYTES: Final = 32 << 20
"""Limit of bytes of all cached answers. The least recently used are dropped first."""

Kind: TypeAlias = Literal["boards", "board", "insight"]
Version: TypeAlias = tuple[object, ...]
V = TypeVar("V", bound=Value)
_decode_head = msgspec.json.Decoder(PoolHead).decode


class Asked(NamedTuple):
    """The answer that a reader polls, and the key of the cache.

    method, start: method and first row of a single board. rows: most rows of a board, or of each board of a summary.
    everyone: as of `services.boards.reading.board`. wanted, shown: which agents the rows of a single board have.
    part: slice of the board or of the summary, such as `language:English`; empty for all outcomes.
    """

    kind: Kind
    pool: str
    method: str = ""
    start: int = 0
    rows: int = 0
    everyone: bool = False
    wanted: AgentFilter = VISIBLE
    shown: ShownProvisional = ShownProvisional.INCLUDE
    part: str = ""

    @property
    def selects(self) -> bool:
        """Whether rows are left out by a filter."""
        return self.wanted.selects or self.shown is not ShownProvisional.INCLUDE

    @property
    def filters(self) -> str:
        """Checksum of the filters."""
        return digest(*self.wanted, self.shown)


Build: TypeAlias = Callable[[Asked, Mapping[str, Board]], Value | None]


class Answer(NamedTuple):
    """An encoded answer.

    tag: hash of the content without ages, for the ETag; None if clients must not keep the answer. stale_seconds: seconds since the store
    last confirmed the answer, if the store does not answer now or was emptied; else None.
    """

    body: bytes
    tag: str | None
    stale_seconds: float | None = None


@dataclass(slots=True)
class _Entry:
    """A cached answer.

    version: version of the pool from which it was built. built_at: time of the ages in `value` and `body`, seconds since 1970.
    confirmed_at: time at which the store last confirmed the version, seconds since 1970. size: bytes of the first `body`; later ages may
    lengthen the body.
    """

    version: Version
    value: Value
    tag: str
    body: bytes
    built_at: float
    confirmed_at: float
    size: int


class Answers:
    """Builds and caches answers.

    Solved boards that were read for a summary are also cached as single answers. The next summary reuses those that are still the newest,
    because live boards change several times a second, and solved boards change rarely.

    Args:
        versions: Reads the versions of pools from the store.
        readers: Threads that read the store.
        build: Builds an answer from the store and from the given boards, by method. Returns None if the pool or board does not exist; None
            is not cached.
        clock: Seconds since 1970.
        agents: What boards show of agents, which is a part of the version of a board; None if they show ratings only.
    """

    def __init__(
        self, versions: Versions, readers: Workers, build: Build, clock: Callable[[], float], agents: PoolAgents | None = None
    ) -> None:
        self._readers, self._build, self._clock, self._agents = readers, build, clock, agents
        self._versions = Batched[str, PoolVersion](lambda pools: readers.run(partial(versions.read, pools)), _PAUSE_SECONDS)
        self._entries: OrderedDict[Asked, _Entry] = OrderedDict()
        self._bytes = 0
        self._building: dict[tuple[Asked, Version], asyncio.Task[_Entry | None]] = {}

    async def get(self, asked: Asked) -> Answer | None:
        """Return the newest answer, or the last known one if the store does not answer; None if the pool or board does not exist.

        Raises `StoreError`, `ApiError` if the store does not answer and no answer is cached.
        """
        try:
            published = await self.version(asked.pool)
            version = self._part_of(asked, published)
            entry = None if version is None else await self._newest(asked, version, published)
        except (StoreError, ApiError):
            known = self._last_known(asked)
            if known is None:
                raise
            return known
        if entry is None:
            return self._last_known(asked, _REFILL_SECONDS) if _may_be_refilled(asked, published) else None
        entry.confirmed_at = now = self._clock()
        _age(entry, now)
        return Answer(entry.body, entry.tag)

    async def version(self, pool: str) -> PoolVersion:
        """Return the newest version of a pool's boards. Raises `StoreError`, `ApiError`.

        From then on, what boards show of agents is of the generation of this version, also on solved boards, whose own version says
        nothing of it.
        """
        published = await self._versions.get(pool)
        if self._agents is not None and published.head is not None:
            with suppress(msgspec.DecodeError):  # garbage, which the build reports
                self._agents.note(_decode_head(published.head))
        return published

    async def value(self, asked: Asked, published: PoolVersion) -> Value | None:
        """Return an answer before its encoding, at least as new as `published`; None if the pool or board does not exist.

        Raises `StoreError`, `ApiError`.
        """
        version = self._part_of(asked, published)
        entry = None if version is None else await self._newest(asked, version, published)
        if entry is None:
            return None
        entry.confirmed_at = now = self._clock()
        _age(entry, now)
        return entry.value

    async def _newest(self, asked: Asked, version: Version, published: PoolVersion) -> _Entry | None:
        entry = self._entries.get(asked)
        if entry is not None and entry.version == version:
            self._entries.move_to_end(asked)
            return entry
        key = (asked, version)
        task = self._building.get(key)
        if task is None:
            task = self._building[key] = asyncio.create_task(self._built(asked, published))
            task.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(task)

    def agents_version(self, pool: str, part: str = "") -> Version:
        """Return the version of what boards show of a pool or slice besides what is published: agents, the leading method, a day before."""
        if self._agents is None:
            return ()
        return (*self._agents.version(pool, part), self._agents.leading_method(pool), day_before(self._clock()))

    def hidden(self, pool: str) -> frozenset[str]:
        """Return the agents of a pool that answers leave out."""
        return frozenset() if self._agents is None else self._agents.hidden(pool)

    async def _built(self, asked: Asked, published: PoolVersion) -> _Entry | None:
        await self._until_ready(asked, published)
        # before anything is read or reused, so that a later change builds the answer again
        agents = self.agents_version(asked.pool, asked.part)
        known = self._known_boards(asked, published, agents)
        entries = await self._readers.run(partial(self._entries_for, asked, published, agents, known))
        for each, entry in entries.items():
            self._keep(each, entry)
        return entries.get(asked)

    async def _until_ready(self, asked: Asked, published: PoolVersion) -> None:
        """Wait for what boards show of the pool's agents, if it was never read."""
        if self._agents is not None and published.head is not None and asked.kind != "insight":
            with suppress(msgspec.DecodeError):  # garbage, which the build reports
                await self._agents.ready(_decode_head(published.head), asked.part)

    def _part_of(self, asked: Asked, published: PoolVersion, agents: Version | None = None) -> Version | None:
        """Return the part of a pool's version on which an answer depends; None if the pool or board does not exist.

        agents: version of the columns of agents; None for the present one.
        """
        part = _published_part(asked, published)
        if part is None:
            return None
        shown = self.agents_version(asked.pool, asked.part) if agents is None else agents
        return *part, *(shown[:1] if asked.kind == "insight" else shown)  # an insight shows details alone

    def _known_boards(self, asked: Asked, published: PoolVersion, agents: Version) -> dict[str, Board]:
        """Return the cached solved boards of a summary that are still the newest, by method, with updated ages."""
        known = {}
        for method in published.solved if asked.kind == "boards" and not asked.part else ():
            part = _board_of(asked, method)
            entry = self._entries.get(part)
            if entry is not None and isinstance(entry.value, Board) and entry.version == self._part_of(part, published, agents):
                self._entries.move_to_end(part)
                known[method] = _older(entry.value, self._clock() - entry.built_at)
        return known

    def _entries_for(self, asked: Asked, published: PoolVersion, agents: Version, known: Mapping[str, Board]) -> dict[Asked, _Entry]:
        """Build the answer. Returns entries for it and for the solved boards read for it; empty if the pool or board does not exist."""
        now = self._clock()
        value = self._build(asked, known)
        if value is None:
            return {}
        boards = value.boards if isinstance(value, Boards) else []
        read = [board for board in boards if board.source == "solved" and board.name not in known]
        values = {asked: _brief(value), **{_board_of(asked, board.name): board for board in read}}
        versions = {each: self._part_of(each, published, agents) for each in values}
        return {each: _entry(value, version, now) for each, value in values.items() if (version := versions[each]) is not None}

    def _finished(self, key: tuple[Asked, Version], task: "asyncio.Task[_Entry | None]") -> None:
        self._building.pop(key, None)
        if not task.cancelled():
            task.exception()  # marks the error as retrieved: waiting requests get it, but there may be none

    def _keep(self, asked: Asked, entry: _Entry) -> None:
        old = self._entries.pop(asked, None)
        self._bytes += entry.size - (old.size if old is not None else 0)
        self._entries[asked] = entry
        while self._bytes > _BYTES and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.size

    def _last_known(self, asked: Asked, longest: float = math.inf) -> Answer | None:
        """Return the cached answer, marked as stale, if the store confirmed it at most `longest` seconds ago; else None."""
        entry, now = self._entries.get(asked), self._clock()
        if entry is None or now - entry.confirmed_at > longest:
            return None
        since = round(max(0.0, now - entry.confirmed_at), 3)
        _age(entry, now)
        return Answer(entry.body[:-1] + b',"stale_seconds":' + msgspec.json.encode(since) + b"}", None, since)


def _brief(value: Value) -> Value:
    """A summary whose boards have single values alone in `extra`: lists of agents are as long as boards, and readers poll summaries."""
    if not isinstance(value, Boards):
        return value
    return msgspec.structs.replace(value, boards=[msgspec.structs.replace(board, extra=_single(board.extra)) for board in value.boards])


def _single(extra: Mapping[str, object]) -> dict[str, object]:
    return {name: part for name, part in extra.items() if part is None or isinstance(part, str | int | float)}


def _may_be_refilled(asked: Asked, published: PoolVersion) -> bool:
    """Whether an answer may be missing because the store was emptied.

    Then the store does not list the pool, or it already has the pool's head but not this board. A pool that its owner
    deleted with `forget` is still listed, without a head.
    """
    return not published.listed or (published.head is not None and asked.kind != "boards")


def _board_of(asked: Asked, method: str) -> Asked:
    """Return the cache key of one board of a summary: that of a poll of the single board."""
    return Asked("board", asked.pool, method, 0, asked.rows, part=asked.part)


def tag_of(value: Value) -> str:
    """The tag of an answer: it changes with everything but ages."""
    return f'"{blake2b(msgspec.json.encode(_with_ages(value, lambda _: 0.0)), digest_size=12).hexdigest()}"'


def _entry(value: Value, version: Version, now: float) -> _Entry:
    body = msgspec.json.encode(value)
    return _Entry(version, value, tag_of(value), body, now, now, len(body))


def _published_part(asked: Asked, version: PoolVersion) -> Version | None:
    """Return what the store says of the version of an answer; None if the pool or board does not exist."""
    if asked.part:
        return None if version.head is None else (version.head, version.sliced)
    if asked.kind == "boards":
        return None if version.head is None else (version.head, tuple(version.solved.items()))
    method = INSIGHT if asked.kind == "insight" else asked.method
    if method in version.solved:
        return (version.solved[method],)
    return None if version.head is None or asked.kind == "insight" else (version.head,)


def _age(entry: _Entry, now: float) -> None:
    """Update the ages in an entry if they are at least `_AGE_SECONDS` old."""
    passed = now - entry.built_at
    if passed >= _AGE_SECONDS:
        entry.value, entry.built_at = _older(entry.value, passed), now
        entry.body = msgspec.json.encode(entry.value)


def _older(value: V, seconds: float) -> V:
    return _with_ages(value, lambda age: round(age + seconds, 3))


def _with_ages(value: V, age: Callable[[float], float]) -> V:
    replaced = msgspec.structs.replace
    match value:
        case Boards():
            return replaced(value, boards=[replaced(board, age_seconds=age(board.age_seconds)) for board in value.boards])
        case Board():
            return replaced(value, age_seconds=age(value.age_seconds))
        case Insight(age_seconds=seconds) if seconds is not None:
            return replaced(value, age_seconds=age(seconds))
    return value

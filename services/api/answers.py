"""Answers that many readers poll: built once per publication, then looked up.

Every answer is checked against the store's version of its pool before it is sent, so a cached answer is never older than the store.
Where the store does not answer, or was emptied and is being filled again, readers get what was last known, marked with its age.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from services.api.batched import Batched
from services.api.problems import ApiError
from services.api.replies import Boards, Value
from services.api.workers import Workers
from services.boards.insight import Insight
from services.boards.reading import Board
from services.boards.store.protocol import INSIGHT, PoolVersion, StoreError
from services.boards.store.versions import Versions

_PAUSE_SECONDS: Final = 0.003
"""Between two looks at the versions: what a poll waits for at most, beside the look itself."""
_AGE_SECONDS: Final = 1.0
"""Ages in an answer are renewed when they are off by more."""
_REFILL_SECONDS: Final = 30.0
"""For so long readers get what was last known of a pool after the store was emptied: its owner writes it again within seconds."""
_BYTES: Final = 32 << 20
"""Of all encoded answers that are kept; the least recently asked for go first."""

Kind: TypeAlias = Literal["boards", "board", "insight"]
Version: TypeAlias = tuple[object, ...]
V = TypeVar("V", bound=Value)


class Asked(NamedTuple):
    """What a reader polls. method, start: of a board; rows: most rows, of each board where several are asked for."""

    kind: Kind
    pool: str
    method: str = ""
    start: int = 0
    rows: int = 0


Build: TypeAlias = Callable[[Asked, Mapping[str, Board]], Value | None]


class Answer(NamedTuple):
    """What is sent. tag: names the content without what only the clock changes, None where it must not be kept; stale_seconds: since the
    store last confirmed it, where the store does not answer now or was emptied.
    """

    body: bytes
    tag: str | None
    stale_seconds: float | None = None


@dataclass(slots=True)
class _Entry:
    """version: that it was built from; built_at, confirmed_at: seconds by the clock that ages are counted with; size: bytes of the body as
    it was built, which ages make longer.
    """

    version: Version
    value: Value
    tag: str
    body: bytes
    built_at: float
    confirmed_at: float
    size: int


class Answers:
    """Builds and keeps answers.

    Solved boards that a summary read are kept as answers of their own. The next summary takes those of them that are still the newest: live
    boards change several times a second, solved ones now and then.

    Args:
        build: Reads the store for an answer, but for the boards given by method; None where there is nothing to answer with, which is
            never kept.
    """

    def __init__(self, versions: Versions, readers: Workers, build: Build, clock: Callable[[], float]) -> None:
        self._readers, self._build, self._clock = readers, build, clock
        self._versions = Batched[str, PoolVersion](lambda pools: readers.run(partial(versions.read, pools)), _PAUSE_SECONDS)
        self._entries: OrderedDict[Asked, _Entry] = OrderedDict()
        self._bytes = 0
        self._building: dict[tuple[Asked, Version], asyncio.Task[_Entry | None]] = {}

    async def get(self, asked: Asked) -> Answer | None:
        """The newest answer; None if there is no answer yet. Raises `StoreError`, `ApiError` where nothing is known either."""
        try:
            published = await self._versions.get(asked.pool)
            version = _part_of(asked, published)
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

    async def _built(self, asked: Asked, published: PoolVersion) -> _Entry | None:
        known = self._known_boards(asked, published)
        entries = await self._readers.run(partial(self._entries_for, asked, published, known))
        for each, entry in entries.items():
            self._keep(each, entry)
        return entries.get(asked)

    def _known_boards(self, asked: Asked, published: PoolVersion) -> dict[str, Board]:
        """Solved boards of a summary that are kept and still the newest, by method, with the ages that they have now."""
        known = {}
        for method in published.solved if asked.kind == "boards" else ():
            part = _board_of(asked, method)
            entry = self._entries.get(part)
            if entry is not None and isinstance(entry.value, Board) and entry.version == _part_of(part, published):
                self._entries.move_to_end(part)
                known[method] = _older(entry.value, self._clock() - entry.built_at)
        return known

    def _entries_for(self, asked: Asked, published: PoolVersion, known: Mapping[str, Board]) -> dict[Asked, _Entry]:
        """The answer, and the solved boards that were read for it; empty where there is nothing to answer with."""
        now = self._clock()
        value = self._build(asked, known)
        if value is None:
            return {}
        boards = value.boards if isinstance(value, Boards) else []
        read = [board for board in boards if board.source == "solved" and board.method not in known]
        values = {asked: value, **{_board_of(asked, board.method): board for board in read}}
        versions = {each: _part_of(each, published) for each in values}
        return {each: _entry(value, version, now) for each, value in values.items() if (version := versions[each]) is not None}

    def _finished(self, key: tuple[Asked, Version], task: "asyncio.Task[_Entry | None]") -> None:
        self._building.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; nobody may

    def _keep(self, asked: Asked, entry: _Entry) -> None:
        old = self._entries.pop(asked, None)
        self._bytes += entry.size - (old.size if old is not None else 0)
        self._entries[asked] = entry
        while self._bytes > _BYTES and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.size

    def _last_known(self, asked: Asked, longest: float = math.inf) -> Answer | None:
        """What the store confirmed at most `longest` seconds ago."""
        entry, now = self._entries.get(asked), self._clock()
        if entry is None or now - entry.confirmed_at > longest:
            return None
        since = round(max(0.0, now - entry.confirmed_at), 3)
        _age(entry, now)
        return Answer(entry.body[:-1] + b',"stale_seconds":' + msgspec.json.encode(since) + b"}", None, since)


def _may_be_refilled(asked: Asked, published: PoolVersion) -> bool:
    """Whether an answer that is missing may be missing because the store was emptied: the whole pool is, or this board of a pool that is
    published again. Of a pool that was removed the store still lists the name.
    """
    return not published.listed or (published.head is not None and asked.kind != "boards")


def _board_of(asked: Asked, method: str) -> Asked:
    """One board of a summary, as a reader would ask for it alone."""
    return Asked("board", asked.pool, method, 0, asked.rows)


def _entry(value: Value, version: Version, now: float) -> _Entry:
    tag = f'"{blake2b(msgspec.json.encode(_with_ages(value, lambda _: 0.0)), digest_size=12).hexdigest()}"'
    body = msgspec.json.encode(value)
    return _Entry(version, value, tag, body, now, now, len(body))


def _part_of(asked: Asked, version: PoolVersion) -> Version | None:
    """The part of a pool's version that an answer depends on; None where there is nothing to answer with."""
    if asked.kind == "boards":
        return None if version.head is None else (version.head, tuple(version.solved.items()))
    method = INSIGHT if asked.kind == "insight" else asked.method
    if method in version.solved:
        return (version.solved[method],)
    return None if version.head is None or asked.kind == "insight" else (version.head,)


def _age(entry: _Entry, now: float) -> None:
    """Renew the ages in an entry where they are off by much."""
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

"""Live boards on Redis: sorted sets that shards update a few agents at a time, and the head, which commits each update."""

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress
from operator import methodcaller, not_
from typing import Any, Final, NamedTuple

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.forecasts import Strength
from services.boards.result import AgentRow
from services.boards.slice_boards import activity_of, method_of
from services.boards.store import scripts
from services.boards.store.beliefs import believed, of_text, text_of
from services.boards.store.connection import Call, Command, Connection
from services.boards.store.keys import Keys, check_method
from services.boards.store.protocol import ACTIVITY, BoardPage, Fence, LiveBoard, PoolHead, StoreLost
from services.boards.store.seen import Seen
from services.wire.pools import check_pool_name, is_pool_name

MEMBERS_A_CALL: Final = 200
"""Largest number of agents that one script reads or removes. Others wait while a script runs, so this bounds their wait."""
_MEMBERS_A_TRIP: Final = 100
"""Largest number of agents that one trip writes. Redis runs all of a client's commands that have arrived before it answers another client,
and writing an agent on a board of a million takes some ten microseconds. Each trip of a reader can wait this long."""
STALE_SECONDS: Final = 60
"""How long a replaced board is kept, for readers that have begun to read it."""
_SETS: Final = 2
"""Sorted sets of a live board: of settled and of provisional agents."""
_RATINGS_A_CALL: Final = 2000
"""Ratings of one command. Other readers wait while it runs, about a millisecond."""

_pack_members = msgspec.msgpack.Encoder().encode
_encode_head = msgspec.json.Encoder().encode
_decode_head = msgspec.json.Decoder(PoolHead).decode
_decode_page = msgspec.json.Decoder(tuple[int, int, int, int, str, list[str], list[str | bool], list[str | bool]]).decode


class LiveBoards:
    """Publishes and reads live boards. Redis must not evict them (maxmemory-policy noeviction or volatile-*).

    The object remembers its last commit of each pool. If the store holds an older state, the store has lost data, and `publish` raises
    `StoreLost`.
    """

    def __init__(self, connection: Connection, keys: Keys, seen: Seen) -> None:
        self._redis, self._keys, self._seen = connection, keys, seen
        self._committed: dict[str, Fence] = {}

    def publish(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        """Write the changed agents of each live board, and then the head. Returns False if the fence rejects the write (law 1).

        If `boards` contains all agents of a board, other agents are removed from it, after the head was written.

        Args:
            head: The pool's head. Its generation and position are part of the fence.
            epoch: Epoch of the writing shard.
            boards: Method -> its changed agents.

        Raises:
            StoreLost: The store lost an earlier publication of this writer, at least in part. The next call must contain all agents.
            StoreError: The store does not answer.
            InputError: A name or a number breaks a rule.
        """
        pool, fence = check_pool_name(head.pool), Fence(epoch, head.generation, head.position)
        token = f"{epoch}-{secrets.token_hex(8)}"
        calls = [(0, self._claim(pool, fence, token))]
        for method, board in boards.items():
            calls += [(part.agents, self._write(head, token, method, part.lists)) for part in _parts(method, board)]
        for trip in _trips(calls):
            for verdict in self._redis.calls(trip):
                if not self._took(pool, verdict):
                    return False
        return self._commit(head, fence, token, boards)

    def published(self, pool: str) -> Fence | None:
        """The fence of the pool's newest commit; None if the store has none, because the pool is new or was lost."""
        values = self._redis.run(lambda client: client.hmget(self._keys.fence(check_pool_name(pool)), Fence._fields))
        return None if None in values else Fence(*map(int, values))

    def claimed(self, pool: str) -> int:
        """Epoch of the newest writer that began a publication of the pool, committed or not; -1 if the store knows none."""
        epoch = self._redis.run(lambda client: client.hget(self._keys.fence(check_pool_name(pool)), "epoch"))
        return -1 if epoch is None else int(epoch)

    def is_interrupted(self, pool: str) -> bool:
        """Whether the newest publication of the pool was begun and not committed, so that rows of it may be on the boards."""
        token, done = self._redis.run(lambda client: client.hmget(self._keys.fence(check_pool_name(pool)), "token", "done"))
        return done is not None and token != done

    def names(self) -> set[str]:
        """Names of all published pools, also of pools whose head was lost."""
        return set(self._redis.run(lambda client: client.smembers(self._keys.pools)))

    def pools(self) -> list[PoolHead]:
        """Heads of all pools, ordered by name."""
        return [head for head in self._heads(sorted(filter(is_pool_name, self.names()))).values() if head is not None]

    def head(self, pool: str) -> PoolHead | None:
        """Head of the pool; None if the store has none."""
        return self._heads([check_pool_name(pool)])[pool]

    def page(self, pool: str, method: str, start: int, count: int) -> BoardPage | None:
        """Rows `start` to `start + count` of a live board (0 is the best agent); None if there is no such board."""
        return next(iter(self.pages(self.head(pool), [method], start, count)), None)

    def pages(self, head: PoolHead | None, methods: Sequence[str], start: int, count: int) -> list[BoardPage]:
        """Rows `start` to `start + count` of several live boards of the pool of `head`. Missing boards are left out."""
        check_window(start, count)
        return self._pages(head, methods, scripts.PAGE, [start, count])

    def around(self, pool: str, method: str, agent: str, count: int) -> BoardPage | None:
        """`count` rows with the agent in the middle; None if the agent is not on the board."""
        return next(iter(self.pages_around(self.head(pool), [method], agent, count)), None)

    def pages_around(self, head: PoolHead | None, methods: Sequence[str], agent: str, count: int) -> list[BoardPage]:
        """`count` rows with the agent in the middle, of live boards of the pool of `head`; boards without the agent are left out."""
        check_window(0, count)
        return self._pages(head, methods, scripts.AROUND, [agent, count])

    def nearest(self, head: PoolHead, method: str, agent: str, count: int) -> list[AgentRow]:
        """Rows of the agents nearest to one by rating, on a live board of the pool of `head`; empty if the agent is not on the board.

        They contain the `count` nearest ones, provisional or not: up to `count` better ones and `count` others of each part of the board,
        and perhaps the agent itself.
        """
        check_window(0, count)
        if not head.has_board(method):
            return []
        keys = self._page_keys(head, method)
        answers = self._redis.calls([(scripts.NEAREST, keys, [agent, count, part]) for part in ("settled", "provisional")])
        return [row for answer in answers if answer is not None for row in _page(head, method, answer).rows]

    def rows_of(self, head: PoolHead, method: str, agents: Sequence[str]) -> list[BoardPage | None]:
        """A page of one row for each agent, of a live board of the pool of `head`; None for agents that are not on the board."""
        if not head.stores(method):
            return [None] * len(agents)
        keys = self._page_keys(head, method)
        parts = [agents[start : start + MEMBERS_A_CALL] for start in range(0, len(agents), MEMBERS_A_CALL)]
        answers = [answer for part in parts for answer in self._redis.calls([(scripts.AROUND, keys, [agent, 1]) for agent in part])]
        return [None if answer is None else _page(head, method, answer) for answer in answers]

    def ratings_of(self, head: PoolHead, method: str, agents: Sequence[str]) -> list[float | None]:
        """Rating of each agent on a live board of the pool of `head`; None for agents that are not on it."""
        return [None if place is None else 0.0 - place[1] for place in self._places(head, method, agents)]

    def in_order(self, head: PoolHead, method: str, agents: Sequence[str]) -> list[tuple[str, bool]]:
        """Those of the agents that are on a live board of the pool of `head`, in its order, and whether each is provisional."""
        places = zip(agents, self._places(head, method, agents), strict=True)
        order = sorted((*place, name.encode(), name) for name, place in places if place is not None)
        return [(name, provisional) for provisional, _, _, name in order]

    def outcomes_of(self, pool: str, generation: int, agents: Sequence[str]) -> list[int]:
        """Number of outcomes in which each agent took part; 0 for unknown agents."""
        if not agents:
            return []
        name = self._keys.live(pool, generation, ACTIVITY)
        scores = self._redis.run(lambda client: client.zmscore(name, list(agents)))
        return list(map(_outcomes, scores))

    def has(self, pool: str, generation: int, agents: Sequence[str]) -> list[bool]:
        """Whether the pool has each agent. An agent that begins a season with a rating has no outcome at first."""
        if not agents:
            return []
        name = self._keys.live(pool, generation, ACTIVITY)
        return [score is not None for score in self._redis.run(lambda client: client.zmscore(name, list(agents)))]

    def strengths(self, head: PoolHead, method: str, agents: Sequence[str]) -> list[Strength | None]:
        """Mean strength and deviation of each agent on the board of an online method, at pool time; None for agents that are not on it."""
        *sets, beliefs = self._keys_of(head.pool, f"{head.generation}/{check_method(method)}")
        model = head.beliefs.get(method_of(method))
        keys = sets if model is None else [*sets, beliefs]
        parts = [agents[start : start + MEMBERS_A_CALL] for start in range(0, len(agents), MEMBERS_A_CALL)]
        answers = self._redis.calls([(scripts.STRENGTHS, keys, list(part)) for part in parts]) if parts else []
        places = [_place(*scores) for settled, provisional, _ in answers for scores in zip(settled, provisional, strict=True)]
        held = [text for *_, part in answers for text in part] if model is not None else [None] * len(places)
        return [_strength(place, text, model, head.pool_time) for place, text in zip(places, held, strict=True)]

    def forget(self, pool: str, epoch: int) -> bool:
        """Remove all boards of a pool, so that they can be published again. Returns False if the store has a higher epoch than `epoch`."""
        if not self._remove(check_pool_name(pool), epoch):
            return False
        self._committed.pop(pool, None)
        return True

    def remove(self, pools: Iterable[str]) -> None:
        """Remove all boards of `pools`, and their names from the list of pools."""
        for pool in pools:
            self._remove(pool)
            self._redis.run(methodcaller("srem", self._keys.pools, pool))

    def _claim(self, pool: str, fence: Fence, token: str) -> Call:
        last = self._committed.get(pool)
        known = last if last is not None and last.epoch == fence.epoch else ("", "", "")
        return scripts.CLAIM, [self._keys.fence(pool), self._keys.head(pool)], [*fence, *known, token]

    def _took(self, pool: str, verdict: int) -> bool:
        if verdict == scripts.LOST:
            self._committed.pop(pool, None)
            raise StoreLost(f"the store lost pool {pool}: publish all of its agents and solved boards again", retriable=True)
        return verdict == scripts.ACCEPTED

    def _remove(self, pool: str, epoch: int | None = None) -> bool:
        """Remove all boards of a pool in one step, unless the fence has a higher epoch. Returns whether they were removed."""
        keys = self._keys
        commands = [methodcaller("smembers", keys.boards(pool)), methodcaller("smembers", keys.methods(pool))]
        boards, methods, sliced = self._redis.pipeline([*commands, methodcaller("hkeys", keys.sliced(pool))])
        methods = [*methods, *(set(sliced) - {""})]
        versions = self._redis.pipeline([methodcaller("hget", keys.solved(pool, method), "version") for method in methods])
        names = [name for field in boards for name in self._keys_of(pool, field)]
        for method, version in zip(methods, versions, strict=True):
            names += [keys.solved(pool, method), keys.rows(pool, method, version or ""), keys.index(pool, method, version or "")]
        names += [keys.history(pool, method) for method in methods]
        names = [keys.fence(pool), keys.head(pool), keys.boards(pool), keys.methods(pool), keys.sliced(pool), *names]
        return bool(self._redis.call(scripts.REMOVE, names, ["" if epoch is None else epoch]) == scripts.ACCEPTED)

    def _heads(self, pools: Sequence[str]) -> dict[str, PoolHead | None]:
        """Pool -> its head; None for pools without a head in the store."""
        commands = [methodcaller("get", self._keys.head(pool)) for pool in pools]
        answers = self._redis.pipeline(commands, skip_garbage=True) if commands else []
        heads = {pool: self._redis.decoded(_decode_head, head) for pool, head in zip(pools, answers, strict=True)}
        for pool in (pool for pool, head in heads.items() if head is not None):
            self._seen.note(pool)
        return heads

    def _commit(self, head: PoolHead, fence: Fence, token: str, boards: Mapping[str, LiveBoard]) -> bool:
        pool, keys = head.pool, self._keys
        names, sizes = [keys.fence(pool), keys.head(pool), keys.boards(pool)], list[str | int]()
        for method, total in ((method, board.total) for method, board in boards.items() if board.total is not None):
            board, provisional, beliefs = self._keys_of(pool, field := f"{head.generation}/{method}")
            names += [board, provisional, beliefs if method_of(method) in head.beliefs else board]
            sizes += [field, total]
        answer = self._redis.call(scripts.COMMIT, names, [token, *fence, _encode_head(head).decode(), head.season_generation, *sizes])
        verdict, fields = (answer[0], answer[1:]) if isinstance(answer, list) else (answer, [])
        if not self._took(pool, verdict):
            return False
        self._committed[pool] = fence
        self._redis.run(lambda client: client.sadd(keys.pools, pool))  # after the head, so that every listed pool has a head
        larger = {field: board for method, board in boards.items() if (field := f"{head.generation}/{method}") in fields}
        if stale := [field for field in fields if field not in larger]:
            self._redis.pipeline(self._retire(pool, stale))
        complete = [(field, board) for field, board in larger.items() if len(board.names) == board.total]
        return all(self._trim(pool, token, field, board) for field, board in complete)

    def _trim(self, pool: str, token: str, field: str, board: LiveBoard) -> bool:
        """Remove the agents that a complete board does not have. Returns False if the fence rejects it. Raises `StoreLost`."""
        names = self._keys_of(pool, field)
        held = {name for key in names[:_SETS] for name in self._redis.run(partial(_members, key=key))}
        extra = sorted(held.difference(board.names))
        parts = [extra[start : start + MEMBERS_A_CALL] for start in range(0, len(extra), MEMBERS_A_CALL)]
        trim = partial(self._redis.call, scripts.TRIM, [self._keys.fence(pool), *names])
        return all(self._took(pool, trim([token, _pack_members(part)])) for part in parts)

    def _pages(
        self, head: PoolHead | None, methods: Sequence[str], script: scripts.Script, arguments: Sequence[str | int]
    ) -> list[BoardPage]:
        # The head was read first, so values are at least as new as its position.
        known = [] if head is None else [method for method in methods if head.stores(method)]
        if head is None or not known:
            return []
        answers = self._redis.calls([(script, self._page_keys(head, method), arguments) for method in known])
        return [_page(head, method, answer) for method, answer in zip(known, answers, strict=True) if answer is not None]

    def _write(self, head: PoolHead, token: str, method: str, lists: Sequence[bytes]) -> Call:
        *sets, beliefs = self._keys_of(head.pool, field := f"{head.generation}/{check_method(method)}")
        names = [self._keys.fence(head.pool), *sets, self._keys.boards(head.pool), *([beliefs] if len(lists) > _SETS else [])]
        return scripts.WRITE, names, [token, field, *lists]

    def _keys_of(self, pool: str, field: str) -> tuple[str, str, str]:
        """The keys of a live board's settled agents, provisional agents and beliefs. field: "generation/method", as in the pool's set."""
        text, method = field.split("/", 1)
        keys, generation = self._keys, int(text)
        return keys.live(pool, generation, method), keys.provisional(pool, generation, method), keys.beliefs(pool, generation, method)

    def _places(self, head: PoolHead, method: str, agents: Sequence[str]) -> list[tuple[bool, float] | None]:
        """Of each agent, whether it is provisional, and its score; None for agents that are not on the board."""
        sets = self._keys_of(head.pool, f"{head.generation}/{check_method(method)}")[:_SETS]
        parts = [list(agents[start : start + _RATINGS_A_CALL]) for start in range(0, len(agents), _RATINGS_A_CALL)]
        answers = [self._redis.call(scripts.STRENGTHS, sets, part) for part in parts]
        return [_place(*scores) for settled, provisional, _ in answers for scores in zip(settled, provisional, strict=True)]

    def _page_keys(self, head: PoolHead, method: str) -> list[str]:
        """The keys that are read for rows of a live board, as `scripts.PAGE` takes them."""
        keys, (*sets, beliefs) = self._keys, self._keys_of(head.pool, f"{head.generation}/{method}")
        names = [*sets, keys.live(head.pool, head.generation, activity_of(method)), keys.fence(head.pool)]
        return [*names, beliefs] if method_of(method) in head.beliefs else names

    def _retire(self, pool: str, stale: Sequence[str]) -> Iterator[Command]:
        for field in stale:
            yield from (methodcaller("expire", name, STALE_SECONDS) for name in self._keys_of(pool, field))
        yield methodcaller("srem", self._keys.boards(pool), *stale)


def check_window(start: int, count: int) -> None:
    """Raise `InputError` for an invalid range of rows."""
    if start < 0:
        raise InputError("start", start, "must be 0 or more")
    if count < 1:
        raise InputError("count", count, "must be 1 or more")


class _Part(NamedTuple):
    """A part of a live board. agents: number of its agents. lists: the script's arguments."""

    agents: int
    lists: list[bytes]


def _trips(calls: Iterable[tuple[int, Call]]) -> Iterator[list[Call]]:
    """Group calls into trips of at most `_MEMBERS_A_TRIP` agents, in order. calls: number of agents that each one writes, and the call."""
    trip: list[Call] = []
    agents = 0
    for count, call in calls:
        if trip and agents + count > _MEMBERS_A_TRIP:
            yield trip
            trip, agents = [], 0
        trip.append(call)
        agents += count
    if trip:
        yield trip


def _parts(method: str, board: LiveBoard) -> Iterator[_Part]:
    """Yield parts of a live board of up to `_MEMBERS_A_TRIP` agents.

    The first argument is [score, member, score, member, ...] of the settled agents, the second one that of the provisional agents. If the
    board has beliefs, the third one is [member, belief, ...] of both. Each list is packed with MessagePack, so that the client encodes one
    argument instead of 200.
    """
    _check_board(method, board)
    scores, marks = [0.0 - float(value) for value in board.values], board.provisional or [False] * len(board.names)
    for start in range(0, len(scores), _MEMBERS_A_TRIP):
        part = slice(start, start + _MEMBERS_A_TRIP)
        names, marked = board.names[part], marks[part]
        members = list(zip(scores[part], names, strict=True))
        flat: list[Iterable[float | str]] = [
            chain.from_iterable(compress(members, map(not_, marked))), chain.from_iterable(compress(members, marked)),
        ]  # fmt: skip
        if board.beliefs:
            flat.append(chain.from_iterable(zip(names, map(text_of, board.beliefs[part]), strict=True)))
        yield _Part(len(names), [_pack_members(list(each)) for each in flat])


def _check_board(method: str, board: LiveBoard) -> None:
    """Raise `InputError` if lengths differ or a number is not finite."""
    count = len(board.names)
    if len(board.values) != count or not {len(board.beliefs), len(board.provisional)} <= {0, count}:
        lengths = (count, len(board.values), len(board.beliefs), len(board.provisional))
        raise InputError(f"boards[{method}]", lengths, "must have one value for each name; beliefs and marks for each one, or none at all")
    for name, numbers in (("values", board.values), ("beliefs", [number for belief in board.beliefs for number in belief])):
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"boards[{method}].{name}", next(number for number in numbers if not math.isfinite(number)), "must be finite")


def _page(head: PoolHead, method: str, answer: str) -> BoardPage:
    """The page from the answer of `scripts.PAGE` or `scripts.AROUND`."""
    total, ranked, start, better, token, flat, activity, beliefs = _decode_page(answer)
    rows, model = list(_rows(flat, start, better, ranked)), head.beliefs.get(method_of(method))
    if model is not None:
        held = (of_text(text) if isinstance(text, str) else None for text in beliefs)
        rows = [believed(row, belief, model, head.pool_time) for row, belief in zip(rows, held, strict=True)]
    if method_of(method) != ACTIVITY:
        counts = (_outcomes(score or None) for score in activity)
        rows = [msgspec.structs.replace(row, outcomes=count) for row, count in zip(rows, counts, strict=True)]
    return BoardPage(head, method, total, ranked, rows, token)


def _strength(place: tuple[bool, float] | None, text: str | None, model: BeliefModel | None, time: float | None) -> Strength | None:
    if place is None or (model is not None and text is None):
        return None
    rating = 0.0 - place[1]
    if model is None or text is None:
        return Strength(rating)
    belief = of_text(text)
    return Strength(model.mean(rating, belief), model.deviation(belief, time))


def _outcomes(score: str | float | None) -> int:
    """The number of outcomes from a score of the activity board. Scores of all boards are negated values."""
    return 0 if score is None else round(-float(score))


def _rows(flat: Sequence[str], start: int, better: int, ranked: int) -> Iterator[AgentRow]:
    """Consecutive rows: settled agents with competition ranks, then provisional ones.

    better: Number of settled agents that are strictly better than the first row's agent. ranked: Number of settled agents.
    """
    last, rank = None, better + 1
    for i in range(0, len(flat), 2):
        score, index = float(flat[i + 1]), start + i // 2
        if index >= ranked:
            yield AgentRow(agent=flat[i], rating=0.0 - score, rank=None, provisional=True)
            continue
        if last is not None and score != last:
            rank = index + 1
        last = score
        yield AgentRow(agent=flat[i], rating=0.0 - score, rank=rank)


def _place(settled: str | float | None, provisional: str | float | None) -> tuple[bool, float] | None:
    score = provisional if settled is None else settled
    return None if score is None else (settled is None, float(score))


def _members(client: Any, key: str) -> list[str]:
    return [name for name, _ in client.zscan_iter(key, count=MEMBERS_A_CALL)]

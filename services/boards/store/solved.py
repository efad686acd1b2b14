"""Solved boards on Redis: the rows of each result have keys with a version, and one script switches the pointer to the new version."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import methodcaller
from typing import Any, Final, TypeAlias

import msgspec

from services.boards.history import KeptSolve, Past, shortened
from services.boards.result import PENDING, AgentRow, CertificateRow, SolvedBoard, SolveResult
from services.boards.slice_boards import SliceName, is_sliced, method_of
from services.boards.store import scripts
from services.boards.store.connection import Command, Connection
from services.boards.store.keys import Keys, check_method
from services.boards.store.live import MEMBERS_A_CALL, STALE_SECONDS, check_window
from services.boards.store.protocol import INSIGHT, StoredBoard, StoreError
from services.boards.store.seen import Seen
from services.boards.store.versions import in_season
from services.boards.thinning import reaches_beyond, thinned
from services.wire.pools import check_pool_name

_UPLOAD_SECONDS: Final = 600
"""Uploaded rows expire after this if the pointer was not switched to them."""
_TRIES: Final = 5
_PLACES_A_CALL: Final = 2000
"""Places of one command. Other readers wait while it runs, about a millisecond."""
_BARRED_SECONDS: Final = 6 * 3600
"""For this time after the removal of a board, solves that began before it are refused. No task runs longer."""

_ERASING_SECONDS: Final = 600
"""Numbers of an engine that ended are not shown for longer."""

_encode = msgspec.json.Encoder().encode
_decode_board = msgspec.json.Decoder(SolvedBoard).decode
_decode_row = msgspec.json.Decoder(AgentRow).decode
_decode_past = msgspec.json.Decoder(Past).decode
_decode_kept = msgspec.json.Decoder(KeptSolve).decode
_Pointer: TypeAlias = tuple[str, int, SolvedBoard]
"""Version of a board, number of its rows, and the board without rows."""
_POINTER: Final = ("version", "total", "board")


class SolvedBoards:
    """Publishes and reads solved boards."""

    def __init__(self, connection: Connection, keys: Keys, seen: Seen) -> None:
        self._redis, self._keys, self._seen = connection, keys, seen

    def publish(self, board: SolvedBoard) -> bool:
        """Publish a solved board. Returns False if a newer board of its method is published, or was removed after this solve began.

        Raises `StoreError` if the store does not answer or lost uploaded rows, and `InputError` for an invalid name.
        """
        pool, method = check_pool_name(board.pool), check_method(board.name)
        version = secrets.token_hex(8)
        fresh = [self._keys.rows(pool, method, version), self._keys.index(pool, method, version)]
        flipped = False
        try:
            self._upload(fresh, board.result.agents)
            flipped = self._flip(board, version, fresh)
        finally:
            if not flipped:
                self._drop(fresh)
        return flipped

    def publish_history(self, pool: str, method: str, history: Iterable[KeptSolve], sequence: int | None = None) -> None:
        """Publish the kept solves of a method, oldest first, in place of those in the store.

        sequence: That of the newest solve; nothing is written if a board with a higher one is published. None: always written.
        """
        names = [self._keys.history(check_pool_name(pool), check_method(method)), self._keys.solved(pool, method)]
        texts = [_encode(part).decode() for solve in history for part in (solve.past, solve)]
        self._redis.call(scripts.REPLACE, names, ["" if sequence is None else sequence, *texts])

    def extend_history(self, pool: str, method: str, before: KeptSolve, newest: KeptSolve, count: int, most: int) -> bool:
        """Add the newest solve to the history in the store, and remove earlier ones by the rule of `thinning`.

        The solve that is no longer among the newest `most`, if it stays, is shortened.

        Args:
            pool: Name of the pool.
            method: Name of the board.
            before: The solve before the newest one.
            newest: The newest solve.
            count: Number of solves that the history then has.
            most: Number of newest solves that are kept in any case.

        Returns:
            Whether the history has the solves that it should have. If not, it was not changed.
        """
        name = self._keys.history(check_pool_name(pool), check_method(method))
        last, *texts = (_encode(part).decode() for part in (before.past, newest.past, newest))
        earlier = [*self._redis.call(scripts.EVERY_OTHER, [name], []), texts[0]][:-most]
        times = [past.solved_at for text in earlier if (past := self._redis.decoded(_decode_past, text)) is not None]
        if len(times) < len(earlier):
            return False
        kept = set(thinned(times)) if reaches_beyond(method) else set()
        removed = [text for at, text in enumerate(earlier) if at not in kept]
        short = ["", ""]
        if (at := len(earlier) - 1) in kept:  # it was among the newest until now
            solve = self._redis.decoded(_decode_kept, self._redis.run(lambda client: client.lindex(name, 2 * at + 1)))
            if solve is None:
                return False
            short = [earlier[at], _encode(shortened(solve)).decode()]
        return bool(self._redis.call(scripts.APPEND, [name], [last, 2 * count, *texts, *short, *removed]))

    def history(self, pool: str, method: str) -> list[Past]:
        """The kept solves of a method, newest first. Insight has no history, because it has no rows to compare."""
        if method == INSIGHT:
            return []
        name = self._keys.history(check_pool_name(pool), check_method(method))
        texts = self._redis.call(scripts.EVERY_OTHER, [name], [])
        decoded = [self._redis.decoded(_decode_past, text) for text in reversed(texts)]
        if texts:
            self._seen.note(pool, [method])
        return [past for past in decoded if past is not None]

    def past(self, pool: str, method: str, index: int) -> KeptSolve | None:
        """The solve at an index of `history`, with its rows; None if the index does not exist."""
        name = self._keys.history(check_pool_name(pool), check_method(method))
        text = self._redis.run(lambda client: client.lindex(name, -1 - 2 * index))
        return self._redis.decoded(_decode_kept, text)

    def season(self, pool: str) -> int:
        """First generation of the pool's present season, by the published head; 1 without one. Readers see no solve of a lower one."""
        return int(self._redis.run(lambda client: client.hget(self._keys.fence(check_pool_name(pool)), "season")) or 1)

    def sequence(self, pool: str, method: str) -> int:
        """Sequence of a solved board, or of its removal; 0 without one."""
        name = self._keys.solved(check_pool_name(pool), check_method(method))
        return int(self._redis.run(lambda client: client.hget(name, "sequence")) or 0)

    def remove(self, pool: str, method: str, sequence: int = 0) -> None:
        """Remove a solved board. Its rows are kept for `STALE_SECONDS`, for readers that have begun to read them.

        sequence: Solves with a lower sequence are refused from now on. Raises `StoreError`.
        """
        keys, name = self._keys, self._keys.solved(check_pool_name(pool), check_method(method))
        for _ in range(_TRIES):
            old = self._redis.run(lambda client: client.hget(name, "version")) or ""
            names = [name, self._names(pool, method), keys.history(pool, method)]
            names += [keys.rows(pool, method, old), keys.index(pool, method, old)]
            token = secrets.token_hex(8) if is_sliced(method) else ""
            if self._redis.call(scripts.RETIRE, names, [old, method, sequence, _BARRED_SECONDS, STALE_SECONDS, token]) != scripts.MOVED:
                return
        raise _keeps_switching(pool, method)

    def methods(self, pool: str, part: SliceName | None = None) -> list[str]:
        """Names of the methods that have a solved board of the pool, or of a slice of it, sorted, without insight."""
        if part is not None:
            return [method_of(board) for board in self.slice_boards(pool) if part.board(method_of(board)) == board]
        members = self._redis.run(lambda client: client.smembers(self._keys.methods(check_pool_name(pool))))
        return sorted(set(members) - {INSIGHT})

    def slice_boards(self, pool: str) -> list[str]:
        """Names of the solved boards of all slices of a pool, sorted."""
        fields = self._redis.run(lambda client: client.hkeys(self._keys.sliced(check_pool_name(pool))))
        return sorted(set(fields) - {""})

    def note_erasing(self, left: Mapping[str, int]) -> None:
        """Write how many solved boards of each pool may still show an erased name. The numbers expire after `_ERASING_SECONDS`."""
        names = {self._keys.erasing(check_pool_name(pool)): boards for pool, boards in left.items()}
        self._redis.pipeline(
            [
                methodcaller("set", name, boards, ex=_ERASING_SECONDS) if boards else methodcaller("unlink", name)
                for name, boards in names.items()
            ]
        )

    def erasing(self, pool: str) -> int:
        """Number of a pool's solved boards that may still show an erased name, as the engine wrote it last; 0 if it wrote none lately."""
        return int(self._redis.run(lambda client: client.get(self._keys.erasing(check_pool_name(pool)))) or 0)

    def complete(self, pools: Sequence[str]) -> dict[str, dict[str, StoredBoard]]:
        """Pool -> name of a board -> the board, for those that are complete in the store: all rows and their index.

        Insight and boards of slices are included. Takes three round trips for all pools.
        """
        listed = self._redis.pipeline([command for pool in pools for command in self._listed(pool)])
        members = [{*methods, *sliced} - {""} for methods, sliced in zip(listed[::2], listed[1::2], strict=True)]
        jobs = [(pool, method) for pool, methods in zip(pools, members, strict=True) for method in sorted(methods)]
        pointers = map(self._pointer_of, self._redis.pipeline([self._pointed(*job) for job in jobs], skip_garbage=True))
        published = {job: pointer for job, pointer in zip(jobs, pointers, strict=True) if pointer is not None}
        sizes = self._redis.pipeline([command for job, pointer in published.items() for command in self._sizes(*job, pointer[0])])
        boards: dict[str, dict[str, StoredBoard]] = {pool: {} for pool in pools}
        each = zip(published.items(), sizes[::4], sizes[1::4], sizes[2::4], sizes[3::4], strict=True)
        for ((pool, method), (_, total, board)), rows, index, history, text in each:
            if rows == index == total:
                newest = self._redis.decoded(_decode_past, text)
                boards[pool][method] = StoredBoard(board, history // 2, None if newest is None else newest.solve)
        return boards

    def page(self, pool: str, method: str, start: int, count: int) -> tuple[SolvedBoard, int] | None:
        """A solved board with rows `start` to `start + count` only, and the number of all rows; None if there is no such board."""
        check_window(start, count)
        for _ in range(_TRIES):
            pointer = self._pointer(pool, method)
            if pointer is None:
                return None
            version, total, board = pointer
            if not total:
                return board, 0
            rows = self._redis.pipeline([methodcaller("lrange", self._keys.rows(pool, method, version), start, start + count - 1)])[0]
            if len(rows) == max(0, min(count, total - start)):
                return self._with_rows(board, rows), total
        raise _switching(pool, method)

    def complete_board(self, pool: str, method: str) -> tuple[str, SolvedBoard] | None:
        """Version, as `Versions` reads it, and board with all rows; None if there is no such board."""
        for _ in range(_TRIES):
            pointer, season = self._pointer_and_season(pool, method)
            if pointer is None:
                return None
            version, total, board = pointer
            rows = self._keys.rows(pool, method, version)
            parts = [methodcaller("lrange", rows, start, start + MEMBERS_A_CALL - 1) for start in range(0, total, MEMBERS_A_CALL)]
            texts = [text for part in parts for text in self._redis.run(part)]
            if len(texts) == total:
                return in_season(version, season), self._with_rows(board, texts)
        raise _switching(pool, method)

    def around(self, pool: str, method: str, agent: str, count: int) -> tuple[SolvedBoard, int] | None:
        """A solved board with `count` rows around the agent only, and the number of all rows; None if the agent is not on it."""
        check_window(0, count)
        for _ in range(_TRIES):
            pointer = self._pointer(pool, method)
            if pointer is None:
                return None
            version, total, board = pointer
            if not total:
                return None
            names = [self._keys.rows(pool, method, version), self._keys.index(pool, method, version)]
            rows = self._redis.call(scripts.SOLVED_AROUND, names, [agent, count])
            if rows is not None:
                return self._with_rows(board, rows), total
            if self._pointer(pool, method) == pointer:
                return None
        raise _switching(pool, method)

    def rows_of(self, pool: str, method: str, agents: Sequence[str]) -> tuple[SolvedBoard, int] | None:
        """A solved board with the rows of some agents only, in their order, and the number of all rows; None if there is no such board.

        Agents without a row are left out.
        """
        for _ in range(_TRIES):
            pointer = self._pointer(pool, method)
            if pointer is None:
                return None
            version, total, board = pointer
            if not total or not agents:  # Redis refuses to read no fields
                return self._with_rows(board, ()), total
            rows, index = self._keys.rows(pool, method, version), self._keys.index(pool, method, version)
            places = self._redis.run(methodcaller("hmget", index, list(agents)))
            commands: list[Command] = [methodcaller("lindex", rows, int(place)) for place in places if place is not None]
            texts = self._redis.pipeline(commands) if commands else []
            if None not in texts and (None not in places or self._pointer(pool, method) == pointer):
                return self._with_rows(board, texts), total
        raise _switching(pool, method)

    def places_of(self, pool: str, method: str, agents: Sequence[str]) -> tuple[SolvedBoard, int, dict[str, int]] | None:
        """A solved board without rows, the number of all rows, and the index of each agent's row; None if there is no such board.

        Agents without a row are left out.
        """
        for _ in range(_TRIES):
            pointer = self._pointer(pool, method)
            if pointer is None:
                return None
            version, total, board = pointer
            index = self._keys.index(pool, method, version)
            parts = [list(agents[start : start + _PLACES_A_CALL]) for start in range(0, len(agents), _PLACES_A_CALL)]
            answers = [self._redis.run(methodcaller("hmget", index, part)) for part in parts]
            texts = [text for answer in answers for text in answer]
            places = {agent: int(text) for agent, text in zip(agents, texts, strict=True) if text is not None}
            if len(places) == len(agents) or self._pointer(pool, method) == pointer:  # else the index may have expired
                return self._with_rows(board, ()), total, places
        raise _switching(pool, method)

    def _upload(self, names: Sequence[str], agents: Sequence[AgentRow]) -> None:
        rows, index = names
        for start in range(0, len(agents), MEMBERS_A_CALL):
            part = agents[start : start + MEMBERS_A_CALL]
            self._redis.pipeline(_upload_part(rows, index, start, part))

    def _flip(self, board: SolvedBoard, version: str, fresh: Sequence[str]) -> bool:
        pool, method = board.pool, board.name
        bare = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=[]))
        shown, total = _encode(bare).decode(), len(board.result.agents)
        for _ in range(_TRIES):
            old = self._redis.run(lambda client: client.hget(self._keys.solved(pool, method), "version")) or ""
            if old == version:  # the switch was done, but its answer was lost and the connection retried
                return True
            names = [self._keys.solved(pool, method), self._names(pool, method), *fresh]
            names += [self._keys.rows(pool, method, old), self._keys.index(pool, method, old)]
            arguments = [board.generation, board.position, version, old, total, shown, method, STALE_SECONDS, board.sequence]
            arguments.append("slice" if is_sliced(method) else "")
            verdict = self._redis.call(scripts.FLIP, names, arguments)
            if verdict == scripts.LOST:
                raise StoreError(f"the store lost rows of {method} of pool {pool} during their upload, or took some twice", retriable=True)
            if verdict != scripts.MOVED:
                return bool(verdict == scripts.ACCEPTED)
        raise _keeps_switching(pool, method)

    def _names(self, pool: str, board: str) -> str:
        """Key of the names of boards that lists a board."""
        return self._keys.sliced(pool) if is_sliced(board) else self._keys.methods(pool)

    def _listed(self, pool: str) -> Iterator[Command]:
        """Commands that read the names of all boards of a pool, and of all boards of its slices with the field ''."""
        yield methodcaller("smembers", self._keys.methods(check_pool_name(pool)))
        yield methodcaller("hkeys", self._keys.sliced(pool))

    def _drop(self, names: Sequence[str]) -> None:
        with suppress(StoreError):  # the keys expire anyway
            self._redis.run(lambda client: client.unlink(*names))

    def _pointer(self, pool: str, method: str) -> _Pointer | None:
        return self._pointer_and_season(pool, method)[0]

    def _pointer_and_season(self, pool: str, method: str) -> tuple[_Pointer | None, str | None]:
        """The pointer that readers see, and the season of the fence. A board of an earlier season is replaced by an empty one."""
        # The season is read last: after a switch between the two reads, the board is one of the season before, and is not shown.
        commands: list[Command] = [self._pointed(pool, method), methodcaller("hget", self._keys.fence(pool), "season")]
        fields, season = self._redis.pipeline(commands, skip_garbage=True)
        pointer = self._pointer_of(fields)
        if pointer is None:
            return None, season
        self._seen.note(pool, [method])
        version, _, board = pointer
        first = int(season or 1)
        return pointer if board.generation >= first else (version, 0, _pending(board, first)), season

    def _pointer_of(self, fields: Any) -> _Pointer | None:
        version, total, text = fields or (None, None, None)
        board = self._redis.decoded(_decode_board, text)
        return None if version is None or total is None or board is None else (version, int(total), board)

    def _with_rows(self, board: SolvedBoard, texts: Sequence[str]) -> SolvedBoard:
        rows = [row for text in texts if (row := self._redis.decoded(_decode_row, text)) is not None]
        return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows))

    def _pointed(self, pool: str, method: str) -> Command:
        name = self._keys.solved(check_pool_name(pool), check_method(method))
        return methodcaller("hmget", name, _POINTER)

    def _sizes(self, pool: str, method: str, version: str) -> Iterator[Command]:
        """Commands that read the lengths of a board's rows, of their index, and of its history, and the newest solve of the history."""
        yield methodcaller("llen", self._keys.rows(pool, method, version))
        yield methodcaller("hlen", self._keys.index(pool, method, version))
        yield methodcaller("llen", self._keys.history(pool, method))
        yield methodcaller("lindex", self._keys.history(pool, method), -2)


def _pending(board: SolvedBoard, first: int) -> SolvedBoard:
    """An empty board in place of one of an earlier season. first: First generation of the present season."""
    nothing = CertificateRow(kind="none", value=None)
    result = SolveResult(method=board.result.method, input=board.result.input, agents=[], certificate=nothing, status=PENDING, seconds=0.0)
    why = f"not solved yet in this season, which began with generation {first}; the season before has its final boards under its name"
    return msgspec.structs.replace(board, result=result, generation=first, position=0, outcomes=0, error=why)


def _upload_part(rows: str, index: str, start: int, part: Sequence[AgentRow]) -> Iterator[Command]:
    lines = [_encode(row).decode() for row in part]
    places = {row.agent: start + i for i, row in enumerate(part)}
    yield methodcaller("rpush", rows, *lines)
    yield methodcaller("expire", rows, _UPLOAD_SECONDS)
    yield lambda pipe: pipe.hset(index, mapping=places)
    yield methodcaller("expire", index, _UPLOAD_SECONDS)


def _switching(pool: str, method: str) -> StoreError:
    message = f"the solved board {method} of pool {pool} is incomplete: it is being switched, or the store lost part of it"
    return StoreError(message, retriable=True)


def _keeps_switching(pool: str, method: str) -> StoreError:
    return StoreError(f"other writers keep switching {method} of pool {pool}", retriable=True)

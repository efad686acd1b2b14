"""Files of history: the outcomes of a segment by agent, so that one read finds all outcomes of an agent.

A file is an object of `objects`, with the index, and behind it the data: a row for each agent of each outcome, ordered by agent and then
by outcome, and the members of games that are not duels. Data are read in parts, so they have a checksum for each block. Agents are ids,
so a file holds no name.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import kernel
from ratings_core.records.games import for_kernels
from services.checkpoints.objects import BadObject, Read, pack, unpack_front
from services.state.history import TracedOutcomes

BLOCK: Final = 8192
"""Bytes of data with one checksum."""
DUEL: Final = 2
"""Number of agents of a duel. Its rows name the opponent, and no member is stored for it."""
LOST, DRAWN, WON = range(3)
"""Results: another side was placed before the agent's, its side shared the first place, or it was alone in first place."""
_ROW: Final = (
    ("outcome", "<u4"), ("time", "<f8"), ("weight", "<u4"), ("other", "<u4"), ("agents", "<u2"), ("side", "u1"), ("result", "u1"),
)  # fmt: skip
_OUTCOME_WORDS: Final = 6
_TRACE_WORDS: Final = 5
"""Words of 32 bits of a row: those of an outcome, and of a method."""
_MEMBER: Final = np.dtype([("agent", "<i4"), ("side", "u1"), ("place", "u1")])
Rows: TypeAlias = NDArray[Any]
"""Rows of an agent, (k,), with the fields of `row_type`."""


def row_type(methods: Sequence[str]) -> np.dtype[Any]:
    """Type of a row.

    outcome: number of outcomes in the segment before it; time: seconds since 1970; weight: in units of 2**-20; agents: number of agents
    in the outcome; other: id of the opponent in a duel, else index of the outcome's first member; side: index of the agent's side;
    result: `LOST`, `DRAWN` or `WON`; before.M, after.M, expected.M: rating before and after, and expected score, by method M.
    """
    traced = [(f"{name}.{method}", kind) for method in methods for name, kind in (("before", "<f8"), ("after", "<f8"), ("expected", "<f4"))]
    return np.dtype([*_ROW, *traced])


class Member(NamedTuple):
    """An agent of an outcome. side: index of its side. place: 1 for the best, equal for sides that tie."""

    agent: int
    side: int
    place: int


class Segment:
    """Outcomes of a segment, by agent.

    Args:
        read: Returns the bytes of the file from a position up to another one, or fewer if the file ends.
        front: The same, used for the index alone; None for `read`.

    Attributes:
        first: Number of outcomes of the pool's generation before the segment.
        end: Number of outcomes up to its last one.
        methods: Online methods in the order of the rows' fields.
        damaged: Whether a read found damaged data, or no file any more.

    Raises:
        BadObject: The file is damaged, or has another format.
    """

    def __init__(self, read: Read, front: Read | None = None) -> None:
        arrays, meta, self._data = unpack_front(front or read)
        try:
            self.first, self.end, self.methods = int(meta["first"]), int(meta["end"]), tuple(meta["methods"])
            self._rows, self._members = int(meta["rows"]), int(meta["members"])
            self._agents, self._start, self._checksums = arrays["agents"], arrays["start"], arrays["checksums"]
        except (KeyError, TypeError, ValueError) as error:
            raise BadObject(f"not a file of history: {error}") from error
        self._read, self.damaged = read, False

    @cached_property
    def _type(self) -> np.dtype[Any]:
        return row_type(self.methods)

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Time of each outcome in the order of the log, in seconds since 1970: float64 (end - first,). Raises as `rows` does."""
        rows, times = self.rows(0, self._rows), np.zeros(self.end - self.first)
        times[rows["outcome"]] = rows["time"]
        return times

    @property
    def _size(self) -> int:
        """Bytes of the data."""
        return self._rows * self._type.itemsize + self._members * _MEMBER.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the index and of `times`."""
        return int(self._agents.nbytes + self._start.nbytes + self._checksums.nbytes + 8 * (self.end - self.first))

    def places_of(self, agent: int) -> tuple[int, int]:
        """First row of an agent, and the row after its last one. Equal if the segment does not have the agent."""
        at = int(np.searchsorted(self._agents, np.int32(agent)))  # of the same type, because numpy would convert the array
        if at == len(self._agents) or self._agents[at] != agent:
            return 0, 0
        return int(self._start[at]), int(self._start[at + 1])

    def ends_of(self, agents: NDArray[np.int32]) -> NDArray[np.int64]:
        """The row after the last one of each agent: int64 (n,), 0 for agents that the segment does not have."""
        at = np.searchsorted(self._agents, agents)
        known = at < len(self._agents)
        known[known] = self._agents[at[known]] == agents[known]
        ends = np.zeros(len(agents), np.int64)
        ends[known] = self._start[at[known] + 1]
        return ends

    def rows(self, begin: int, end: int) -> Rows:
        """The rows from `begin` up to `end`, oldest first. Raises `BadObject`, `OSError`."""
        size = self._type.itemsize
        return np.frombuffer(self._bytes(begin * size, end * size), self._type)

    def check_data(self) -> None:
        """Raise `BadObject` if a part of the data is damaged. Raises `OSError`."""
        self._bytes(0, self._size)

    def before(self, agent: int, outcome: int) -> int:
        """Number of rows of an agent that are before an outcome, which is counted in the pool's generation. Raises as `rows` does."""
        begin, end = self.places_of(agent)
        if outcome >= self.end:
            return end - begin
        if outcome <= self.first:
            return 0
        low, high = begin, end
        while low < high:
            middle = (low + high) // 2
            if self.first + int(self.rows(middle, middle + 1)["outcome"][0]) < outcome:
                low = middle + 1
            else:
                high = middle
        return low - begin

    def members(self, row: Any, agent: int) -> list[Member]:
        """All agents of the outcome of a row of `agent`, side by side, the agent included. Raises as `rows` does."""
        if row["agents"] == DUEL:
            side, result = int(row["side"]), int(row["result"])
            own, other = (1, 1) if result == DRAWN else (1, 2) if result == WON else (2, 1)
            both = [Member(agent, side, own), Member(int(row["other"]), 1 - side, other)]
            return both[:: 1 if side == 0 else -1]
        size, begin = _MEMBER.itemsize, self._rows * self._type.itemsize
        at = begin + int(row["other"]) * size
        members = np.frombuffer(self._bytes(at, at + int(row["agents"]) * size), _MEMBER)
        return [Member(*member) for member in members.tolist()]

    def _bytes(self, begin: int, end: int) -> bytes | memoryview:
        """Bytes of the data from `begin` up to `end`, whose blocks have the right checksums."""
        total = self._size
        if begin >= end:
            return b""
        first, last = begin // BLOCK, (end - 1) // BLOCK
        start, stop = first * BLOCK, min(total, (last + 1) * BLOCK)
        try:
            read = memoryview(self._read(self._data + start, self._data + stop))
        except FileNotFoundError as error:  # removed since it was opened, from an object store: its outcomes expired
            self.damaged = True
            raise BadObject(f"outcomes {self.first} to {self.end} of a history: their file was removed") from error
        blocks = [crc32(read[at : at + BLOCK]) for at in range(0, len(read), BLOCK)]
        if end > total or len(read) != stop - start or blocks != self._checksums[first : last + 1].tolist():
            self.damaged = True
            raise BadObject(f"outcomes {self.first} to {self.end} of a history: the checksum of their data differs")
        return read[begin - start : end - start]


def packed_segment(outcomes: TracedOutcomes) -> list[bytes | memoryview]:
    """The file of a segment, as buffers to be written in order."""
    columns = _kernel_columns(outcomes)
    row, agents, start = _sorted(columns[-1])
    rows, members = len(row), _count_members(*columns[:2])
    words = _OUTCOME_WORDS + _TRACE_WORDS * len(outcomes.traces)
    of_rows = 4 * words * rows
    data = np.empty(of_rows + members * _MEMBER.itemsize, np.uint8)
    _write_rows(outcomes, row, data[:of_rows].view(np.uint32).reshape(rows, words))
    _write_members(outcomes, data[of_rows:].view(_MEMBER))
    view = data.data
    checksums = [crc32(view[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    index = {"agents": agents, "start": start, "checksums": np.array(checksums, np.uint32)}
    about = {"first": outcomes.first, "end": outcomes.end, "methods": list(outcomes.traces), "rows": rows, "members": members}
    return [*pack(index, about), view]


def segment_in_memory(outcomes: TracedOutcomes) -> Segment:
    """The outcomes of a window, in the form of a segment."""
    data = memoryview(b"".join(packed_segment(outcomes)))
    return Segment(lambda start, stop: data[start:stop])


def _write_rows(outcomes: TracedOutcomes, row: NDArray[np.int32], rows: NDArray[np.uint32]) -> None:
    """Write the rows of `row_type`, as words of 32 bits: the field of numpy would be set one by one, with a copy of each column.

    row: index of the row of each agent of each outcome. Kernels go through the outcomes in their order, because columns are read faster so.
    """
    _put_outcomes(rows, row, *_kernel_columns(outcomes), _words(outcomes.time), for_kernels(outcomes.weight))
    for at, trace in enumerate(outcomes.traces.values()):
        expected = trace.expected.astype(np.float32).view(np.uint32)
        word, members = _OUTCOME_WORDS + at * _TRACE_WORDS, for_kernels(outcomes.members)
        _put_trace(rows, word, row, members, _words(trace.before), _words(trace.after), expected)


def _write_members(outcomes: TracedOutcomes, members: NDArray[Any]) -> None:
    """Write the members of the outcomes that are not duels, in their order."""
    agent, side, place = (np.empty(len(members), _MEMBER[name]) for name in ("agent", "side", "place"))
    _list_members(*_kernel_columns(outcomes), agent, side, place)
    members["agent"], members["side"], members["place"] = agent, side, place


def _words(numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The numbers as pairs of words, (n, 2)."""
    return for_kernels(np.ascontiguousarray(numbers).view(np.uint32).reshape(-1, 2))


def _kernel_columns(outcomes: TracedOutcomes) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    return for_kernels(outcomes.sides), for_kernels(outcomes.members), for_kernels(outcomes.place), for_kernels(outcomes.agent)


@kernel
def _sorted(agent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]:
    """Sort ids, where equal ids stay in their order: a radix sort by 11 bits.

    Returns the place of each id in the order, the distinct ids, and for each of these its first place; at last the number of ids.
    """
    order, other = np.arange(len(agent)).astype(np.int32), np.empty(len(agent), np.int32)
    for shift in (0, 11, 22):
        count = np.zeros(2049, np.int64)
        for id_ in agent:
            count[(id_ >> shift & 2047) + 1] += 1
        if count.max() == len(agent):
            continue
        for digit in range(2048):
            count[digit + 1] += count[digit]
        for at in order:
            digit = agent[at] >> shift & 2047
            other[count[digit]] = at
            count[digit] += 1
        order, other = other, order
    place, distinct, start = other, np.empty(len(agent), np.int32), np.empty(len(agent) + 1, np.uint32)
    found = 0
    for i in range(len(order)):
        place[order[i]], id_ = i, agent[order[i]]
        if found == 0 or distinct[found - 1] != id_:
            distinct[found], start[found] = id_, i
            found += 1
    start[found] = len(order)
    return place, distinct[:found].copy(), start[: found + 1].copy()


@kernel
def _put_outcomes(
    rows: NDArray[np.uint32], row: NDArray[np.int32], sides: NDArray[np.uint8], members: NDArray[np.int32], place: NDArray[np.int32],
    agent: NDArray[np.int32], time: NDArray[np.uint32], weight: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the fields of `row_type` that all methods share. agents, side and result are one word."""
    first = begin = listed = 0
    for i in range(len(sides)):
        total, best, level = 0, place[first], 0
        for side in range(first, first + sides[i]):
            total += members[side]
            best = min(best, place[side])
        for side in range(first, first + sides[i]):
            level += int(place[side] == best)
        at = begin
        for side in range(first, first + sides[i]):
            result = LOST if place[side] > best else DRAWN if level > 1 else WON
            about = total | (side - first) << 16 | result << 24
            for _ in range(members[side]):
                to = row[at]
                rows[to, 0], rows[to, 1], rows[to, 2], rows[to, 3] = i, time[i, 0], time[i, 1], weight[i]
                rows[to, 4], rows[to, 5] = agent[2 * begin + 1 - at] if total == DUEL else listed, about
                at += 1
        begin, first = at, first + sides[i]
        listed += total if total != DUEL else 0


@kernel
def _put_trace(
    rows: NDArray[np.uint32], word: int, row: NDArray[np.int32], members: NDArray[np.int32], before: NDArray[np.uint32],
    after: NDArray[np.uint32], expected: NDArray[np.uint32],
) -> None:  # fmt: skip
    """Write the fields of one method, which begin at the word `word` of each row."""
    at = 0
    for side in range(len(members)):
        for _ in range(members[side]):
            to = row[at]
            rows[to, word], rows[to, word + 1], rows[to, word + 2] = before[at, 0], before[at, 1], after[at, 0]
            rows[to, word + 3], rows[to, word + 4] = after[at, 1], expected[side]
            at += 1


@kernel
def _count_members(sides: NDArray[np.uint8], members: NDArray[np.int32]) -> int:
    """Number of agents in outcomes that are not duels."""
    first = count = 0
    for i in range(len(sides)):
        total = 0
        for side in range(first, first + sides[i]):
            total += members[side]
        first += sides[i]
        count += total if total != DUEL else 0
    return count


@kernel
def _list_members(
    sides: NDArray[np.uint8], members: NDArray[np.int32], place: NDArray[np.int32], agent: NDArray[np.int32],
    agents: NDArray[np.int32], own: NDArray[np.uint8], rank: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Write agent, side and place of the members of outcomes that are not duels. The place of a side is 1 + the number of better sides."""
    first = begin = at = 0
    for i in range(len(sides)):
        total = 0
        for side in range(first, first + sides[i]):
            total += members[side]
        if total == DUEL:
            begin, first = begin + total, first + sides[i]
            continue
        for side in range(first, first + sides[i]):
            better = 1
            for rival in range(first, first + sides[i]):
                better += int(place[rival] < place[side])
            for _ in range(members[side]):
                agents[at], own[at], rank[at] = agent[begin], side - first, better
                begin, at = begin + 1, at + 1
        first += sides[i]

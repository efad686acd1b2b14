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

    Attributes:
        first: Number of outcomes of the pool's generation before the segment.
        end: Number of outcomes up to its last one.
        methods: Online methods in the order of the rows' fields.
        damaged: Whether a read found damaged data.

    Raises:
        BadObject: The file is damaged, or has another format.
    """

    def __init__(self, read: Read) -> None:
        arrays, meta, self._data = unpack_front(read)
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

    @property
    def nbytes(self) -> int:
        """Bytes of the index."""
        return int(self._agents.nbytes + self._start.nbytes + self._checksums.nbytes)

    def places_of(self, agent: int) -> tuple[int, int]:
        """First row of an agent, and the row after its last one. Equal if the segment does not have the agent."""
        at = int(np.searchsorted(self._agents, agent))
        if at == len(self._agents) or self._agents[at] != agent:
            return 0, 0
        return int(self._start[at]), int(self._start[at + 1])

    def rows(self, begin: int, end: int) -> Rows:
        """The rows from `begin` up to `end`, oldest first. Raises `BadObject`, `OSError`."""
        size = self._type.itemsize
        return np.frombuffer(self._bytes(begin * size, end * size), self._type)

    def before(self, agent: int, outcome: int) -> int:
        """Number of rows of an agent that are before an outcome, which is counted in the pool's generation. Raises as `rows` does."""
        begin, end = self.places_of(agent)
        if outcome >= self.end:
            return end - begin
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
        total = self._rows * self._type.itemsize + self._members * _MEMBER.itemsize
        if begin >= end:
            return b""
        first, last = begin // BLOCK, (end - 1) // BLOCK
        start, stop = first * BLOCK, min(total, (last + 1) * BLOCK)
        read = memoryview(self._read(self._data + start, self._data + stop))
        blocks = [crc32(read[at : at + BLOCK]) for at in range(0, len(read), BLOCK)]
        if end > total or len(read) != stop - start or blocks != self._checksums[first : last + 1].tolist():
            self.damaged = True
            raise BadObject(f"outcomes {self.first} to {self.end} of a history: the checksum of their data differs")
        return read[begin - start : end - start]


def packed_segment(outcomes: TracedOutcomes) -> list[bytes | memoryview]:
    """The file of a segment, as buffers to be written in order."""
    order = np.argsort(outcomes.agent, kind="stable")
    agents, start = np.unique(outcomes.agent[order], return_index=True)
    rows, members = _rows(outcomes, order), _members(outcomes)
    data = memoryview(rows.tobytes() + members.tobytes())
    checksums = [crc32(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    index = {
        "agents": agents.astype(np.int32),
        "start": np.append(start, len(order)).astype(np.uint32),
        "checksums": np.array(checksums, np.uint32),
    }
    about = {"first": outcomes.first, "end": outcomes.end, "methods": list(outcomes.traces), "rows": len(rows), "members": len(members)}
    return [*pack(index, about), data]


def segment_in_memory(outcomes: TracedOutcomes) -> Segment:
    """The outcomes of a window, in the form of a segment."""
    data = memoryview(b"".join(packed_segment(outcomes)))
    return Segment(lambda start, stop: data[start:stop])


def _rows(outcomes: TracedOutcomes, order: NDArray[np.intp]) -> Rows:
    """The rows of the agents in `order`, which are indices of `outcomes.agent`."""
    side = np.repeat(np.arange(len(outcomes.members)), outcomes.members)
    own, outcome, result = np.empty(len(side), np.uint8), np.empty(len(side), np.uint32), np.empty(len(side), np.uint8)
    agents, other = np.empty(len(side), np.uint16), np.empty(len(side), np.uint32)
    _describe(*_kernel_columns(outcomes), outcome, other, agents, own, result)
    rows = np.empty(len(order), row_type(tuple(outcomes.traces)))
    columns: dict[str, NDArray[Any]] = {
        "outcome": outcome, "time": outcomes.time[outcome], "weight": outcomes.weight[outcome], "other": other,
        "agents": agents, "side": own, "result": result,
    }  # fmt: skip
    for name, column in columns.items():
        rows[name] = column[order]
    for method, trace in outcomes.traces.items():
        rows[f"before.{method}"], rows[f"after.{method}"] = trace.before[order], trace.after[order]
        rows[f"expected.{method}"] = trace.expected[side[order]]
    return rows


def _members(outcomes: TracedOutcomes) -> NDArray[Any]:
    """The members of the outcomes that are not duels, in their order."""
    columns = _kernel_columns(outcomes)
    members = np.empty(_count_members(*columns[:2]), _MEMBER)
    agent, side, place = (np.empty(len(members), _MEMBER[name]) for name in ("agent", "side", "place"))
    _list_members(*columns, agent, side, place)
    members["agent"], members["side"], members["place"] = agent, side, place
    return members


def _kernel_columns(outcomes: TracedOutcomes) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    return for_kernels(outcomes.sides), for_kernels(outcomes.members), for_kernels(outcomes.place), for_kernels(outcomes.agent)


@kernel
def _describe(
    sides: NDArray[np.uint8], members: NDArray[np.int32], place: NDArray[np.int32], agent: NDArray[np.int32], outcome: NDArray[np.uint32],
    other: NDArray[np.uint32], agents: NDArray[np.uint16], own: NDArray[np.uint8], result: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Write the columns of a row for each agent of each outcome, in order. The fields are those of `row_type`."""
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
            for _ in range(members[side]):
                outcome[at], agents[at], own[at] = i, total, side - first
                other[at] = agent[2 * begin + 1 - at] if total == DUEL else listed
                result[at] = LOST if place[side] > best else DRAWN if level > 1 else WON
                at += 1
        begin, first = at, first + sides[i]
        listed += total if total != DUEL else 0


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

"""History of the outcomes of a pool: each new outcome with the ratings before and after it, until it is written to a file.

A fold appends its outcomes to a window. When the window has `SEGMENT_ROWS` agents, it is complete: it becomes a segment, which the owner
of the fold writes to a file, and the next outcome begins a new window. Checkpoints contain the window that is not complete. The end of a
segment depends on the outcomes alone, so folds of equal outcomes make equal segments, whatever the sizes of their batches.

The history is not part of the content of a pool, because nothing is folded from it. Digests do not cover it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.online.trace import RatingTrace
from ratings_core.records.outcomes import OutcomeBatch
from services.state.parts import named, part

SEGMENT_ROWS: Final = 1 << 16
"""Number of agents at which a segment ends, with the outcome that reaches it. An agent counts once for each outcome that it took part in.
"""
PART: Final = "history"
"""Prefix of the names of a window's arrays in a checkpoint."""
_COLUMNS: Final[Mapping[str, DTypeLike]] = {
    "sides": np.uint8, "weight": np.int32, "time": np.float64, "members": np.int32, "place": np.int32, "agent": np.int32,
}  # fmt: skip
_TRACES: Final = ("before", "after", "expected")
_SMALLEST: Final = 16


@dataclass(frozen=True, slots=True)
class TracedOutcomes:
    """n consecutive outcomes of a pool, with a trace by method.

    Attributes:
        first: Number of outcomes of the pool's generation before these.
        sides: uint8 (n,), number of sides of each outcome.
        weight: int32 (n,), in units of 2**-20.
        time: float64 (n,), seconds since 1970.
        members: int32 (sides,), number of agents of each side.
        place: int32 (sides,), as in `OutcomeBatch`.
        agent: int32 (agents,), ids of the members of all sides.
        traces: Trace by method, in the order of the generation's methods.
    """

    first: int
    sides: NDArray[np.uint8]
    weight: NDArray[np.int32]
    time: NDArray[np.float64]
    members: NDArray[np.int32]
    place: NDArray[np.int32]
    agent: NDArray[np.int32]
    traces: Mapping[str, RatingTrace]

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def end(self) -> int:
        """Number of outcomes of the pool's generation up to the last one of these."""
        return self.first + len(self)

    def split(self, outcomes: int) -> "tuple[TracedOutcomes, TracedOutcomes]":
        """The first `outcomes` outcomes and the others, as views."""
        sides = int(self.sides[:outcomes].sum(dtype=np.int64))
        agents = int(self.members[:sides].sum(dtype=np.int64))
        at = {"sides": outcomes, "weight": outcomes, "time": outcomes, "members": sides, "place": sides, "agent": agents}
        cut = {"before": agents, "after": agents, "expected": sides}

        def cut_out(first: int, of: Mapping[str, slice], traced: Mapping[str, slice]) -> TracedOutcomes:
            traces = {
                method: RatingTrace(**{name: getattr(trace, name)[traced[name]] for name in _TRACES})
                for method, trace in self.traces.items()
            }
            return TracedOutcomes(first=first, traces=traces, **{name: getattr(self, name)[of[name]] for name in _COLUMNS})

        before = {name: slice(end) for name, end in (at | cut).items()}
        after = {name: slice(end, None) for name, end in (at | cut).items()}
        return cut_out(self.first, before, before), cut_out(self.first + outcomes, after, after)

    @classmethod
    def joined(cls, parts: "Sequence[TracedOutcomes]") -> "TracedOutcomes":
        """Parts that follow each other, at least one, as one."""
        traces = {
            method: RatingTrace(**{name: np.concatenate([getattr(one.traces[method], name) for one in parts]) for name in _TRACES})
            for method in parts[0].traces
        }
        columns = {name: np.concatenate([getattr(one, name) for one in parts]) for name in _COLUMNS}
        return cls(first=parts[0].first, traces=traces, **columns)

    def arrays(self) -> Arrays:
        """The columns by name, as views; `from_arrays` is the inverse."""
        columns: Arrays = {"first": np.array([self.first], np.int64), **{name: getattr(self, name) for name in _COLUMNS}}
        return columns | named({method: {name: getattr(trace, name) for name in _TRACES} for method, trace in self.traces.items()})

    @classmethod
    def from_arrays(cls, arrays: Arrays, methods: Sequence[str] | None = None) -> "TracedOutcomes":
        """The outcomes from the result of `arrays`. methods: the methods in order; None for all that have a trace.

        Raises `InputError` if columns are missing, or their sizes do not match.
        """
        if methods is None:
            methods = [name.removesuffix(".before") for name in arrays if name.endswith(".before")]
        try:
            traces = {method: RatingTrace(**{name: arrays[f"{method}.{name}"] for name in _TRACES}) for method in methods}
            outcomes = cls(first=int(arrays["first"][0]), traces=traces, **{name: arrays[name] for name in _COLUMNS})
        except (KeyError, TypeError, IndexError) as error:
            raise InputError("arrays", sorted(arrays), f"must be the history of outcomes, with the methods {', '.join(methods)}") from error
        outcomes.check()
        return outcomes

    def check(self) -> None:
        """Raise `InputError` unless the columns have the right types and sizes."""
        sides = int(self.sides.sum(dtype=np.int64))
        agents = int(self.members.sum(dtype=np.int64))
        sizes = {"sides": len(self), "weight": len(self), "time": len(self), "members": sides, "place": sides, "agent": agents}
        columns = [(name, getattr(self, name), np.dtype(dtype), sizes[name]) for name, dtype in _COLUMNS.items()]
        for method, trace in self.traces.items():
            columns += [(f"{method}.{name}", getattr(trace, name), np.dtype(np.float64), agents) for name in ("before", "after")]
            columns.append((f"{method}.expected", trace.expected, np.dtype(np.float64), sides))
        for name, column, dtype, size in columns:
            if column.dtype != dtype or column.shape != (size,):
                raise InputError(f"arrays[{name!r}]", f"{column.dtype} {column.shape}", f"must be {dtype} ({size},)")


def window_names(methods: Sequence[str]) -> set[str]:
    """Names of a window's arrays in a checkpoint. methods: the online methods of the generation."""
    return {f"{PART}.{name}" for name in ("first", *_COLUMNS, *(f"{method}.{trace}" for method in methods for trace in _TRACES))}


class OutcomeHistory:
    """The window of the newest outcomes of a pool, and the segments that became complete.

    Args:
        methods: Names of the online methods.
        first: Number of outcomes of the generation before the first one that is recorded.

    Attributes:
        sink: Called with each segment that is complete; None drops them.
    """

    def __init__(self, methods: Sequence[str], first: int = 0) -> None:
        self._methods, self._first = tuple(methods), first
        self.sink: Callable[[TracedOutcomes], None] | None = None
        self._clear()

    def _clear(self, room: int = _SMALLEST) -> None:
        """Begin a window with room for `room` agents.

        The arrays of the window before stay as they are, because a checkpoint or a segment may refer to them.
        """
        rooms = {"sides": room // 2, "weight": room // 2, "time": room // 2}
        self._columns = {name: _Appended(dtype, rooms.get(name, room)) for name, dtype in _COLUMNS.items()}
        self._traces = {method: {name: _Appended(np.float64, room) for name in _TRACES} for method in self._methods}

    def reserve(self, batch: OutcomeBatch) -> dict[str, RatingTrace]:
        """Make room for `batch`. Returns by method the trace that its fold writes. Nothing is recorded before `add`."""
        sizes = {"before": len(batch.agent), "after": len(batch.agent), "expected": len(batch.place)}
        return {
            method: RatingTrace(**{name: column.reserve(sizes[name]) for name, column in columns.items()})
            for method, columns in self._traces.items()
        }

    def add(self, batch: OutcomeBatch) -> None:
        """Record the outcomes of `batch`, whose fold has written the traces of `reserve`."""
        sizes = {"before": len(batch.agent), "after": len(batch.agent), "expected": len(batch.place)}
        for columns in self._traces.values():
            for name, column in columns.items():
                column.keep(sizes[name])
        self._append({"weight": batch.weight, "time": batch.time, "place": batch.place, "agent": batch.agent})
        for name, start in (("sides", batch.side_start), ("members", batch.agent_start)):
            np.subtract(start[1:], start[:-1], out=self._columns[name].reserve(len(start) - 1), casting="unsafe")
            self._columns[name].keep(len(start) - 1)
        if self._columns["agent"].size >= SEGMENT_ROWS:
            self._complete(batch)

    def _append(self, columns: Mapping[str, NDArray[Any]]) -> None:
        for name, values in columns.items():
            self._columns[name].reserve(len(values))[:] = values
            self._columns[name].keep(len(values))

    def _complete(self, batch: OutcomeBatch) -> None:
        """Move the complete segments out of the window, which ends with `batch`. Before the batch it had fewer than `SEGMENT_ROWS` agents,
        so each segment ends in the batch. The next window has room for another such batch beyond its end.
        """
        rest, ends = self.window, batch.agent_start[batch.side_start[1:]]
        outcomes, agents = len(rest) - len(batch.weight), len(rest.agent) - len(batch.agent)  # in `rest` before the batch
        while len(rest.agent) >= SEGMENT_ROWS:
            segment, rest = rest.split(outcomes + int(np.searchsorted(ends, SEGMENT_ROWS - agents)) + 1)
            outcomes, agents = outcomes - len(segment), agents - len(segment.agent)
            if self.sink is not None:
                self.sink(segment)
        self._restore(rest, SEGMENT_ROWS + len(batch.agent))

    def _restore(self, window: TracedOutcomes, room: int = _SMALLEST) -> None:
        self._clear(room)
        self._first = window.first
        self._append({name: getattr(window, name) for name in _COLUMNS})
        for method, columns in self._traces.items():
            for name, column in columns.items():
                values = getattr(window.traces[method], name)
                column.reserve(len(values))[:] = values
                column.keep(len(values))

    @property
    def window(self) -> TracedOutcomes:
        """The recorded outcomes that are in no segment yet, as views of arrays that do not change any more."""
        traces = {method: RatingTrace(**{name: columns[name].kept for name in _TRACES}) for method, columns in self._traces.items()}
        return TracedOutcomes(first=self._first, traces=traces, **{name: column.kept for name, column in self._columns.items()})

    def arrays(self) -> Arrays:
        """Arrays of the window for a checkpoint, by their full names. They are views, and do not change any more."""
        return named({PART: self.window.arrays()})

    @classmethod
    def from_arrays(cls, methods: Sequence[str], arrays: Arrays, outcomes: int) -> "OutcomeHistory":
        """Rebuild the history from a checkpoint's arrays.

        Args:
            methods: Names of the online methods.
            arrays: Arrays of the checkpoint. If it has no history, because an earlier release wrote it, the history begins here.
            outcomes: Number of outcomes of the generation at the checkpoint.

        Raises:
            InputError: The arrays are not those of a history, or end at another outcome.
        """
        history = cls(methods, outcomes)
        if columns := part(arrays, PART):
            window = TracedOutcomes.from_arrays(columns, methods)
            if window.end != outcomes:
                raise InputError("arrays", window.end, f"must have a history up to outcome {outcomes}")
            history._restore(window)
        return history

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""
        traces = [column for columns in self._traces.values() for column in columns.values()]
        return sum(column.nbytes for column in (*self._columns.values(), *traces))


class _Appended:
    """A column that grows at its end. Views of `kept` stay valid, because entries do not change once they are kept."""

    __slots__ = ("_data", "size")

    def __init__(self, dtype: DTypeLike, room: int) -> None:
        self._data: NDArray[Any] = np.empty(room, dtype)
        self.size = 0

    def reserve(self, more: int) -> NDArray[Any]:
        """A view of the next `more` entries, to be written and then kept."""
        if len(self._data) < self.size + more:
            grown = np.empty(max(self.size + more, 2 * len(self._data)), self._data.dtype)
            grown[: self.size] = self._data[: self.size]
            self._data = grown
        return self._data[self.size : self.size + more]

    def keep(self, more: int) -> None:
        """Keep the next `more` entries."""
        self.size += more

    @property
    def kept(self) -> NDArray[Any]:
        """All kept entries, as a view."""
        return self._data[: self.size]

    @property
    def nbytes(self) -> int:
        """Bytes of memory, reserved capacity included."""
        return int(self._data.nbytes)

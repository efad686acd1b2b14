"""Outcomes: single validated events, and batches of events as columns.

An outcome is a game (two or more sides with places) or a measurement (scores of agents on a task). A batch stores many outcomes of one kind
in flat arrays with CSR offsets, and agents and tasks as roster ids, so a fold needs no Python object per outcome. Weights are fixed-point
numbers, multiples of 2**-20, so tallies are exact integers on every machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.records.roster import Roster

WEIGHT_ONE: Final = 1 << 20
"""Integer representation of weight 1."""
MIN_WEIGHT: Final = 0.001
MAX_WEIGHT: Final = 1000.0
MAX_SIDES: Final = 64
MAX_AGENTS: Final = 4096
MAX_SCORE: Final = 1e15
MAX_TIME: Final = 1e11
"""Seconds before or after 1970, about 3,000 years. The limit refuses present times in milliseconds."""
MAX_PLACE: Final = 2**31 - 1
NO_TASK: Final = -1
_MOST_NUMBER: Final = 2**63
"""Largest first number in `OutcomeBatch.numbered`. A key has 64 bits for the number of an outcome."""


def fixed_weight(weight: float, argument: str = "weight") -> int:
    """`weight` in units of 2**-20, rounded to nearest. Raises `InputError` outside 0.001 to 1000."""
    given = _as_number(argument, weight)
    if not MIN_WEIGHT <= given <= MAX_WEIGHT:
        raise InputError(argument, weight, f"must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    return round(given * WEIGHT_ONE)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a game. agents: name of one agent, or names of a team; place: lower is better, equal places tie; only the order counts.

    Raises `InputError` if `agents` is a single text, an agent is not a text, or the place is not a whole number within 32 bits.
    """

    agents: tuple[str, ...]
    place: int

    def __post_init__(self) -> None:
        _check_side(self.agents, self.place)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finished game. sides: 2 to 64, each agent once; time: seconds since 1970; weight: 0.001 to 1000; task: a name, or None."""

    sides: tuple[Side, ...]
    time: float = 0.0
    weight: float = 1.0
    task: str | None = None

    def __post_init__(self) -> None:
        if not 2 <= len(checks.sequence("sides", self.sides)) <= MAX_SIDES:
            raise InputError("sides", len(self.sides), f"must be 2 to {MAX_SIDES} sides")
        for i, side in enumerate(self.sides):
            checks.instance(f"sides[{i}]", side, Side)
        agents = [agent for side in self.sides for agent in side.agents]
        if any(not side.agents for side in self.sides):
            raise InputError("sides", self.sides, "must each name at least one agent")
        if len(agents) > MAX_AGENTS:
            raise InputError("sides", len(agents), f"must hold at most {MAX_AGENTS} agents in all")
        if len(set(agents)) != len(agents):
            raise InputError("sides", agents, "must name each agent once")
        if self.task is not None:
            checks.instance("task", self.task, str)
        _check_time(self.time)
        fixed_weight(self.weight)


@dataclass(frozen=True, slots=True)
class Scores:
    """Agents measured on one task. scores: (agent, score) pairs, higher is better, |score| <= 1e15; time: seconds since 1970."""

    task: str
    scores: tuple[tuple[str, float], ...]
    time: float = 0.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in checks.sequence("scores", self.scores)):
            raise InputError("scores", self.scores, "must be pairs of an agent and its score")
        checks.instance("task", self.task, str)
        agents = [checks.instance(f"scores[{i}][0]", agent, str) for i, (agent, _) in enumerate(self.scores)]
        if not agents or len(set(agents)) != len(agents):
            raise InputError("scores", agents, "must name one or more agents, each once")
        for agent, score in self.scores:
            if not abs(_as_number(f"scores[{agent!r}]", score)) <= MAX_SCORE:
                raise InputError(f"scores[{agent!r}]", score, f"must be within +-{MAX_SCORE:g}")
        _check_time(self.time)
        fixed_weight(self.weight)


@dataclass(frozen=True, slots=True)
class OutcomeBatch:
    """n games as columns, in fold order.

    side_start: int64 (n+1,), outcome i has the sides side_start[i] to side_start[i+1]; place: int32 (sides,);
    agent_start: int64 (sides+1,), side s has the agents agent_start[s] to agent_start[s+1]; agent: int32 (agents,), roster ids;
    weight: int64 (n,), units of 2**-20; time: float64 (n,), seconds since 1970; task: int32 (n,), -1 for none;
    key: uint64 (n, 2), 128-bit hash of each outcome's id (zeros if it has no id), for methods that draw noise per outcome.
    """

    side_start: NDArray[np.int64]
    place: NDArray[np.int32]
    agent_start: NDArray[np.int64]
    agent: NDArray[np.int32]
    weight: NDArray[np.int64]
    time: NDArray[np.float64]
    task: NDArray[np.int32]
    key: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], roster: Roster, tasks: Roster | None = None) -> "OutcomeBatch":
        """Convert `outcomes` to columns. New names are added to `roster`, and new tasks to `tasks`. Without `tasks`, tasks are ignored."""
        _check_records("outcomes", outcomes, Outcome)
        for argument, names in (("roster", roster), ("tasks", roster if tasks is None else tasks)):
            checks.instance(argument, names, Roster)
        sides = [side for outcome in outcomes for side in outcome.sides]
        return cls(
            side_start=_starts([len(outcome.sides) for outcome in outcomes]),
            place=np.array([side.place for side in sides], np.int32),
            agent_start=_starts([len(side.agents) for side in sides]),
            agent=roster.intern([agent for side in sides for agent in side.agents]),
            weight=np.array([fixed_weight(outcome.weight) for outcome in outcomes], np.int64),
            time=np.array([outcome.time for outcome in outcomes], np.float64),
            task=_task_ids([outcome.task for outcome in outcomes], tasks),
            key=np.zeros((len(outcomes), 2), np.uint64),
        )

    @classmethod
    def of_pairs(cls, first: ArrayLike, second: ArrayLike, result: ArrayLike, n_agents: int) -> "OutcomeBatch":
        """Batch of 1v1 games. first, second: ids (n,), below n_agents; result: (n,), 1 if first won, 1/2 for a tie, 0 if second won."""
        first, second, result = _ids("first", first, n_agents), _ids("second", second, n_agents), checks.real("result", result)
        n = first.size
        if not first.shape == second.shape == result.shape == (n,):
            raise InputError("first, second, result", (first.shape, second.shape, result.shape), "must be columns of one length")
        if (same := np.flatnonzero(first == second)).size:
            raise InputError(f"second[{same[0]}]", int(second[same[0]]), "must differ from first")
        if not np.isin(result, (0.0, 0.5, 1.0)).all():
            raise InputError("result", result, "must hold 0, 1/2 and 1 only")
        place = np.ones(2 * n, np.int32)
        place[0::2] += result == 0.0
        place[1::2] += result == 1.0
        return cls(
            side_start=np.arange(0, 2 * n + 1, 2, dtype=np.int64),
            place=place,
            agent_start=np.arange(2 * n + 1, dtype=np.int64),
            agent=np.column_stack([first, second]).astype(np.int32).ravel(),
            weight=np.full(n, WEIGHT_ONE, np.int64),
            time=np.zeros(n),
            task=np.full(n, NO_TASK, np.int32),
            key=np.zeros((n, 2), np.uint64),
        )

    @classmethod
    def of_rankings(cls, games: ArrayLike, n_agents: int) -> "OutcomeBatch":
        """Batch of free-for-all games of k agents without ties. games: ids (n, k), below n_agents, best first."""
        games = _ids("games", games, n_agents)
        if games.ndim != 2 or not 2 <= games.shape[1] <= MAX_SIDES:
            raise InputError("games", games.shape, f"must have 2 to {MAX_SIDES} columns")
        n, k = games.shape
        ordered = np.sort(games, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise InputError("games", games, "must contain each agent at most once per row")
        return cls(
            side_start=np.arange(0, n * k + 1, k, dtype=np.int64),
            place=np.tile(np.arange(1, k + 1, dtype=np.int32), n),
            agent_start=np.arange(n * k + 1, dtype=np.int64),
            agent=np.ascontiguousarray(games, np.int32).ravel(),
            weight=np.full(n, WEIGHT_ONE, np.int64),
            time=np.zeros(n),
            task=np.full(n, NO_TASK, np.int32),
            key=np.zeros((n, 2), np.uint64),
        )

    def numbered(self, first: int = 0) -> "OutcomeBatch":
        """The same outcomes with keys from consecutive numbers, for outcomes without ids. first: number of the first one, 0 to 2**63."""
        first = checks.count("first", first, high=_MOST_NUMBER)
        key = np.zeros((len(self), 2), np.uint64)
        key[:, 0] = np.arange(first + 1, first + len(self) + 1, dtype=np.uint64)
        return replace(self, key=key)

    def slice(self, start: int, stop: int) -> "OutcomeBatch":
        """Outcomes start to stop as a batch of views; only offsets are copied. Raises `InputError` for a range outside the batch."""
        if not 0 <= checks.count("start", start) <= checks.count("stop", stop) <= len(self):
            raise InputError("start, stop", (start, stop), f"must be in order, within 0 to {len(self)}")
        s0, s1 = self.side_start[start], self.side_start[stop]
        a0, a1 = self.agent_start[s0], self.agent_start[s1]
        return OutcomeBatch(
            side_start=self.side_start[start : stop + 1] - s0,
            place=self.place[s0:s1],
            agent_start=self.agent_start[s0 : s1 + 1] - a0,
            agent=self.agent[a0:a1],
            weight=self.weight[start:stop],
            time=self.time[start:stop],
            task=self.task[start:stop],
            key=self.key[start:stop],
        )


@dataclass(frozen=True, slots=True)
class ScoreBatch:
    """n measurements as columns, in fold order.

    start: int64 (n+1,), measurement i has the scores start[i] to start[i+1]; agent: int32 (scores,), roster ids;
    score: float64 (scores,); task: int32 (n,), ids in the task roster; weight: int64 (n,), units of 2**-20; time: float64 (n,).
    """

    start: NDArray[np.int64]
    agent: NDArray[np.int32]
    score: NDArray[np.float64]
    task: NDArray[np.int32]
    weight: NDArray[np.int64]
    time: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def of(cls, measurements: Sequence[Scores], roster: Roster, tasks: Roster) -> "ScoreBatch":
        """Convert `measurements` to columns. New names are added to `roster` and `tasks`."""
        _check_records("measurements", measurements, Scores)
        for argument, names in (("roster", roster), ("tasks", tasks)):
            checks.instance(argument, names, Roster)
        pairs = [pair for measurement in measurements for pair in measurement.scores]
        return cls(
            start=_starts([len(measurement.scores) for measurement in measurements]),
            agent=roster.intern([agent for agent, _ in pairs]),
            score=np.array([score for _, score in pairs], np.float64),
            task=tasks.intern([measurement.task for measurement in measurements]),
            weight=np.array([fixed_weight(measurement.weight) for measurement in measurements], np.int64),
            time=np.array([measurement.time for measurement in measurements], np.float64),
        )


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _check_side(agents: object, place: object) -> None:
    """Check types at run time. Without it, places 1.2 and 1.9 would tie as integers, and the letters of a name would be a team."""
    if isinstance(agents, str):
        raise InputError("agents", agents, "must be a sequence of names, not one name")
    for i, agent in enumerate(checks.sequence("agents", agents)):
        checks.instance(f"agents[{i}]", agent, str)
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or abs(int(place)) > MAX_PLACE:
        raise InputError("place", place, f"must be a whole number within +-{MAX_PLACE}")


def _check_records(argument: str, records: object, kind: type[object]) -> None:
    for i, record in enumerate(checks.sequence(argument, records)):
        checks.instance(f"{argument}[{i}]", record, kind)


def _as_number(argument: str, value: float) -> float:
    """Convert a number to float. Raises `InputError` for other types and for overflow. The caller checks the bounds."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(argument, value, "must be a number")
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(argument, value, "must be a number in the range of a double") from error


def _check_time(time: float) -> None:
    if not math.isfinite(_as_number("time", time)):
        raise InputError("time", time, "must be finite")


def _task_ids(names: Sequence[str | None], tasks: Roster | None) -> NDArray[np.int32]:
    ids = np.full(len(names), NO_TASK, np.int32)
    if tasks is not None and (named := [i for i, name in enumerate(names) if name is not None]):
        ids[named] = tasks.intern([names[i] or "" for i in named])
    return ids


def _ids(argument: str, values: ArrayLike, n_agents: int) -> NDArray[Any]:
    checks.count("n_agents", n_agents, high=checks.MAX_IDS)
    ids = checks.ids(argument, values)
    if ids.size and not (ids.min() >= 0 and ids.max() < n_agents):
        raise InputError(argument, ids, f"must hold ids from 0 to {n_agents - 1}")
    return ids

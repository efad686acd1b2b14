"""A clone attack on the Atari table: first the table, then 20 exact copies of one agent, then 200 exact copies of one task.

Separate pools hold the table with 20 near copies of the task, or of one of the best agents, with noise of several sizes. They show how
the error of a method grows with the noise.

All outcomes are a function of the table, so a restarted demo sends the same outcomes with the same ids.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from ratings_core.formats.score_tables import read_scores
from services.boards.result import SolvedBoard
from services.wire.events import ScoreEvent

POOL: Final = "demo-clones"
LABEL: Final = "simulated copies"
AGENT: Final = "human"
TASK: Final = "pitfall"
NEAR_TO: Final = {"task": TASK, "agent": "muzero"}
"""Kind -> the task or agent of which near copies are made. The agent is one of the best, because copies of a weak agent change little."""
AGENT_COPIES: Final = 20
TASK_COPIES: Final = 200
NEAR_COPIES: Final = 20
NOISES: Final = (1e-4, 1e-3, 1e-2, 1e-1)
"""Standard deviation of the normal noise on every score of a near copy; scores are from 0 to 1."""
NEAR: Final = {what: tuple(f"{POOL}-near-{what}s-{i + 1}" for i in range(len(NOISES))) for what in NEAR_TO}
"""Kind (task or agent) -> pools with its near copies, smallest noise first."""
POOLS: Final = (POOL, *(pool for pools in NEAR.values() for pool in pools))

METHODS: Final[Mapping[str, dict[str, float | str | bool]]] = {
    "bradley_terry": {},
    "uniform": {"players": 3, "merge": False, "missing": "refuse"},
    "maximal_lottery": {},
    "iterated_maximal_lotteries": {},
    "nash_average": {"missing": "refuse"},
    "deviation": {"players": 2, "missing": "refuse"},
}
"""Methods that are compared on near copies, with their parameters."""
ALL_METHODS: Final[Mapping[str, dict[str, float | str | bool]]] = {
    **METHODS,
    **{name: {"missing": "refuse"} for name in ("nash_average_agents", "cce", "lle")},
}
"""Methods that are compared on exact copies, including all methods whose ratings must not change when agents are copied."""


class Wave(NamedTuple):
    """Outcomes that are sent together.

    Attributes:
        name: Name for people.
        events: The outcomes.
        outcomes: Number of outcomes in the pool when the wave is counted.
        pool: Pool that gets the outcomes.
        noise: Standard deviation of the noise of near copies; None for exact copies.
        copied: Kind of near copies: `task` or `agent`; empty for exact copies.
    """

    name: str
    events: Sequence[ScoreEvent]
    outcomes: int
    pool: str = POOL
    noise: float | None = None
    copied: str = ""


class Moved(msgspec.Struct, frozen=True):
    """Change of a method's ratings of the agents without copies, compared with the board of the table alone.

    Attributes:
        method: Name of the method.
        share: Largest change, as a fraction of the spread of ratings before.
        ranks: Number of places, in the order of these agents, that hold another agent than before.
    """

    method: str
    share: float
    ranks: int


class Report(msgspec.Struct, frozen=True):
    """Effect of one wave on the boards. noise, copied: as in `Wave`."""

    wave: str
    moved: list[Moved]
    noise: float | None = None
    copied: str = ""


Standing: TypeAlias = Sequence[tuple[str, float]]
"""The rated agents of a board and their ratings, best first."""


def methods_of(pool: str) -> Mapping[str, dict[str, float | str | bool]]:
    """Method -> parameters, for the methods that solve a pool of the demo."""
    return ALL_METHODS if pool == POOL else METHODS


def waves(table: str, time: float) -> list[Wave]:
    """The waves of the table and of exact copies. table: Text of a score table (CSV). time: Time of all outcomes, seconds since 1970."""
    scores = _scores(table)
    copies = [f"{AGENT} (copy {i + 1})" for i in range(AGENT_COPIES)]
    all_scores = scores[TASK] | dict.fromkeys(copies, scores[TASK][AGENT])
    first = [_event("table", task, measured, time) for task, measured in scores.items()]
    agents = [_event("agents", task, dict.fromkeys(copies, measured[AGENT]), time) for task, measured in scores.items()]
    tasks = [_event("tasks", f"{TASK} (copy {i + 1})", all_scores, time) for i in range(TASK_COPIES)]
    return [
        Wave("the table", first, len(first)),
        Wave(f"{AGENT_COPIES} copies of the agent {AGENT}", agents, len(first) + len(agents)),
        Wave(f"{TASK_COPIES} copies of the task {TASK}", tasks, len(first) + len(agents) + len(tasks)),
    ]


def near(table: str, time: float) -> list[Wave]:
    """The waves of near copies of the task, then of the agent, smallest noise first. Arguments as in `waves`."""
    scores = _scores(table)
    wanted = [(what, pool, noise) for what, pools in NEAR.items() for pool, noise in zip(pools, NOISES, strict=True)]
    return [_near(scores, what, pool, noise, time) for what, pool, noise in wanted]


def _scores(table: str) -> dict[str, dict[str, float]]:
    """Task -> agent -> score."""
    read = read_scores(table)
    return {task: dict(zip(read.agents, column, strict=True)) for task, column in zip(read.tasks, read.scores.T.tolist(), strict=True)}


def _near(scores: Mapping[str, Mapping[str, float]], what: str, pool: str, noise: float, time: float) -> Wave:
    draw = random.Random(f"equirank {pool}")  # noqa: S311 - a simulation, not a secret
    whom = NEAR_TO[what]
    names = [f"{whom} (near {i + 1})" for i in range(NEAR_COPIES)]
    if what == "task":
        table = {**scores, **{name: {agent: _noisy(score, noise, draw) for agent, score in scores[whom].items()} for name in names}}
    else:
        table = {task: {**row, **{name: _noisy(row[whom], noise, draw) for name in names}} for task, row in scores.items()}
    events = [_event("near", task, measured, time, pool) for task, measured in table.items()]
    return Wave(f"{NEAR_COPIES} copies of the {what} {whom} with noise of {noise:g}", events, len(events), pool, noise, what)


def _noisy(score: float, noise: float, draw: random.Random) -> float:
    return score + noise * draw.gauss(0.0, 1.0)


def standing(board: SolvedBoard) -> Standing:
    """The rated agents of a board."""
    return [(row.agent, row.rating) for row in board.result.agents if row.rating is not None]


def moved(method: str, before: Standing, after: Standing) -> Moved:
    """The change of the agents without copies that are on both boards."""
    old, new = dict(before), dict(after)
    agents = old.keys() & new.keys() - {AGENT, NEAR_TO["agent"]}
    spread = max(old.values()) - min(old.values())
    share = max(abs(new[agent] - old[agent]) for agent in agents) / (spread or 1.0)
    orders = [[agent for agent, _ in board if agent in agents] for board in (before, after)]
    return Moved(method, share, sum(agent_before != agent_after for agent_before, agent_after in zip(*orders, strict=True)))


def _event(wave: str, task: str, scores: Mapping[str, float], time: float, pool: str = POOL) -> ScoreEvent:
    return ScoreEvent(v=1, id=f"{pool}/{wave}/{task}", pool=pool, time=time, task=task, scores=dict(scores))

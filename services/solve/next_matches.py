"""Recommendation of the next games or measurements of a pool, computed on request from its newest checkpoint.

The API and `equirank next` use it.
"""

import time
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from ratings_core.analysis.next_cells import next_cells
from ratings_core.analysis.next_matches import Loss, all_ratings, next_matches, one_rating, top
from ratings_core.errors import InputError, SolverError
from ratings_core.methods import registry
from ratings_core.problems.inputs import GamesInput, ScoresInput
from ratings_core.solution import Floats
from ratings_core.tallies import ScoreTable
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.details_records import PoolDetails
from services.solve.kept_answers import KeptAnswers
from services.solve.problems.checkpointed import problem
from services.solve.problems.serving import arrays_of, serving_entry
from services.state.parts import part
from services.wire.pools import Kind

MOST_AGENTS: Final = 400
_SOLVE_SECONDS: Final = 30.0
"""Time limit in seconds for the solve of one request: its caller waits for it, and so do later requests."""
TARGETS: Final = "must be top:K, agent:NAME or all (of games), or deviation:NAME (of scores)"


class NextMatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recommended game or measurement.

    Attributes:
        agents: The two agents of a game, or the agent to measure.
        rate: Probability that the next game or measurement is this one.
        task: Task on which to measure the agent; absent for games.
    """

    agents: list[str]
    rate: float
    task: str | None = None


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """Recommended sampling rates of the next games or measurements. They reduce the uncertainty of the target fastest.

    Attributes:
        pool: Name of the pool.
        target: Whose uncertainty is to be reduced, as requested.
        games: Number of games or measurements to plan.
        floor: Share of them that is drawn evenly from all pairs or cells.
        position: Log offset up to which outcomes were counted.
        not_applicable: Why there is no recommendation; all further fields then have their defaults. None if there is one.
        matches: The games or measurements with the highest rates.
        others: Number of pairs or cells that are not listed.
        other_rate: Mean rate of a pair or cell that is not listed. All rates sum to 1.
        unit: Unit of the uncertainties `before`, `after` and `uniform`.
        before: Uncertainty now.
        after: Expected uncertainty after `games` games or measurements at these rates.
        uniform: Expected uncertainty after as many, drawn evenly.
        gap: Upper bound of what better rates could still gain, as a share of `before` - `after`.
        agents: Number of agents in the computation.
        left_out: Number of less active agents left out of the computation.
        assumes: Assumption of the computation.
        seconds: Duration of the computation.
        slice: Slice whose outcomes alone were counted, such as `language:English`. Absent for all outcomes.
        hidden_agents: Number of hidden agents whose games or measurements would be listed, and are not.
        display_names: Agent -> its display name, for the agents that are listed. Absent if none of them has one.
    """

    pool: str
    target: str
    games: int
    floor: float
    position: int
    not_applicable: str | None = None
    matches: list[NextMatch] = []
    others: int = 0
    other_rate: float = 0.0
    unit: str = ""
    before: float | None = None
    after: float | None = None
    uniform: float | None = None
    gap: float | None = None
    agents: int = 0
    left_out: int = 0
    assumes: str = ""
    seconds: float = 0.0
    slice: str | msgspec.UnsetType = msgspec.UNSET
    hidden_agents: int = 0
    display_names: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


Plans: TypeAlias = KeptAnswers[dict[str, Any]]
"""Fields of recommendations, by what they were computed from."""
_ONLY_TEAMS: Final = f"{registry.NO_PAIRS}, and no game of teams is recommended"
_NO_AGENT: Final = "must name an agent of the pool"
PLANS_KEPT: Final = 256
"""Number of recommendations that a process keeps."""


def plan(
    files: CheckpointStore, head: PoolHead, target: str, games: int, floor: float, count: int = 10, plans: Plans | None = None,
    part: str = "",
) -> Next:  # fmt: skip
    """Recommend the next games or measurements of a pool, or of a slice.

    Args:
        files: The checkpoints.
        head: Head of the pool; it names the partition and the generation whose checkpoint is read.
        target: `top:K`, `agent:NAME` or `all` (games), or `deviation:NAME` (scores).
        games: Number of games or measurements to plan.
        floor: Share of the games that is drawn evenly from all pairs or cells.
        count: Largest number of pairs or cells listed.
        plans: Keeps recommendations by position; None computes each time.
        part: Slice of the pool, such as `language:English`, whose outcomes alone are counted; empty for all outcomes.

    Returns:
        The recommendation. If the target does not apply to the pool, only the request's own fields and `not_applicable` are set.

    Raises:
        InputError: The target or its agent is unknown.
        NoCheckpoint: The serving generation has no checkpoint yet, or it cannot be read now.
    """
    what, _, whom = target.partition(":")
    if what not in ("top", "agent", "all", "deviation") or bool(whom) != (what != "all"):
        raise InputError("target", target, TARGETS)
    entry = serving_entry(files, head, part)
    key = (entry.pool, entry.generation, entry.position, entry.digest, target, games, floor, count)
    common: dict[str, Any] = {"pool": entry.pool, "target": target, "games": games, "floor": floor, "position": entry.position}
    common["slice"] = part or msgspec.UNSET
    try:
        recommended = (plans or Plans(1)).get(key, partial(_recommendation, files, entry, target, games, floor, count))
    except registry.NotApplicable as error:  # not kept: a solve that took too long may be faster the next time
        return Next(**common, not_applicable=error.rule)
    return Next(**common, **recommended)


def _recommendation(files: CheckpointStore, entry: PoolEntry, target: str, games: int, floor: float, count: int) -> dict[str, Any]:
    """Fields of a recommendation. Raises `NotApplicable` if the target does not apply to the pool."""
    begun, (what, _, whom) = time.perf_counter(), target.partition(":")
    arrays = arrays_of(files, entry)
    given = problem(Kind(entry.kind), arrays)
    if isinstance(given, GamesInput):
        if entry.outcomes and not len(given.counts):
            raise registry.NotApplicable("target", what, _ONLY_TEAMS)
        recommended = _pairs(given.by_name(), what, whom, games, floor, count)
    else:
        recommended = _cells(given, ScoreTable.from_arrays(part(arrays, "scores")), what, whom, games, floor, count)
    return {**recommended, "seconds": time.perf_counter() - begun}


def _pairs(given: GamesInput, what: str, whom: str, games: int, floor: float, count: int) -> dict[str, Any]:
    if what == "deviation":
        raise registry.NotApplicable("target", what, "needs a pool of scores, which has cells to measure; for games: agent:NAME or top:K")
    if len(given.names) < 2:
        raise registry.NotApplicable("target", what, "needs two agents at least")
    kept = np.argsort(-given.activity, kind="stable")[:MOST_AGENTS]
    if what == "agent":
        agent = _id(given.names, whom)
        kept = kept if agent in kept else np.append(kept[: MOST_AGENTS - 1], agent)
    taken = given.take(np.sort(kept))
    recommended = next_matches(taken.counts, len(taken.names), _loss(taken, what, whom), games=games, floor=floor)
    pairs = [[taken.names[a], taken.names[b]] for a, b in zip(recommended.first.tolist(), recommended.second.tolist(), strict=True)]
    listed = np.argsort(-recommended.rate, kind="stable")[:count]
    return {
        **_listed([NextMatch(agents=pairs[i], rate=float(recommended.rate[i])) for i in listed.tolist()], len(pairs)),
        "unit": "expected pairs on the wrong side of the edge" if what == "top" else "variance, squared logits",
        "before": recommended.before,
        "after": recommended.after,
        "uniform": recommended.uniform,
        "gap": recommended.certificate.value,
        "agents": len(taken.names),
        "left_out": len(given.names) - len(taken.names),
        "assumes": "the Bradley-Terry model, with half a tied game of each agent as prior",
    }


def _loss(taken: GamesInput, what: str, whom: str) -> Loss:
    if what == "all":
        return all_ratings()
    if what == "agent":
        return one_rating(_id(taken.names, whom))
    if not (whom.isascii() and whom.isdigit() and 1 <= int(whom) < len(taken.names)):
        raise InputError("target", f"top:{whom}", f"must be top:K with K from 1 to {len(taken.names) - 1}")
    return top(int(whom))


def _cells(given: ScoresInput, table: ScoreTable, what: str, whom: str, games: int, floor: float, count: int) -> dict[str, Any]:
    if what != "deviation":
        raise registry.NotApplicable("target", what, "needs a pool of games, which has pairs to match; for scores: deviation:NAME")
    known, spread, assumes = _measured(given, table)
    recommended = next_cells(_sensitivity(given, _id(given.names, whom)), spread, known, measurements=games, floor=floor)
    listed = [divmod(cell, len(given.tasks)) for cell in np.argsort(-recommended.rate, axis=None, kind="stable")[:count].tolist()]
    rows = [NextMatch(agents=[given.names[a]], task=given.tasks[t], rate=float(recommended.rate[a, t])) for a, t in listed]
    return {
        **_listed(rows, recommended.rate.size),
        "unit": "variance, squared scores",
        "before": recommended.before,
        "after": recommended.after,
        "uniform": recommended.uniform,
        "gap": 0.0,
        "agents": len(given.names),
        "assumes": f"the equilibrium stays as it is; {assumes}",
    }


def _sensitivity(given: ScoresInput, agent: int) -> Floats:
    """Derivative of the agent's deviation rating with respect to each mean score, float64 (agents, tasks); the equilibrium is held fixed.

    The rating is the gain of always playing this agent. Each joint (a, t) of probability p adds p to the agent's cell of task t and
    subtracts p from cell (a, t).
    Raises `NotApplicable` if a cell is not measured, or if the solve does not end within its time limit.
    """
    if lacking := int(np.isnan(given.scores).sum()):
        raise registry.NotApplicable("target", "deviation", f"needs every agent measured on every task; {lacking} cells are not measured")
    taken = registry.taken("deviation", given, {"players": 2, "merge": False})
    try:
        rated = taken._replace(values={**taken.values, "max_seconds": _SOLVE_SECONDS}).rated()
    except SolverError as error:
        raise registry.NotApplicable("target", "deviation", f"needs certain ratings within {_SOLVE_SECONDS:g} s: {error}") from error
    agents, tasks = ({name: i for i, name in enumerate(names)} for names in (given.names, given.tasks))
    moved = np.zeros(given.scores.shape)
    for row in rated.extra["equilibrium"]:  # type: ignore[attr-defined]  # as `ratings_core.methods.games` makes it
        (a, t), share = row["joint"], row["probability"]
        moved[agents[a], tasks[t]] -= share
        moved[agent, tasks[t]] += share
    return moved


def _measured(given: ScoresInput, table: ScoreTable) -> tuple[Floats, Floats, str]:
    """Weight of the measurements of each cell, the variance of one measurement in it, and the assumption behind the variance.

    The variance is estimated for each task, pooled over agents that were measured there at least twice. Tasks without such an agent get
    the variance pooled over all tasks; it is 1 if nothing was measured twice. Arrays are float64 (agents, tasks).
    """
    cells = table.cells()
    count, within = np.zeros(given.scores.shape), np.zeros(given.scores.shape)
    count[cells.agent, cells.task] = cells.weight
    within[cells.agent, cells.task] = np.maximum(cells.squares - cells.total**2 / cells.weight, 0.0)
    free = np.maximum(count - 1, 0).sum(axis=0)
    if not free.any():
        return count, np.ones(count.shape), "scores scatter alike in all cells, as none was measured twice"
    known = np.divide(within.sum(axis=0), free, out=np.full(len(free), within.sum() / free.sum()), where=free > 0)
    return count, np.tile(known, (len(count), 1)), "scores of a task scatter alike for all agents"


def _id(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise InputError("target", name, _NO_AGENT)
    return names.index(name)


def _listed(rows: list[NextMatch], candidates: int) -> dict[str, Any]:
    """The listed rows, and the mean rate of the candidates that are not listed."""
    others = candidates - len(rows)
    left = max(0.0, 1.0 - sum(row.rate for row in rows))
    return {"matches": rows, "others": others, "other_rate": left / others if others else 0.0}


def check_visible_target(target: str, details: PoolDetails) -> None:
    """Refuse a target that names a hidden agent as one that names no agent. Raises `InputError`."""
    what, _, whom = target.partition(":")
    if what in ("agent", "deviation") and details.is_hidden(whom):
        raise InputError("target", whom, _NO_AGENT)


def visible_next(recommended: Next, details: PoolDetails) -> Next:
    """A recommendation that lists no game or measurement of a hidden agent, with the display names of the agents that it lists."""
    left_out = {agent for row in recommended.matches for agent in row.agents if details.is_hidden(agent)}
    rows = [row for row in recommended.matches if left_out.isdisjoint(row.agents)]
    candidates = recommended.others + len(recommended.matches)
    return msgspec.structs.replace(
        recommended,
        **_listed(rows, candidates),
        hidden_agents=len(left_out),
        display_names=details.display_names(agent for row in rows for agent in row.agents) or msgspec.UNSET,
    )

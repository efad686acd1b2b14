"""Comparisons of every two agents on every task, and games made of them: king of the hill, agent against agent on a task, agent against
task.

A preference u(t, a, b) is the lead of agent a over agent b on task t: wins minus losses over games, in -1..1, or a difference of scores.
Pairs that were not compared on a task have no preference; the argument `missing` names the policy for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.clones import CloneClasses, clone_classes, singletons
from ratings_core.games.duel_clones import duel_classes
from ratings_core.games.duel_noise import denoised
from ratings_core.games.duel_prior import kappa_by_held_out, predicted
from ratings_core.games.gamified import GameT, Gamified, Mask, Side
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import LARGEST, NormalForm, names_or_numbers
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import MOST_DENSE, PairCounts

Compare: TypeAlias = Literal["wins", "differences"]
Uncompared: TypeAlias = Literal["refuse", "drop_tasks", "drop_agents", "prior", "zero"]
Difference: TypeAlias = Literal["observed", "denoised"]
Kappa: TypeAlias = float | Literal["held-out"]


@dataclass(frozen=True, slots=True)
class Duels:
    """Comparisons of every two agents on every task.

    ahead: float64 (tasks, n, n), antisymmetric in the agents: weight of wins minus weight of losses, or differences of scores; games:
    float64 (tasks, n, n), symmetric: weight of the comparisons, 0 for none; compare: whether ahead holds wins or differences; decided: for
    wins, (tasks, n, n), the weight of games that were not ties, or None if it is not known.
    """

    ahead: Floats
    games: Floats
    compare: Compare
    decided: Floats | None = None

    @classmethod
    def of_counts(cls, counts: Sequence[PairCounts], agents: int) -> "Duels":
        """Build duels from the pair counts of each task, such as `PairTally.counts(task=t)`. agents: number of agents.

        Raises `InputError`.
        """
        given = checks.sequence("counts", counts)
        if not len(given):
            raise InputError("counts", 0, "must contain at least one task")
        agents = checks.count("agents", agents, low=1, high=MOST_DENSE)
        ahead, games, decided = np.zeros((3, len(given), agents, agents))
        for task, one in enumerate(given):
            wins, ties = checks.instance(f"counts[{task}]", one, PairCounts).dense(agents)
            ahead[task], games[task], decided[task] = wins - wins.T, wins + wins.T + ties, wins + wins.T
        return cls(ahead, games, "wins", decided)

    @classmethod
    def of_scores(cls, scores: ArrayLike, compare: Compare = "wins") -> "Duels":
        """Build duels from a table (agents, tasks), NaN where not measured. On each task, the higher score wins or leads by the difference.

        Raises `InputError`.
        """
        given = checks.real("scores", scores)
        if given.ndim != 2 or not given.size:
            raise InputError("scores", given.shape, "must be a matrix of agents x tasks with at least one of each")
        if (beyond := np.argwhere(np.abs(given) > LARGEST)).size:
            agent, task = (int(i) for i in beyond[0])
            rule = f"must be within +-{LARGEST:g}, or NaN where not measured"
            raise InputError(f"scores[{agent}, {task}]", given[agent, task].item(), rule)
        checks.choice("compare", compare, get_args(Compare))
        ahead = given.T[:, :, None] - given.T[:, None, :]
        games = np.asarray(~np.isnan(ahead), np.float64)
        known = np.nan_to_num(ahead, nan=0.0)
        return cls(np.sign(known) if compare == "wins" else known, games, compare)

    def pooled(self, group: ArrayLike) -> "Duels":
        """Add up tasks by group. group: (tasks,), the number of each task's group, 0 to the number of groups - 1.

        After a single vote, |u| is 1 for every pair, so tasks with few votes should be pooled or denoised (`duel_on_task`). Raises
        `InputError`.
        """
        ids = checks.integers("group", group)
        if ids.shape != (len(self.ahead),) or not np.array_equal(np.unique(ids), np.arange(len(np.unique(ids)))):
            raise InputError("group", group, f"must contain a number for each of {len(self.ahead)} tasks, counted from 0 without gaps")
        parts = _parts(self)
        pooled = np.zeros((len(parts), int(ids.max()) + 1, *self.ahead.shape[1:]))
        for total, part in zip(pooled, parts, strict=True):
            np.add.at(total, ids, part)
        return Duels(pooled[0], pooled[1], self.compare, None if self.decided is None else pooled[2])

    def part(self, tasks: NDArray[np.int64], agents: NDArray[np.int64]) -> "Duels":
        """The duels of some tasks and agents, in the order given."""
        chosen = np.ix_(tasks, agents, agents)
        return Duels(self.ahead[chosen], self.games[chosen], self.compare, None if self.decided is None else self.decided[chosen])

    @property
    def known(self) -> Mask:
        """Bool (tasks, n, n): True for pairs compared on the task, and for an agent with itself."""
        return (self.games > 0) | np.eye(self.games.shape[1], dtype=bool)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Preferences u of the agents and tasks that are kept.

    ahead: u, float64 (tasks, n, n), antisymmetric; imputed: share of the off-diagonal cells without a comparison; kappa: number of games
    that the prior counts for, 0 without a prior.
    """

    ahead: Floats
    agent_side: Side
    task_side: Side
    missing: str
    imputed: float
    kappa: float

    def gamified(self, game: GameT) -> Gamified[GameT]:
        """`game` with the sides and the policy of these preferences."""
        return Gamified(game, self.agent_side, self.task_side, "none", self.missing, self.imputed, self.kappa)


def preferences(
    duels: Duels,
    *,
    missing: Uncompared = "refuse",
    kappa: Kappa | None = None,
    merge: bool = True,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Preferences:
    """Preferences u(t, a, b) of the duels, with a policy for pairs that were not compared on a task.

    missing: ``refuse`` raises an error for such pairs; ``drop_tasks`` drops tasks with such a pair; ``drop_agents`` repeatedly drops the
    agent with the most such pairs (the last one among equals) until none is left; ``zero`` sets u = 0; ``prior`` sets u = (ahead + kappa
    (2q - 1)) / (games + kappa) for every pair, with q from a Bradley-Terry fit, see `games.duel_prior`. kappa: number of games that the
    prediction counts for, > 0, or ``held-out``, which chooses from `duel_prior.KAPPAS` by held-out games and needs whole games; required by
    ``prior`` and refused otherwise. merge: merge agents that have equal results against all others on every task and tied with each other,
    and tasks with equal results. agents, tasks: names for errors, by default numbers. Raises `InputError`, and `SolverError` if the fit
    does not converge.
    """
    return _prepared(replace(checks.instance("duels", duels, Duels), decided=None), missing, kappa, merge, agents, tasks)[0]


def _prepared(
    duels: Duels, missing: str, kappa: Kappa | None, merge: bool, agent_names: Sequence[str] | None, task_names: Sequence[str] | None
) -> tuple[Preferences, Duels]:
    """The preferences, and the duels that they were computed from."""
    checks.instance("duels", duels, Duels)
    checks.choice("missing", missing, get_args(Uncompared))
    checks.switch("merge", merge)
    given = _kappa(kappa, missing, duels.compare)
    rows, columns = _classes(duels, merge)
    small = duels.part(columns.first, rows.first)
    shown = _shown_names(duels, rows, columns, agent_names, task_names)
    if missing == "refuse":
        _check_compared(small, *shown)
    agents, tasks = _kept(small, missing)
    left = small.part(np.flatnonzero(tasks), np.flatnonzero(agents))
    sides = Side.of(rows, agents, agents), Side.of(columns, tasks, tasks)
    weight = kappa_by_held_out(left.ahead, left.games) if given == "held-out" else given
    others = ~np.eye(int(agents.sum()), dtype=bool)
    imputed = float((~left.known)[:, others].mean()) if others.any() else 0.0
    return Preferences(_measured(left, weight), *sides, missing, imputed, weight), left


def duel_for_the_hill(
    duels: Duels,
    *,
    missing: Uncompared = "refuse",
    kappa: Kappa | None = None,
    merge: bool = True,
    penalty: float = 1.0,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[KingOfTheHill]:
    """The game of a prompt, a king and a rebel (Liu et al. 2025, sec. 3.1) on the `preferences` of the other arguments.

    penalty: loss of the rebel if it plays the king's model; agents, tasks: names, by default numbers. Raises `InputError`.
    """
    u = preferences(duels, missing=missing, kappa=kappa, merge=merge, agents=agents, tasks=tasks)
    rows, columns = _names(u, agents, tasks)
    return u.gamified(KingOfTheHill.of(u.ahead, penalty=penalty, prompts=columns, models=rows))


def duel_on_task(
    duels: Duels,
    *,
    missing: Uncompared = "refuse",
    kappa: Kappa | None = None,
    merge: bool = True,
    difference: Difference = "observed",
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[NormalForm]:
    """Agent against agent on a task (Marris et al., sec. 5.2): u, -u and |u|, stored. Arguments as for `duel_for_the_hill`.

    difference: the task player's payoff: ``observed`` |u|, which is too large after few games, or ``denoised``, corrected for chance
    (`games.duel_noise`). ``denoised`` needs wins and losses of weight 1, because it would treat a vote of weight 4 as four votes. With
    ``denoised``, agents or tasks with different numbers of ties are not merged.
    """
    free = checks.choice("difference", difference, get_args(Difference)) == "denoised"
    if free and checks.instance("duels", duels, Duels).compare != "wins":
        raise InputError("difference", difference, "needs wins and losses, because the variance of score differences is unknown")
    if free and (duels.games != np.floor(duels.games)).any():
        raise InputError("difference", difference, "needs games of weight 1, because the variance for other weights is unknown")
    given = duels if free else replace(checks.instance("duels", duels, Duels), decided=None)
    u, left = _prepared(given, missing, kappa, merge, agents, tasks)
    rows, columns = _names(u, agents, tasks)
    ahead = np.moveaxis(u.ahead, 0, -1)
    distance = np.abs(ahead)
    if free:
        distance = np.moveaxis(denoised(u.ahead, left.games, left.games if left.decided is None else left.decided, u.kappa), 0, -1)
    return u.gamified(NormalForm.of((ahead, -ahead, distance), (rows, rows, columns), ("agent", "opponent", "task")))


def duelist_vs_task(
    duels: Duels,
    *,
    missing: Uncompared = "refuse",
    kappa: Kappa | None = None,
    merge: bool = True,
    agents: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> Gamified[NormalForm]:
    """Agent against task: the agent gets its mean u over the other agents, and the task loses it. Arguments as for `duel_for_the_hill`.

    If duplicates are merged, the mean is over classes. Raises `InputError` if fewer than two agents are left.
    """
    u = preferences(duels, missing=missing, kappa=kappa, merge=merge, agents=agents, tasks=tasks)
    n = u.ahead.shape[1]
    if n < 2:
        raise InputError("duels", n, "must leave at least two different agents")
    score = u.ahead.sum(axis=2).T / (n - 1)
    return u.gamified(NormalForm.of((score, -score), _names(u, agents, tasks), ("agent", "task")))


def _names(u: Preferences, agents: Sequence[str] | None, tasks: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rows = names_or_numbers("agents", agents, len(u.agent_side.at))
    columns = names_or_numbers("tasks", tasks, len(u.task_side.at))
    return u.agent_side.named(rows), u.task_side.named(columns)


def _kappa(kappa: Kappa | None, missing: str, compare: str) -> Kappa:
    if missing != "prior":
        if kappa is not None:
            raise InputError("kappa", kappa, "must be left out unless missing='prior'")
        return 0.0
    if compare != "wins":
        raise InputError("missing", missing, "needs wins and losses, because score differences have no such prior")
    if kappa is None:
        raise InputError("kappa", kappa, "must be given with missing='prior': the number of games that the prediction counts as")
    return "held-out" if isinstance(kappa, str) and kappa == "held-out" else checks.number("kappa", kappa, above=0.0)


def _classes(duels: Duels, merge: bool) -> tuple[CloneClasses, CloneClasses]:
    """Classes of equal agents and of equal tasks."""
    tasks, n = duels.ahead.shape[:2]
    if not merge:
        return singletons(n), singletons(tasks)
    results = np.hstack([part.reshape(tasks, -1) for part in _parts(duels)])
    columns = clone_classes(results)
    return duel_classes([part[columns.first] for part in _parts(duels)]), columns


def _parts(duels: Duels) -> list[Floats]:
    return [part for part in (duels.ahead, duels.games, duels.decided) if part is not None]


def _shown_names(
    duels: Duels, rows: CloneClasses, columns: CloneClasses, agents: Sequence[str] | None, tasks: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Names of the first agent and the first task of each class."""
    count, n = duels.ahead.shape[:2]
    all_agents, all_tasks = names_or_numbers("agents", agents, n), names_or_numbers("tasks", tasks, count)
    return [all_agents[i] for i in rows.first.tolist()], [all_tasks[i] for i in columns.first.tolist()]


def _check_compared(duels: Duels, agents: Sequence[str], tasks: Sequence[str]) -> None:
    """Raise `InputError` if a pair was not compared, with the number of such pairs, the first pair and the other policies."""
    unknown = ~duels.known
    if unknown.any():
        task, a, b = (int(i) for i in np.argwhere(unknown)[0])
        several = len(tasks) > 1
        where, policies = (f" on {tasks[task]}", "drop_tasks, drop_agents") if several else ("", "drop_agents")
        pairs = f"{int(unknown.sum()) // 2} pairs were not compared, the first {agents[a]} and {agents[b]}{where}"
        raise InputError("missing", "refuse", f"must be {policies}, prior or zero: {pairs}")


def _kept(duels: Duels, missing: str) -> tuple[Mask, Mask]:
    """Masks of the agents and tasks that the policy keeps."""
    unknown = ~duels.known
    agents, tasks = np.ones(unknown.shape[1], bool), np.ones(len(unknown), bool)
    if missing == "drop_tasks":
        tasks = np.asarray(~unknown.any(axis=(1, 2)), bool)
        if not tasks.any():
            raise InputError("missing", missing, "must leave at least one task; no task compares every two agents")
    if missing == "drop_agents":
        gaps = unknown.sum(axis=0)
        while (open_ := gaps[np.ix_(agents, agents)].sum(axis=1)).any():
            worst = np.flatnonzero(open_ == open_.max())[-1]
            agents[np.flatnonzero(agents)[worst]] = False
    return agents, tasks


def _measured(duels: Duels, kappa: float) -> Floats:
    if not kappa:
        per_game = duels.games if duels.compare == "wins" else np.ones_like(duels.games)
        return np.divide(duels.ahead, per_game, out=np.zeros_like(duels.ahead), where=duels.games > 0)
    u = (duels.ahead + kappa * (2 * predicted(duels.ahead, duels.games) - 1)) / (duels.games + kappa)
    return np.asarray((u - np.swapaxes(u, 1, 2)) / 2, np.float64)  # antisymmetric to the last bit

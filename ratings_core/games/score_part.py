"""Turns a score table with missing cells into the complete, normalised table of a game.

The steps are: merge duplicates, drop agents or tasks, normalise scores, fill in missing cells. Duplicates are merged first, because all
other steps depend on the number of copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.clones import clone_classes, singletons
from ratings_core.games.gamified import GameT, Gamified, Mask, Side
from ratings_core.games.normal_form import LARGEST, Names, names_or_numbers
from ratings_core.games.normalise import normalised
from ratings_core.solution import Floats

Missing: TypeAlias = Literal["refuse", "drop_tasks", "drop_agents", "prior", "zero"]
_FIT: Final = 1e-13
"""Relative tolerance of the additive fit."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """The part of a score table that a game is made of.

    scores: complete and normalised, (agents, tasks) of the sides; imputed: share of its cells that were filled in.
    """

    scores: Floats
    agent_side: Side
    task_side: Side
    normalise: str
    missing: str
    imputed: float

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        normalise: str,
        missing: str,
        merge: bool,
        agents: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> "ScorePart":
        """The part of `scores` (agents, tasks), NaN where not measured, that the policy `missing` keeps.

        missing: ``refuse`` raises an error for NaN; ``drop_tasks`` and ``drop_agents`` drop every task or agent with a NaN; ``prior`` fills
        in the agent's skill minus the task's difficulty, by least squares over the measured cells (Balduzzi et al. 2018, sec. 3.3);
        ``zero`` fills in 0. Cells are filled in after normalising. merge: merge equal rows and equal columns; agents, tasks: names for
        errors, by default numbers. Raises `InputError`.
        """
        given = _matrix(scores)
        checks.switch("merge", merge)
        _check_policy(given, missing, agents, tasks)
        rows, columns = (clone_classes(side) if merge else singletons(len(side)) for side in (given, given.T))
        small = given[np.ix_(rows.first, columns.first)]
        kept, measured = _kept(small, missing)
        normal, defined = normalised(small[np.ix_(kept, measured)], normalise)
        used = measured.copy()
        used[measured] = defined
        sides = Side.of(rows, kept, kept), Side.of(columns, measured, used)
        return cls(_filled(normal, missing), *sides, normalise, missing, float(np.isnan(normal).mean()))

    def names(self, agents: Sequence[str] | None, tasks: Sequence[str] | None) -> tuple[Names, Names]:
        """Names of the game's agents and tasks, selected from the data's names."""
        rows = names_or_numbers("agents", agents, len(self.agent_side.at))
        columns = names_or_numbers("tasks", tasks, len(self.task_side.at))
        return self.agent_side.named(rows), self.task_side.named(columns)

    def gamified(self, game: GameT) -> Gamified[GameT]:
        """`game` with the sides and policies of this part."""
        return Gamified(game, self.agent_side, self.task_side, self.normalise, self.missing, self.imputed)


def _matrix(scores: ArrayLike) -> Floats:
    given = checks.real("scores", scores)
    if given.ndim != 2 or not given.size:
        raise InputError("scores", given.shape, "must be a matrix of agents x tasks with at least one of each")
    if (beyond := np.argwhere(np.abs(given) > LARGEST)).size:
        agent, task = (int(i) for i in beyond[0])
        raise InputError(f"scores[{agent}, {task}]", given[agent, task].item(), f"must be within +-{LARGEST:g}, or NaN where not measured")
    return given


def _check_policy(scores: Floats, missing: str, agents: Sequence[str] | None, tasks: Sequence[str] | None) -> None:
    checks.choice("missing", missing, get_args(Missing))
    absent = np.isnan(scores)
    if absent.any() and missing == "refuse":
        agent, task = (int(i) for i in np.argwhere(absent)[0])
        rows, columns = names_or_numbers("agents", agents, len(scores)), names_or_numbers("tasks", tasks, scores.shape[1])
        cell = f"agent {rows[agent]} on task {columns[task]}; {int(absent.sum())} such cells"
        rule = f"must be measured ({cell}), or pass missing='drop_tasks', 'drop_agents', 'prior' or 'zero'"
        raise InputError(f"scores[{agent}, {task}]", np.nan, rule)
    if missing in ("prior", "zero"):
        for empty, place in ((absent.all(axis=1), "scores[{}]"), (absent.all(axis=0), "scores[:, {}]")):
            if empty.any():
                raise InputError(place.format(int(np.argmax(empty))), np.nan, "must have a measured cell, to fill the others")


def _kept(scores: Floats, missing: str) -> tuple[Mask, Mask]:
    """Masks of the agents and tasks that the policy keeps."""
    absent = np.isnan(scores)
    agents = ~absent.any(axis=1) if missing == "drop_agents" else np.ones(len(scores), bool)
    tasks = ~absent.any(axis=0) if missing == "drop_tasks" else np.ones(scores.shape[1], bool)
    if not (agents.any() and tasks.any()):
        other = "drop_agents" if missing == "drop_tasks" else "drop_tasks"
        raise InputError(
            "missing", missing, f"must leave agents and tasks, but each one has a NaN; use {other!r}, or fewer agents or tasks"
        )
    return np.asarray(agents, bool), np.asarray(tasks, bool)


def _filled(scores: Floats, missing: str) -> Floats:
    absent = np.isnan(scores)
    if not absent.any():
        return scores
    return np.where(absent, _additive(scores, absent) if missing == "prior" else 0.0, scores)


def _additive(scores: Floats, absent: Mask) -> Floats:
    """Skill of the row minus difficulty of the column, fitted by least squares, (agents, tasks)."""
    n, t = scores.shape
    row, column = np.nonzero(~absent)
    if (
        scipy.sparse.csgraph.connected_components(
            scipy.sparse.coo_array((np.ones(len(row)), (row, n + column)), (n + t, n + t)), directed=False
        )[0]
        > 1
    ):
        raise InputError("missing", "prior", "needs measured cells that connect all agents and tasks")
    cells = np.arange(len(row))
    design = scipy.sparse.csr_array((np.ones(2 * len(row)), (np.tile(cells, 2), np.append(row, n + column))), (len(row), n + t))
    level = float(scores[row, column].mean())
    effect = scipy.sparse.linalg.lsmr(design, scores[row, column] - level, atol=_FIT, btol=_FIT, conlim=0.0, maxiter=10 * (n + t))[0]
    return np.asarray(level + effect[:n, None] + effect[n:], np.float64)

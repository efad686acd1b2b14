"""The tasks of `equirank bench`: input by size, the program of Equirank, and the peers with what is compared.

A size says how much of the input there is, in the task's unit. Each peer has one size at which it ends within seconds to a minute, and
Equirank runs at that size beside it. `sizes` are those of the scaling row, Equirank alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.bench import inputs
from benchmarks.bench.inputs import SEED, Arrays
from ratings_core import checks
from ratings_core.errors import InputError

__all__ = ["SEED", "TASKS", "Peer", "Task", "chosen"]


@dataclass(frozen=True)
class Peer:
    """A package, or one of its functions.

    Attributes:
        name: As in the table.
        program: `FILE:FUNCTION` of `programs`.
        size, quick: Size at which it runs, and with `--quick`.
        compared: The compared values, with their unit and transformation.
        tolerance: Largest difference that counts as equal; None for another model, of which only the order is compared.
        why: Why values may differ, or how the model differs.
    """

    name: str
    program: str
    size: int
    quick: int
    compared: str
    tolerance: float | None
    why: str = ""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: As `--only` takes it.
        title: One sentence for the table in docs/performance.md.
        unit: What sizes count.
        program: Function of `programs/ours.py`.
        data: Arrays of the input by size.
        sizes, quick: Sizes of the scaling row.
        bound: What the CPU seconds of Equirank go into.
        peers: Packages that do it, too.
    """

    name: str
    title: str
    unit: str
    program: str
    data: Callable[[int], Arrays]
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    bound: str
    peers: tuple[Peer, ...]

    def stored(self, size: int, folder: Path) -> Path:
        """Write the input of a size to a file of the folder. Both sides read this file."""
        file = folder / "input.npz"
        arrays = self.data(size) | {"folder": np.array(str(folder))}
        np.savez(file, **arrays)
        return file


_SAME_MODEL = 1e-6
_ONLINE: Final = (
    Task(
        "elo", "Elo, game after game, from columns in memory", "games", "elo", inputs.duels, (10_000, 100_000, 1_000_000), (1_000, 10_000),
        "memory: two random agents a game",
        (Peer("evalica elo", "evalica_rows:elo", 1_000_000, 10_000, "ratings in points", 1e-6),),
    ),
    Task(
        "glicko2", "Glicko-2 over ten rating periods", "games", "glicko2", inputs.periods, (10_000, 100_000, 1_000_000), (1_000, 5_000),
        "arithmetic: exp of each game, volatility of each agent and period",
        (
            Peer(
                "glicko2", "glicko2_rows:as_published", 20_000, 1_000, "ratings in points", 1e-3,
                "its equation of the volatility has the rating where Glickman's has the deviation, and its deviations may exceed a newcomer's",
            ),
            Peer("glicko2, both corrected", "glicko2_rows:corrected", 20_000, 1_000, "ratings in points", 1e-3),
        ),
    ),
    Task(
        "weng_lin", "Weng-Lin (Plackett-Luce) in free-for-alls of seven", "games", "weng_lin", inputs.rankings,
        (3_000, 30_000, 300_000), (300, 1_000), "arithmetic: exp of each player",
        (
            Peer("openskill PlackettLuce", "openskill_rows:plackett_luce", 5_000, 300, "means in its unit", 1e-9),
            Peer(
                "trueskill", "trueskill_rows:free_for_alls", 300, 30, "means", None,
                "TrueSkill's model is probit, and its updates are expectation propagation; Equirank has no TrueSkill",
            ),
        ),
    ),
)  # fmt: skip
_FITS: Final = (
    Task(
        "counts", "Bradley-Terry from a matrix of wins", "agents", "counts", inputs.win_counts, (30, 100, 300, 1_000), (30, 100),
        "solver: a Cholesky factor of agents^2 a Newton step",
        (
            Peer("choix ilsr_pairwise_dense", "choix_rows:dense", 300, 100, "logits, mean 0", _SAME_MODEL),
            Peer("choix mm_pairwise", "choix_rows:minorised", 30, 30, "logits, mean 0", 1e-4, "it ends at a change of 1e-8"),
        ),
    ),
)  # fmt: skip
TASKS: Final = {task.name: task for task in (*_ONLINE, *_FITS)}


def chosen(names: list[str]) -> list[Task]:
    """Tasks by name, all for an empty list. Raises `InputError`, with the most similar names, for an unknown one."""
    for name in names:
        if name not in TASKS:
            raise InputError("only", name, f"must be one of {', '.join(TASKS)}{checks.similar(name, list(TASKS))}")
    return [task for name, task in TASKS.items() if not names or name in names]

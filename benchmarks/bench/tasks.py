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


_FITTED: Final = 1e-6
"""Logits by which two fits of one likelihood may differ and count as equal."""
_LOGITS: Final = "logits, mean 0"
_ONLINE: Final = (
    Task(
        "elo", "Elo, game after game, from columns in memory", "games", "elo", inputs.duels, (10_000, 100_000, 1_000_000), (1_000, 10_000),
        "memory: two random agents a game",
        (
            Peer("evalica elo", "evalica_rows:elo", 1_000_000, 10_000, "ratings in points", 1e-6),
            Peer("skillratings", "skillratings_rows:elo", 1_000_000, 10_000, "ratings in points", 1e-6),
        ),
    ),
    Task(
        "glicko2", "Glicko-2 over ten rating periods", "games", "glicko2", inputs.periods, (10_000, 100_000, 1_000_000), (1_000, 5_000),
        "arithmetic: exp of each game, volatility of each agent and period",
        (
            Peer(
                "glicko2", "glicko2_rows:as_published", 20_000, 1_000, "ratings in points", 1e-3,
                "its equation of the volatility has the rating in place of the deviation, and its deviations may exceed a newcomer's",
            ),
            Peer("glicko2, both corrected", "glicko2_rows:corrected", 20_000, 1_000, "ratings in points", 1e-3),
            Peer(
                "skillratings", "skillratings_rows:glicko2", 1_000_000, 5_000, "ratings in points", 1e-3,
                "deviations of agents who play may exceed a newcomer's",
            ),
            Peer("skillratings, corrected", "skillratings_rows:glicko2_corrected", 1_000_000, 5_000, "ratings in points", 1e-3),
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
        "solver: a Cholesky factor of agents x agents a Newton step",
        (
            Peer("choix ilsr_pairwise_dense", "choix_rows:dense", 300, 100, _LOGITS, _FITTED),
        ),
    ),
    Task(
        "battles", "Bradley-Terry from a data frame of named battles", "battles", "battles", inputs.named_battles,
        (10_000, 100_000, 1_000_000), (1_000, 10_000), "memory: texts to numbers",
        (
            Peer("evalica bradley_terry", "evalica_rows:battles", 100_000, 10_000, _LOGITS, _FITTED, "it ends at a change of 1e-6"),
            Peer("evalica, tolerance 1e-12", "evalica_rows:battles_to_the_end", 100_000, 10_000, _LOGITS, _FITTED),
            Peer("choix ilsr_pairwise", "choix_rows:results", 100_000, 10_000, _LOGITS, _FITTED),
        ),
    ),
    Task(
        "intervals", "Bradley-Terry with sandwich intervals from a data frame", "battles", "intervals", inputs.named_battles,
        (10_000, 100_000, 1_000_000), (1_000, 10_000), "arithmetic: draws of ratings, for intervals of ranks",
        (
            Peer(
                "arena-rank", "arena_rank_rows:intervals", 100_000, 10_000, f"{_LOGITS}, and half widths of 95 % intervals", 1e-4,
                "its L-BFGS ends early, its Hessian has 1e-5 of all games more, and its squared scores have no leverages or expected ones",
            ),
            Peer("arena-rank, all four mended", "arena_rank_rows:mended", 100_000, 10_000, f"{_LOGITS}, and half widths", 1e-6),
        ),
    ),
    Task(
        "csv", "Bradley-Terry from a CSV of named battles", "rows", "csv_file", inputs.named_battles, (10_000, 100_000, 1_000_000),
        (1_000, 10_000), "memory: bytes to numbers",
        (
            Peer(
                "pandas and evalica", "evalica_rows:csv_file", 200_000, 10_000, _LOGITS, _FITTED,
                "evalica ends at a change of 1e-6",
            ),
        ),
    ),
    Task(
        "ranked_games", "Strengths from games of seven, all games at once", "games", "ranked_games", inputs.few_rankings,
        (1_000, 10_000, 100_000), (300, 1_000), "memory: pairs of each game",
        (
            Peer(
                "choix ilsr_rankings", "choix_rows:rankings", 3_000, 300, "logits", None,
                "Plackett-Luce; Equirank fits Bradley-Terry to all pairs of a game and has no fit of Plackett-Luce",
            ),
        ),
    ),
    Task(
        "over_time", "Strengths that change over ten periods", "games", "glicko2", inputs.periods, (10_000, 100_000, 1_000_000),
        (1_000, 5_000), "arithmetic: exp of each game, volatility of each agent and period",
        (
            Peer(
                "whole-history-rating", "over_time_rows:whole_history", 2_000, 300, "last ratings", None,
                "fits all periods at once; Equirank filters forward by Glicko-2",
            ),
            Peer(
                "TrueSkill through time", "over_time_rows:through_time", 2_000, 300, "last means", None,
                "fits all periods at once; Equirank filters forward by Glicko-2",
            ),
        ),
    ),
)  # fmt: skip
_VOTES: Final = tuple(
    Task(
        name, title, "candidates", name, inputs.ballots, (50, 100, 200, 400), (20, 50), bound,
        tuple(
            Peer(peer, f"{file}:{name}", size, 20, compared, 1e-9)
            for peer, file in (("pref_voting", "pref_voting_rows"), ("OpenSpiel", "open_spiel_rows"))
            if (file, name) != ("open_spiel_rows", "ranked_pairs")  # its winner is one order of equal margins
        ),
    )
    for name, title, size, bound, compared in (
        ("borda", "Borda scores from ten votes a candidate", 200, "memory: votes", "scores"),
        ("copeland", "Copeland scores from ten votes a candidate", 100, "memory: pairs of each vote", "scores"),
        ("schulze", "Winners by Schulze from ten votes a candidate", 50, "arithmetic: candidates^3", "winners"),
        ("ranked_pairs", "Winners by ranked pairs from ten votes a candidate", 20, "arithmetic: candidates^3 / 64", "winners"),
    )
)  # fmt: skip
_GAMES: Final = (
    Task(
        "lottery", "Maximal lottery of odd margins", "agents", "lottery", inputs.odd_margins, (30, 100, 300, 1_000), (20, 50),
        "solver: interior point, an LU factor of agents x agents a step",
        (
            Peer("pref_voting", "pref_voting_rows:lottery", 50, 10, "chances", 1e-6),
            Peer("pygambit lp_solve", "gambit_rows:zero_sum", 100, 20, "chances", 1e-6),
            Peer("OpenSpiel, Clarabel", "open_spiel_rows:zero_sum", 50, 20, "chances", 1e-6),
        ),
    ),
    Task(
        "nash", "Nash average of agents on three times as many tasks", "agents", "nash", inputs.normal_scores, (20, 50, 100, 200), (10, 20),
        "solver: interior point, then linear systems of the support",
        (
            Peer("pygambit lp_solve", "gambit_rows:zero_sum", 50, 10, "chances of agents", 1e-6),
            Peer("OpenSpiel, Clarabel", "open_spiel_rows:zero_sum", 50, 10, "chances of agents", 1e-6),
        ),
    ),
    Task(
        "alpharank", "alpha-Rank of one population, alpha 1", "agents", "alpharank", inputs.normal_payoffs, (10, 30, 100, 300), (5, 10),
        "solver: elimination of agents^3",
        (Peer("OpenSpiel", "open_spiel_rows:alpharank", 20, 5, "masses", 1e-6),),
    ),
    Task(
        "logit", "Limiting logit equilibrium of three players", "strategies", "logit", inputs.three_players, (5, 10, 20, 40), (3, 5),
        "Python calls: numpy at each step along the path",
        (Peer("pygambit logit_solve", "gambit_rows:logit", 12, 4, "mixes", 1e-4, "two paths may end at different equilibria"),),
    ),
    Task(
        "hill", "Limiting logit equilibrium of king of the hill", "prompts", "logit", inputs.hill, (20, 100, 500, 2_000), (10, 20),
        "Python calls: numpy at each step along the path",
        (
            Peer(
                "polarix lle", "polarix_rows:logit", 40, 8, "mixes", 1e-3,
                "after 20,000 steps of gradient descent it is still on the path to the limit",
            ),
        ),
    ),
    Task(
        "correlated", "Coarse correlated equilibrium of king of the hill, eps 0.001", "prompts", "correlated", inputs.hill,
        (20, 100, 500, 2_000), (10, 20), "solver: dual Newton steps, each a linear system of played strategies",
        (Peer("CVXPY, Clarabel", "cvxpy_rows:correlated", 40, 8, "entropy relative to the even split", 1e-5),),
    ),
    Task(
        "deviation", "Deviation ratings of agents on as many tasks", "agents", "deviations", inputs.task_scores, (8, 16, 32), (4, 8),
        "Python calls: numpy between small linear programs",
        (Peer("CVXPY, GLOP", "cvxpy_rows:deviation", 12, 5, "ratings of agents and tasks", 1e-6),),
    ),
)  # fmt: skip
TASKS: Final = {task.name: task for task in (*_ONLINE, *_FITS, *_VOTES, *_GAMES)}


def chosen(names: list[str]) -> list[Task]:
    """Tasks by name, all for an empty list. Raises `InputError`, with the most similar names, for an unknown one."""
    for name in names:
        if name not in TASKS:
            raise InputError("only", name, f"must be one of {', '.join(TASKS)}{checks.similar(name, list(TASKS))}")
    return [task for name, task in TASKS.items() if not names or name in names]

"""Appendix F.4 of Liu et al. 2025: whether the limiting logit equilibrium risk-dominates other Nash equilibria."""

from typing import Final

import numpy as np

from benchmarks.papers.equilibrium.paper import PAPER
from benchmarks.papers.items import Output, Run, claim, unprinted
from benchmarks.workloads import preferences
from ratings_core.equilibria import lle
from ratings_core.equilibria.options import LLEOptions
from ratings_core.errors import SolverError
from ratings_core.games import KingOfTheHill, NormalForm, mix_regrets
from ratings_core.solution import Floats

DIFFERENT: Final = 1e-3
"""Equilibria with a larger difference of a probability are different."""
NASH: Final = 1e-5
STAG_HUNT: Final = np.array([[4.0, 0.0], [3.0, 3.0]])
"""Own payoffs of stag and hare, by the other player's choice. Leaving stag alone costs 4 - 3 = 1, leaving hare costs 3 - 0 = 3."""
Mixes = tuple[Floats, ...]


def loss(game: KingOfTheHill, stays: Mixes, moves: Mixes) -> float:
    """Sum over players of what one loses by playing its part of `moves` while the others play `stays`."""
    worth = game.payoffs_against(stays)
    return sum(float((own - other) @ values) for own, other, values in zip(stays, moves, worth, strict=True))


def others(game: KingOfTheHill, starts: int, seed: int) -> list[Mixes]:
    """Different Nash equilibria: ends of the paths of logit equilibria from random targets."""
    rng = np.random.default_rng(seed)
    found: list[Mixes] = []
    for _ in range(starts):
        targets = [rng.dirichlet(np.full(n, 0.5)) + 1e-6 for n in game.shape]
        try:
            mixes = lle(game, target=[target / target.sum() for target in targets], options=LLEOptions(max_steps=2_000)).mixes
        except SolverError:
            continue
        new = all(max(float(np.abs(a - b).max()) for a, b in zip(mixes, one, strict=True)) > DIFFERENT for one in found)
        if new and float(mix_regrets(game, mixes).max()) <= NASH:
            found.append(mixes)
    return found


@PAPER.item("risk-dominance", "Sections 3.3 and 4.2 (F.4)", "Risk dominance of the selected equilibrium")
def risk_dominance(run: Run) -> Output:
    starts, (of_targets,) = run.pick(8, 64), run.seeds(1)
    game = KingOfTheHill.of(preferences(12, 6, *run.seeds(1, 3)))
    chosen = lle(game).mixes
    rivals = [
        one
        for one in others(game, starts, of_targets)
        if max(float(np.abs(a - b).max()) for a, b in zip(one, chosen, strict=True)) > DIFFERENT
    ]
    wins = sum(loss(game, chosen, one) >= loss(game, one, chosen) - NASH for one in rivals)
    ours = f"over {wins} of {len(rivals)} others"
    other = "other game: ours is synthetic, the paper's are the preferences of a private judge"
    hare = min(float(mix[1]) for mix in lle(NormalForm.of([STAG_HUNT, STAG_HUNT.T])).mixes)
    return Output(
        [
            claim("stag hunt: the limiting logit equilibrium", "risk-dominant", f"hare with {hare:.3f}", holds=hare > 1 - NASH),
            unprinted("different equilibria found", len(rivals) + 1, f"{starts} starts"),
            claim("the limiting logit equilibrium", "risk-dominant", ours, holds=wins == len(rivals), other_input=other),
        ],
        note="""The stag hunt is ours: two players hunt a stag, which pays each 4, or a hare, which pays 3 in any case; a lone hunter of the
stag gets 0. Hare is risk-dominant by the definition of Harsanyi and Selten, which the paper cites: (3 - 0)² is more than (4 - 3)². The
next rows are of a synthetic game of 12 prompts and 6 models. Other equilibria are the ends of paths from random targets. The appendix with
the paper's comparison is not at hand; here an equilibrium dominates another one if leaving it alone for the other one costs the players
at least as much in sum as the reverse (for two players with two strategies, Harsanyi and Selten multiply these losses; a mixed
equilibrium often has losses of 0).""",
    )

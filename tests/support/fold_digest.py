"""Print digests of seeded folds: of the default raters and tallies, and of the other raters.

It runs as a separate process, so that environment variables can select another processor for kernels and libm.
"""

import sys
from typing import Final

import numpy as np

from ratings_core.arrays.digest import digest
from ratings_core.online import Elo, FenchelYoung, Glicko2, Melo, Prequential, Sco, WengLin
from ratings_core.online.protocol import Rater
from ratings_core.records.outcomes import ScoreBatch
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from tests.support.game_streams import at_times, batch_of, mixed_games

COMMITTED: Final = (
    "7c00c7001e842944ea0650104ca8fefb8c3c12e422aa40cec4a14568c99f48b8",
    "88325481d931bb3178a8a02ecb6c074c7fde9814995a8d32ef61c2de01cd94c0",
)
RATERS: tuple[Rater, ...] = (
    Elo(),
    Elo(k=20, scale=173.7, base=2.718281828459045, provisional_k=50, provisional_outcomes=30),
    Sco(),
    Sco(tau=3, alpha=1),
)


ON_REQUEST: tuple[Rater, ...] = (
    FenchelYoung(seed=5),
    FenchelYoung(sigma=3, alpha=1),
    Melo(),
    Melo(dimensions=4, rate=0.02, scale=173.7),
    WengLin(z=3),
    WengLin(mu=0, sigma=2, beta=0.7, tau=0.3, z=3),
    Glicko2(),
    Glicko2(deviation=200, tau=1.2, period_seconds=7000),
)
"""Raters that a pool has only if its settings select them."""


def on_request_digest() -> str:
    """SHA-256 over states, prequential sums and read ratings of the raters `ON_REQUEST`, after 6,000 mixed games of 300 agents.

    The games span about five weeks, and some of them arrive late.
    """
    games = mixed_games(20261120, 6_000, agents=300)
    batch = batch_of(at_times(games, np.random.default_rng(1).integers(-3600, 4600, len(games)).cumsum()))
    arrays = {}
    for i, rater in enumerate(ON_REQUEST):
        state, score = rater.init(0), Prequential()
        rater.fold(state, batch, score)
        read = rater.read(state, np.arange(len(state), dtype=np.int32))
        shown = {"shown": read.rating} | ({} if read.deviation is None else {"spread": read.deviation})
        arrays |= {f"{i}/{name}": column for name, column in (state.arrays() | score.arrays() | shown).items()}
    return digest(arrays)


def fold_digest() -> str:
    """SHA-256 over states and prequential sums of the raters `RATERS` and over tallies, after 20,000 mixed games of 500 agents, and over
    the sums of a score table after 30,000 scores.
    """
    batch = batch_of(mixed_games(20261120, 20_000, agents=500))
    arrays = {}
    for i, rater in enumerate(RATERS):
        state, score = rater.init(0), Prequential()
        rater.fold(state, batch, score)
        arrays |= {f"{i}/{name}": column for name, column in (state.arrays() | score.arrays()).items()}
    for tally in (PairTally(), PlaceTally()):
        tally.add(batch, np.arange(len(batch)) // 7000)
        arrays |= {f"{type(tally).__name__}/{name}": column for name, column in tally.arrays().items()}
    return digest(arrays | {f"scores/{name}": column for name, column in measured(20261120, 10_000).arrays().items()})


def measured(seed: int, n: int) -> ScoreTable:
    """Table of `n` outcomes with three scores each, and with weights from 0.001 to 1000.

    Scores are integers divided by 997, because division rounds equally on all processors.
    """
    rng, table = np.random.default_rng(seed), ScoreTable()
    batch = ScoreBatch(
        start=np.arange(0, 3 * n + 1, 3),
        agent=rng.integers(0, 20, 3 * n, dtype=np.int32),
        score=rng.integers(-(10**9), 10**9, 3 * n) / 997,
        task=rng.integers(0, 30, n, dtype=np.int32),
        weight=rng.integers(1049, 1000 << 20, n),
    )
    table.add(batch, np.arange(n) // 6000)
    return table


if __name__ == "__main__":
    sys.stdout.write(f"{fold_digest()} {on_request_digest()}")

"""Prints the digest of a seeded fold of every online rater: run as a process of its own, so that the processor can be set."""

import sys

from ratings_core.digest import digest
from ratings_core.online import Elo, Prequential, Sco
from ratings_core.online.protocol import Rater
from tests.support.game_streams import batch_of, mixed_games

RATERS: tuple[Rater, ...] = (
    Elo(),
    Elo(k=20, scale=173.7, base=2.718281828459045, provisional_k=50, provisional_outcomes=30),
    Sco(),
    Sco(tau=3, alpha=1),
)


def fold_digest() -> str:
    """SHA-256 over ratings, counts and prequential sums of all raters after 20,000 mixed games of 500 agents."""
    batch = batch_of(mixed_games(20261120, 20_000, agents=500))
    arrays = {}
    for i, rater in enumerate(RATERS):
        state, score = rater.init(0), Prequential()
        rater.fold(state, batch, score)
        arrays |= {f"{i}/{name}": column for name, column in (state.arrays() | score.arrays()).items()}
    return digest(arrays)


if __name__ == "__main__":
    sys.stdout.write(fold_digest())

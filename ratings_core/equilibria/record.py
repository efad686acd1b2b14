"""Fields that all ratings of games share: ratings by player, the distribution that is played, and players' gains from deviating."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.games.normal_form import Game, JointDistribution, deviation_gains, expected_payoffs
from ratings_core.games.tilted import Mixes
from ratings_core.solution import Floats, Solution

Ids: TypeAlias = NDArray[np.int64]

PLAYED: Final = 1e-9
"""A strategy with at least this marginal probability counts as played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRatings(Solution):
    """by_player: ratings of every player's strategies; marginals: probabilities of each player's strategies. If players choose
    independently, the marginals are the distribution that is played; otherwise the record has a joint distribution, `play`.

    payoffs: expected payoff of each player, (N,); regrets: each player's best deviation gain, at least 0, (N,); gap: their sum, 0 in
    equilibria; support: ids of the strategies that each player plays, with at least 1e-9 of its probability.
    """

    by_player: Mixes
    marginals: Mixes
    payoffs: Floats
    regrets: Floats
    gap: float
    support: tuple[Ids, ...]


def played(marginals: Mixes) -> tuple[Ids, ...]:
    """Ids of the strategies that each player plays."""
    return tuple(np.flatnonzero(own >= PLAYED) for own in marginals)


def facts(marginals: Mixes, payoffs: Floats, regrets: Floats) -> dict[str, Any]:
    """The fields of `GameRatings` except the ratings."""
    return {
        "marginals": marginals,
        "payoffs": payoffs,
        "regrets": regrets,
        "gap": float(regrets.sum()),
        "support": played(marginals),
    }


def facts_of_joint(game: Game, play: JointDistribution) -> dict[str, Any]:
    """As `facts`, computed from a distribution over few joints."""
    marginals = tuple(play.marginal(p, n) for p, n in enumerate(game.shape))
    gains = np.array([max(0.0, float(own.max())) for own in deviation_gains(game, play)])
    return facts(marginals, expected_payoffs(game, play), gains)


def facts_of_mixes(game: Game, mixes: Mixes) -> dict[str, Any]:
    """As `facts`, for players who choose independently."""
    worth = game.payoffs_against(mixes)
    payoffs = np.array([float(mix @ own) for mix, own in zip(mixes, worth, strict=True)])
    gains = np.array([max(0.0, float(own.max()) - payoff) for own, payoff in zip(worth, payoffs.tolist(), strict=True)])
    return facts(mixes, payoffs, gains)

"""What a rating is made of: the deviation gain of a strategy, parted by what a co-player does meanwhile.

c(a', b) = sum over joints a in which the co-player plays b of s(a) (G(a', a_-p) - G(a)). Rows sum to the deviation gains, which are
the ratings of deviation, CCE and logit methods. By task it is Marris et al., sec. 5.2. By co-player's strategy it is Liu et
al., sec. 4.3, with two corrections: their formula sums to minus the rating, and with products of marginals, as printed, it
does not sum to it at all where play is correlated.
"""

from dataclasses import dataclass

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.normal_form import Game, JointDistribution, Names
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class Contributions:
    """values: (strategies, parts), in the payoffs' unit; strategies, parts: their names. `ratings` are the sums of rows."""

    values: Floats
    strategies: Names
    parts: Names

    @property
    def ratings(self) -> Floats:
        """Deviation gains of the strategies under the distribution that was parted, (strategies,)."""
        return np.asarray(self.values.sum(axis=1), np.float64)

    def of(self, strategy: str) -> dict[str, float]:
        """Parts of one strategy's rating, largest first, equal ones in the game's order. Raises `InputError` for an unknown name."""
        if strategy not in self.strategies:
            raise InputError("strategy", strategy, "must be one of the player's strategies")
        row = self.values[self.strategies.index(strategy)]
        return {self.parts[i]: float(row[i]) for i in np.argsort(-row, kind="stable")}


def contributions(game: Game, play: JointDistribution, *, player: int = 0, by: int = -1) -> Contributions:
    """What the strategies of `player` gain under `play`, parted by the strategies of player `by` (from -1 on counted from the last).

    Where several distributions give the same ratings, as in deviation ratings, the parts are those of the one handed in. With
    `by` = `player` a part is what would be gained over an own recommendation (Marris et al., equation 1). Raises `InputError`.
    """
    rated, parting = _seat("player", player, len(game.shape)), _seat("by", by, len(game.shape))
    checked = JointDistribution.of(play.joints, play.probability, game.shape)
    here = game.payoffs_at(checked.joints)[:, rated]
    there = next(gains for p, gains in enumerate(game.deviations_at(checked.joints)) if p == rated)
    values = np.zeros((game.shape[parting], game.shape[rated]))
    np.add.at(values, checked.joints[:, parting], checked.probability[:, None] * (there - here[:, None]))
    return Contributions(values.T, game.strategies[rated], game.strategies[parting])


def _seat(argument: str, player: int, players: int) -> int:
    given = player + players if -players <= player < 0 else player
    if checks.count(argument, given) >= players:
        raise InputError(argument, player, f"must be the number of a player, {-players} to {players - 1}")
    return given

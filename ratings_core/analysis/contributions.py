"""Contributions to a rating: the deviation gain of a strategy, split by the strategies of a co-player.

c(a', b) = sum of s(a) (G(a', a_-p) - G(a)) over all joints a in which the co-player plays b. The sum of a row is the deviation gain, which
is the rating in deviation, CCE and logit methods. The split by task is that of Marris et al., sec. 5.2. The split by co-player's strategy
is that of Liu et al., sec. 4.3, with two corrections: their formula sums to minus the rating, and its printed form uses products of
marginals, whose sum differs from the rating if play is correlated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.normal_form import Game, JointDistribution, Joints, Names, accepted_game, accepted_mixes
from ratings_core.games.pair_payoffs import pair_payoffs
from ratings_core.games.tilted import Mixes, TiltedJoint, contractions
from ratings_core.solution import Floats

Play: TypeAlias = JointDistribution | TiltedJoint | Sequence[ArrayLike]

_CELLS: Final = 1 << 22
"""Number of cells (joints times strategies) processed at a time."""


@dataclass(frozen=True, slots=True)
class Contributions:
    """values: (strategies, parts), in the payoffs' unit; strategies, parts: names of its rows and columns."""

    values: Floats
    strategies: Names
    parts: Names

    @property
    def ratings(self) -> Floats:
        """Deviation gains of the strategies (strategies,): the sums of the rows of `values`."""
        return np.asarray(self.values.sum(axis=1), np.float64)

    def of(self, strategy: str) -> dict[str, float]:
        """Parts of a strategy's rating by name, largest first; equal parts in the game's order. Raises `InputError` for an unknown name."""
        if checks.instance("strategy", strategy, str) not in self.strategies:
            raise InputError("strategy", strategy, "must be one of the player's strategies")
        row = self.values[self.strategies.index(strategy)]
        return {self.parts[i]: float(row[i]) for i in np.argsort(-row, kind="stable")}


def contributions(game: Game, play: Play, *, player: int = 0, by: int = -1) -> Contributions:
    """Split the deviation gains of `player`'s strategies under `play` by the strategies of player `by`.

    player, by: numbers of players; negative numbers count from the last player. play: a joint distribution, such as those of `deviation`
    and `cce` (for `cce`, all joints are evaluated), or a mix for each player, such as those of `lle`. Several distributions can have the
    same ratings, as in deviation ratings; the parts are then those of the given distribution. With `by` = `player` a part is the gain from
    deviating when a strategy is recommended (Marris et al., equation 1). Raises `InputError`.
    """
    shape = accepted_game(game).shape
    rated, parting = _seat("player", player, len(shape)), _seat("by", by, len(shape))
    if isinstance(play, TiltedJoint):
        values = _of_blocks(game, play, rated, parting)
    elif isinstance(play, JointDistribution):
        checked = JointDistribution.of(play.joints, play.probability, shape)
        values = _of_joints(game, checked.joints, checked.probability, rated, parting)
    else:
        values = _of_mixes(game, accepted_mixes(play, shape), rated, parting)
    return Contributions(values, game.strategies[rated], game.strategies[parting])


def _of_joints(game: Game, joints: Joints, probability: Floats, rated: int, parting: int) -> Floats:
    here = game.payoffs_at(joints)[:, rated]
    there = next(gains for p, gains in enumerate(game.deviations_at(joints)) if p == rated)
    values = np.zeros((game.shape[parting], game.shape[rated]))
    np.add.at(values, joints[:, parting], probability[:, None] * (there - here[:, None]))
    return np.ascontiguousarray(values.T)


def _of_blocks(game: Game, play: TiltedJoint, rated: int, parting: int) -> Floats:
    if play.game is not game:
        raise InputError("play", type(play).__name__, "must belong to the given game")
    values = np.zeros((game.shape[rated], game.shape[parting]))
    most = max(1, _CELLS // game.shape[rated])
    for block, logs in contractions(play.game).log_blocks(play.log_prior, play.multipliers):
        probability = np.exp(logs.ravel() - play.log_total)
        for start in range(0, logs.size, most):
            some = np.arange(start, min(start + most, logs.size))
            values += _of_joints(game, block.joints(some), probability[some], rated, parting)
    return values


def _of_mixes(game: Game, mixes: Mixes, rated: int, parting: int) -> Floats:
    """Parts for independent mixes. The payoffs are first averaged over the strategies of all players except the two."""
    if rated == parting:
        worth = game.payoffs_against(mixes)[rated]
        return np.asarray((worth[:, None] - worth) * mixes[rated], np.float64)
    together = pair_payoffs(game, mixes).pairs[rated, parting]
    return np.asarray((together - mixes[rated] @ together) * mixes[parting], np.float64)


def _seat(argument: str, player: int, players: int) -> int:
    given = checks.count(argument, player, low=-players)
    if given >= players:
        raise InputError(argument, player, f"must be a player's number, {-players} to {players - 1}")
    return given % players

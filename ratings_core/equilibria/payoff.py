"""Ratings computed from a given equilibrium: payoff ratings and mass ratings (Marris et al. 2022; Marris et al., deviation ratings, sec.
3.2).

They work with any equilibrium, and their properties depend on its choice. Payoff ratings are invariant to clones if the choice of the
equilibrium is. Masses are never invariant, because copies share the mass of the strategy. The certificate measures how far the given
distribution is from an equilibrium.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.equilibria.record import GameRatings, facts
from ratings_core.errors import InputError, SolverError
from ratings_core.games.merging import units_of
from ratings_core.games.normal_form import Game, JointDistribution, Joints, accepted_game, accepted_mixes, expected_payoffs
from ratings_core.games.tilted import Mixes, TiltedJoint, contractions
from ratings_core.solution import Certificate, Floats, Status

Against: TypeAlias = Literal["others", "recommended"]
Play: TypeAlias = JointDistribution | TiltedJoint | Sequence[ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromEquilibrium(GameRatings):
    """ratings: of the first player's strategies; play: the given equilibrium, mixes divided by their sum.

    certificate: ``cce_gap``, the sum of the players' regrets, over `unit`; unit: the largest difference that a player's own choice makes at
    a joint of play (for mixes: at some of its joints; for a tilted joint: at any joint), 1 if no choice matters.
    """

    play: JointDistribution | TiltedJoint | Mixes
    unit: float


def payoff_ratings(
    game: Game, play: Play, *, against: Against = "others", tolerance: float = 1e-6, accept_approximate: bool = False
) -> FromEquilibrium:
    """Expected payoff of each strategy under `play`, an equilibrium of `game`.

    play: a joint distribution such as those of `deviation` and `cce`, or a mix for each player such as those of `lle`. against: with
    ``others``, the other players keep their joint distribution, so a rating is the deviation gain plus the player's expected payoff; with
    ``recommended``, they play as they do when the strategy is played (NaN for a strategy that is never played). For independent mixes, both
    are equal. tolerance: largest certificate of an equilibrium.

    Raises `InputError` for invalid arguments, `SolverError` (with the ratings) if `play` is not an equilibrium to the tolerance.
    """
    checks.choice("against", against, get_args(Against))
    checks.switch("accept_approximate", accept_approximate)
    judged = _judged(game, play, tolerance)
    return judged.rated(judged.where_played() if against == "recommended" else judged.worth, accept_approximate)


def mass_ratings(game: Game, play: Play, *, tolerance: float = 1e-6, accept_approximate: bool = False) -> FromEquilibrium:
    """Probability of each strategy under `play`, an equilibrium of `game`. Arguments and errors as for `payoff_ratings`."""
    checks.switch("accept_approximate", accept_approximate)
    judged = _judged(game, play, tolerance)
    return judged.rated(judged.marginals, accept_approximate)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The distribution that is played, and the expected payoff of every strategy against it."""

    game: Game
    play: JointDistribution | TiltedJoint | Mixes
    marginals: Mixes
    worth: Mixes
    payoffs: Floats
    unit: float
    tolerance: float
    started: float

    def where_played(self) -> Mixes:
        if isinstance(self.play, JointDistribution):
            paid = _Paid(self.game.shape)
            paid.add(self.game, self.play.joints, self.play.probability)
            return paid.means()
        return _paid_in(self.play).means() if isinstance(self.play, TiltedJoint) else self.worth

    def rated(self, by_player: Mixes, accept_approximate: bool) -> FromEquilibrium:
        gains = (float(own.max()) - payoff for own, payoff in zip(self.worth, self.payoffs.tolist(), strict=True))
        shared = facts(self.marginals, self.payoffs, np.array([max(0.0, gain) for gain in gains]))
        result = FromEquilibrium(
            ratings=by_player[0],
            certificate=Certificate("cce_gap", shared["gap"] / self.unit),
            status=Status.OPTIMAL if shared["gap"] <= self.tolerance * self.unit else Status.APPROXIMATE,
            seconds=time.perf_counter() - self.started,
            by_player=by_player,
            play=self.play,
            unit=self.unit,
            **shared,
        )
        if result.status is Status.OPTIMAL or accept_approximate:
            return result
        raise SolverError(
            f"the play is not an equilibrium to tolerance {self.tolerance:g}: a player would gain {result.certificate.value:.3g} of the "
            "payoffs' spread; solve it to a smaller tolerance, raise tolerance, or pass accept_approximate=True",
            result,
        )


class _Paid:
    """Payoffs of each strategy where it is played, summed over joints."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mass, self._total = [np.zeros(n) for n in shape], [np.zeros(n) for n in shape]

    def add(self, game: Game, joints: Joints, probability: Floats) -> None:
        paid = game.payoffs_at(joints)
        for p, n in enumerate(game.shape):
            self._mass[p] += np.bincount(joints[:, p], probability, n)
            self._total[p] += np.bincount(joints[:, p], probability * paid[:, p], n)

    def means(self) -> Mixes:
        pairs = zip(self._total, self._mass, strict=True)
        return tuple(np.divide(total, mass, out=np.full(len(mass), np.nan), where=mass > 0) for total, mass in pairs)


def _paid_in(play: TiltedJoint) -> _Paid:
    """Payoffs where strategies are played, summed over all joints, block by block."""
    paid = _Paid(play.game.shape)
    for block, logs in contractions(play.game).log_blocks(play.log_prior, play.multipliers):
        paid.add(play.game, block.joints(np.arange(logs.size)), np.exp(logs.ravel() - play.log_total))
    return paid


def _judged(game: Game, play: Play, tolerance: float) -> _Judged:
    started = time.perf_counter()
    allowed = checks.number("tolerance", tolerance, above=0.0)
    if isinstance(play, TiltedJoint):
        if play.game is not accepted_game(game):
            raise InputError("play", type(play).__name__, "must belong to the given game")
        at = contractions(play.game).moments(play.log_prior, play.multipliers)
        worth = tuple(own + payoff for own, payoff in zip(at.gains, at.payoffs, strict=True))
        return _Judged(game, play, at.marginals, worth, at.payoffs, float(units_of(game).max()), allowed, started)
    if isinstance(play, JointDistribution):
        checked = JointDistribution.of(play.joints, play.probability, accepted_game(game).shape)
        worth = tuple(checked.probability @ there for there in game.deviations_at(checked.joints))
        marginals = tuple(checked.marginal(p, n) for p, n in enumerate(game.shape))
        return _Judged(game, checked, marginals, worth, expected_payoffs(game, checked), _unit(game, checked.joints), allowed, started)
    mixes = accepted_mixes(play, accepted_game(game).shape)
    worth = game.payoffs_against(mixes)
    payoffs = np.array([float(mix @ own) for mix, own in zip(mixes, worth, strict=True)])
    return _Judged(game, mixes, mixes, worth, payoffs, _unit(game, _some_played(mixes)), allowed, started)


def _unit(game: Game, joints: Joints) -> float:
    return max(float(np.ptp(there, axis=1).max()) for there in game.deviations_at(joints)) or 1.0


def _some_played(mixes: Mixes) -> Joints:
    """Joints that contain every strategy with positive probability at least once."""
    supports = [np.flatnonzero(mix) for mix in mixes]
    most = max(len(ids) for ids in supports)
    return np.column_stack([np.resize(ids, most) for ids in supports])

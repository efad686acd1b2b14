"""Ratings read off a given equilibrium: payoff ratings and mass ratings (Marris et al. 2022; Marris et al., deviation ratings, sec. 3.2).

They work with any equilibrium and are as good as its choice: payoff ratings are invariant to clones where the choice is, and
masses never are, as copies share what one had. The certificate says how far the distribution handed in is from an equilibrium.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.games.normal_form import Game, JointDistribution, Joints, accepted_mixes, cce_gap, expected_payoffs, mix_regrets
from ratings_core.solution import Certificate, Floats, Solution, Status

Against: TypeAlias = Literal["others", "recommended"]
Play: TypeAlias = JointDistribution | Sequence[ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromEquilibrium(Solution):
    """ratings: of the first player's strategies; by_player: of every player's; payoffs: what each player expects, (players,).

    certificate: ``cce_gap``, the sum of the players' regrets, over `unit`: the largest difference that a player's own choice makes at
    a joint that is played (of mixes: at some of those), 1 where there is none.
    """

    by_player: tuple[Floats, ...]
    payoffs: Floats
    unit: float


def payoff_ratings(
    game: Game, play: Play, *, against: Against = "others", tolerance: float = 1e-6, accept_approximate: bool = False
) -> FromEquilibrium:
    """What each strategy gets under `play`, an equilibrium of `game`: a joint distribution, or a mix for each player.

    against: ``others`` lets them play as they do in all, so a rating is the deviation gain plus what the player expects;
    ``recommended`` lets them play as they do when the strategy is (NaN for a strategy never played). Of independent mixes the
    two are one. tolerance: largest certificate called an equilibrium.

    Raises `InputError` for bad arguments, `SolverError` (with the ratings) where `play` is no equilibrium to the tolerance.
    """
    if against not in get_args(Against):
        raise InputError("against", against, f"must be one of {', '.join(get_args(Against))}")
    judged = _judged(game, play, tolerance)
    return judged.rated(judged.where_played() if against == "recommended" else judged.worth, accept_approximate)


def mass_ratings(game: Game, play: Play, *, tolerance: float = 1e-6, accept_approximate: bool = False) -> FromEquilibrium:
    """How often each strategy is played under `play`, an equilibrium of `game`. Arguments and errors as for `payoff_ratings`."""
    judged = _judged(game, play, tolerance)
    return judged.rated(judged.masses(), accept_approximate)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A distribution and what every strategy gets against it."""

    game: Game
    play: JointDistribution | tuple[Floats, ...]
    worth: tuple[Floats, ...]
    payoffs: Floats
    gap: float
    unit: float
    tolerance: float
    started: float

    def where_played(self) -> tuple[Floats, ...]:
        if not isinstance(self.play, JointDistribution):
            return self.worth
        paid = self.game.payoffs_at(self.play.joints)
        return tuple(_mean_where_played(self.play, p, paid[:, p], n) for p, n in enumerate(self.game.shape))

    def masses(self) -> tuple[Floats, ...]:
        play = self.play
        return tuple(play.marginal(p, n) for p, n in enumerate(self.game.shape)) if isinstance(play, JointDistribution) else play

    def rated(self, by_player: tuple[Floats, ...], accept_approximate: bool) -> FromEquilibrium:
        found = FromEquilibrium(
            ratings=by_player[0],
            certificate=Certificate("cce_gap", self.gap / self.unit),
            status=Status.OPTIMAL if self.gap <= self.tolerance * self.unit else Status.APPROXIMATE,
            seconds=time.perf_counter() - self.started,
            by_player=by_player,
            payoffs=self.payoffs,
            unit=self.unit,
        )
        if found.status is Status.OPTIMAL or accept_approximate:
            return found
        raise SolverError(
            f"what is played is no equilibrium to tolerance {self.tolerance:g}: players would gain {found.certificate.value:.3g} of the "
            "payoffs' spread; solve it better, raise tolerance, or pass accept_approximate=True",
            found,
        )


def _judged(game: Game, play: Play, tolerance: float) -> _Judged:
    started = time.perf_counter()
    allowed = checks.number("tolerance", tolerance, above=0.0)
    if isinstance(play, JointDistribution):
        checked = JointDistribution.of(play.joints, play.probability, game.shape)
        worth = tuple(checked.probability @ there for there in game.deviations_at(checked.joints))
        gap, unit = cce_gap(game, checked), _unit(game, checked.joints)
        return _Judged(game, checked, worth, expected_payoffs(game, checked), gap, unit, allowed, started)
    mixes = accepted_mixes(play, game.shape)
    worth = game.payoffs_against(mixes)
    payoffs = np.array([float(mix @ own) for mix, own in zip(mixes, worth, strict=True)])
    gap, unit = float(mix_regrets(game, mixes).sum()), _unit(game, _some_played(mixes))
    return _Judged(game, mixes, worth, payoffs, gap, unit, allowed, started)


def _unit(game: Game, joints: Joints) -> float:
    return max(float(np.ptp(there, axis=1).max()) for there in game.deviations_at(joints)) or 1.0


def _some_played(mixes: tuple[Floats, ...]) -> Joints:
    """Joints that meet every strategy played at least once."""
    supports = [np.flatnonzero(mix) for mix in mixes]
    most = max(len(ids) for ids in supports)
    return np.column_stack([np.resize(ids, most) for ids in supports])


def _mean_where_played(play: JointDistribution, player: int, paid: Floats, strategies: int) -> Floats:
    own = play.joints[:, player]
    mass = np.bincount(own, play.probability, strategies)
    total = np.bincount(own, play.probability * paid, strategies)
    return np.asarray(np.divide(total, mass, out=np.full(strategies, np.nan), where=mass > 0), np.float64)

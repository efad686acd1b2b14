"""CCE ratings: regrets at the coarse correlated equilibrium nearest to a target (Liu et al. 2025, sec. 3.2 and 3.3).

In a coarse correlated equilibrium, no player gains by always playing one strategy instead of its part of the joint distribution. Among all
joint distributions whose gains are at most eps, this method takes the one of least relative entropy to a product of targets, one for each
player. The rating of a strategy is its player's gain from always playing it. The equilibrium is unique for every eps >= 0, so ratings are
unique. With uniform targets it is the equilibrium of maximum entropy, which is invariant to clones only if they are merged first.

At eps = 0, a target of 0 may leave no equilibrium, because strategies that are never played still count as deviations.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria import starts
from ratings_core.equilibria.affinity import EXACT, AffinityTarget, affinity_targets
from ratings_core.equilibria.cce_dual import DIGITS, Dual, DualPoint, least, shortfall
from ratings_core.equilibria.options import CCEOptions
from ratings_core.equilibria.record import GameRatings, facts
from ratings_core.errors import InputError, SolverError
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.merging import Merged, merged, units_of
from ratings_core.games.normal_form import accepted_mixes, uniform_mixes
from ratings_core.games.tilted import Mixes, TiltedGame, TiltedJoint, contractions
from ratings_core.solution import Certificate, Floats, Start, Status

Target: TypeAlias = "Literal['even'] | AffinityTarget | Sequence[ArrayLike]"

FIRST_EPS: Final = 1e-2
STAGE: Final = 1e-2
"""If eps is smaller than FIRST_EPS of the unit, it is approached in stages of this ratio. Each stage starts
from the last stage's answer.
"""
SLACK: Final = 0.5
"""What gains may exceed eps by, over the tolerance, where eps itself cannot be reached in float64."""
MOST_WARM: Final = 300
"""Largest number of iterations from another game's multipliers; after these, a fresh start is as good."""
_NAME: Final = "cce"


_DEFAULTS: Final = CCEOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class CCE(GameRatings):
    """ratings: gains of the king's strategies in king of the hill, otherwise of the first player's, in payoffs; at most eps, up to the
    certificate; higher is better.

    play: the equilibrium, stored as priors and multipliers; targets: of each player, over its strategies; least_target: smallest entry of
    the targets; eps: largest accepted gain, in payoffs, which the ratings depend on; slack: what gains may exceed eps by, in units, 0 but
    for games in which strategies that differ by little need multipliers beyond float64: then play is the equilibrium at eps + slack;
    relative_entropy: of play to the targets, nats; entropy_gap: upper bound on its distance from the least relative entropy, nats, if gains
    are within eps + slack; units: of each player, the largest difference that its own choice can make to its payoff, 1 if no choice
    matters, (N,); start: for a later solve of a similar game; its arrays `multipliers.P`, one for each player P, are those of play.
    certificate: ``regret``, the largest gain beyond eps, over its player's unit, computed by contraction of the original game. It counts
    the slack.
    """

    play: TiltedJoint
    targets: Mixes
    least_target: float
    eps: float
    slack: float
    relative_entropy: float
    entropy_gap: float
    units: Floats
    start: Start


def cce(game: TiltedGame, *, target: Target = EXACT, options: CCEOptions = _DEFAULTS, start: Start | None = None) -> CCE:
    """CCE ratings of all players' strategies.

    target: ``even`` (maximum entropy), an `AffinityTarget`, or a distribution over each player's strategies before merging; options.eps: a
    larger eps gives an equilibrium nearer to the target; options.tolerance: also of the entropy gap, in nats; start: from the answer for a
    similar game, whose strategies are matched by name. It saves work and leads to the same equilibrium.

    Raises `InputError` for invalid arguments, `SolverError` (with the result) beyond the tolerance.
    """
    CCEOptions.require(options)
    started = time.perf_counter()
    deadline = Deadline.within(options.max_seconds)
    small = merged(game, merge=options.merge)
    targets = class_targets(small, target, deadline)
    units = units_of(game)
    first = _multipliers(start, game, small, units)
    wanted = _Program(small, targets, options.eps, units, options.tolerance, options.max_iterations, deadline.passed)
    program, point = wanted.solved(first)
    result = _described(game, program, point, started)
    return result if options.accept_approximate else _accepted(result, options.tolerance)


def class_targets(small: Merged, target: Target, deadline: Deadline = NEVER) -> Mixes:
    """The target over the classes of a merged game. Raises `InputError`, and `SolverError` if a target is not
    certain before the deadline.
    """
    if isinstance(target, AffinityTarget):
        return affinity_targets(small.game, target, deadline)
    if isinstance(target, str):
        if target != "even":
            raise InputError("target", target, "must be 'even', an AffinityTarget, or a distribution for each player")
        return uniform_mixes(small.game.shape)
    return small.totals(accepted_mixes(target, tuple(len(own.member) for own in small.classes)))


def logs_of(mixes: Mixes) -> Mixes:
    """Logarithms of the mixes, -inf at 0."""
    with np.errstate(divide="ignore"):
        return tuple(np.log(mix) for mix in mixes)


def rated_player(game: TiltedGame) -> int:
    """Index of the player whose ratings are the game's: the king, otherwise the first player."""
    return 1 if isinstance(game, KingOfTheHill) else 0


@dataclass(frozen=True, slots=True)
class _Program:
    """The program on the merged game, and the accuracy required of its solution. slack: what gains may exceed eps by, in units."""

    small: Merged
    targets: Mixes
    eps: float
    units: Floats
    tolerance: float
    max_iterations: int
    stop: Callable[[], bool]
    slack: float = 0.0

    @property
    def accuracy(self) -> float:
        """Accuracy that is searched for, so that rounding on the original game stays within the tolerance."""
        return 0.3 * self.tolerance

    def solved(self, first: Floats | None) -> tuple["_Program", DualPoint]:
        """This program and its solution, or those with slack where only these reach the tolerance.

        Near copies of a strategy differ by a small d. Without slack, multipliers are as large as 1/d, and rounding of gains counts times
        the multipliers. With slack they are at most some 1/slack.
        """
        point = self.least(first)
        if self.reached(point) or point.hopeless or self.stop():
            return self, point
        slackened = replace(self, slack=SLACK * self.tolerance)
        other = slackened.least(None)
        evaluations, steps = point.evaluations + other.evaluations, point.newton_steps + other.newton_steps
        chosen, best = (slackened, other) if slackened.reached(other) else (self, point)
        return chosen, replace(best, evaluations=evaluations, newton_steps=steps)

    def reached(self, point: DualPoint) -> bool:
        return shortfall(point.excess, point.gap) <= self.tolerance - self.slack

    def least(self, first: Floats | None) -> DualPoint:
        """Solve from multipliers of a similar game if they lead to a solution, otherwise in stages of falling eps.

        All stages except the last are solved to a tenth of their eps only.
        """
        warm = None if first is None else self._at_stage(first, None, near=True)
        if warm is not None and (shortfall(warm.excess, warm.gap) <= self.accuracy or warm.hopeless or self.stop()):
            return warm
        last = float(self._limits().max())
        x = np.zeros(len(self._limits()))
        stages = [FIRST_EPS * STAGE**k for k in range(8) if FIRST_EPS * STAGE**k > max(10 * last, self.accuracy)]
        evaluations, steps = (warm.evaluations, warm.newton_steps) if warm else (0, 0)
        for stage in (*stages, None):
            point = self._at_stage(x, stage)
            x, evaluations, steps = point.x, evaluations + point.evaluations, steps + point.newton_steps
            if point.hopeless:
                break
        return replace(point, evaluations=evaluations, newton_steps=steps)

    def _limits(self) -> Floats:
        """Largest gain of each strategy, concatenated over players, in units."""
        return np.asarray(np.repeat(self.eps / self.units + self.slack, self.small.game.shape), np.float64)

    def _at_stage(self, x: Floats, stage: float | None, *, near: bool = False) -> DualPoint:
        unit = np.repeat(self.units, self.small.game.shape)
        accuracy, digits = (self.accuracy, DIGITS) if stage is None else (0.1 * stage, 0.1 * stage)
        limits = self._limits() if stage is None else np.full(len(unit), stage)
        dual = Dual(contractions(self.small.game), logs_of(self.targets), limits, unit, int(np.prod(self.small.game.shape)))
        most = min(self.max_iterations, MOST_WARM) if near else self.max_iterations
        return least(dual, x, accuracy, digits, most, self.stop, near=near)


def _multipliers(given: Start | None, game: TiltedGame, small: Merged, units: Floats) -> Floats | None:
    """Multipliers of a start for the merged game, concatenated over players, in inverse units. None without a start."""
    start = starts.accepted(given, _NAME, game)
    if start is None:
        return None
    multipliers = []
    for p, (place, n) in enumerate(zip(starts.places(start, game), game.shape, strict=True)):
        own = starts.array(start, f"multipliers.{p}", (len(place),)).astype(np.float64)
        if (own < 0).any():
            raise InputError(f"start.multipliers.{p}", float(own.min()), "must not be negative")
        multipliers.append(starts.moved(own, place, n, 0.0))
    return np.concatenate(small.totals(multipliers)) * np.repeat(units, small.game.shape)


def _described(game: TiltedGame, program: _Program, point: DualPoint, started: float) -> CCE:
    """The result on the original game. An even split within classes has the same form, with multipliers on first members."""
    small, eps, units = program.small, program.eps, program.units
    lambdas = np.split(point.x, np.cumsum(small.game.shape)[:-1])
    multipliers = small.on_firsts([own / unit for own, unit in zip(lambdas, units, strict=True)])
    given = small.split(program.targets)
    at = contractions(game).moments(logs_of(given), multipliers)
    regrets = np.array([np.maximum(0.0, own.max()) for own in at.gains])
    excess = float(np.maximum(0.0, ((regrets - eps) / units).max()))
    weights, gains = np.concatenate(multipliers), np.concatenate(at.gains)
    slack = program.slack * np.repeat(units, game.shape)
    gap = float(weights @ (eps + slack - gains))
    within = excess <= program.tolerance and abs(gap) <= program.tolerance
    return CCE(
        ratings=at.gains[rated_player(game)],
        certificate=Certificate("regret", excess),
        status=Status.OPTIMAL if within else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={
            "evaluations": point.evaluations,
            "newton_steps": point.newton_steps,
            "positive_multipliers": int(np.count_nonzero(weights)),
            "merged": small.merged,
        },
        by_player=at.gains,
        play=TiltedJoint(game, logs_of(given), multipliers, at.log_total),
        **facts(at.marginals, at.payoffs, regrets),
        targets=given,
        least_target=min(float(own.min()) for own in given),
        eps=eps,
        slack=program.slack,
        relative_entropy=-float(weights @ gains) - at.log_total,
        entropy_gap=gap,
        units=units,
        start=Start(_NAME, game.strategies, {f"multipliers.{p}": own for p, own in enumerate(multipliers)}),
    )


def _accepted(result: CCE, tolerance: float) -> CCE:
    if result.status is Status.OPTIMAL:
        return result
    raise SolverError(
        f"the equilibrium does not reach tolerance {tolerance:g}: gains exceed eps by up to {result.certificate.value:.2g} units, and the "
        f"entropy is up to {abs(result.entropy_gap):.2g} nats from the optimum; raise tolerance, eps, max_iterations or max_seconds, "
        "use targets above 0, or pass accept_approximate=True",
        result,
    )

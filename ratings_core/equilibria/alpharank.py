"""alpha-Rank: the long-run frequency of each strategy in an evolving population (Omidshafiei et al. 2019).

A population plays one strategy until a mutant appears, which either dies out or takes over. The probability that it takes over, the
fixation probability, depends on its gain and on alpha, the intensity of selection. Ratings are the masses of the chain's stationary
distribution. They are not invariant to clones, because each copy is a state of the chain.

At high alpha, fixation probabilities are as small as exp(-alpha * population * gain), far below the smallest float, and a chain of rounded
probabilities would be disconnected. So probabilities stay logarithms throughout, and the distribution is computed by state reduction
(Grassmann, Taksar and Heyman 1985). State reduction only adds, multiplies and divides, so its digits are right for any spread of
probabilities.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.deadline import Deadline
from ratings_core.equilibria.options import AlphaRankOptions
from ratings_core.equilibria.record import GameRatings, facts, facts_of_joint, played
from ratings_core.errors import InputError, SolverError
from ratings_core.games.normal_form import LARGEST, JointDistribution, NormalForm
from ratings_core.games.tilted import Mixes
from ratings_core.solution import Certificate, Floats, Status

MOST_PROFILES: Final = 2_048
"""Largest number of profiles of a game of several populations. The chain has its square of entries, and state reduction takes its cube."""
LARGEST_EXPONENT: Final = 1e12
"""Larger logarithms of probabilities are refused, because they have lost the digits that determine ratios."""
_EQUAL: Final = 1e-14
"""Payoffs that differ by at most this tie at infinite alpha, as in OpenSpiel."""


_DEFAULTS: Final = AlphaRankOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaRank(GameRatings):
    """ratings: mass of each strategy of the first population. by_player: masses of each population; they sum to 1 and are its marginals.

    play: masses of the profiles. One population has profiles in which a strategy meets itself, and all other fields have one player.
    log_mass: natural logarithms of the masses, of the game's shape ((strategies,) for one population); they distinguish masses that are 0
    as floats. The distribution need not be an equilibrium: `regrets` and `gap` measure the distance.
    certificate: ``stationarity``, the largest difference between the flows into and out of a profile, over the flow out of it. If the
    deadline ended the solve, the status is `failed`: ratings are NaN, play is empty, the certificate is infinite.
    """

    play: JointDistribution
    log_mass: Floats


def alpharank(game: NormalForm, *, options: AlphaRankOptions = _DEFAULTS) -> AlphaRank:
    """alpha-Rank with a population for each player of `game`, which has at most 2,048 profiles.

    options.noise: at infinite alpha, the probability of a step to a worse strategy (1 - noise to a better one, 1/2 to an equal one). It
    keeps the chain connected.

    Raises `InputError` for invalid arguments, `SolverError` (with the result) beyond the tolerance or the deadline.
    """
    AlphaRankOptions.require(options)
    started = time.perf_counter()
    if not isinstance(game, NormalForm):
        raise InputError("game", type(game).__name__, "must be a NormalForm")
    if (profiles := math.prod(game.shape)) > MOST_PROFILES:
        raise InputError("game", profiles, f"must have at most {MOST_PROFILES} profiles")
    deadline = Deadline.within(options.max_seconds)
    rates = np.full((profiles, profiles), -np.inf)
    ids = np.arange(profiles).reshape(game.shape)
    eta = -math.log(max(1, sum(game.shape) - len(game.shape)))
    for p, payoffs in enumerate(game.payoffs):
        states = np.moveaxis(ids, p, -1).reshape(-1, game.shape[p])
        paid = payoffs.ravel()[states]
        gain = paid[:, None, :] - paid[:, :, None]
        rates[states[:, :, None], states[:, None, :]] = eta + _log_fixation(options, gain)
    np.fill_diagonal(rates, -np.inf)
    log_mass = _stationary(rates, deadline)
    if log_mass is None:
        return _accepted(_late(game.shape, game.shape, started), options)
    mass = np.exp(log_mass).reshape(game.shape)
    play = JointDistribution.from_dense(mass / mass.sum())
    by_player = tuple(mass.sum(axis=tuple(q for q in range(mass.ndim) if q != p)) for p in range(mass.ndim))
    shared = {**facts_of_joint(game, play), "marginals": by_player, "support": played(by_player)}
    result = _result(by_player, play, log_mass.reshape(game.shape), _imbalance(rates, log_mass), shared, options, started)
    return _accepted(result, options)


def alpharank_symmetric(payoffs: ArrayLike, *, options: AlphaRankOptions = _DEFAULTS) -> AlphaRank:
    """alpha-Rank of one population whose members meet each other. payoffs: (n, n), finite, the payoff of the row strategy.

    A member meets each other member, mutant or resident, with equal probability. Options and errors as for `alpharank`.
    """
    AlphaRankOptions.require(options)
    started = time.perf_counter()
    A = checks.finite("payoffs", checks.square("payoffs", payoffs))
    if (most := float(np.abs(A).max())) > LARGEST:
        raise InputError("payoffs", most, f"must be within +-{LARGEST:g}")
    deadline = Deadline.within(options.max_seconds)
    n = len(A)
    gain = A.T - A if math.isinf(options.alpha) else _first_gain(A, options.population)
    rates = _log_fixation(options, gain, _gain_step(A, options.population)) - math.log(max(1, n - 1))
    np.fill_diagonal(rates, -np.inf)
    log_mass = _stationary(rates, deadline)
    if log_mass is None:
        return _accepted(_late((n,), (n, n), started), options)
    mass = np.exp(log_mass)
    both = np.column_stack([np.arange(n), np.arange(n)])
    play = JointDistribution.of(both, mass / mass.sum(), (n, n))
    worth, here = A @ mass, float(A.diagonal() @ mass)
    shared = facts((mass,), np.array([here]), np.array([max(0.0, float(worth.max()) - here)]))
    return _accepted(_result((mass,), play, log_mass, _imbalance(rates, log_mass), shared, options, started), options)


def _log_fixation(options: AlphaRankOptions, gain: Floats, step: Floats | float = 0.0) -> Floats:
    """Logarithm of the probability that a mutant takes over.

    gain: payoff of a single mutant minus that of a resident; step: change of this gain with each further mutant.
    rho = 1 / (1 + sum over l from 1 to population - 1 of exp(-alpha * (sum of the gains with 1 to l mutants))).
    """
    if math.isinf(options.alpha):
        worse = np.where(gain < 0, math.log(options.noise), math.log1p(-options.noise))
        return np.asarray(np.where(np.abs(gain) <= _EQUAL, math.log(0.5), worse), np.float64)
    steepest = options.alpha * options.population * float(np.abs(gain).max() + options.population * np.abs(step).max())
    if steepest > LARGEST_EXPONENT:
        rule = f"times the population and the largest gain must be at most {LARGEST_EXPONENT:g}, or be math.inf"
        raise InputError("alpha", options.alpha, rule)
    total = lost = np.zeros_like(gain)
    for mutants in range(1, options.population):
        lost = lost - options.alpha * (gain + (mutants - 1) * step)
        total = np.logaddexp(total, lost)
    return np.asarray(-total, np.float64)


def _first_gain(A: Floats, population: int) -> Floats:
    """(resident, mutant): gain of a single mutant r over a resident s: A(r, s) - ((m - 2) A(s, s) + A(s, r)) / (m - 1)."""
    alone = A.diagonal()[:, None]
    return np.asarray(A.T - ((population - 2) * alone + A) / (population - 1), np.float64)


def _gain_step(A: Floats, population: int) -> Floats:
    """(resident, mutant): change of the gain when one more resident becomes a mutant."""
    own = A.diagonal()
    return np.asarray((own[None, :] - A.T + own[:, None] - A) / (population - 1), np.float64)


def _stationary(rates: Floats, deadline: Deadline) -> Floats | None:
    """Log masses of a chain from log probabilities (from, to), diagonal -inf, all states linked; None if the deadline passed.

    States are removed from the last to the second. The paths through a removed state are added to the direct steps between the other
    states. The masses are then computed in the opposite order.
    """
    left = rates.copy()
    leaving = np.zeros(len(left))
    for k in range(len(left) - 1, 0, -1):
        if deadline.passed():
            return None
        leaving[k] = np.logaddexp.reduce(left[k, :k])
        through = left[:k, k] - leaving[k]
        left[:k, :k] = np.logaddexp(left[:k, :k], through[:, None] + left[k, :k])
    mass = np.zeros(len(left))
    for k in range(1, len(left)):
        mass[k] = np.logaddexp.reduce(mass[:k] + left[:k, k]) - leaving[k]
    mass -= np.logaddexp.reduce(mass)
    return mass


def _imbalance(rates: Floats, mass: Floats) -> float:
    """Largest difference between the flows into and out of a state, over the flow out of it."""
    if len(mass) == 1:
        return 0.0
    inflow, outflow = np.logaddexp.reduce(mass[:, None] + rates, axis=0), mass + np.logaddexp.reduce(rates, axis=1)
    return float(np.abs(np.expm1(inflow - outflow)).max())


def _result(
    by_player: Mixes,
    play: JointDistribution,
    log_mass: Floats,
    certificate: float,
    shared: dict[str, Any],
    options: AlphaRankOptions,
    started: float,
) -> AlphaRank:
    return AlphaRank(
        ratings=by_player[0],
        certificate=Certificate("stationarity", certificate),
        status=Status.OPTIMAL if certificate <= options.tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={"profiles": log_mass.size},
        by_player=by_player,
        play=play,
        log_mass=log_mass,
        **shared,
    )


def _late(populations: tuple[int, ...], shape: tuple[int, ...], started: float) -> AlphaRank:
    """The result if the deadline passed: state reduction has no answer before its last step."""
    unknown = tuple(np.full(n, np.nan) for n in populations)
    each = np.full(len(populations), np.nan)
    return AlphaRank(
        ratings=unknown[0],
        certificate=Certificate("stationarity", math.inf),
        status=Status.FAILED,
        seconds=time.perf_counter() - started,
        by_player=unknown,
        play=JointDistribution(np.empty((0, len(shape)), np.int64), np.empty(0)),
        log_mass=np.full(populations, np.nan),
        **facts(unknown, each, each),
    )


def _accepted(result: AlphaRank, options: AlphaRankOptions) -> AlphaRank:
    if result.status is Status.OPTIMAL or options.accept_approximate:
        return result
    if result.status is Status.FAILED:
        raise SolverError("the chain was not solved within max_seconds; raise max_seconds, or rate fewer profiles", result)
    raise SolverError(
        f"flows differ by {result.certificate.value:.3g}, more than {options.tolerance:g}: "
        "lower alpha or the population, or raise tolerance",
        result,
    )

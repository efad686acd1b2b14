"""NE ratings: regrets at the limiting logit equilibrium, a Nash equilibrium of any number of players (Liu et al. 2025, sec. 3.2 and 3.3).

Quantal response equilibria x_p ~ t_p exp(beta u_p(x)) form a path from the targets t (beta = 0, eq. 2 with beta = 1 / tau) to the limiting
logit equilibrium (McKelvey and Palfrey 1995). It is unique in all games except a set of measure 0. The path is traced exactly, folds
included, where the paper anneals a loss (eq. 3). Uniform targets give the classical limiting logit equilibrium, which clones can change
unless they are merged first. Affinity targets count similar strategies as one.

If the game and the targets share a symmetry, the path keeps it, although branches that break the symmetry cross. The answer is then the
limit of the symmetric branch, and the field `branch` states this. A strategy with a target of 0 is never played, so the limit may not be an
equilibrium.
"""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core.deadline import Deadline
from ratings_core.equilibria.affinity import EXACT
from ratings_core.equilibria.cce import Target, class_targets, rated_player
from ratings_core.equilibria.logit_finish import LARGEST_COUNTED, READY, SEEN, Candidate, Crossings, agree, candidate, confirmed, mix_gains
from ratings_core.equilibria.logit_path import LostPathError, PathPoint, trace
from ratings_core.equilibria.logit_system import LogitSystem
from ratings_core.equilibria.options import LLEOptions
from ratings_core.equilibria.record import GameRatings, facts
from ratings_core.equilibria.unit_ratio import LARGEST_UNIT_RATIO, units_too_far_apart
from ratings_core.errors import SolverError
from ratings_core.games.equitable import Labels, equitable_classes
from ratings_core.games.merging import Merged, merged, spreads, unit_ratio, units_from
from ratings_core.games.tilted import Mixes, TiltedGame
from ratings_core.solution import Certificate, Floats, Status

PRINCIPAL: Final = "principal branch"

_DEFAULTS: Final = LLEOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class LLE(GameRatings):
    """ratings: gains of the king's strategies in king of the hill, otherwise of the first player's, in payoffs, at most 0 up to the
    certificate; higher is better.

    targets: of each player, the start of the path; least_target: smallest entry of the targets; beta: end of the traced path, in inverse
    payoffs; finished: True if the equilibrium was solved on its support, False if it is the last point of the path;
    branch: ``principal branch``, or ``symmetric branch`` if game and targets share a symmetry; bifurcations: betas at which other branches
    leave a symmetric one (searched in games of up to 400 strategies); units: of each player, the largest difference that its own choice can
    make to its payoff, 1 if no choice matters, (N,).
    certificate: ``regret``, the largest gain of any strategy over its player's unit, in the original game.
    """

    targets: Mixes
    least_target: float
    beta: float
    finished: bool
    branch: str
    bifurcations: tuple[float, ...]
    units: Floats

    @property
    def mixes(self) -> Mixes:
        """The equilibrium, a mix of each player: the marginals, because players choose independently."""
        return self.marginals


def lle(game: TiltedGame, *, target: Target = EXACT, options: LLEOptions = _DEFAULTS) -> LLE:
    """Ratings of all players' strategies at the limiting logit equilibrium.

    target: start of the path: ``even``, an `AffinityTarget`, or a distribution over each player's strategies before merging.

    The path depends on the ratio of the players' units. Without `accept_approximate`, it is at most `LARGEST_UNIT_RATIO`.

    Raises `InputError` for invalid arguments, `SolverError` (with the result) beyond the tolerance, and before any work (without a result)
    if the units are too far apart.
    """
    LLEOptions.require(options)
    started = time.perf_counter()
    spread = spreads(game)
    if not options.accept_approximate and (ratio := unit_ratio(spread)) > LARGEST_UNIT_RATIO:
        raise units_too_far_apart("limiting logit equilibria", ratio)
    deadline = Deadline.within(options.max_seconds)
    small = merged(game, merge=options.merge)
    targets = class_targets(small, target, deadline)
    units = units_from(spread)
    end = _followed(small.game, targets, units, options.tolerance, options.max_steps, deadline)
    result = _described(game, small, targets, units, end, options.tolerance, started)
    return result if options.accept_approximate else _accepted(result, end.why)


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a traced path. mixes: the answer, a point of the path or, if finished, the equilibrium beyond it."""

    mixes: Mixes
    point: PathPoint
    steps: int
    finished: bool
    why: str
    crossings: Crossings | None
    symmetric: bool


def _followed(game: TiltedGame, targets: Mixes, units: Floats, tolerance: float, max_steps: int, deadline: Deadline) -> _End:
    unit = float(units.max())
    labels = equitable_classes(game, targets, units)
    system = LogitSystem(game, targets, labels, unit)
    crossings = _crossings(game, targets, labels, system, unit)
    best: PathPoint | None = None
    first: Candidate | None = None
    steps, why = 0, "the path did not end"
    try:
        for steps, point in enumerate(trace(system)):
            best, regret = point, float((system.regrets(point.at) * unit / units).max())
            near = candidate(game, point, labels, units) if regret < READY else None
            first = first if agree(first, near) else near
            if crossings is not None:
                crossings.look(point)
            symmetric = system.unknowns < sum(map(len, labels))
            if crossings is not None and point.at.beta < SEEN:
                continue
            if near is not None and near.regret <= min(regret, tolerance) and confirmed(first, near):
                return _End(near.mixes, point, steps, True, "", crossings, symmetric)
            if regret <= 0.1 * tolerance or steps >= max_steps or deadline.passed():
                why = "a strategy with target 0 has a higher payoff" if regret <= tolerance else "max_steps or max_seconds was reached"
                break
    except LostPathError as error:
        why = f"the path was lost {error}"
    if best is None:
        raise SolverError("no step along the path of logit equilibria converged")
    return _End(best.at.mixes, best, steps, False, why, crossings, system.unknowns < sum(map(len, labels)))


def _crossings(game: TiltedGame, targets: Mixes, labels: Labels, system: LogitSystem, unit: float) -> Crossings | None:
    """A search for other branches, if the path is kept symmetric and the game is small enough; otherwise None."""
    flat = np.concatenate(labels)
    active = np.flatnonzero(flat >= 0)
    if system.unknowns == len(active) or len(active) > LARGEST_COUNTED:
        return None
    each = np.full(len(flat), -1)
    each[active] = np.arange(len(active))
    alone = tuple(np.split(each, np.cumsum([len(own) for own in labels])[:-1]))
    return Crossings(LogitSystem(game, targets, alone, unit), system, flat[active], [])


def _described(game: TiltedGame, small: Merged, targets: Mixes, units: Floats, end: _End, tolerance: float, started: float) -> LLE:
    """The result on the original game, with all values recomputed there."""
    mixes, given = small.split([mix / mix.sum() for mix in end.mixes]), small.split(targets)
    against = game.payoffs_against(mixes)
    payoffs = np.array([mix @ own for mix, own in zip(mixes, against, strict=True)])
    by_player = tuple(own - payoff for own, payoff in zip(against, payoffs, strict=True))
    regrets = np.maximum(mix_gains(game, mixes), 0.0)
    worst = float((regrets / units).max())
    unit = float(units.max())
    return LLE(
        ratings=by_player[rated_player(game)],
        certificate=Certificate("regret", worst),
        status=Status.OPTIMAL if worst <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={
            "steps": end.steps,
            "newton_steps": end.point.newton_steps,
            "folds": end.point.turned,
            "crossed": end.point.crossed,
            "merged": small.merged,
        },
        by_player=by_player,
        **facts(mixes, payoffs, regrets),
        targets=given,
        least_target=min(float(own.min()) for own in given),
        beta=float(end.point.at.beta / unit),
        finished=end.finished,
        branch="symmetric branch" if end.symmetric else PRINCIPAL,
        bifurcations=tuple(float(beta / unit) for beta in end.crossings.betas) if end.crossings else (),
        units=units,
    )


def _accepted(result: LLE, why: str) -> LLE:
    if result.status is Status.OPTIMAL:
        return result
    raise SolverError(
        "the limiting logit equilibrium misses the tolerance: "
        f"at beta {result.beta:.3g} a player could gain {result.certificate.value:.2g} "
        f"of its unit; {why}; raise tolerance, max_steps or max_seconds, use targets above 0, or pass accept_approximate=True",
        result,
    )

"""The end of a logit path: the equilibrium that it approaches, solved on its support, and the betas at which branches leave a symmetric
path.

Along the path, the regret only falls like 1 / beta. Near the end, log probabilities of strategies in the limit's support are constant, and
those of the others fall in proportion to beta. So the path's direction determines the support. On the support, all strategies of a player
have equal worth, and Newton's method solves these equations. The answer is accepted only if the equilibrium is isolated, no player gains
more than on the path by any strategy of the game, and successive points of the path that show it come nearer to it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from ratings_core.equilibria.logit_path import PathPoint
from ratings_core.equilibria.logit_system import Ids, LogitPoint, LogitSystem
from ratings_core.games.equitable import Labels
from ratings_core.games.normal_form import Game
from ratings_core.games.pair_payoffs import PairPayoffs, pair_payoffs
from ratings_core.games.tilted import Mixes, TiltedGame
from ratings_core.solution import Floats

READY: Final = 1e-2
"""Regret, in units, below which supports are examined."""
NEAR: Final = 0.1
"""Largest distance of an equilibrium from the path, in any probability."""
APPROACH: Final = 0.9
"""Factor by which a later point must be nearer (unless within rounding). All points between must show the same equilibrium."""
MOST_OF: Final = 0.5
"""Least probability that each player must have on its support."""
LARGEST_SUPPORT: Final = 2_000
CONDITION: Final = 1e-10
"""Smallest ratio of the least to the largest singular value at which an equilibrium counts as isolated."""
MOST_STEPS: Final = 10
STILL: Final = 1e-13
"""Smaller changes of probabilities are rounding errors."""
SEEN: Final = 50.0
"""Beta, in inverse units, to which a symmetric branch is traced at least, because branches cross it even where it is an equilibrium."""
LARGEST_COUNTED: Final = 400
"""Largest number of strategies for which branches that cross a symmetric one are searched."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An equilibrium near a path. regret: the largest gain of any strategy over its player's unit; distance: from the path, in any
    probability.
    """

    mixes: Mixes
    regret: float
    distance: float


def candidate(game: TiltedGame, point: PathPoint, labels: Labels, units: Floats) -> Candidate | None:
    """The equilibrium on the support that the path shows, or None if no isolated equilibrium is near."""
    if point.tangent[-1] <= 0:
        return None
    falling = point.at.beta * point.tangent[:-1] < -point.tangent[-1]
    supports = [np.flatnonzero((own >= 0) & ~falling[own]) for own in labels]
    covered = min(float(mix[own].sum()) for mix, own in zip(point.at.mixes, supports, strict=True))
    if covered < MOST_OF or sum(map(len, supports)) > LARGEST_SUPPORT:
        return None
    mixes = _indifferent(game, point.at.mixes, supports, labels, units)
    if mixes is None:
        return None
    distance = max(float(np.abs(a - b).max()) for a, b in zip(mixes, point.at.mixes, strict=True))
    return Candidate(mixes, float((mix_gains(game, mixes) / units).max()), distance) if distance < NEAR else None


def mix_gains(game: Game, mixes: Mixes) -> Floats:
    """Gain of each player from its best strategy, (N,)."""
    return np.array([own.max() - mix @ own for own, mix in zip(game.payoffs_against(mixes), mixes, strict=True)])


def agree(before: Candidate | None, now: Candidate | None) -> bool:
    """Whether two points of the path show the same equilibrium."""
    if before is None or now is None:
        return False
    return max(float(np.abs(a - b).max()) for a, b in zip(before.mixes, now.mixes, strict=True)) < 1e-8


def confirmed(first: Candidate | None, now: Candidate) -> bool:
    """True if the path has come nearer since the first of the successive points that show this equilibrium, or is within rounding of it."""
    return first is not None and first is not now and (now.distance < APPROACH * first.distance or now.distance < 1e-9)


def _indifferent(game: TiltedGame, start: Mixes, supports: list[Ids], labels: Labels, units: Floats) -> Mixes | None:
    """Mixes on the supports, equal within classes, under which all of a player's strategies there have equal worth.

    Newton's method solves for the classes' probabilities and the players' values. None if it fails.
    """
    mixes = [_only(mix, own) for mix, own in zip(start, supports, strict=True)]
    used, at = np.unique(np.concatenate([own[on] for own, on in zip(labels, supports, strict=True)]), return_inverse=True)
    columns = np.split(at.ravel(), np.cumsum([len(own) for own in supports])[:-1])
    for _ in range(MOST_STEPS):
        matrix, right = _equations(pair_payoffs(game, tuple(mixes)), mixes, supports, columns, units)
        step, _, _, singular = np.linalg.lstsq(matrix, right, rcond=None)
        if singular[-1] < CONDITION * singular[0] or np.abs(step[: len(used)]).max() > 1.0:
            return None
        for mix, own, ids in zip(mixes, supports, columns, strict=True):
            mix[own] += step[ids]
        if np.abs(step[: len(used)]).max() < STILL:
            break
    if any(mix.min() < -STILL for mix in mixes):
        return None
    return tuple(np.maximum(mix, 0.0) / np.maximum(mix, 0.0).sum() for mix in mixes)


def _equations(payoffs: PairPayoffs, mixes: list[Floats], supports: list[Ids], columns: list[Ids], units: Floats) -> tuple[Floats, Floats]:
    """Linearised equations: worth minus the player's value is 0 for each strategy in the supports; each player's changes sum to 0."""
    players, classes = len(supports), max(int(ids.max()) for ids in columns) + 1
    blocks, right = [], []
    for p, own in enumerate(supports):
        block, total = np.zeros((classes + players, len(own))), np.zeros((classes + players, 1))
        block[classes + p] = -1.0
        for q, other in enumerate(supports):
            if q != p:
                np.add.at(block, columns[q], (payoffs.pairs[p, q][np.ix_(own, other)] / units[p]).T)
        np.add.at(total, columns[p], 1.0)
        blocks += [block.T, total.T]
        right += [(mixes[p] @ payoffs.worth[p] - payoffs.worth[p][own]) / units[p], np.zeros(1)]
    return np.vstack(blocks), np.concatenate(right)


def _only(mix: Floats, support: Ids) -> Floats:
    kept = np.zeros(len(mix))
    kept[support] = mix[support]
    return np.asarray(kept / kept.sum(), np.float64)


@dataclass(slots=True)
class Crossings:
    """Betas, in inverse units, near which other branches leave a symmetric one.

    There, real eigenvalues of the Jacobian of the complete system change sign and those of the symmetric subspace do not.
    """

    whole: LogitSystem
    symmetric: LogitSystem
    labels: Ids
    betas: list[float]
    last: tuple[float, int] | None = None

    def look(self, point: PathPoint) -> None:
        """Process the next point of the path."""
        inside = _negative(self.symmetric.jacobian(point.at))
        every = _negative(self.whole.jacobian(self.whole.at(point.at.y[self.labels], point.at.beta)))
        if self.last is not None and every - inside != self.last[1]:
            self.betas.append(self._between(self.last[0], point))
        self.last = (point.at.beta, every - inside)

    def _between(self, low: float, point: PathPoint) -> float:
        """Bisection over beta between the last point and this one.

        Each step starts Newton's method at the last solution on the branch to get the log probabilities at the new beta.
        """
        high, at, odd = point.at.beta, point.at, self.last[1] if self.last else 0
        for _ in range(40):
            beta = (low + high) / 2
            there = _at_beta(self.symmetric, at, beta)
            if there is None:
                break
            complete = self.whole.at(there.y[self.labels], beta)
            same = _negative(self.whole.jacobian(complete)) - _negative(self.symmetric.jacobian(there)) == odd
            low, high = (beta, high) if same else (low, beta)
            at = there
        return (low + high) / 2


def _at_beta(system: LogitSystem, start: LogitPoint, beta: float) -> LogitPoint | None:
    at = system.at(start.y, beta)
    for _ in range(20):
        if float(np.abs(at.residual).max()) < 1e-10 * max(1.0, beta):
            return at
        lu, pivots, _ = scipy.linalg.lapack.dgetrf(
            system.jacobian(at)
        )  # singular where branches cross: the step is then not finite, or too long
        y = at.y - scipy.linalg.lu_solve((lu, pivots), at.residual, check_finite=False)
        if not (np.isfinite(y).all() and y.max() < 1.0):
            return None
        at = system.at(y, beta)
    return None


def _negative(jacobian: Floats) -> int:
    """Number of negative real eigenvalues."""
    values = np.linalg.eigvals(jacobian)
    return int(((values.real < 0) & (np.abs(values.imag) < 1e-9)).sum())

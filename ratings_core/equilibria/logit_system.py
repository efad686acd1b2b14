"""The equations of logit equilibria, x_p ~ t_p exp(beta u_p(x)) for every player p, in log probabilities and beta, and their Newton steps.

Strategies of one class (`equitable_classes`) share one unknown, so symmetric games are solved in their symmetric subspace, where no branch
crosses. A player's log probabilities do not enter its own payoffs, so its block of the Jacobian is the identity, and the largest such block
is eliminated. A border row with the path's direction adds the equation for beta (pseudo-arclength; Turocy 2005 traces the same path with a
dense Jacobian).
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.games.equitable import Labels
from ratings_core.games.merging import units_of
from ratings_core.games.pair_payoffs import PairPayoffs, pair_payoffs
from ratings_core.games.tilted import Mixes, TiltedGame
from ratings_core.solution import Floats

Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LogitPoint:
    """A point and the game's values there.

    y: log probability of each class; beta: in inverse units; mixes: exp y, by player; worth: of strategies, in units; pairs: D_pq of
    `PairPayoffs`; residual: y minus the log probabilities that the logit map returns; shares: probabilities that the logit map returns, by
    player.
    """

    y: Floats
    beta: float
    mixes: Mixes
    worth: Mixes
    pairs: dict[tuple[int, int], Floats]
    residual: Floats
    shares: Mixes


@dataclass(frozen=True, slots=True)
class _Linear:
    """The Jacobian at a point, ready for solves. factors: of the bordered matrix without the eliminated classes."""

    out: Ids
    kept: Ids
    into: Floats
    slope_out: Floats
    back: Floats
    factors: tuple[Floats, NDArray[np.int32]]
    border_out: Floats

    @property
    def sign(self) -> float:
        """Sign of the bordered Jacobian's determinant."""
        lu, pivots = self.factors
        swaps = int((pivots != np.arange(len(pivots))).sum())
        return float(np.prod(np.sign(lu.diagonal())) * (-1) ** swaps)

    def solve(self, residual: Floats, along: float) -> Floats:
        """The Newton step (of y, then beta) for a residual, of length `along` in the border's direction."""
        first = -residual[self.out]
        rest = np.append(-residual[self.kept] + self.back @ first, along - self.border_out @ first)
        inner = scipy.linalg.lu_solve(self.factors, rest, check_finite=False)
        step = np.empty(len(residual) + 1)
        step[self.kept], step[-1] = inner[:-1], inner[-1]
        step[self.out] = first + self.into @ inner[:-1] + self.slope_out * inner[-1]
        return step


@dataclass(frozen=True, slots=True)
class _Elimination:
    """Reduction of the Jacobian by its largest block that is the identity.

    out: unknowns that are eliminated; kept: the others; alone: for each player, True if its unknowns are eliminated; blocks: for each
    player p and other player q, the columns of q's strategies among the kept and among the eliminated unknowns.
    """

    out: Ids
    kept: Ids
    alone: "list[bool]"
    blocks: "list[dict[int, tuple[_Columns, _Columns]]]"

    @classmethod
    def of(cls, labels: Labels, owned: "list[tuple[Ids, Ids]]", unknowns: int) -> "_Elimination":
        eliminated = _eliminated(labels, owned)
        remaining = np.setdiff1d(np.arange(unknowns), eliminated)
        kept, out = _places(remaining, unknowns), _places(eliminated, unknowns)
        alone = [bool(len(ids) and out[ids[0]] >= 0) for _, ids in owned]
        blocks: list[dict[int, tuple[_Columns, _Columns]]] = []
        for p, (_, ids) in enumerate(owned):
            rows = (out if alone[p] else kept)[ids]
            others = [q for q in range(len(labels)) if q != p and len(ids)]
            blocks.append({q: (_Columns.of(rows, kept, labels[q]), _Columns.of(rows, out, labels[q])) for q in others})
        return cls(eliminated, remaining, alone, blocks)


class LogitSystem:
    """The equations of a game. labels: the unknown of each strategy, -1 where its target is 0; scales: unit of each unknown's player over
    the game's unit.
    """

    def __init__(self, game: TiltedGame, targets: Mixes, labels: Labels, unit: float) -> None:
        self._game, self._unit, self._labels = game, unit, labels
        self._active = tuple(own >= 0 for own in labels)
        self._log_targets = tuple(np.log(np.where(own, target, 1.0)) for own, target in zip(self._active, targets, strict=True))
        self.unknowns = int(max(own.max() for own in labels)) + 1
        self._owned = _owned(labels, self.unknowns)
        self.scales = np.empty(self.unknowns)
        for (_, ids), own in zip(self._owned, units_of(game), strict=True):
            self.scales[ids] = own / unit
        self._elimination = _Elimination.of(labels, self._owned, self.unknowns)

    def at(self, y: Floats, beta: float) -> LogitPoint:
        """Evaluate the equations at a point."""
        mixes = tuple(np.where(on, np.exp(y[own]), 0.0) for own, on in zip(self._labels, self._active, strict=True))
        payoffs: PairPayoffs = pair_payoffs(self._game, mixes)
        worth = tuple(own / self._unit for own in payoffs.worth)
        logs = [_log_shares(t + beta * g, on) for t, g, on in zip(self._log_targets, worth, self._active, strict=True)]
        residual = y.copy()
        for (rows, ids), own in zip(self._owned, logs, strict=True):
            residual[ids] -= own[rows]
        shares = tuple(np.where(on, np.exp(own), 0.0) for own, on in zip(logs, self._active, strict=True))
        return LogitPoint(y, beta, mixes, worth, payoffs.pairs, residual, shares)

    def start(self) -> LogitPoint:
        """The point at beta 0: the targets."""
        y = np.empty(self.unknowns)
        for (rows, ids), own in zip(self._owned, self._log_targets, strict=True):
            y[ids] = own[rows]
        return self.at(y, 0.0)

    def linear(self, point: LogitPoint, border: Floats) -> _Linear:
        """Factorise the Jacobian, bordered by a row for (y, beta)."""
        by = self._elimination
        out, kept, size = by.out, by.kept, len(by.kept)
        into, back, inside = np.zeros((len(out), size)), np.zeros((size, len(out))), np.zeros((size, size))
        slope = np.empty(self.unknowns)
        for p, (own, ids) in enumerate(self._owned):
            slope[ids] = point.worth[p][own] - point.shares[p] @ point.worth[p]
            for q, (into_kept, into_out) in by.blocks[p].items():
                change = self._moved(point, p, own, q)
                into_kept.add(into if by.alone[p] else inside, change)
                into_out.add(back, change)
        inner = np.empty((size + 1, size + 1))
        inner[:size, :size] = np.eye(size) - inside - back @ into
        inner[:size, size] = -(back @ slope[out]) - slope[kept]
        inner[size, :size] = border[kept] + border[out] @ into
        inner[size, size] = border[-1] + border[out] @ slope[out]
        lu, pivots, _ = scipy.linalg.lapack.dgetrf(inner)  # no warning for a singular matrix: its solutions are not finite
        return _Linear(out, kept, into, slope[out], back, (lu, pivots), border[out])

    def jacobian(self, point: LogitPoint) -> Floats:
        """Jacobian of the residual with respect to the log probabilities, dense."""
        everything, jacobian = np.arange(self.unknowns), np.eye(self.unknowns)
        for p, (own, ids) in enumerate(self._owned):
            for q in self._elimination.blocks[p]:
                _Columns.of(ids, everything, self._labels[q]).add(jacobian, -self._moved(point, p, own, q))
        return jacobian

    def regrets(self, point: LogitPoint, *, all_strategies: bool = False) -> Floats:
        """Largest gain of each player, in units, over strategies of positive target, or over all strategies."""
        best = [own[on | all_strategies].max() for own, on in zip(point.worth, self._active, strict=True)]
        # subtract worths first: mixes on the path sum to 1 only up to the residual, and worths may be far from 0
        return np.array([mix @ (top - own) for top, mix, own in zip(best, point.mixes, point.worth, strict=True)])

    def _moved(self, point: LogitPoint, p: int, own: Ids, q: int) -> Floats:
        """Derivative of player p's logit map at strategies `own` by q's log probabilities: beta (D_pq - 1 x_p' D_pq) diag(x_q)."""
        pairs = point.pairs[p, q]
        scale = point.mixes[q] * (point.beta / self._unit)
        return np.asarray((pairs[own] - point.shares[p] @ pairs) * scale, np.float64)


def _owned(labels: Labels, unknowns: int) -> list[tuple[Ids, Ids]]:
    """For each player, the unknowns that appear first at this player, with a strategy for each: pairs of (strategies, unknowns)."""
    taken, owned = np.zeros(unknowns, bool), []
    for own in labels:
        ids, rows = np.unique(own, return_index=True)
        new = (ids >= 0) & ~taken[ids]
        taken[ids[new]] = True
        owned.append((rows[new].astype(np.int64), ids[new].astype(np.int64)))
    return owned


def _eliminated(labels: Labels, owned: list[tuple[Ids, Ids]]) -> Ids:
    """The unknowns of the player with the most unknowns, among players that share none with others."""
    players = range(len(labels))
    alone = [p for p in players if not any(np.isin(labels[q], owned[p][1]).any() for q in players if q != p)]
    alone = [p for p in alone if set(labels[p].tolist()) - {-1} == set(owned[p][1].tolist())]
    return owned[max(alone, key=lambda p: len(owned[p][1]))][1] if alone else np.empty(0, np.int64)


def _places(ids: Ids, n: int) -> Ids:
    """Index of each of n unknowns in `ids`, -1 if it is not there."""
    places = np.full(n, -1, np.int64)
    places[ids] = np.arange(len(ids))
    return places


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a player's strategies in a matrix of unknowns.

    chosen: strategies whose unknowns are columns there; rows, columns: slices if they are ranges, because numpy adds to slices far faster;
    shared: True if some strategies have the same column.
    """

    rows: Ids | slice
    chosen: Ids | slice
    columns: Ids | slice
    shared: bool
    empty: bool

    @classmethod
    def of(cls, rows: Ids, places: Ids, labels: Ids) -> "_Columns":
        columns = np.where(labels >= 0, places[labels], -1)
        chosen = np.flatnonzero(columns >= 0)
        columns = columns[chosen]
        shared = len(np.unique(columns)) < len(columns)
        return cls(_range(rows), _range(chosen), columns if shared else _range(columns), shared, not len(columns))

    def add(self, total: Floats, change: Floats) -> None:
        """Add `change`, a column per strategy, to the strategies' columns of `total`."""
        if self.empty:
            return
        if self.shared:
            for column, moved in zip(np.asarray(self.columns).tolist(), change[:, self.chosen].T, strict=True):
                total[self.rows, column] += moved
        elif isinstance(self.rows, slice) or isinstance(self.columns, slice):
            total[self.rows, self.columns] += change[:, self.chosen]
        else:
            total[np.ix_(self.rows, self.columns)] += change[:, self.chosen]


def _range(ids: Ids) -> Ids | slice:
    if len(ids) and (np.diff(ids) == 1).all():
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids


def _log_shares(logs: Floats, on: NDArray[np.bool_]) -> Floats:
    top = logs[on].max()
    return np.asarray(logs - top - np.log(np.exp(logs[on] - top).sum()), np.float64)

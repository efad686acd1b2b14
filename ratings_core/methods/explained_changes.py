"""What changed between two solves of one method: an agent's rank and rating, its terms, and the results that moved them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.analysis.rating_change import PairEffects, pair_effects
from ratings_core.analysis.terms import By, Terms
from ratings_core.batch.bradley_terry import BradleyTerry, inside
from ratings_core.batch.davidson import Davidson
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.errors import InputError, SolverError
from ratings_core.methods.explained import Explanation, Solve
from ratings_core.methods.explanations import explain
from ratings_core.solution import Floats

_OTHERS_METHODS: Final = "effects of single pairs are computed for bradley_terry"
_LEFT: Final = "an agent of the earlier solve is not rated with this agent in the later one"


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsChange:
    """One sum of terms before and after. names: (k,); before, after: (k,), 0 where a sum has no such term.

    total_before, total_after: as `Terms.total`. The differences of the terms, with those of `rest`, sum to the difference of the totals.
    """

    by: By
    quantity: str
    names: tuple[str, ...]
    before: Floats
    after: Floats
    rest: float
    total_before: float | None
    total_after: float | None

    @property
    def moved(self) -> Floats:
        """Difference of each term, after less before (k,)."""
        return np.asarray(self.after - self.before, np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMove:
    """Effect of one pair's results on the rating, in rating points.

    wins, losses, ties: of `agent` against `opponent`, after less before. All are 0 if earlier results of the pair count for the first time,
    because the earlier solve did not rate the pair together with the explained agent.
    """

    agent: str
    opponent: str
    wins: float
    losses: float
    ties: float
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingChange:
    """What changed for an agent.

    before, after: explanations; None if the agent is not part of that solve. terms: changes of the sums that both have. moves: effects of
    pairs on the rating, largest first, in its unit; they sum, with `joined`, to the change of the rating. joined: effect of agents that
    the earlier solve did not rate together with this agent. no_moves: why there are no moves; None if there are.
    """

    before: Explanation | None
    after: Explanation | None
    terms: tuple[TermsChange, ...]
    moves: tuple[PairMove, ...]
    joined: float
    no_moves: str | None


def rating_change(before: Solve, after: Solve, agent: str) -> RatingChange:
    """Compare two solves of the same method and parameters.

    Args:
        before: The earlier solve.
        after: The later solve.
        agent: Name of an agent of at least one of them.

    Raises:
        UnknownAgent: Neither solve has the agent.
        InputError: The methods differ.
        SolverError: Posterior margins could not be computed again.
    """
    if before.taken.method.name != after.taken.method.name:
        raise InputError("after", after.taken.method.name, f"must be a solve by {before.taken.method.name}")
    if agent not in before.names:
        after.id_of(agent)
    old, new = (explain(solve, agent) if agent in solve.names else None for solve in (before, after))
    no_moves, moves, joined = _why_no_moves(before, after, old, new), tuple[PairMove, ...](), 0.0
    if no_moves is None:
        try:
            moves, joined = _moves(before, after, agent)
        except (_Left, SolverError) as error:
            no_moves = str(error)
    return RatingChange(before=old, after=new, terms=_terms(old, new), moves=moves, joined=joined, no_moves=no_moves)


def _terms(old: Explanation | None, new: Explanation | None) -> tuple[TermsChange, ...]:
    """Changes of the sums that both explanations have, in their order."""
    if old is None or new is None:
        return ()
    return tuple(_change(a, b) for a, b in zip(old.terms, new.terms, strict=False) if a.by == b.by)


def _change(old: Terms, new: Terms) -> TermsChange:
    names = tuple(sorted({*old.names, *new.names}))
    place = {name: i for i, name in enumerate(names)}

    def spread(terms: Terms) -> Floats:
        return np.asarray(np.bincount([place[name] for name in terms.names], terms.values, len(names)), np.float64)

    return TermsChange(
        by=new.by,
        quantity=new.quantity,
        names=names,
        before=spread(old),
        after=spread(new),
        rest=sum(new.rest.values()) - sum(old.rest.values()),
        total_before=old.total,
        total_after=new.total,
    )


def _why_no_moves(before: Solve, after: Solve, old: Explanation | None, new: Explanation | None) -> str | None:
    fits = (before.solution, after.solution)
    if not all(isinstance(fit, BradleyTerry) and not isinstance(fit, Davidson) for fit in fits):
        return _OTHERS_METHODS
    if old is None or new is None or np.isnan(old.rating) or np.isnan(new.rating):
        return "both solves must rate the agent"
    if fits[0].prior != fits[1].prior or fits[0].scale != fits[1].scale or fits[0].centre != fits[1].centre:
        return "the solves have different parameters"
    return None


class _Left(Exception):  # noqa: N818 - names the fact
    """An agent left the component of the explained agent."""


def _moves(before: Solve, after: Solve, agent: str) -> tuple[tuple[PairMove, ...], float]:
    """Effects of pairs in rating points, largest first, and of agents that joined. Raises `_Left`, and `SolverError` as `pair_effects`."""
    names = tuple(sorted({*before.names, *after.names}))
    at = names.index(agent)
    (old, old_counts), (new, new_counts) = (_in_component(solve, names, agent) for solve in (before, after))
    if (~np.isnan(old) & np.isnan(new)).any():
        raise _Left(_LEFT)
    found = pair_effects(old_counts, new_counts, old, new, at, prior=float(after.solution.prior))
    scale = float(after.solution.scale)
    more = _more(_numbered(of_tally(before.problem.counts, len(before.names)), before.names, names), found)
    rows = np.flatnonzero((found.effects != 0) | (np.abs(more).sum(axis=0) > 0))
    order = rows[np.argsort(-np.abs(found.effects[rows]), kind="stable")]
    return tuple(_move(names, found, more, row, at, scale) for row in order.tolist()), scale * found.joined


def _move(names: Sequence[str], found: PairEffects, more: Floats, row: int, agent: int, scale: float) -> PairMove:
    """The move of one pair, with the explained agent as `agent` if it is one of the two."""
    first, second = int(found.pairs.first[row]), int(found.pairs.second[row])
    won, lost, tied = more[:, row].tolist()
    if second == agent:
        first, second, won, lost = second, first, lost, won
    effect = scale * float(found.effects[row])
    return PairMove(agent=names[first], opponent=names[second], wins=won, losses=lost, ties=tied, effect=effect)


def _more(before: MetPairs, found: PairEffects) -> Floats:
    """Wins, losses and ties of the first agent of each pair, after less before (3, pairs). before: all results of the earlier solve."""
    keys = found.pairs.first * found.pairs.m + found.pairs.second
    more = np.stack([found.pairs.won, found.pairs.lost, found.pairs.tied])
    _, place, rows = np.intersect1d(keys, before.first * before.m + before.second, assume_unique=True, return_indices=True)
    more[:, place] -= np.stack([before.won, before.lost, before.tied])[:, rows]
    return np.asarray(more, np.float64)


def _in_component(solve: Solve, names: tuple[str, ...], agent: str) -> tuple[Floats, MetPairs]:
    """Ratings in logits of the agents that a fit rates with `agent` (m,), NaN for others, and the results among them.

    names: Names of agents 0 to m-1, in the order of both arrays.
    """
    fit: Any = solve.solution
    own = solve.names.index(agent)
    rated = (fit.component == fit.component[own]) & ~np.isnan(fit.ratings)
    theta = np.full(len(names), np.nan)
    theta[_ids(solve.names, names)[rated]] = (fit.ratings[rated] - fit.centre) / fit.scale
    counts = inside(of_tally(solve.problem.counts, len(solve.names)), fit.component)
    return theta, _numbered(counts.only(rated[counts.first]), solve.names, names)


def _ids(own: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """The position in `names` of each name of `own`."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[name] for name in own], np.int64)


def _numbered(counts: MetPairs, own: Sequence[str], names: Sequence[str]) -> MetPairs:
    """Results with agents numbered as in `names` in place of `own`. Both are in ascending order."""
    ids = _ids(own, names)
    first, second = ids[counts.first], ids[counts.second]
    order = np.lexsort((second, first))  # both name orders ascend, so first stays below second
    won, lost, tied = (column[order] for column in (counts.won, counts.lost, counts.tied))
    return MetPairs(len(names), first[order], second[order], won, lost, tied)

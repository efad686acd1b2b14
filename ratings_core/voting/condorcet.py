"""Sets of agents that a majority rule should choose from when nobody beats everybody."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ratings_core import checks
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.graphs.components import strong_components
from ratings_core.voting.lotteries import LotteryOptions, maximal_lottery


def smith_set(margins: Any) -> tuple[int, ...]:
    """The smallest set (not empty) whose members beat everybody outside (Smith 1973): agent ids, ascending.

    margins: (m, m), antisymmetric, dense or any scipy sparse array, which is never made dense; agents that never met tie. A strong
    Condorcet winner is alone in it. Raises `InputError`.
    """
    M = _accepted(margins)
    return _ids(_sparse_top(M) if checks.is_sparse(M) else top_component(M, np.arange(len(M)), weak_wins(M)))


def schwartz_set(margins: Any) -> tuple[int, ...]:
    """All smallest sets that nobody outside beats, together (Schwartz 1972): within the Smith set, smaller only by ties.

    Arguments and errors as for `smith_set`.
    """
    component, unbeaten = majority_components(_accepted(margins))
    return _ids(np.flatnonzero(unbeaten[component]))


def essential_set(margins: Any, *, tolerance: float = 1e-9) -> tuple[int, ...]:
    """Agents that some maximal lottery elects (Dutta and Laslier 1999; Laffond et al. 1993 with odd margins): in the Smith set.

    Ties can take it out of the Schwartz set. margins: as for `maximal_lottery` in mode `maxent`, sparse ones up to its limit;
    duplicates are all in or all out. Errors as there.
    """
    return _ids(maximal_lottery(margins, options=LotteryOptions(tolerance=tolerance)).support)


def majority_components(margins: Any) -> tuple[Any, Any]:
    """Strong components of the graph of victories: a label per agent, and for each label whether nobody outside beats a member."""
    winner, loser = (margins > 0).nonzero()
    component = strong_components(winner, loser, margins.shape[0])
    unbeaten = np.ones(int(component.max()) + 1, np.bool_)
    unbeaten[component[loser[component[winner] != component[loser]]]] = False
    return component, unbeaten


def _accepted(margins: Any) -> Any:
    return (checks.sparse_antisymmetric if checks.is_sparse(margins) else checks.antisymmetric)("margins", margins)


def _sparse_top(margins: Any) -> NDArray[np.int64]:
    """Grown from an agent of most weak wins, as in `top_component`: outside stays only whom every member beats."""
    victories = sparse.csr_array(margins > 0)
    defeats = np.asarray(sparse.csr_array(margins < 0).sum(axis=1)).ravel()
    inside = np.zeros(margins.shape[0], np.bool_)
    joined = np.array([int(np.argmin(defeats))])
    beaten_by = np.zeros(margins.shape[0], np.int64)
    while joined.size:
        inside[joined] = True
        beaten_by += np.bincount(victories[joined].indices, minlength=len(inside))
        joined = np.flatnonzero(~inside & (beaten_by < np.count_nonzero(inside)))
    return np.flatnonzero(inside)


def _ids(ids: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in ids)

"""Sets of agents from which a majority rule should choose if no agent beats all others."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.graphs import strong_components
from ratings_core.voting.lotteries import LotteryOptions, maximal_lottery


def smith_set(margins: Any) -> tuple[int, ...]:
    """The smallest nonempty set whose members beat every agent outside it (Smith 1973): agent ids, ascending.

    margins: (m, m), antisymmetric, dense or any scipy sparse array, which stays sparse; agents that never met tie. If there is a strong
    Condorcet winner, it is the only member. Raises `InputError`.
    """
    M = _accepted(margins)
    return _ids(_sparse_top(M) if checks.is_sparse(M) else top_component(M, np.arange(len(M)), weak_wins(M)))


def schwartz_set(margins: Any) -> tuple[int, ...]:
    """Union of all minimal sets whose members are beaten by no agent outside (Schwartz 1972): agent ids, ascending.

    It is a subset of the Smith set, and equal to it if no agents tie. Arguments and errors as for `smith_set`.
    """
    component, unbeaten = majority_components(_accepted(margins))
    return _ids(np.flatnonzero(unbeaten[component]))


def essential_set(margins: Any, *, tolerance: float = 1e-9) -> tuple[int, ...]:
    """Agents that some maximal lottery elects (Dutta and Laslier 1999; Laffond et al. 1993 with odd margins): agent ids, ascending.

    They are a subset of the Smith set; with ties, they need not be a subset of the Schwartz set. Either all duplicates of an agent are
    members or none. margins and errors: as for `maximal_lottery` in mode `maxent`, which limits the size of sparse margins.
    """
    return _ids(maximal_lottery(margins, options=LotteryOptions(tolerance=tolerance)).support)


def majority_components(margins: Any) -> tuple[Any, Any]:
    """Strong components of the graph of victories: a label per agent (m,), and for each label whether the component is unbeaten.

    A component is unbeaten if no agent outside it beats a member.
    """
    winner, loser = (margins > 0).nonzero()
    component = strong_components(winner, loser, margins.shape[0])
    unbeaten = np.ones(int(component.max()) + 1, np.bool_)
    unbeaten[component[loser[component[winner] != component[loser]]]] = False
    return component, unbeaten


def _accepted(margins: Any) -> Any:
    return (checks.sparse_antisymmetric if checks.is_sparse(margins) else checks.antisymmetric)("margins", margins)


def _sparse_top(margins: Any) -> NDArray[np.int64]:
    """The Smith set. It grows from an agent with the fewest defeats: an agent that some member does not beat joins."""
    victories = scipy.sparse.csr_array(margins > 0)
    defeats = np.asarray(scipy.sparse.csr_array(margins < 0).sum(axis=1)).ravel()
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

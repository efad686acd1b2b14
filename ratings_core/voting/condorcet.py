"""Sets of agents that a majority rule should choose from when nobody beats everybody."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.analysis.components import strong_components
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.solution import Floats


def smith_set(margins: ArrayLike) -> tuple[int, ...]:
    """The smallest set (not empty) whose members beat everybody outside (Smith 1973): agent ids, ascending.

    margins: (m, m), antisymmetric; agents that never met tie. A strong Condorcet winner is alone in it. Raises `InputError`.
    """
    M = checks.antisymmetric("margins", margins)
    return _ids(top_component(M, np.arange(len(M)), weak_wins(M)))


def schwartz_set(margins: ArrayLike) -> tuple[int, ...]:
    """All smallest sets that nobody outside beats, together (Schwartz 1972): within the Smith set, smaller only by ties.

    Arguments and errors as for `smith_set`.
    """
    M = checks.antisymmetric("margins", margins)
    component, unbeaten = majority_components(M)
    return _ids(np.flatnonzero(unbeaten[component]))


def majority_components(margins: Floats) -> tuple[Any, Any]:
    """Strong components of the graph of victories: a label per agent, and for each label whether nobody outside beats a member."""
    winner, loser = np.nonzero(margins > 0)
    component = strong_components(winner, loser, len(margins))
    unbeaten = np.ones(int(component.max()) + 1, np.bool_)
    unbeaten[component[loser[component[winner] != component[loser]]]] = False
    return component, unbeaten


def _ids(ids: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in ids)

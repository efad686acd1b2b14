"""Tie rules: whether agents stay tied, and otherwise in which order they are placed.

Every voting method has a tie rule as an argument. ``keep`` leaves ties as shared ranks. ``order`` places the agent with the lower id (its
position in the roster) first. A seed, a whole number >= 0, draws an order of all agents that resolves every tie of the solve. The drawn
order depends only on the seed and the number of agents, so it is the same for all methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.solution import Solution

TieRule: TypeAlias = Literal["keep", "order"] | int
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voted(Solution):
    """Result of a voting method. ratings: its scores; ranking: its order, with ties, which can differ from the order of `ratings`.

    ties: the tie rule used; broken: groups of agents ordered only by this rule, each best first; empty if ties are kept.
    """

    ranking: Ranking
    ties: TieRule
    broken: tuple[tuple[int, ...], ...] = ()


def priority(ties: TieRule, m: int) -> Ints | None:
    """Position of each of m agents, from 0, in the order that resolves ties; None if ties are kept. Raises `InputError`."""
    if isinstance(ties, str):
        return None if checks.choice("ties", ties, ("keep", "order")) == "keep" else np.arange(m)
    try:
        seed = checks.count("ties", ties)
    except InputError as error:
        raise InputError("ties", ties, "must be keep, order, or a seed (a whole number >= 0)") from error
    return np.random.default_rng(seed).permutation(m)


def settled(ranking: Ranking, ties: TieRule) -> tuple[Ranking, tuple[tuple[int, ...], ...]]:
    """Apply a tie rule to `ranking`. Returns the new ranking and the groups of agents that the rule ordered, each best first."""
    place = priority(ties, len(ranking))
    if place is None:
        return ranking, ()
    groups = [tuple(sorted(level, key=place.__getitem__)) for level in ranking.levels]
    return linear([agent for group in groups for agent in group]), tuple(group for group in groups if len(group) > 1)


def linear(order: Sequence[int]) -> Ranking:
    """The ranking without ties in this order of ids, best first."""
    return Ranking(np.asarray(order, np.int64), np.arange(len(order) + 1))


def layers(above: Mask) -> Ranking:
    """Levels of a strict partial order. Each level contains the agents that no remaining agent is above.

    above: bool (m, m), irreflexive and acyclic; entry (a, b) is true if a is above b.
    """
    waiting = above.sum(axis=0)
    left = np.ones(len(above), np.bool_)
    levels: list[list[int]] = []
    while left.any():
        level = np.flatnonzero(left & (waiting == 0))
        levels.append(level.tolist())
        left[level] = False
        waiting -= above[level].sum(axis=0)
    return Ranking.from_levels(levels)

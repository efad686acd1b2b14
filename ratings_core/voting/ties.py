"""Ties: which agents stay tied, and in which order the others are put.

A tie rule is one argument of every voting method: ``keep`` leaves ties as shared ranks, ``order`` puts the agent of the lower
number (its place in the roster) first, and a seed, a whole number >= 0, draws one order of all agents that settles every tie of
the solve. Settling by drawn order follows no vote, so it is the same for all methods given one seed and one number of agents.
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
    """What a voting method returns. ratings: its scores; ranking: its order, with ties, which `ratings` need not repeat.

    ties: the rule asked for; broken: groups of agents that only this rule parted, each best first; empty where ties are kept.
    """

    ranking: Ranking
    ties: TieRule
    broken: tuple[tuple[int, ...], ...] = ()


def priority(ties: TieRule, m: int) -> Ints | None:
    """Place of each of m agents (from 0, first) in the order that settles ties; None where they are kept. Raises `InputError`."""
    if isinstance(ties, str):
        return None if checks.choice("ties", ties, ("keep", "order")) == "keep" else np.arange(m)
    try:
        seed = checks.count("ties", ties)
    except InputError as error:
        raise InputError("ties", ties, "must be keep, order, or a seed (a whole number >= 0)") from error
    return np.random.default_rng(seed).permutation(m)


def settled(ranking: Ranking, ties: TieRule) -> tuple[Ranking, tuple[tuple[int, ...], ...]]:
    """`ranking` with its ties kept or settled, and the groups that were parted."""
    place = priority(ties, len(ranking))
    if place is None:
        return ranking, ()
    groups = [tuple(sorted(level, key=place.__getitem__)) for level in ranking.levels]
    return linear([agent for group in groups for agent in group]), tuple(group for group in groups if len(group) > 1)


def linear(order: Sequence[int]) -> Ranking:
    """The ranking without ties that lists `order`, best first."""
    return Ranking(np.asarray(order, np.int64), np.arange(len(order) + 1))


def layers(above: Mask) -> Ranking:
    """Levels of a strict partial order: first the agents with none above them, then those with none of the rest above them, and so on.

    above: bool (m, m), irreflexive and acyclic, entry (a, b): a is above b.
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

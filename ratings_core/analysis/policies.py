"""Ratings under every policy for what was not measured, side by side: what of a board rests on the cells that nobody filled.

A rating that holds under one policy only is made by that policy. What is dropped changes the game, what is filled in is not measured;
only agreement among them speaks for an order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.gamified import Gamified
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

POLICIES: Final = ("zero", "prior", "drop_tasks", "drop_agents")


@dataclass(frozen=True, slots=True)
class ByPolicy:
    """policies: those that left a game, in the order of `POLICIES`; ratings: (policies, agents), NaN where left out; imputed: share of
    the game's cells filled in, dropped_agents, dropped_tasks: how many were left out, (policies,); refused: why the other policies left
    none.
    """

    policies: tuple[str, ...]
    ratings: Floats
    imputed: Floats
    dropped_agents: NDArray[np.int64]
    dropped_tasks: NDArray[np.int64]
    refused: Mapping[str, str]

    @property
    def places(self) -> Floats:
        """Rank among those whom all policies rate, 1 is best, ties sharing the better; NaN for the others, (policies, agents)."""
        found = np.full(self.ratings.shape, np.nan)
        rated = np.flatnonzero(~np.isnan(self.ratings).any(axis=0))
        for own, ratings in zip(found, self.ratings[:, rated], strict=True):
            own[rated] = Ranking.from_scores(ratings, _TIE * float(np.ptp(ratings)) if rated.size else 0.0).rank
        return found

    @property
    def moved(self) -> Floats:
        """By how many places policies differ about each agent, NaN for those whom one of them leaves out, (agents,)."""
        return np.asarray(self.places.max(axis=0) - self.places.min(axis=0), np.float64)


_TIE: Final = 1e-7
"""Of the spread of ratings: closer ones share a rank."""


def by_policy(make: Callable[[str], Gamified[Any]], rate: Callable[[Any], Floats]) -> ByPolicy:
    """The ratings of the same data under each of `POLICIES`.

    make: the game under a policy, such as ``lambda missing: agent_vs_task(scores, missing=missing)``; rate: the ratings of the game's
    agents, such as ``lambda game: deviation(game).ratings``. A policy that `make` refuses is in `refused`; what `rate` raises is
    raised. Raises `InputError` where all are refused.
    """
    for name, function in (("make", make), ("rate", rate)):
        if not callable(function):
            raise InputError(name, function, "must be a function")
    made: dict[str, Gamified[Any]] = {}
    refused: dict[str, str] = {}
    for policy in POLICIES:
        try:
            game = make(policy)
        except InputError as error:
            refused[policy] = str(error)
        else:
            made[policy] = checks.instance("make", game, Gamified)
    if not made:
        raise InputError("make", refused, "must make a game under one policy at least")
    games = list(made.values())
    return ByPolicy(
        policies=tuple(made),
        ratings=np.array([game.of_agents(rate(game.game)) for game in games], np.float64),
        imputed=np.array([game.imputed for game in games], np.float64),
        dropped_agents=np.array([len(game.dropped_agents) for game in games], np.int64),
        dropped_tasks=np.array([len(game.dropped_tasks) for game in games], np.int64),
        refused=MappingProxyType(refused),
    )

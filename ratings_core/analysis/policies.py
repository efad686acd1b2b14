"""Ratings under each policy for missing cells, to show how much a board depends on cells without measurements.

Each policy has a weakness: dropping agents or tasks changes the game, and filled-in values were not measured. An order of agents is
reliable only if the policies agree on it.
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
    """Ratings by policy.

    policies: the policies that gave a game, in the order of `POLICIES`; ratings: (policies, agents), NaN for agents that the policy drops;
    imputed: (policies,), share of filled-in cells; dropped_agents, dropped_tasks: (policies,), number of dropped agents and tasks; refused:
    each other policy with the reason why it gave no game.
    """

    policies: tuple[str, ...]
    ratings: Floats
    imputed: Floats
    dropped_agents: NDArray[np.int64]
    dropped_tasks: NDArray[np.int64]
    refused: Mapping[str, str]

    @property
    def places(self) -> Floats:
        """Rank among the agents that all policies rate (policies, agents); 1 is best, ties share the better rank, NaN for other agents."""
        ranks = np.full(self.ratings.shape, np.nan)
        rated = np.flatnonzero(~np.isnan(self.ratings).any(axis=0))
        for own, ratings in zip(ranks, self.ratings[:, rated], strict=True):
            own[rated] = Ranking.from_scores(ratings, _TIE * float(np.ptp(ratings)) if rated.size else 0.0).rank
        return ranks

    @property
    def moved(self) -> Floats:
        """Largest difference of an agent's places between policies (agents,); NaN for agents that some policy drops."""
        return np.asarray(self.places.max(axis=0) - self.places.min(axis=0), np.float64)


_TIE: Final = 1e-7
"""Ratings that differ by at most this share of the range of all ratings share a rank."""


def by_policy(make: Callable[[str], Gamified[Any]], rate: Callable[[Any], Floats]) -> ByPolicy:
    """Rate the same data under each of `POLICIES`.

    make: returns the game under a policy, such as ``lambda missing: agent_vs_task(scores, missing=missing)``; rate: returns the ratings of
    the game's agents, such as ``lambda game: deviation(game).ratings``. A policy for which `make` raises `InputError` is in `refused`.
    Raises `InputError` if `make` does so for all policies, and all errors of `rate`.
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
        raise InputError("make", refused, "must give a game under at least one policy")
    games = list(made.values())
    return ByPolicy(
        policies=tuple(made),
        ratings=np.array([game.of_agents(rate(game.game)) for game in games], np.float64),
        imputed=np.array([game.imputed for game in games], np.float64),
        dropped_agents=np.array([len(game.dropped_agents) for game in games], np.int64),
        dropped_tasks=np.array([len(game.dropped_tasks) for game in games], np.int64),
        refused=MappingProxyType(refused),
    )

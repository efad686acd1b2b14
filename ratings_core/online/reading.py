"""Ratings as readers see them: computed on read, only for the requested agents, without a scan over all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.online.state import OnlineState
from ratings_core.records.beliefs import Belief


class Beliefs(NamedTuple):
    """`Belief` of k agents, in columns: deviation, wander float64 (k,), since int64 (k,)."""

    deviation: NDArray[np.float64]
    wander: NDArray[np.float64]
    since: NDArray[np.int64]

    def each(self) -> Iterator[Belief]:
        """The beliefs of the agents, in order."""
        return map(Belief, self.deviation.tolist(), self.wander.tolist(), self.since.tolist())


@dataclass(frozen=True, slots=True)
class Reading:
    """Ratings of k agents, as a board shows them.

    rating: float64 (k,), the value that ranks, higher is better; deviation: float64 (k,), standard deviation of the belief about an agent
    in the ratings' unit, None for methods without deviations; outcomes: int64 (k,), number of outcomes of each agent; beliefs: data from
    which `Rater.beliefs` computes the deviations at any later time, None without deviations.
    """

    rating: NDArray[np.float64]
    deviation: NDArray[np.float64] | None
    outcomes: NDArray[np.int64]
    beliefs: Beliefs | None = None

    def provisional(self, *, outcomes: int = 0, deviation: float = np.inf) -> NDArray[np.bool_]:
        """Mask of provisional agents: bool (k,), True with fewer than `outcomes` outcomes or a deviation above `deviation`.

        outcomes: 0 or more; deviation: above 0, may be infinite. Raises `InputError`.
        """
        checks.count("outcomes", outcomes)
        checks.positive("deviation", deviation, "must be above 0, or infinite")
        few = self.outcomes < outcomes
        return few if self.deviation is None else few | (self.deviation > deviation)


def plain_reading(state: OnlineState, agents: NDArray[np.int32]) -> Reading:
    """The reading of a method that ranks by the column `rating` and has no deviation."""
    ids = checked_agents(state, agents)
    return Reading(state.rating[ids], None, state.outcomes[ids])


def checked_agents(state: OnlineState, agents: ArrayLike) -> NDArray[Any]:
    """`agents` as an array. Raises `InputError` if an id has no agent in `state`."""
    ids = checks.ids("agents", agents)
    if ids.ndim != 1 or (ids.size and not (ids.min() >= 0 and ids.max() < len(state))):
        raise InputError("agents", agents, f"must be ids of agents, 0 to {len(state) - 1}, in one dimension")
    return ids

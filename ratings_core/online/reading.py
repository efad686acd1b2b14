"""What readers see of agents: evaluated when it is read and for those who are asked for, never by a scan."""

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
        """One agent's after the other's."""
        return map(Belief, self.deviation.tolist(), self.wander.tolist(), self.since.tolist())


@dataclass(frozen=True, slots=True)
class Reading:
    """k agents as a board shows them.

    rating: float64 (k,), the value that ranks, higher is better; deviation: float64 (k,), standard deviation of the belief about an
    agent in the ratings' unit, None for methods that hold none; outcomes: int64 (k,), how many each took part in; beliefs: from which
    the deviations at any later time follow by the method's `Rater.beliefs`, None where there are no deviations.
    """

    rating: NDArray[np.float64]
    deviation: NDArray[np.float64] | None
    outcomes: NDArray[np.int64]
    beliefs: Beliefs | None = None

    def provisional(self, *, outcomes: int = 0, deviation: float = np.inf) -> NDArray[np.bool_]:
        """Who is not settled yet: bool (k,), true with fewer than `outcomes` outcomes or a deviation above `deviation`.

        outcomes: 0 or more; deviation: above 0, may be infinite. Raises `InputError`.
        """
        checks.count("outcomes", outcomes)
        checks.positive("deviation", deviation, "must be above 0, or infinite")
        few = self.outcomes < outcomes
        return few if self.deviation is None else few | (self.deviation > deviation)


def plain_reading(state: OnlineState, agents: NDArray[np.int32]) -> Reading:
    """Of a method whose column `rating` ranks and that holds no deviation."""
    ids = checked_agents(state, agents)
    return Reading(state.rating[ids], None, state.outcomes[ids])


def checked_agents(state: OnlineState, agents: ArrayLike) -> NDArray[Any]:
    """`agents` as an array; raises `InputError` where one is no agent of `state`."""
    ids = checks.ids("agents", agents)
    if ids.ndim != 1 or (ids.size and not (ids.min() >= 0 and ids.max() < len(state))):
        raise InputError("agents", agents, f"must be ids of agents, 0 to {len(state) - 1}, in one dimension")
    return ids

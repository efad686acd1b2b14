"""Values of a pool by agent: the state of each online method of its generation, and the number of outcomes of each agent."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online import Prequential, Rater, Reading
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.outcomes import OutcomeBatch
from services.control.generations import check, make_raters
from services.control.records import Generation
from services.state.opening import FinalState
from services.state.parts import part
from services.wire.pools import Kind


class OnlineRatings:
    """One state per online method, folded by its rater.

    Attributes:
        raters: Raters by method.
        online: State by method, with one row per agent.
        prequential: Prediction scores by method.
        activity: int64, number of outcomes of each agent by id, with spare capacity.
        failure: Why this version cannot fold the generation, else None. After a failure there are no raters.
    """

    def __init__(self, kind: Kind, generation: Generation) -> None:
        self.raters, self.failure = _make_raters_or_failure(kind, generation)
        self.online: dict[str, OnlineState] = {name: rater.init(0) for name, rater in self.raters.items()}
        self.prequential = {name: Prequential(by_shape=bool(generation.fold.by_shape)) for name in self.raters}
        self.activity = np.zeros(0, np.int64)

    @classmethod
    def from_arrays(cls, kind: Kind, generation: Generation, arrays: Arrays) -> "OnlineRatings":
        """Rebuild the ratings from the arrays of a pool's content."""
        ratings = cls(kind, generation)
        ratings.activity = np.array(arrays["activity"])
        for name, state in ratings.online.items():
            ratings.online[name] = type(state).from_arrays(part(arrays, f"online.{name}"))
            sums = part(arrays, f"prequential.{name}")
            ratings.prequential[name] = Prequential.from_arrays(sums, by_shape=bool(generation.fold.by_shape))
        return ratings

    def start_from(self, initial: Mapping[str, Mapping[str, float]], ids: Mapping[str, int]) -> None:
        """Set initial ratings.

        Args:
            initial: Rating by method and name of the agent.
            ids: Id by name, of all agents of the pool.
        """
        for name, rater in self.raters.items():
            self.online[name] = rater.init(len(ids))
        self._reach(len(ids))
        for method, ratings in initial.items():
            self.online[method].rating[[ids[name] for name in ratings]] = list(ratings.values())

    def open_season(self, final: FinalState, agents: NDArray[np.int64], keep: float) -> None:
        """Begin a season with the ratings of `agents`, ids (k,) in the final state of the season before, after a soft reset.

        A method that the season before did not have starts all agents as newcomers.
        """
        for name, rater in self.raters.items():
            reset = final.reset(name, rater, agents, keep)
            self.online[name] = rater.init(len(agents)) if reset is None else reset
        self._reach(len(agents))

    def fold(self, batch: OutcomeBatch, traces: Mapping[str, RatingTrace]) -> None:
        """Fold games with every method. traces: by method, the trace to write; methods without one write none."""
        for name, rater in self.raters.items():
            rater.fold(self.online[name], batch, self.prequential[name], traces.get(name))

    def take_part(self, agents: NDArray[np.int32], total: int) -> None:
        """Count one outcome for each occurrence of an agent's id in `agents`. total: number of agents in the pool."""
        self._reach(total)
        _count(self.activity, agents)

    def _reach(self, agents: int) -> None:
        if len(self.activity) < agents:
            more = max(agents, 2 * len(self.activity)) - len(self.activity)
            self.activity = np.concatenate([self.activity, np.zeros(more, np.int64)])

    def read(self, method: str, ids: NDArray[np.int32]) -> Reading:
        """Values that boards show for the agents `ids` by a method, at pool time."""
        return self.raters[method].read(self.online[method], ids)

    @property
    def beliefs(self) -> dict[str, BeliefModel]:
        """Belief model by method, for the methods that hold beliefs. The model computes a deviation from a belief."""
        return {name: model for name, rater in self.raters.items() if (model := rater.beliefs) is not None}

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""
        return self.activity.nbytes + sum(online.nbytes for online in self.online.values())


@kernel
def _count(counts: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
    for k in ids:
        counts[k] += 1


def _make_raters_or_failure(kind: Kind, generation: Generation) -> tuple[dict[str, Rater[Any]], str | None]:
    try:
        check(kind, generation.fold, generation.initial, generation.aliases, generation.bans)
        return make_raters(kind, generation.fold), None
    except InputError as error:
        return {}, f"its settings cannot run here: {error}; change them by `equirank pools settings {generation.pool}`"

"""Base classes of raters: settings that are checked on construction, and agents with a single number each."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import count
from ratings_core.kernels.portable import sigmoid
from ratings_core.online.games import check_pair
from ratings_core.online.reading import Reading, plain_reading
from ratings_core.online.soft_reset import checked_keep, shrunk
from ratings_core.online.state import OnlineState
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.forecasts import ForecastModel


class CheckedSettings(ABC):
    """Base class of a rater, a frozen dataclass, whose `__post_init__` stores what its checks return."""

    @property
    def beliefs(self) -> BeliefModel | None:
        """None, as most raters have no deviation; see `Rater.beliefs`."""
        return None

    @abstractmethod
    def log_odds(self, state: Any, a: int, b: int) -> float:
        """As `Rater.log_odds`."""

    def predict(self, state: Any, a: int, b: int) -> float:
        """As `Rater.predict`."""
        return float(sigmoid(self.log_odds(state, a, b)))

    def _set(self, field: str, value: float) -> None:
        object.__setattr__(self, field, value)


class PlainRater(CheckedSettings):
    """One rating per agent, by which pairs are compared: `init`, `read` and `log_odds` of `Rater`."""

    start: float

    def init(self, n: int) -> OnlineState:
        """A state of `n` agents with rating `start`."""
        state = OnlineState()
        self.grow(state, count("n", n))
        return state

    def read(self, state: OnlineState, agents: NDArray[np.int32]) -> Reading:
        """Ratings of `agents`, as `Rater.read` does."""
        return plain_reading(OnlineState.checked(state), agents)

    def log_odds(self, state: OnlineState, a: int, b: int) -> float:
        """The difference of the ratings, times the slope. Raises as `Rater.log_odds` does."""
        check_pair(OnlineState.checked(state), a, b)
        return self._slope * float(state.rating[a] - state.rating[b])

    @property
    def forecasts(self) -> ForecastModel | None:
        """As `Rater.forecasts`: log odds are differences of ratings."""
        return ForecastModel(self._slope)

    @property
    @abstractmethod
    def _slope(self) -> float:
        """Log odds per rating point."""

    def soft_reset(self, state: OnlineState, keep: float, before: Self) -> OnlineState:  # noqa: ARG002 - settings do not matter
        """Ratings shrink to their mean, as `Rater.soft_reset` describes."""
        reset = self.init(len(OnlineState.checked(state)))
        reset.rating[:] = self._bounded(shrunk(state.rating, checked_keep(keep)))
        return reset

    def _bounded(self, ratings: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ratings within the method's bounds, if it has bounds."""
        return ratings

    def grow(self, state: OnlineState, n: int) -> None:
        """Make room for n agents, as `Rater.grow` does."""
        OnlineState.checked(state).grow(n, {"rating": self.start, "outcomes": 0})

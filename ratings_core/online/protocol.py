"""The interface of an online rater, and the laws that every rater keeps."""

from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ratings_core.online.prequential import Prequential
from ratings_core.online.reading import Reading
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.forecasts import ForecastModel
from ratings_core.records.outcomes import OutcomeBatch

StateT = TypeVar("StateT", bound=OnlineState)


@runtime_checkable
class Rater(Protocol[StateT]):
    """A method with its settings: a frozen dataclass that raises `InputError` for invalid settings on construction.

    Laws, which tests check for every rater:

    1. The division of a stream into batches does not change any bit of the state or of the prequential sums.
    2. Outcomes that share no agent commute, bit for bit (with rating periods: inside one period, because the first outcome of the next ends
       it).
    3. Renaming agents (permuting their ids, and the rows of the initial state) permutes the columns and changes nothing else.
    4. An empty batch changes nothing; agents that are not in an outcome keep their bits; scoring does not change ratings.
    5. A state of any size grows to hold the agents of a batch. Growth compiles nothing: a kernel has one signature.
    6. The same stream gives the same bits on every processor and system: portable arithmetic in fixed order.
    7. A refused batch changes nothing. Weights are positive (a weight of 0 is refused). Moves shrink nearly in proportion to the weight.
    8. For agents that have not played since, the deviation at a later time follows from an earlier reading. It is above 0, and grows at
       most to the deviation of a newcomer.
    9. Every field is a setting. A value that is not a number is refused, and the error names the field.
    10. p(a, b) + p(b, a) = 1 and p(a, a) = 1/2, for predictions p between 0 and 1. The fold scores scaled `log_odds`. The agent
        of higher mean rating is predicted to win, except by mElo. `forecasts` gives the same prediction from a reading.
    11. A state of another class, a batch of another type, and ids without an agent raise `InputError` and change nothing.
    12. An agent takes at most 64 bytes, and a state at most twice the bytes of its agents.
    13. Every game of 2 to 64 sides of any size, with ties, is folded, and all numbers of the state stay finite.
    14. A soft reset with `keep` 1 changes no rating, deviation or prediction. Less `keep` brings ratings nearer to their mean, in the same
        order, and no deviation falls. It commutes with renaming agents, and changes nothing of the state that it reads.
    """

    name: ClassVar[str]
    """The method's name in settings, boards and URLs."""

    @property
    def beliefs(self) -> BeliefModel | None:
        """The model by which deviations of readings follow from `Reading.beliefs`; None for methods without deviations."""

    @property
    def forecasts(self) -> ForecastModel | None:
        """The model by which log odds follow from what `read` gives; None if they need more than that."""

    def init(self, n: int) -> StateT:
        """A state of `n` agents that have not played."""

    def grow(self, state: StateT, n: int) -> None:
        """Make room for n agents. Further agents are new ones; nothing changes if the state has n agents already."""

    def fold(self, state: StateT, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply the outcomes of `batch` to `state`, in place and in order. The state grows to the greatest id in the batch.

        If `score` is given, the prediction made before each outcome is scored into it. If `trace` is given as well, it gets the ratings
        before and after each outcome, and the expected scores. Raises `InputError`, and changes nothing, if the columns of `batch` do not
        fit together, or `trace` does not fit them or comes without `score`. The fold does not check that a game names each agent only
        once; the maker of the batch ensures it.
        """

    def soft_reset(self, state: StateT, keep: float, before: Self) -> StateT:
        """A state of the same agents for the start of a season, without outcomes.

        Args:
            state: State at the end of the season before.
            keep: Share of each distance to the mean that remains, from 0 to 1.
            before: The rater that folded `state`. Its settings may differ.

        Raises:
            InputError: The state is not of this method, or `keep` is out of range.
        """

    def log_odds(self, state: StateT, a: int, b: int) -> float:
        """The method's own log odds of agent `a` against agent `b`. A fold scales them to a forecast before their outcome.

        Raises `InputError` if the state has no such agents.
        """

    def predict(self, state: StateT, a: int, b: int) -> float:
        """Expected score of agent `a` against agent `b` by the method's own log odds, 0 to 1.

        Forecasts that are calibrated to the outcomes so far are `Prequential.forecast(log_odds)`. Raises as `log_odds` does.
        """

    def read(self, state: StateT, agents: NDArray[np.int32]) -> Reading:
        """Ratings of `agents`, ids (k,), for boards. Reads no other agents, and changes nothing.

        The value that ranks an agent changes only when it takes part in an outcome. Raises `InputError` if the state has no such agents.
        """

"""What an online rater is, and the laws that every one keeps."""

from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ratings_core.online.prequential import Prequential
from ratings_core.online.reading import Reading
from ratings_core.online.state import OnlineState
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.outcomes import OutcomeBatch

StateT = TypeVar("StateT", bound=OnlineState)


@runtime_checkable
class Rater(Protocol[StateT]):
    """One method with its settings: a frozen dataclass that refuses bad settings with `InputError` when it is made.

    Laws, held by tests against every rater:

    1. How a stream is cut into batches changes no bit of the state or of the prequential sums.
    2. Outcomes that share no agent commute, bit for bit (with rating periods: inside one, as the first outcome of the next ends it).
    3. Renaming agents (permuting their ids, and the rows that a state starts with) permutes the columns and changes nothing else.
    4. An empty batch changes nothing; agents that are not in an outcome keep their bits; scoring does not change ratings.
    5. A state grows to hold the agents of a batch, whatever it held before, and growing compiles nothing: one kernel, one
       signature.
    6. The same stream gives the same bits on every processor and system: portable arithmetic in fixed order.
    7. A refused batch changes nothing. Weights are positive (a weight of 0 is refused). Moves shrink nearly in proportion to the weight.
    8. What a deviation is at a later time follows from the reading of an earlier one, for agents that have not played in between. It is
       above 0, and while its agent is away it grows to a newcomer's at most.
    9. Every field is a setting. A value that is no number is refused, and the error names the field.
    10. p(a, b) + p(b, a) = 1 and p(a, a) = 1/2, for predictions p between 0 and 1. The fold scores the prediction that `predict` gives. Of
        two agents, the one of higher mean rating is predicted to win, except by mElo.
    11. A state of another class, what is no batch, and ids of no agent raise `InputError` and change nothing.
    12. An agent takes at most 64 bytes, and a state at most twice the bytes of its agents.
    13. Every game of 2 to 64 sides of any size, with ties, is folded, and all numbers of the state stay finite.
    """

    name: ClassVar[str]
    """The method's name in settings, boards and URLs."""

    @property
    def beliefs(self) -> BeliefModel | None:
        """How deviations of the method's readings follow from `Reading.beliefs`; None for methods that hold none."""

    def init(self, n: int) -> StateT:
        """A state of `n` agents that have not played."""

    def fold(self, state: StateT, batch: OutcomeBatch, score: Prequential | None = None) -> None:
        """Apply the outcomes of `batch` to `state`, in place and in order, growing it to the greatest id in the batch.

        Where `score` is given, the prediction made before each outcome is scored into it. Raises `InputError`, with nothing
        changed, where the columns of `batch` do not fit together; that a game names each agent once is the maker's promise.
        """

    def predict(self, state: StateT, a: int, b: int) -> float:
        """Expected score of agent `a` against agent `b`, 0 to 1: what a fold scores before their outcome.

        Raises `InputError` where the state has no such agents.
        """

    def read(self, state: StateT, agents: NDArray[np.int32]) -> Reading:
        """What boards show of `agents`: ids (k,). Looks at nobody else, and changes nothing.

        The value that ranks an agent changes only when it takes part in an outcome. Raises `InputError` where the state has no such
        agents.
        """

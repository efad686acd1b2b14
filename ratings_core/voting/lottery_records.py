"""What maximal and iterated maximal lotteries return."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.solution import Floats, Solution, Status

Mode: TypeAlias = Literal["maxent", "any"]
"""Which maximal lottery is wanted where there are several.

``maxent``: the one of largest entropy, so that the answer is unique; ``any``: some certified one, which tens of thousands of agents
with sparse margins still have within seconds.
"""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of an iterated lottery, best first.

    agents: ids, ascending: those that some maximal lottery of the agents left elects; lottery: their probabilities, all positive;
    exploitability: -(least entry of M'p) over the largest |margin| within the top component of the agents left;
    entropy: nats, over classes of duplicates; unique: proven to be the only maximal lottery of the merged agents left.
    In mode `any`: those that the computed lottery elects; the top is all unbeaten components; no agents are merged.
    """

    agents: NDArray[np.int64]
    lottery: Floats
    exploitability: float
    entropy: float
    unique: bool
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximalLottery(Solution):
    """ratings: the lottery itself, as the paper ranks by it. lottery: (m,), sums to 1; support: ids that some maximal lottery
    elects, all of which this one does (mode `any`: whom this one elects); entropy, unique: as in `Level`. certificate:
    ``exploitability``, -(least entry of M'p) over the largest |margin| (mode `any`: of the unbeaten components), at least 0.
    """

    lottery: Floats
    support: NDArray[np.int64]
    entropy: float
    unique: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IteratedMaximalLotteries(Solution):
    """ratings: levels below an agent's own plus its probability in it, so the last level's members get their probability and a
    sole member of level l of L gets L - l + 1 (the paper's sec. 4.3). levels: best first, every agent in one.
    certificate: ``exploitability``, the worst of the levels'.
    """

    levels: tuple[Level, ...]

"""Results of maximal and iterated maximal lotteries."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.solution import Floats, Solution, Status

Mode: TypeAlias = Literal["maxent", "any"]
"""Choice among several maximal lotteries.

``maxent``: the maximal lottery of largest entropy, which is unique. ``any``: an arbitrary certified maximal lottery; for tens of thousands
of agents with sparse margins it takes seconds.
"""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of an iterated lottery, best first.

    The remaining agents are those of this level and all lower ones. An agent is elected if its probability is positive.

    agents: ids, ascending, of the agents that some maximal lottery of the remaining agents elects; lottery: their probabilities, all
    positive; exploitability: minus the smallest entry of M'p, divided by the largest |margin| in the top component of the remaining agents;
    entropy: in nats, over classes of duplicates; unique: whether it is proven that the remaining agents, with duplicates merged, have no
    other maximal lottery; status: of the computation. In mode `any`, agents are those that the computed lottery elects, the top component
    is the union of all unbeaten components, and duplicates are not merged.
    """

    agents: NDArray[np.int64]
    lottery: Floats
    exploitability: float
    entropy: float
    unique: bool
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximalLottery(Solution):
    """A maximal lottery. ratings: the lottery, because the paper ranks agents by it; lottery: (m,), probabilities.

    support: ids of the agents that some maximal lottery elects; this lottery elects all of them (mode `any`: ids of the agents that this
    lottery elects). entropy, unique: as in `Level`. certificate: ``exploitability``, minus the smallest entry of M'p, divided by the
    largest |margin| (mode `any`: of the unbeaten components); at least 0.
    """

    lottery: Floats
    support: NDArray[np.int64]
    entropy: float
    unique: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IteratedMaximalLotteries(Solution):
    """ratings: the number of levels below the agent's level plus its probability in that level (the paper's sec. 4.3).

    Agents of the last level have their probability as rating; the only agent of level l of L has L - l + 1. levels: best first; each agent
    is in exactly one level. certificate: ``exploitability``, the largest of the levels.
    """

    levels: tuple[Level, ...]

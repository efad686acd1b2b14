"""The papers' programs as they are printed: slow and readable, for tests and for `equirank solve --check`.

Each function writes one program in cvxpy, with the paper's symbols, and passes it to an independent solver: HiGHS for linear and
mixed-integer programs, Clarabel for programs with entropy. The programs share no arithmetic with the fast solvers of this library. Needs
the extra `reference`.
"""

from ratings_core.reference.correlated import Correlated, gains, nearest_equilibrium
from ratings_core.reference.deviation import deviation_ratings
from ratings_core.reference.lotteries import iterated_maximal_lotteries, maximal_lottery
from ratings_core.reference.nash import Averages, nash_average, nash_average_agents
from ratings_core.reference.sigmoidal import LeastLoss, least_sigmoid_loss

__all__ = [
    "Averages",
    "Correlated",
    "LeastLoss",
    "deviation_ratings",
    "gains",
    "iterated_maximal_lotteries",
    "least_sigmoid_loss",
    "maximal_lottery",
    "nash_average",
    "nash_average_agents",
    "nearest_equilibrium",
]

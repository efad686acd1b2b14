"""Terms: the rating of one agent, or the balance that determines it, as a sum over opponents, tasks or places.

Each function here takes arrays of a solution and returns `Terms`. `ratings_core.methods.explanations` calls them for the methods of the
registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.batch.pair_counts import MetPairs
from ratings_core.solution import Floats

By: TypeAlias = Literal["opponent", "task", "place"]
Ids: TypeAlias = NDArray[np.int64]

ROUNDING: Final = 1e-9
"""Largest error of a sum of terms, relative to the sum of their absolute values, in addition to the error that a certificate allows."""
CANCELLATION: Final = 1e-13
"""Largest rounding error of terms that are differences, relative to what they are the differences of. All of these terms can be near 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A sum with a term for each opponent, task or place.

    by: what the terms belong to; quantity: meaning and unit of a term; names: (k,), what each term belongs to; values: (k,), the terms;
    columns: further numbers of the k rows, by name; rest: terms that belong to no row, such as the prior's, by name; interest: (k,), the
    rows to show first have the largest values, by default the absolute values of the terms.

    total: what all terms sum to, taken from the solution: the agent's rating, or 0 for a balance; None if the terms are evidence only and
    sum to nothing that the method reports. slack: largest difference of sum and `total` that the certificate of the solution allows.
    meaning: what the sum says about the agent, as a sentence.
    """

    by: By
    quantity: str
    names: tuple[str, ...]
    values: Floats
    meaning: str
    total: float | None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    rest: Mapping[str, float] = field(default_factory=dict)
    slack: float = 0.0
    interest: Floats | None = None

    @property
    def sum(self) -> float:
        """Sum of all terms, with `rest`."""
        return float(self.values.sum()) + sum(self.rest.values())

    @property
    def size(self) -> float:
        """Sum of the absolute values of all terms, with `rest`."""
        return float(np.abs(self.values).sum()) + sum(map(abs, self.rest.values()))

    @property
    def error(self) -> float:
        """Difference of the sum and `total`; 0 without a total."""
        return 0.0 if self.total is None else abs(self.sum - self.total)

    @property
    def allowed(self) -> float:
        """Largest `error` of a correct answer: `slack` and rounding."""
        return self.slack + ROUNDING * max(self.size, abs(self.total or 0.0))

    @property
    def shares(self) -> Floats:
        """Share of each term in `size` (k,), with the sign of the term; 0 if all terms are 0."""
        return np.asarray(self.values / (self.size or 1.0), np.float64)

    @property
    def order(self) -> Ids:
        """Rows by `interest`, largest first (k,). Equal rows stay in their order."""
        return np.asarray(np.argsort(-(np.abs(self.values) if self.interest is None else self.interest), kind="stable"), np.int64)


@dataclass(frozen=True, slots=True)
class Opponents:
    """Results of one agent against each opponent that it met.

    ids: (k,), opponents; games: (k,), weight of the results; points: (k,), points of the agent, 1 for a win and 1/2 for a tie.
    """

    ids: Ids
    games: Floats
    points: Floats

    @classmethod
    def of(cls, counts: MetPairs, agent: int) -> "Opponents":
        """The results of `agent` in `counts`, by opponent in ascending order of id."""
        own, other = counts.first == agent, counts.second == agent
        ids = np.concatenate([counts.second[own], counts.first[other]])
        games = np.concatenate([counts.games[own], counts.games[other]])
        points = np.concatenate([counts.points[own], (counts.games - counts.points)[other]])
        order = np.argsort(ids, kind="stable")
        return cls(ids[order], games[order], points[order])

    def only(self, kept: NDArray[np.bool_]) -> "Opponents":
        """The opponents selected by `kept`, bool (k,)."""
        return Opponents(self.ids[kept], self.games[kept], self.points[kept])


def named(names: tuple[str, ...], ids: Ids) -> tuple[str, ...]:
    """Names of ids."""
    return tuple(names[i] for i in ids.tolist())


def score_balance(opponents: Opponents, expected: Floats, names: tuple[str, ...], rest: Mapping[str, float], slack: float) -> Terms:
    """The score equation of a fit by maximum likelihood: points less expected points, by opponent. At the optimum they sum to 0.

    A logistic fit chooses each rating such that the agent's points equal its expected points (Bradley and Terry 1952; Hunter 2004, sec. 2).
    A positive term is an opponent against which the agent did better than its rating predicts, so it pulls the rating up.

    expected: (k,), expected score of the agent in one game against each opponent, 0 to 1; rest: terms of the prior and of a bound; slack:
    largest sum that the certificate allows, in points.
    """
    expected_points = opponents.games * expected
    return Terms(
        by="opponent",
        quantity="points less expected points",
        names=named(names, opponents.ids),
        values=opponents.points - expected_points,
        meaning="the rating is where points equal expected points, so the terms sum to 0; a positive term, more points than expected, "
        "pulls the rating up, and a negative one pulls it down",
        total=0.0,
        columns={"games": opponents.games, "points": opponents.points, "expected": expected_points},
        rest=rest,
        slack=slack + CANCELLATION * float(opponents.games.sum()),
    )


def logistic_expected(ratings: Floats, agent: int, opponents: Ids, scale: float) -> Floats:
    """Expected score of `agent` against each opponent (k,): 1 / (1 + exp(-difference / scale))."""
    return np.asarray(scipy.special.expit((ratings[agent] - ratings[opponents]) / scale), np.float64)


def copeland_points(row: Floats, agent: int, names: tuple[str, ...], tolerance: float, rating: float) -> Terms:
    """Copeland's points by opponent: 1 for a positive margin, 1/2 for a margin of at most `tolerance`, 0 for a negative one.

    row: (m,), margins of the agent over all agents. Lost points are shown first, then half points, then the closest victories.
    """
    others = np.flatnonzero(np.arange(len(row)) != agent)
    margins = row[others]
    points = np.select([margins > tolerance, margins < -tolerance], [1.0, 0.0], 0.5)
    largest = float(np.abs(margins).max(initial=0.0)) or 1.0
    return Terms(
        by="opponent",
        quantity="points",
        names=named(names, others),
        values=points,
        meaning="the rating is the number of agents beaten head to head, plus half the number of ties; no term is negative",
        total=rating,
        columns={"margin": margins},
        interest=2 * (1 - points) + 0.5 * (1 - np.abs(margins) / largest),
    )


def lottery_payoff(row: Floats, elected: Ids, lottery: Floats, names: tuple[str, ...], total: float, slack: float, meaning: str) -> Terms:
    """Expected margin of an agent against a lottery, by member of the lottery.

    Against a maximal lottery no agent has a positive expected margin, and each elected agent has exactly 0 (complementary slackness).

    row: (k,), margins of the agent over the elected agents; elected: (k,), their ids; lottery: (k,), their probabilities.
    """
    return Terms(
        by="opponent",
        quantity="margin x probability",
        names=named(names, elected),
        values=row * lottery,
        meaning=f"{meaning}; a positive term is a member of the lottery that the agent beats, and a negative one a member that beats it",
        total=total,
        columns={"margin": row, "probability": lottery},
        slack=slack,
    )


def mix_payoff(
    row: Floats, mix: Floats, by: By, names: tuple[str, ...], quantity: str, meaning: str, total: float, unit: float = 0.0
) -> Terms:
    """Expected payoff of a strategy against a mix, by strategies of the mix with a positive probability.

    row: (k,), payoffs of the strategy; mix: (k,), probabilities of the k strategies with these names; unit: largest payoff of the game; the
    rating is a mean of payoffs that can cancel.
    """
    played = np.flatnonzero(mix > 0)
    return Terms(
        by=by,
        quantity=quantity,
        names=named(names, played),
        values=row[played] * mix[played],
        meaning=f"{meaning}; the terms sum to it, a positive one raises it, and a negative one lowers it",
        total=total,
        columns={"payoff": row[played], "probability": mix[played]},
        slack=CANCELLATION * unit,
    )

"""Readable twins of the online raters: the formulas in plain Python with libm's exp, a dict of ratings, no kernels."""

import math
from dataclasses import dataclass, field

from ratings_core.outcomes import WEIGHT_ONE


@dataclass
class Book:
    """What a twin leaves: ratings and outcome counts by agent, prequential sums."""

    start: float
    rating: dict = field(default_factory=dict)
    outcomes: dict = field(default_factory=dict)
    weight: float = 0.0
    decided: float = 0.0
    log_loss: float = 0.0
    brier: float = 0.0
    discordance: float = 0.0

    def side(self, members):
        return sum(self.rating.setdefault(m, self.start) for m in members) / len(members)

    def predicted(self, x, result, weight):
        p = 1 / (1 + math.exp(-x))
        self.weight += weight
        self.log_loss -= weight * (result * math.log(p) + (1 - result) * math.log(1 - p))
        self.brier += weight * (result - p) ** 2
        if result != 0.5:
            self.decided += weight
            self.discordance += weight * (0.5 if x == 0 else float((x > 0) != (result == 1)))


def result_between(place, other):
    return 1.0 if place < other else 0.0 if place > other else 0.5


def elo_twin(rater, games):
    """Pairs of an outcome, all from the ratings before it; K weight/(n - 1) sum(S - E)."""
    book = Book(rater.start)
    for game in games:
        weight = game.weight / WEIGHT_ONE
        means = [book.side(members) for members, _ in game.sides]
        gains = [0.0] * len(means)
        for i, (_, place) in enumerate(game.sides):
            for j, (_, other) in enumerate(game.sides):
                if i == j:
                    continue
                result = result_between(place, other)
                gains[i] += result - 1 / (1 + rater.base ** (-(means[i] - means[j]) / rater.scale))
                if i < j:
                    book.predicted((means[i] - means[j]) * math.log(rater.base) / rater.scale, result, weight)
        for (members, _), gain in zip(game.sides, gains, strict=True):
            for member in members:
                played = book.outcomes.get(member, 0)
                k = rater.provisional_k if played < rater.provisional_outcomes else rater.k
                book.rating[member] += k * weight / (len(means) - 1) * gain
                book.outcomes[member] = played + 1
    return book


def sco_twin(rater, games):
    """theta - alpha weight gradient of sum sigmoid((theta_loser - theta_winner)/tau), then clipped to the bounds."""
    book = Book(rater.start)
    for game in games:
        weight = game.weight / WEIGHT_ONE
        means = [book.side(members) for members, _ in game.sides]
        gradient = [0.0] * len(means)
        for i, (_, place) in enumerate(game.sides):
            for j in range(i + 1, len(means)):
                result = result_between(place, game.sides[j][1])
                book.predicted((means[i] - means[j]) / rater.tau, result, weight)
                if result == 0.5:
                    continue
                winner, loser = (i, j) if result == 1 else (j, i)
                p = 1 / (1 + math.exp(-(means[loser] - means[winner]) / rater.tau))
                gradient[loser] += p * (1 - p) / rater.tau
                gradient[winner] -= p * (1 - p) / rater.tau
        for (members, _), slope in zip(game.sides, gradient, strict=True):
            for member in members:
                moved = book.rating[member] - rater.alpha * weight * slope / len(members)
                book.rating[member] = min(max(moved, rater.low), rater.high)
                book.outcomes[member] = book.outcomes.get(member, 0) + 1
    return book

"""glicko2: an object for each player, updated at the end of each period from lists of opponents."""

import math

import numpy as np
from glicko2 import Player

PACKAGES = ("glicko2",)
NEWCOMER = 350.0


class Corrected(Player):
    """With Glickman's equation of the volatility (2013, step 5), and deviations of at most a newcomer's, as Equirank has them."""

    def _f(self, x, delta, v, a):
        raised, variance = math.exp(x), (self.rd / 173.7178) ** 2
        return raised * (delta**2 - variance - v - raised) / (2 * (variance + v + raised) ** 2) - (x - a) / self._tau**2

    def _newVol(self, rating_list, RD_list, outcome_list, v):  # noqa: N802 - its name
        delta, variance = self._delta(rating_list, RD_list, outcome_list, v), (self.rd / 173.7178) ** 2
        low = a = math.log(self.vol**2)
        if delta**2 > variance + v:
            high = math.log(delta**2 - variance - v)
        else:
            steps = 1
            while self._f(a - steps * self._tau, delta, v, a) < 0:
                steps += 1
            high = a - steps * self._tau
        at_low, at_high = self._f(low, delta, v, a), self._f(high, delta, v, a)
        while abs(high - low) > 1e-12 and at_high != at_low:
            between = low + (low - high) * at_low / (at_high - at_low)
            at_between = self._f(between, delta, v, a)
            if at_between * at_high <= 0:
                low, at_low = high, at_high
            else:
                at_low /= 2
            high, at_high = between, at_between
        return math.exp(low / 2)

    def _preRatingRD(self):  # noqa: N802 - its name
        super()._preRatingRD()
        self.rd = min(self.rd, NEWCOMER)


def as_published(data):
    return played(data, Player)


def corrected(data):
    return played(data, Corrected)


def played(data, player):
    """All periods: results of each agent, with its opponents at the start of the period."""
    listed = [data[name].tolist() for name in ("period", "first", "second", "result")]

    def run():
        players, periods = {}, {}
        for period, a, b, result in zip(*listed, strict=True):
            own = periods.setdefault(period, {})
            own.setdefault(a, []).append((b, result))
            own.setdefault(b, []).append((a, 1.0 - result))
        for period in sorted(periods):
            one_period(players, periods[period], player)
        return players

    def values(players):
        ratings = np.full(int(data["agents"]), np.nan)
        for agent, own in players.items():
            ratings[agent] = own.rating
        return {"ratings": ratings}

    return run, values


def one_period(players, games, player):
    before = {}
    for agent in games:
        own = players.get(agent)
        before[agent] = (own.rating, own.rd) if own else (1500.0, NEWCOMER)
    for agent, own in players.items():
        if agent not in games:
            own.did_not_compete()
    for agent, results in games.items():
        own = players.setdefault(agent, player())
        opponents = [before[other] for other, _ in results]
        own.update_player([rating for rating, _ in opponents], [rd for _, rd in opponents], [result for _, result in results])

"""Readable twins of the online raters: the formulas in plain Python, with libm's exp and dicts of ratings, without kernels."""

import math
from dataclasses import dataclass, field

from scipy.optimize import brentq

from ratings_core.records.outcomes import WEIGHT_ONE


@dataclass
class Book:
    """Result of a twin: ratings and outcome counts by agent, and prequential sums."""

    start: float
    rating: dict = field(default_factory=dict)
    other: dict = field(default_factory=dict)  # column -> agent -> value, of further columns
    outcomes: dict = field(default_factory=dict)
    weight: float = 0.0
    decided: float = 0.0
    log_loss: float = 0.0
    brier: float = 0.0
    discordance: float = 0.0
    doubtful: float = 0.0  # part of the discordance of differences near 0, which rounding may make exactly 0
    scale: float = 1.0
    information: float = 1.0
    pending: list = field(default_factory=list)  # (slope, curvature) of the outcome's pairs
    bins: list = field(default_factory=lambda: [[0.0] * 4 for _ in range(10)])  # weight, sums of forecasts and results of favourites, ties

    def side(self, members):
        return sum(self.rating.setdefault(m, self.start) for m in members) / len(members)

    def predicted(self, x, result, weight):
        z = self.scale * x
        p = math.exp(min(z, 0.0)) / (1 + math.exp(-abs(z)))
        self.pending.append(((result - p) * z, p * (1 - p) * z * z))
        favourite, won = (p, result) if z > 0 else (1 - p, 1 - result) if z < 0 else (0.5, 0.5)
        for column, value in enumerate((1.0, favourite, won, float(result == 0.5))):
            self.bins[min(9, int((favourite - 0.5) * 20))][column] += weight * value
        self.weight += weight
        self.log_loss += weight * (math.log1p(math.exp(-abs(z))) + max(z, 0.0) - result * z)
        self.brier += weight * (result - p) ** 2
        if result != 0.5:
            self.decided += weight
            self.discordance += weight * (0.5 if x == 0 else float((x > 0) != (result == 1)))
            self.doubtful += weight * 0.5 * (abs(x) < 1e-9 and bool(self.outcomes))

    def settle(self):
        """After the pairs of an outcome: one Newton step for log scale, with past information faded by 1/2000 towards 1."""
        slope, curvature = (sum(column) / len(self.pending) for column in zip(*self.pending, strict=True))
        self.information = self.information * (1 - 1 / 2000) + 1 / 2000 + curvature
        step = slope / self.information
        step = min(max(step, -0.5), 0.5)
        self.scale = min(max(self.scale * (2 + step) / (2 - step), 1e-6), 1e6)
        self.pending.clear()


def result_between(place, other):
    return 1.0 if place < other else 0.0 if place > other else 0.5


def elo_twin(rater, games):
    """Elo: K weight/(n - 1) sum(S - E) over the pairs of an outcome, with E from the ratings before the outcome."""
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
        book.settle()
    return book


def sco_twin(rater, games):
    """Soft Condorcet: theta - alpha weight gradient of sum sigmoid((theta_loser - theta_winner)/tau), then clipped to the bounds."""
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
        book.settle()
    return book


WORD = 2**64 - 1


def mixed(k):
    """MurmurHash3's 64-bit finaliser."""
    k = (k ^ (k >> 33)) * 0xFF51AFD7ED558CCD & WORD
    k = (k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53 & WORD
    return k ^ (k >> 33)


def keyed_uniform(seed, key, index):
    step = 0x9E3779B97F4A7C15
    word = (mixed((mixed(mixed(seed + step & WORD) ^ key[0]) + key[1]) & WORD) + (index + 1) * step) & WORD
    return ((mixed(word) >> 12) + 0.5) / 2**52


def fenchel_young_twin(rater, games):
    """theta - alpha weight (ranks of perturbed ratings - observed ranks), then clipped to the bounds.

    The worst rank is 0. Tied places share the mean of their ranks.
    """
    book = Book(rater.start)
    for game in games:
        weight = game.weight / WEIGHT_ONE
        means = [book.side(members) for members, _ in game.sides]
        for i, (_, place) in enumerate(game.sides):
            for j in range(i + 1, len(means)):
                book.predicted((means[i] - means[j]) / rater.sigma, result_between(place, game.sides[j][1]), weight)
        gumbel = [-math.log(-math.log(keyed_uniform(rater.seed, game.key, side))) for side in range(len(means))]
        perturbed = [mean + rater.sigma * x for mean, x in zip(means, gumbel, strict=True)]
        ranks = [sum(other < mine for other in perturbed) for mine in perturbed]
        places = [place for _, place in game.sides]
        observed = [sum(other > mine for other in places) + (places.count(mine) - 1) / 2 for mine in places]
        for (members, _), rank, seen in zip(game.sides, ranks, observed, strict=True):
            for member in members:
                moved = book.rating[member] - rater.alpha * weight * (rank - seen) / len(members)
                book.rating[member] = min(max(moved, rater.low), rater.high)
                book.outcomes[member] = book.outcomes.get(member, 0) + 1
        book.settle()
    return book


def first_vector(rater, agent):
    vector = []
    for plane in range(rater.dimensions // 2):
        for index in range(0, 1000, 2):
            x, y = (2 * keyed_uniform(rater.seed, (agent, plane), index + i) - 1 for i in (0, 1))
            if (s := x * x + y * y) < 1:
                vector += [rater.spread * z * math.sqrt(-2 * math.log(s) / s) for z in (x, y)]
                break
    return vector


def melo_twin(rater, games):
    """Elo for ratings, and c + rate weight/(n - 1) sum((S - E) Omega c_other) for vectors, both from the values before the outcome."""
    book, slope = Book(rater.start), math.log(rater.base) / rater.scale
    vectors = book.other["vector"] = {}
    for game in games:
        weight, n = game.weight / WEIGHT_ONE, len(game.sides)
        means = [book.side(members) for members, _ in game.sides]
        for members, _ in game.sides:
            for member in members:
                vectors.setdefault(member, first_vector(rater, member))
        centres = [[sum(c) / len(members) for c in zip(*(vectors[m] for m in members), strict=True)] for members, _ in game.sides]
        moves = [(0.0, [0.0] * rater.dimensions) for _ in range(n)]
        for i, (_, place) in enumerate(game.sides):
            for j, (_, other) in enumerate(game.sides):
                if i == j:
                    continue
                twisted = [z for a, b in zip(centres[j][::2], centres[j][1::2], strict=True) for z in (b, -a)]
                x = slope * (means[i] - means[j]) + sum(a * b for a, b in zip(centres[i], twisted, strict=True))
                result = result_between(place, other)
                miss = result - 1 / (1 + math.exp(-x))
                moves[i] = moves[i][0] + miss, [m + miss * t for m, t in zip(moves[i][1], twisted, strict=True)]
                if i < j:
                    book.predicted(x, result, weight)
        for (members, _), (gain, pull) in zip(game.sides, moves, strict=True):
            for member in members:
                book.rating[member] += rater.k * weight / (n - 1) * gain
                moved = [c + rater.rate * weight / (n - 1) * p for c, p in zip(vectors[member], pull, strict=True)]
                vectors[member] = [min(max(c, -10.0), 10.0) for c in moved]
                book.outcomes[member] = book.outcomes.get(member, 0) + 1
        book.settle()
    return book


def weng_lin_twin(rater, games):
    """Algorithm 4 of the source, with explicit loops for its sums over q."""
    book = Book(rater.mu)
    sigma = book.other["deviation"] = {}
    for game in games:
        weight, beta2 = game.weight / WEIGHT_ONE, rater.beta**2
        teams, places = [members for members, _ in game.sides], [place for _, place in game.sides]
        for member in (m for members in teams for m in members):
            sigma.setdefault(member, rater.sigma)
            book.rating.setdefault(member, rater.mu)
        mu = [sum(book.rating[m] for m in members) for members in teams]
        known = [sum(sigma[m] ** 2 for m in members) for members in teams]
        for i in range(len(teams)):
            for j in range(i + 1, len(teams)):
                x = (mu[i] - mu[j]) / math.sqrt(known[i] + known[j] + 2 * beta2)
                book.predicted(x, result_between(places[i], places[j]), weight)
        for member in (m for members in teams for m in members):
            sigma[member] = math.sqrt(sigma[member] ** 2 + weight * rater.tau**2)
        variance = [sum(sigma[m] ** 2 for m in members) for members in teams]
        c = math.sqrt(sum(v + beta2 for v in variance))
        strength = [math.exp(m / c) for m in mu]
        total = [sum(s for s, p in zip(strength, places, strict=True) if p >= q) for q in places]
        for i, members in enumerate(teams):
            omega = delta = 0.0
            for q, place in enumerate(places):
                if place <= places[i]:
                    chance = strength[i] / total[q]
                    omega += ((i == q) - chance) / places.count(place)
                    delta += chance * (1 - chance) / places.count(place)
            omega *= variance[i] / c
            delta *= variance[i] / c**2 * math.sqrt(variance[i]) / c
            for member in members:
                share = sigma[member] ** 2 / variance[i]
                book.rating[member] += weight * share * omega
                sigma[member] *= math.sqrt(max(1 - weight * share * delta, rater.kappa))
                book.outcomes[member] = book.outcomes.get(member, 0) + 1
        book.settle()
    return book


def glicko_volatility(phi2, sigma, v, delta, tau):
    """New volatility: step 5 of the source, with another root finder."""
    start = math.log(sigma**2)

    def f(x):
        return math.exp(x) * (delta**2 - phi2 - v - math.exp(x)) / (2 * (phi2 + v + math.exp(x)) ** 2) - (x - start) / tau**2

    highest = max(start, math.log(delta**2 - phi2 - v)) if delta**2 > phi2 + v else start
    return math.exp(brentq(f, start - tau * (tau / 2 + 2), highest + 1e-12, xtol=1e-15, rtol=1e-15, maxiter=1000) / 2)


@dataclass
class GlickoAgent:
    mu: float
    phi: float
    sigma: float
    period: int | None = None
    information: float = 0.0
    surprise: float = 0.0

    def closed(self, rater):
        """mu, phi and sigma after the games so far of the current period."""
        if not self.information:
            return self.mu, self.phi, self.sigma
        widest = rater.deviation / rater.scale
        sigma = min(widest, glicko_volatility(self.phi**2, self.sigma, 1 / self.information, self.surprise / self.information, rater.tau))
        phi = 1 / math.sqrt(1 / min(self.phi**2 + sigma**2, widest**2) + self.information)
        return self.mu + phi**2 * self.surprise, phi, sigma

    def enter(self, rater, period):
        if self.period is not None and period > self.period:
            self.mu, self.phi, self.sigma = self.closed(rater)
            for _ in range(period - self.period - 1):
                self.phi = min(math.sqrt(self.phi**2 + self.sigma**2), rater.deviation / rater.scale)
            self.information = self.surprise = 0.0
        self.period = period


@dataclass
class GlickoTeam:
    """A team's mean strength and its variance: at the start of the period, and (`_now`) after the games so far of the period."""

    agents: list
    place: int
    rater: object

    def __post_init__(self):
        size, now = len(self.agents), [agent.closed(self.rater) for agent in self.agents]
        self.mu, self.variance = sum(a.mu for a in self.agents) / size, sum(a.phi**2 for a in self.agents) / size**2
        self.mu_now, self.variance_now = sum(mu for mu, _, _ in now) / size, sum(phi**2 for _, phi, _ in now) / size**2

    def against(self, other):
        """Information and surprise of a game against `other`."""
        damp = glicko_g(other.variance)
        expected = 1 / (1 + math.exp(-damp * (self.mu - other.mu)))
        return damp**2 * expected * (1 - expected), damp * (result_between(self.place, other.place) - expected)


def glicko_g(variance):
    return 1 / math.sqrt(1 + 3 * variance / math.pi**2)


def glicko2_twin(rater, games):
    """Glicko-2 by rating periods as in the source. The pairs of an outcome with n sides count as games of weight 3/(n + 1)."""
    book, agents, clock = Book(rater.start), {}, None
    for game in games:
        weight, period = game.weight / WEIGHT_ONE, math.floor(game.time / rater.period_seconds)
        clock = period if clock is None else max(clock, period)
        for member in (m for members, _ in game.sides for m in members):
            agents.setdefault(member, GlickoAgent(rater.start / rater.scale, rater.deviation / rater.scale, rater.volatility))
            agents[member].enter(rater, clock)
            book.outcomes[member] = book.outcomes.get(member, 0) + 1
        teams = [GlickoTeam([agents[m] for m in members], place, rater) for members, place in game.sides]
        for i, team in enumerate(teams):
            for other in teams[i + 1 :]:
                x = glicko_g(team.variance_now + other.variance_now) * (team.mu_now - other.mu_now)
                book.predicted(x, result_between(team.place, other.place), weight)
        learnt = [[sum(part) for part in zip(*(team.against(o) for o in teams if o is not team), strict=True)] for team in teams]
        for team, (information, surprise) in zip(teams, learnt, strict=True):
            for agent in team.agents:
                agent.information += weight * 3 / (len(teams) + 1) * information / len(team.agents) ** 2
                agent.surprise += weight * 3 / (len(teams) + 1) * surprise / len(team.agents)
        book.settle()
    book.rating = {member: agent.mu * rater.scale for member, agent in agents.items()}
    book.other["deviation"] = {member: agent.phi * rater.scale for member, agent in agents.items()}
    book.other["volatility"] = {member: agent.sigma for member, agent in agents.items()}
    book.other["information"] = {member: agent.information for member, agent in agents.items()}
    book.other["surprise"] = {member: agent.surprise for member, agent in agents.items()}
    return book

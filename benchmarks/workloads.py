"""Seeded synthetic work that several benchmarks share."""

import numpy as np
from numpy.typing import NDArray


def random_margins(m: int, seed: int, *, largest: int = 50, odd: bool = False) -> NDArray[np.float64]:
    """Margins of a random tournament, uniform to +-`largest`; odd ones leave no ties, so the lottery is unique."""
    rng = np.random.default_rng(seed)
    drawn = 2 * rng.integers(-largest, largest, (m, m)) + 1 if odd else rng.integers(-largest, largest + 1, (m, m))
    return _antisymmetric(drawn.astype(np.float64))


def noisy_order_margins(m: int, seed: int) -> NDArray[np.float64]:
    """Margins to about +-100 that follow a skill, with noise enough for cycles among agents of like skill and some ties."""
    rng = np.random.default_rng(seed)
    skill = np.sort(rng.normal(size=m))[::-1] * 3
    return _antisymmetric(np.round(100 * np.tanh(np.subtract.outer(skill, skill)) + 10 * rng.normal(size=(m, m))))


def _antisymmetric(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    upper = np.triu(drawn, 1)
    return upper - upper.T


def battles(n: int = 1_000_000, m: int = 100, seed: int = 3) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(winner, loser) of n games of two of m agents with skill N(0, 1) in logits, met unevenly often, no ties."""
    rng = np.random.default_rng(seed)
    activity = rng.gamma(1.0, size=m) + 0.05
    first = rng.choice(m, n, p=activity / activity.sum())
    second = (first + 1 + rng.choice(m - 1, n)) % m
    skill = rng.normal(size=m)
    won = rng.random(n) < 1 / (1 + np.exp(skill[second] - skill[first]))
    return np.where(won, first, second), np.where(won, second, first)


def free_for_alls(n: int = 31_049, m: int = 52_958, k: int = 7, seed: int = 2) -> NDArray[np.int32]:
    """Agents of n games of k, best first (n, k): Plackett-Luce outcomes, everybody plays, activity Lomax(1.1), mean n k / m.

    The default has the size of the Diplomacy data of Lanctot et al. 2025, sec. 4.4; skill is 0.5 N(0, 1) + 0.12 log(games played).
    """
    rng = np.random.default_rng(seed)
    activity = np.minimum(rng.pareto(1.1, m), 400.0)
    played = 1 + rng.multinomial(n * k - m, activity / activity.sum())
    games = _without_repeats(rng.permutation(np.repeat(np.arange(m), played)).reshape(n, k), rng)
    skill = 0.5 * rng.normal(size=m) + 0.12 * np.log(played)
    order = np.argsort(-(skill[games] + rng.gumbel(size=games.shape)), axis=1)
    return np.take_along_axis(games, order, axis=1).astype(np.int32)


def held_out(games: NDArray[np.int32], m: int, count: int, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(the rest, `count` games drawn of those whose players all appear in the rest), both in their order."""
    left, chosen = np.bincount(games.ravel(), minlength=m), np.zeros(len(games), np.bool_)
    for game in np.random.default_rng(seed).permutation(len(games)):
        if (left[games[game]] > 1).all():
            left[games[game]] -= 1
            chosen[game] = True
            if chosen.sum() == count:
                break
    return games[~chosen], games[chosen]


def pairs_of(games: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(winner, loser) of all k (k - 1) / 2 pairs of each game of `free_for_alls`, game after game."""
    better, worse = np.triu_indices(games.shape[1], 1)
    return games[:, better].ravel(), games[:, worse].ravel()


def _without_repeats(games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Swaps seats until no agent sits twice in a game."""
    games = games.copy()
    while True:
        order = np.argsort(games, axis=1, kind="stable")
        in_order = np.take_along_axis(games, order, axis=1)
        row, at = np.nonzero(in_order[:, 1:] == in_order[:, :-1])
        if not row.size:
            return games
        for game, seat in zip(row, order[row, at + 1], strict=True):
            other = rng.integers(games.shape[0]), rng.integers(games.shape[1])
            games[game, seat], games[other] = games[other], games[game, seat]


def zipf_games(n: int = 1_000_000, m: int = 100_000, exponent: float = 0.9, seed: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(winner, loser) of n games of two of m agents with skill N(0, 1) in logits; the r-th most active plays as r**-exponent."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, m + 1) ** -exponent
    upto = np.cumsum(share / share.sum())
    rank = np.minimum(np.searchsorted(upto, rng.random((2, n))), m - 1)
    rank[1] = np.where(rank[0] == rank[1], (rank[1] + rng.integers(1, m, n)) % m, rank[1])
    first, second = rng.permutation(m).astype(np.int32)[rank]
    skill = rng.normal(size=m)
    won = rng.random(n) < 1 / (1 + np.exp(skill[second] - skill[first]))
    return np.where(won, first, second), np.where(won, second, first)


def preferences(prompts: int, models: int, seed: int = 0) -> NDArray[np.float64]:
    """A judge's preferences u (prompts, models, models) in halves from -1 to 1, antisymmetric in the models (Liu et al. 2025, sec. 3.1):
    of models with six skills, on prompts that ask for few of them.
    """
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=(models, 6))
    quality = rng.dirichlet(np.full(6, 0.3), size=prompts) @ skill.T
    ahead = quality[:, :, None] - quality[:, None, :] + 0.3 * rng.normal(size=(prompts, models, models))
    return np.asarray(np.clip(np.round(ahead - ahead.transpose(0, 2, 1)) / 2, -1, 1), np.float64)

"""Random games of several players, and the same games told differently, for tests of equilibria."""

import numpy as np

from ratings_core.games import NormalForm


def random_game(seed, players=None, most=4, least=2):
    """Normal payoffs, every other seed in small whole numbers."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(least, most + 1, players or int(rng.integers(2, 5))))
    return NormalForm.of([rng.integers(-2, 3, shape) if seed % 2 else rng.normal(size=shape) for _ in shape])


def shuffled(game, seed):
    """The game with players and strategies in another order; orders[p]: of old player p's strategies, players: old player of each new."""
    rng = np.random.default_rng(seed)
    players = rng.permutation(len(game.shape))
    orders = [rng.permutation(n) for n in game.shape]
    told = [np.transpose(game.payoffs[p][np.ix_(*orders)], players) for p in players]
    return NormalForm.of(told), players, orders


def cloned(game, player, strategy, copies):
    """The game with more copies of a strategy, at the end."""
    n = game.shape[player]
    ids = np.append(np.arange(n), np.full(copies, strategy))
    return NormalForm.of([np.take(tensor, ids, axis=player) for tensor in game.payoffs])

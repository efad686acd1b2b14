"""gambit as oracle for logit equilibria."""

import io

import numpy as np
import pygambit


def gambit_game(game):
    """The game as gambit reads it; strategies get the labels 1, 2, ..., players 0, 1, ..."""
    players = " ".join(f'"{p}"' for p in range(len(game.shape)))
    payoffs = np.stack([tensor.ravel(order="F") for tensor in game.payoffs], axis=1).ravel()
    text = f'NFG 1 R "game" {{ {players} }} {{ {" ".join(map(str, game.shape))} }}\n{" ".join(repr(float(v)) for v in payoffs)}'
    return pygambit.read_nfg(io.BytesIO(text.encode()))


def logit_limit(game):
    """The end of gambit's principal branch: a mix of each player."""
    found = pygambit.nash.logit_solve(gambit_game(game), use_strategic=True, maxregret=1e-9).equilibrium
    return [np.array([float(found[str(p)][str(k + 1)]) for k in range(n)]) for p, n in enumerate(game.shape)]

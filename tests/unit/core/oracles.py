"""gambit as oracle for logit equilibria, and for zero-sum games in rational numbers."""

import io
from fractions import Fraction

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


def exact_equilibrium(payoffs):
    """Optimal strategies of rows and columns of a zero-sum game, by gambit's linear program in rational numbers; one of several."""
    rows, columns = payoffs.shape
    cells = [Fraction(payoff) for payoff in payoffs.ravel(order="F").tolist()]
    text = " ".join(f"{payoff} {-payoff}" for payoff in cells)
    game = pygambit.read_nfg(io.BytesIO(f'NFG 1 R "game" {{ "0" "1" }} {{ {rows} {columns} }}\n{text}'.encode()))
    found = pygambit.nash.lp_solve(game, rational=True).equilibrium
    return [np.array([float(found[str(p)][str(k + 1)]) for k in range(n)]) for p, n in enumerate(payoffs.shape)]

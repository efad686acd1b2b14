"""Solvers of others as oracles: a conic solver for correlated equilibria, gambit for logit equilibria."""

import io

import cvxpy as cp
import numpy as np
import pygambit

from tests.unit.core.random_games import gain_rows


def nearest_equilibrium(game, targets, eps):
    """Least relative entropy to the product of targets of all distributions whose gains are at most eps, and their gains, by Clarabel."""
    A = gain_rows(game)
    unit = np.abs(A).max() or 1.0
    prior = targets[0]
    for own in targets[1:]:
        prior = np.multiply.outer(prior, own)
    sigma = cp.Variable(A.shape[1], nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(sigma, prior.ravel()))), [cp.sum(sigma) == 1, A @ sigma / unit <= eps / unit])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value), A @ sigma.value


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

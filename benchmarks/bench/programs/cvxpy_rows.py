"""CVXPY: coarse correlated equilibria by Clarabel, and deviation ratings as their paper computes them, by GLOP."""

import sys
from pathlib import Path

import cvxpy as cp
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "peer_programs"))

from deviation_glop import gain_rows, rated

PACKAGES = ("cvxpy", "clarabel", "ortools", "numpy")


def deviation(data):
    """Ratings of agents and of tasks."""
    scores = data["scores"]
    return lambda: rated(gain_rows(scores)), lambda found: {"agents": found[: len(scores)], "tasks": found[len(scores) :]}


def correlated(data):
    """The coarse correlated equilibrium of largest entropy: its entropy relative to the even split."""
    u = data["ahead"]
    tables = np.abs(u), u, -u - np.eye(u.shape[1])

    def run():
        rows = [np.expand_dims(np.take(G, own, axis=p), p) - G for p, G in enumerate(tables) for own in range(G.shape[p])]
        A = np.array([gains.ravel() for gains in rows])
        joint = cp.Variable(A.shape[1], nonneg=True)
        problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(joint))), [cp.sum(joint) == 1, A @ joint <= 1e-3])
        problem.solve(solver="CLARABEL")
        return np.log(A.shape[1]) - problem.value

    return run, lambda found: {"relative_entropy": [found]}

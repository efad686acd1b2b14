"""Deviation ratings as their paper's appendix B describes: Algorithm 1 in CVXPY with GLOP, symmetric players averaged, joints pruned.

Reads {"scores": agents x tasks}; prints {"seconds": CPU seconds, "ratings": of agents, then of tasks}.
"""

import json
import sys
import time

import cvxpy as cp
import numpy as np

POSITIVE = 1e-6


def gain_rows(scores):
    ahead = scores[:, None, :] - scores[None, :, :]
    cubes = (ahead, -ahead, np.abs(ahead))
    rows = [np.expand_dims(np.take(G, own, axis=p), p) - G for p, G in enumerate(cubes) for own in range(G.shape[p])]
    A = np.round(np.array(rows), 14)
    n = len(scores)
    A = np.concatenate([(A[:n] + np.swapaxes(A[n : 2 * n], 1, 2)) / 2, A[2 * n :]])
    A = (A + np.swapaxes(A, 1, 2)) / 2
    return np.unique(A.reshape(len(A), -1), axis=1)


def rated(A):
    rows, joints = A.shape
    s, t = cp.Variable(joints, nonneg=True), cp.Variable()
    still, bound = cp.Parameter(rows, nonneg=True), cp.Parameter(rows)
    limit = A @ s <= cp.multiply(still, t) + bound
    problem = cp.Problem(cp.Minimize(t), [limit, cp.sum(s) == 1])
    ratings, left = np.full(rows, np.nan), np.ones(rows, bool)
    while left.any():
        still.value, bound.value = left.astype(float), np.where(left, 0.0, np.nan_to_num(ratings))
        problem.solve(solver=cp.GLOP)
        if problem.status != "optimal":
            raise SystemExit(problem.status)
        active = left & (np.abs(limit.dual_value) > POSITIVE)
        ratings[active], left = t.value, left & ~active
    return ratings


if __name__ == "__main__":
    question = json.load(sys.stdin)
    table = np.array(question["scores"])
    started = time.process_time()
    found = rated(gain_rows(table))
    print(json.dumps({"seconds": time.process_time() - started, "ratings": found.tolist()}))

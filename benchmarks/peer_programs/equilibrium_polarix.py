"""Equilibria of king of the hill by polarix: its maximum-entropy correlated equilibrium, or its limiting logit equilibrium.

Reads {"what": "cce" or "lle", "ahead": prompts x models x models, "seconds": most}; prints {"seconds": CPU seconds, "gap": largest gain}.
The correlated equilibrium is polarix's own, finer than a coarse one; the gap is the coarse one, of the joint that it ends with.
"""

import json
import sys
import time

import jax
import numpy as np
import polarix

jax.config.update("jax_enable_x64", True)

STEPS = 200
"""Between looks at the clock."""


def coarse_gap(tensors, joint):
    gains = []
    for p, tensor in enumerate(tensors):
        others = np.moveaxis(tensor, p, 0).reshape(tensor.shape[p], -1) @ joint.sum(axis=p).ravel()
        gains.append(float(others.max() - (joint * tensor).sum()))
    return max(0.0, *gains)


def main():
    asked = json.load(sys.stdin)
    u = np.array(asked["ahead"])
    tensors = np.array([np.abs(u), u, -u - np.eye(u.shape[1])])
    actions = [[str(i) for i in range(n)] for n in tensors.shape[1:]]
    game = polarix.Game(payoffs=tensors, players=["prompt", "king", "rebel"], actions=actions)
    run = polarix.ce_maxent(game) if asked["what"] == "cce" else polarix.lle(game)
    found = next(run)  # compiles
    started = time.process_time()
    while time.process_time() - started < asked["seconds"] and not found.is_terminal():
        for _ in range(STEPS):
            found = next(run)
    spent = time.process_time() - started
    joint = np.asarray(found.joint) if asked["what"] == "cce" else np.einsum("i,j,k->ijk", *map(np.asarray, found.marginals))
    print(json.dumps({"seconds": spent, "gap": coarse_gap(tensors, joint)}))


main()

"""polarix: the limiting logit equilibrium by steps of gradient descent in JAX, until it calls itself terminal or a bound of steps."""

import jax
import numpy as np
import polarix

PACKAGES = ("polarix", "jax", "numpy")
STEPS = 20_000

jax.config.update("jax_enable_x64", True)


def logit(data):
    u = data["ahead"]
    tables = np.array([np.abs(u), u, -u - np.eye(u.shape[1])])
    actions = [[str(i) for i in range(n)] for n in tables.shape[1:]]
    game = polarix.Game(payoffs=tables, players=["prompt", "king", "rebel"], actions=actions)

    def run():
        for step, found in enumerate(polarix.lle(game)):
            if found.is_terminal() or step >= STEPS:
                break
        return [np.asarray(own) for own in found.marginals]

    return run, lambda found: {f"mix{player}": own for player, own in enumerate(found)}

"""pygambit: linear programs of zero-sum games, and the path of logit equilibria. Reading the game is not timed."""

import io

import numpy as np
import pygambit

PACKAGES = ("pygambit",)


def read(tables):
    """A game in strategic form, by gambit's own format."""
    players, counts = " ".join(f'"{p}"' for p in range(len(tables))), " ".join(map(str, tables[0].shape))
    payoffs = np.stack([table.ravel(order="F") for table in tables], axis=1).ravel().tolist()
    return pygambit.read_nfg(io.BytesIO(f'NFG 1 R "game" {{ {players} }} {{ {counts} }}\n{" ".join(map(repr, payoffs))}'.encode()))


def mix(profile, player, n):
    return np.array([float(profile[str(player)][str(k + 1)]) for k in range(n)])


def zero_sum(data):
    A = data["scores"] if "scores" in data else data["margins"]
    game = read([A, -A])
    return lambda: pygambit.nash.lp_solve(game, rational=False), lambda found: {"lottery": mix(found.equilibrium, 0, len(A))}


def logit(data):
    tables = data["payoffs"]
    game, n = read(tables), tables.shape[1]
    return (
        lambda: pygambit.nash.logit_solve(game, use_strategic=True, maxregret=1e-8),
        lambda found: {"mixes": np.stack([mix(found.equilibrium, player, n) for player in range(3)])},
    )

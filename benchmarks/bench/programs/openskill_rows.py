"""openskill: an object for each rating, a call for each game."""

import numpy as np
from openskill.models import PlackettLuce

PACKAGES = ("openskill",)


def plackett_luce(data):
    games, model = data["games"].tolist(), PlackettLuce()

    def run():
        ratings = {}
        for game in games:
            sides = model.rate([[ratings.get(agent) or model.rating()] for agent in game])
            ratings.update(zip(game, (side[0] for side in sides), strict=True))
        return ratings

    def values(found):
        means = np.full(int(data["agents"]), np.nan)
        for agent, rating in found.items():
            means[agent] = rating.mu
        return {"ratings": means}

    return run, values

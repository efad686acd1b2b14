"""trueskill: an object for each rating, a factor graph for each game."""

import numpy as np
import trueskill

PACKAGES = ("trueskill",)


def free_for_alls(data):
    games, model = data["games"].tolist(), trueskill.TrueSkill(draw_probability=0.0)

    def run():
        ratings = {}
        for game in games:
            sides = model.rate([(ratings.get(agent) or model.create_rating(),) for agent in game])
            ratings.update(zip(game, (side[0] for side in sides), strict=True))
        return ratings

    def values(found):
        means = np.full(int(data["agents"]), np.nan)
        for agent, rating in found.items():
            means[agent] = rating.mu
        return {"ratings": means}

    return run, values

"""pref_voting: rules on profiles of strict votes, and on margin graphs. Profiles are made in the timed part, as ours are."""

import numpy as np
from pref_voting.margin_based_methods import beat_path, ranked_pairs_zt
from pref_voting.probabilistic_methods import maximal_lottery
from pref_voting.profiles import Profile
from pref_voting.weighted_majority_graphs import MarginGraph

PACKAGES = ("pref-voting", "numba", "numpy")


def borda(data):
    return scored(data, lambda profile: profile.borda_scores())


def copeland(data):
    return scored(data, lambda profile: profile.copeland_scores(scores=(1, 0.5, 0)))


def schulze(data):
    return won(data, beat_path)


def ranked_pairs(data):
    return won(data, ranked_pairs_zt)


def scored(data, rule):
    orders = data["orders"].tolist()
    return lambda: rule(Profile(orders)), lambda found: {"ratings": [float(found[agent]) for agent in sorted(found)]}


def won(data, rule):
    orders = data["orders"].tolist()
    return lambda: rule(Profile(orders)), lambda found: {"winners": np.isin(np.arange(len(orders[0])), list(found)).astype(float)}


def lottery(data):
    rows = data["margins"].tolist()
    m = len(rows)

    def run():
        graph = MarginGraph(list(range(m)), [(a, b, rows[a][b]) for a in range(m) for b in range(m) if rows[a][b] > 0])
        return maximal_lottery(graph)

    return run, lambda found: {"lottery": [float(found[agent]) for agent in range(m)]}

"""choix: numpy and Python, from counts and from lists of results."""

import choix

PACKAGES = ("choix", "numpy", "scipy")


def centred(found):
    return {"ratings": found - found.mean()}


def dense(data):
    wins = data["wins"]
    return lambda: choix.ilsr_pairwise_dense(wins), centred


def results(data):
    listed = list(zip(data["winners"].tolist(), data["losers"].tolist(), strict=True))
    return lambda: choix.ilsr_pairwise(int(data["agents"]), listed), centred


def rankings(data):
    games = data["games"].tolist()
    return lambda: choix.ilsr_rankings(int(data["agents"]), games), centred

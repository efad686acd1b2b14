"""choix: numpy and Python, from counts and from lists of results."""

import choix

PACKAGES = ("choix", "numpy", "scipy")


def centred(found):
    return {"ratings": found - found.mean()}


def dense(data):
    wins = data["wins"]
    return lambda: choix.ilsr_pairwise_dense(wins), centred


def minorised(data):
    wins = data["wins"].astype(int)
    listed = [(a, b) for a in range(len(wins)) for b in range(len(wins)) for _ in range(wins[a, b])]
    return lambda: choix.mm_pairwise(len(wins), listed), centred

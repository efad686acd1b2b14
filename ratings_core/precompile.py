"""Compiles the kernels that the front door runs: ``python -m ratings_core.precompile``, once where the library is installed.

Without it the first call of each kind on a machine waits some seconds for the compiler. Kernels that only large inputs or rare options need
are still compiled at their first use.
"""

import sys
from typing import Final

import numpy as np

from ratings_core.front.compare import compare
from ratings_core.front.online import Online
from ratings_core.front.rate import rate
from ratings_core.front.scoreboard import LEAST_GAMES, scoreboard
from ratings_core.front.solved import solved
from ratings_core.methods.method import Takes
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS
from ratings_core.problems.inputs import ProfileInput, ScoresInput
from ratings_core.voting.profile import Profile

_AGENTS: Final = ("a", "b", "c", "d")
_DUELS: Final = [(first, second) for first in _AGENTS for second in _AGENTS if first < second]
_GAMES: Final = {
    "first": [first for first, _ in 2 * _DUELS],
    "second": [second for _, second in 2 * _DUELS],
    "result": [1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 1.0, 0.0],
    "task": ["x"] * len(_DUELS) + ["y"] * len(_DUELS),
    "length": [float(i % 5) for i in range(2 * len(_DUELS))],
}
"""Two games of each pair, one on each of two tasks."""
_CHAIN: Final = [(f"agent {i}", f"agent {i + 1}") for i in range(max(LEAST_GAMES, 1000))]
"""More agents and pairs than new tables have room for, so that tables grow."""
_SCORES: Final = ((3.0, 1.0), (2.0, 2.0), (1.0, 4.0), (0.0, 3.0))
"""A row for each agent, a column for each task."""
_BALLOTS: Final = ((0, 1, 2, 3), (1, 2, 3, 0), (2, 0, 1, 3))


def warm() -> None:
    """Rate small inputs of each form by every method, learn and predict game by game, and make a scoreboard."""
    for method in METHODS.values():
        if method.takes in (Takes.PLACES, Takes.PROFILE):
            solved(method.name, ProfileInput(Profile.from_orders(_BALLOTS, names=_AGENTS)), {})
        else:
            rate(_GAMES, method.name, columns={"task": "task"}, features=["length"] if method.takes is Takes.FEATURES else ())
    rate(_GAMES, intervals=True).predict("a", "b")
    solved("nash_average", ScoresInput(_AGENTS, ("x", "y"), np.array(_SCORES)), {})
    for rater in RATERS:
        learner = Online(rater)
        for first, second in _DUELS:
            learner.learn_one(first, second)
        learner.predict_one("a", "b")
        learner.rating()
    compare(_DUELS, ["bradley_terry", "elo"])
    scoreboard(_CHAIN, refits=2, choose=False, progress=lambda _: None)


if __name__ == "__main__":
    warm()
    sys.stdout.write("kernels are compiled\n")

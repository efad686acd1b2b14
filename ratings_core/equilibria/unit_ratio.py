"""How far apart the units of players' payoffs may be: one rule for deviation ratings and the limiting logit equilibrium."""

from typing import Any, Final

from ratings_core.errors import SolverError

LARGEST_UNIT_RATIO: Final = 1e6
"""Largest ratio between players' units, the largest differences that a player's own choice can make to its payoff.

Deviation gains are rounded in the largest unit, so at higher ratios the certificate misses errors (seen: 8e-5 of the largest unit at a
ratio of 1e9). A path of logit equilibria has corners there that are sharper than its steps can be: at 1e9, the paths of 10 of 24 random
games of two and three players were lost, some of them after seconds; above 1e6, those of 13 of 18 games of king of the hill.
"""


def units_too_far_apart(answer: str, ratio: float, solution: Any = None) -> SolverError:
    """The error for a game whose units are more than `LARGEST_UNIT_RATIO` apart.

    Args:
        answer: What is refused, as the subject of a sentence in the plural.
        ratio: The largest unit over the smallest one.
        solution: The result, if one was computed.
    """
    return SolverError(
        f"{answer} cannot be certified: the units of the players' payoffs differ by a factor of {ratio:.2g}, more than "
        f"{LARGEST_UNIT_RATIO:g}; scale the payoffs of the players, or pass accept_approximate=True",
        solution,
    )

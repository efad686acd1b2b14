"""Names of all methods. This module imports nothing, so that a program that needs one method loads only that one."""

from collections.abc import Mapping
from typing import Final

MODULES: Final[Mapping[str, str]] = {
    "bradley_terry": "fits",
    "contextual_bradley_terry": "fits",
    "davidson": "fits",
    "sco_fit": "fits",
    "fenchel_young_fit": "fits",
    "copeland": "voting",
    "maximal_lottery": "lotteries",
    "iterated_maximal_lotteries": "lotteries",
    "nash_average": "games",
    "nash_average_agents": "games",
    "deviation": "games",
    "uniform": "games",
    "payoff": "read_off",
    "alpharank": "read_off",
    "alpharank_tasks": "read_off",
    "cce": "equilibrium",
    "lle": "equilibrium",
    "plurality": "voting",
    "approval": "voting",
    "borda": "voting",
    "stv": "voting",
    "schulze": "voting",
    "ranked_pairs": "voting",
    "kemeny": "voting",
}
"""Solved method -> the module of `ratings_core.methods` whose tuple `REGISTERED` has it."""
ONLINE: Final = ("elo", "sco", "fenchel_young", "melo", "weng_lin", "glicko2")
"""Online methods, in the order of `ratings_core.online.RATERS`."""

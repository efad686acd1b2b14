"""Margins between agents as posterior means: estimates from sparse results for every pair, including pairs that never met.

docs/concepts/posterior-margins.md derives the method.
"""

from ratings_core.margins.concentration import Concentration, concentration
from ratings_core.margins.copeland import posterior_copeland
from ratings_core.margins.draws import DRAWN_AGENTS, MarginDraws
from ratings_core.margins.half_life import HalfLife, choose_half_life, decayed
from ratings_core.margins.lottery import PosteriorLottery, posterior_lottery
from ratings_core.margins.posterior import DENSE_AGENTS, PosteriorMargins, posterior_margins

__all__ = [
    "DENSE_AGENTS",
    "DRAWN_AGENTS",
    "Concentration",
    "HalfLife",
    "MarginDraws",
    "PosteriorLottery",
    "PosteriorMargins",
    "choose_half_life",
    "concentration",
    "decayed",
    "posterior_copeland",
    "posterior_lottery",
    "posterior_margins",
]

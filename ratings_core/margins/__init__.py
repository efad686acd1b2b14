"""Margins between agents as posterior means: what sparse results say about every pair, met or not.

Read `posterior` first (the model), then `concentration` (how strongly pairs deviate from Bradley-Terry), `lottery` (the maximal
lottery of tens of thousands of agents without a dense matrix) and `half_life` (recent results weigh more). docs/posterior-margins.md
derives all of it. May import `batch`, `games` and `voting`.
"""

from ratings_core.margins.concentration import Concentration, concentration
from ratings_core.margins.half_life import HalfLife, choose_half_life, decayed
from ratings_core.margins.lottery import PosteriorLottery, posterior_lottery
from ratings_core.margins.posterior import DENSE_AGENTS, PosteriorMargins, posterior_margins

__all__ = [
    "DENSE_AGENTS",
    "Concentration",
    "HalfLife",
    "PosteriorLottery",
    "PosteriorMargins",
    "choose_half_life",
    "concentration",
    "decayed",
    "posterior_lottery",
    "posterior_margins",
]

"""Ratings from equilibria of games, one file a method."""

from ratings_core.equilibria.affinity import AffinityTarget, MostAffine, affinity_entropy, affinity_targets, most_affine
from ratings_core.equilibria.alpharank import AlphaRank, alpharank, alpharank_symmetric
from ratings_core.equilibria.cce import CCE, cce
from ratings_core.equilibria.deviation import Deviation, deviation
from ratings_core.equilibria.lle import LLE, lle
from ratings_core.equilibria.nash_average import NashAverage, NashAverageAgents, NashAverageOptions, nash_average, nash_average_agents
from ratings_core.equilibria.options import AlphaRankOptions, CCEOptions, DeviationOptions, LLEOptions
from ratings_core.equilibria.payoff import FromEquilibrium, mass_ratings, payoff_ratings
from ratings_core.equilibria.uniform import Uniform, uniform

__all__ = [
    "CCE",
    "LLE",
    "AffinityTarget",
    "AlphaRank",
    "AlphaRankOptions",
    "CCEOptions",
    "Deviation",
    "DeviationOptions",
    "FromEquilibrium",
    "LLEOptions",
    "MostAffine",
    "NashAverage",
    "NashAverageAgents",
    "NashAverageOptions",
    "Uniform",
    "affinity_entropy",
    "affinity_targets",
    "alpharank",
    "alpharank_symmetric",
    "cce",
    "deviation",
    "lle",
    "mass_ratings",
    "most_affine",
    "nash_average",
    "nash_average_agents",
    "payoff_ratings",
    "uniform",
]

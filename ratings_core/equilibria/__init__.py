"""Ratings from equilibria of games: one file per method."""

from ratings_core.equilibria.alpharank import AlphaRank, alpharank, alpharank_symmetric
from ratings_core.equilibria.deviation import Deviation, deviation
from ratings_core.equilibria.nash_average import NashAverage, NashAverageAgents, nash_average, nash_average_agents
from ratings_core.equilibria.payoff import FromEquilibrium, mass_ratings, payoff_ratings
from ratings_core.equilibria.uniform import Uniform, uniform

__all__ = [
    "AlphaRank",
    "Deviation",
    "FromEquilibrium",
    "NashAverage",
    "NashAverageAgents",
    "Uniform",
    "alpharank",
    "alpharank_symmetric",
    "deviation",
    "mass_ratings",
    "nash_average",
    "nash_average_agents",
    "payoff_ratings",
    "uniform",
]

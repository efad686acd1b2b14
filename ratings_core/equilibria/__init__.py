"""Ratings from equilibria of games: one file per method."""

from ratings_core.equilibria.deviation import Deviation, deviation
from ratings_core.equilibria.nash_average import NashAverage, NashAverageAgents, nash_average, nash_average_agents

__all__ = ["Deviation", "NashAverage", "NashAverageAgents", "deviation", "nash_average", "nash_average_agents"]

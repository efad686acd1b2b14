"""Options of equilibrium ratings."""

import math
from dataclasses import dataclass

from ratings_core.options import Options, option


@dataclass(frozen=True, slots=True, kw_only=True)
class EquilibriumOptions(Options):
    """Options of every method that finds an equilibrium of a game."""

    merge: bool = option(True, "exact duplicates are solved as one")
    tolerance: float = option(1e-6, "largest regret, beyond eps, over what one player's choice can make", 1e-300, 1e-1)
    max_seconds: float = option(math.inf, "of wall time, asked between steps; then the best so far is taken", 1e-9)
    accept_approximate: bool = option(False, "an answer beyond the tolerance, with how far")


@dataclass(frozen=True, slots=True, kw_only=True)
class CCEOptions(EquilibriumOptions):
    """Options of `cce`."""

    eps: float = option(0.0, "what a player may still gain, in payoffs", 0.0, 1e150)
    max_iterations: int = option(10_000, "of each stage", 1, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLEOptions(EquilibriumOptions):
    """Options of `lle`."""

    max_steps: int = option(10_000, "along the path", 1, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationOptions(EquilibriumOptions):
    """Options of `deviation`."""

    tolerance: float = option(1e-6, "largest rating error called optimal", 1e-300, 1e-1)
    max_solves: int = option(100_000, "of linear programs", 1, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaRankOptions(Options):
    """Options of `alpharank` and `alpharank_symmetric`."""

    alpha: float = option(10.0, "intensity of selection, over the payoffs' unit; infinite for the limit", 0.0)
    population: int = option(50, "members", 2, 10_000)
    noise: float = option(1e-9, "chance of a step to a worse agent, in the limit", 1e-300, 0.49)
    tolerance: float = option(1e-8, "largest relative difference of flows", 1e-300, 1e-2)
    max_seconds: float = option(math.inf, "of wall time, asked between states", 1e-9)
    accept_approximate: bool = option(False, "an answer beyond the tolerance, or none in time, with that status")

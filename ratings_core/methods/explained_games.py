"""Explanations of game-theoretic ratings: expected payoffs and deviation gains, by opponent and by task."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import numpy as np

from ratings_core.analysis.contributions import contributions
from ratings_core.analysis.terms import By, Terms, mix_payoff
from ratings_core.equilibria.nash_average import NashAverage, NashAverageAgents
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.gamified import Gamified
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import Game, uniform_mixes
from ratings_core.games.pair_payoffs import pair_payoffs
from ratings_core.games.tilted import TiltedJoint
from ratings_core.methods.equilibrium import equilibrium_game
from ratings_core.methods.explained import Solve
from ratings_core.methods.games import against_each_other, on_tasks

_GAIN: Final = "gain of always playing this agent"
_MEANING: Final = (
    "the rating is what a player of the equilibrium would gain by always playing this agent, divided by the choices of a co-player; "
    "a positive term is a choice against which it would gain, and a negative one a choice against which it would lose"
)
_EQUILIBRIUM: Final = 1e-7
"""Error of the deviation gains of an equilibrium that is stored as multipliers, in units of the player's payoffs."""


def _on_tasks(solve: Solve) -> Gamified[Any]:
    players = solve.taken.values.get("players", 2)
    return cast("Gamified[Any]", solve.once("game", lambda: on_tasks(solve.problem, {**solve.taken.values, "players": players})))


def _largest_payoff(game: Any) -> float:
    """Largest absolute payoff of the first player, or score that payoffs are differences of."""
    return float(np.abs(game.scores if isinstance(game, AgentAgentTask) else game.payoffs[0]).max())


def nash_average(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Nash averages: scores by task."""
    made, found = _on_tasks(solve), cast("NashAverage", solve.solution)
    row = made.game.payoffs[0][made.agent_side.at[agent]]
    meaning = "the rating is the expected score on the equilibrium's mix of tasks, which is the hardest mix"
    rating = float(found.ratings[agent])
    unit = _largest_payoff(made.game)
    return (mix_payoff(row, found.task_dist, "task", made.game.strategies[1], "score x probability", meaning, rating, unit),)


def nash_average_agents(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Nash averages among agents: payoffs by opponent."""
    made = solve.once("game", lambda: against_each_other(solve.problem, solve.taken.values, str(solve.taken.values["payoff"]))[0])
    found: NashAverageAgents = solve.solution
    row = made.game.payoffs[0][made.agent_side.at[agent]]
    meaning = "the rating is the expected payoff against the equilibrium's mix of agents; it is 0 for the best agents"
    rating = float(found.ratings[agent])
    unit = _largest_payoff(made.game)
    return (mix_payoff(row, found.agent_dist, "opponent", made.game.strategies[1], "payoff x probability", meaning, rating, unit),)


def _gains(
    solve: Solve, agent: int, made: Gamified[Any], play: Any, *, player: int, rest: Mapping[str, float], scale: float
) -> tuple[Terms, ...]:
    """Deviation gains, one sum for each other player, divided by its strategies.

    player: number of the player that chooses the agent; scale: unit of its payoffs, for the rounding error of the equilibrium.
    """
    game: Game = made.game
    own, rating = int(made.agent_side.at[agent]), float(solve.solution.ratings[agent])
    tables = []
    for other in (p for p in range(len(game.shape)) if p != player):
        parts = solve.once(f"parts {other}", partial(contributions, game, play, player=player, by=other))
        tables.append(
            Terms(
                by=_by(game, other),
                quantity=_GAIN,
                names=parts.parts,
                values=parts.values[own],
                meaning=_MEANING,
                total=rating,
                rest=rest,
                slack=_EQUILIBRIUM * scale,
            )
        )
    return tuple(tables)


def _by(game: Game, player: int) -> By:
    """What the strategies of a player other than the rated one are: the task is the first player of king of the hill, else the last."""
    return "task" if player == (0 if isinstance(game, KingOfTheHill) else len(game.shape) - 1) else "opponent"


def deviation(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Deviation ratings: gains by task and by the other agent."""
    return _gains(solve, agent, _on_tasks(solve), solve.solution.play, player=0, rest={}, scale=float(solve.solution.unit))


def payoff(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Payoff ratings: the deviation gain plus the player's expected payoff in the equilibrium."""
    play = solve.solution.play
    given = {"expected payoff in the equilibrium": float(solve.solution.payoffs[0])}
    made = _of_play(_on_tasks(solve), play)
    return _gains(solve, agent, made, play, player=0, rest=given, scale=float(solve.solution.unit))


def _of_play(made: Gamified[Any], play: Any) -> Gamified[Any]:
    """`made` with the game object that an equilibrium stored as multipliers refers to."""
    return replace(made, game=play.game) if isinstance(play, TiltedJoint) else made


def cce(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Ratings of a coarse correlated equilibrium: deviation gains by task and by the other agent."""
    play = solve.solution.play
    made = _of_play(_equilibrium_game(solve), play)
    player = _rated_player(made.game)
    return _gains(solve, agent, made, play, player=player, rest={}, scale=float(solve.solution.units[player]))


def lle(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Ratings of a limiting logit equilibrium: deviation gains by task and by the other agent."""
    made = _equilibrium_game(solve)
    player = _rated_player(made.game)
    return _gains(solve, agent, made, solve.solution.mixes, player=player, rest={}, scale=float(solve.solution.units[player]))


def _equilibrium_game(solve: Solve) -> Gamified[Any]:
    return cast("Gamified[Any]", solve.once("game", lambda: equilibrium_game(solve.problem, solve.taken.values)))


def _rated_player(game: Game) -> int:
    """Number of the player whose strategies are rated."""
    return 1 if isinstance(game, KingOfTheHill) else 0


def uniform(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Uniform ratings: mean payoffs by opponent and by task."""
    made = _on_tasks(solve)
    game, own = made.game, int(made.agent_side.at[agent])
    mixes = uniform_mixes(game.shape)
    pairs = solve.once("pairs", lambda: pair_payoffs(game, mixes).pairs)
    meaning = "the rating is the mean payoff over all choices of the other players"
    rating, quantity = float(solve.solution.ratings[agent]), "payoff x probability"
    unit = _largest_payoff(game)
    return tuple(
        mix_payoff(pairs[0, other][own], mixes[other], _by(game, other), game.strategies[other], quantity, meaning, rating, unit)
        for other in range(1, len(game.shape))
    )

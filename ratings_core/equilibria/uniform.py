"""Uniform ratings: what a strategy gets while all other players choose evenly (Marris et al., sec. 3.2).

Simple, defined for every game and dominance preserving; not invariant to clones, as a copy of an opponent counts again.
"""

import time
from dataclasses import dataclass

from ratings_core.errors import InputError
from ratings_core.games.normal_form import Game, uniform_mixes
from ratings_core.solution import Certificate, Floats, Solution, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(Solution):
    """ratings: of the first player's strategies, in its payoffs' unit; by_player: of every player's. certificate: ``exact``."""

    by_player: tuple[Floats, ...]


def uniform(game: Game) -> Uniform:
    """Mean payoff of each strategy over all choices of the others. Raises `InputError` for what is not a game."""
    started = time.perf_counter()
    if not hasattr(game, "payoffs_against"):
        raise InputError("game", type(game).__name__, "must be a Game, such as a NormalForm")
    by_player = game.payoffs_against(uniform_mixes(game.shape))
    return Uniform(
        ratings=by_player[0],
        certificate=Certificate("exact", 0.0),
        status=Status.OPTIMAL,
        seconds=time.perf_counter() - started,
        by_player=by_player,
    )

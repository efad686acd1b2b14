"""Uniform ratings: the expected payoff of a strategy while all other players choose uniformly (Marris et al., sec. 3.2).

The ratings are simple, defined for every game and preserve dominance. They are not invariant to clones, because each copy of an opponent
counts.
"""

import time
from dataclasses import dataclass

from ratings_core.equilibria.record import GameRatings, facts_of_mixes
from ratings_core.games.normal_form import Game, accepted_game, uniform_mixes
from ratings_core.solution import Certificate, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(GameRatings):
    """ratings: of the first player's strategies, in its payoffs' unit. certificate: ``exact``.

    Uniform mixes are usually not an equilibrium: `regrets` and `gap` measure the distance.
    """


def uniform(game: Game) -> Uniform:
    """Mean payoff of each strategy over all choices of the other players. Raises `InputError` if `game` is not a game."""
    started = time.perf_counter()
    mixes = uniform_mixes(accepted_game(game).shape)
    by_player = game.payoffs_against(mixes)
    return Uniform(
        ratings=by_player[0],
        certificate=Certificate("exact", 0.0),
        status=Status.OPTIMAL,
        seconds=time.perf_counter() - started,
        by_player=by_player,
        **facts_of_mixes(game, mixes),
    )

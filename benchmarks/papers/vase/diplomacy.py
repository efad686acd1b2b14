"""VasE, section 4.3: predicting the order of seven players, on synthetic games of the size of the paper's Diplomacy data."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.figures import COLOURS, grid
from benchmarks.papers.items import Drawn, Output, Run, Value, claim, unprinted
from benchmarks.papers.vase.paper import PAPER
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import of_tally
from ratings_core.online import Elo, Glicko2, Sco, WengLin
from ratings_core.online.protocol import Rater
from ratings_core.ranking import Ranking
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts
from ratings_core.tallies.place_tally import PlaceCounts
from ratings_core.voting import LotteryOptions, iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.copeland import copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv

GAMES: Final = 31_049
PLAYERS: Final = 52_958
TESTED: Final = 3000
SEATS: Final = 7
Ids = NDArray[np.int64]
Rate = Callable[[Ids, int], Floats]


def synthetic_games(seed: int, games: int, players: int) -> Ids:
    """Players of each game, best first (games, 7).

    Most players have few games, some have hundreds: the number of games of a player has a Pareto distribution. Skills are normal with
    deviation 1, and grow by 0.3 with the logarithm of the player's number of games. An order is drawn by Plackett and Luce's model.
    """
    rng = np.random.default_rng(seed)
    activity = rng.pareto(1.1, players) + 0.2
    seats = rng.choice(players, size=(games, SEATS), p=activity / activity.sum())
    while (twice := (np.diff(np.sort(seats, axis=1), axis=1) == 0).any(axis=1)).any():
        seats[twice] = rng.choice(players, size=(int(twice.sum()), SEATS), p=activity / activity.sum())
    skill = rng.normal(size=players) + 0.3 * np.log(activity)
    order = np.argsort(-(skill[seats] + rng.gumbel(size=seats.shape)), axis=1)
    return np.take_along_axis(seats, order, axis=1)


def pair_counts(games: Ids) -> PairCounts:
    """Wins of all pairs of players that met."""
    first, second = np.triu_indices(SEATS, 1)
    winner, loser = games[:, first].ravel(), games[:, second].ravel()
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    pair, place = np.unique(low << 32 | high, return_inverse=True)
    won = np.bincount(place, weights=(winner == low).astype(float)).astype(np.float64)
    lost = np.bincount(place, weights=(winner != low).astype(float)).astype(np.float64)
    return PairCounts((pair >> 32).astype(np.int32), (pair & 0xFFFFFFFF).astype(np.int32), won, lost, np.zeros(len(pair)))


def place_counts(games: Ids) -> PlaceCounts:
    """Places of all players."""
    ahead = np.broadcast_to(np.arange(SEATS), games.shape)
    key, weight = np.unique(games.ravel() << 8 | ahead.ravel(), return_counts=True)
    agent, places = (key >> 8).astype(np.int32), (key & 255).astype(np.int32)
    return PlaceCounts(agent, np.full(len(key), SEATS, np.int32), places, np.ones(len(key), np.int32), weight.astype(np.float64))


def online(rater: Rater[Any]) -> Rate:
    """Ratings of a rater that folds the games once, in their order."""

    def rate(games: Ids, players: int) -> Floats:
        state = rater.init(players)
        rater.fold(state, OutcomeBatch.of_rankings(games, players))
        return rater.read(state, np.arange(players, dtype=np.int32)).rating

    return rate


def copeland_scores(games: Ids, players: int) -> Floats:
    """Copeland scores, over pairs that met: pairs that did not would only add the same half to both."""
    wins, _ties = pair_counts(games).sparse(players)
    return copeland(wins - wins.T).ratings


def any_lottery(games: Ids, players: int) -> Floats:
    """Probabilities of a maximal lottery of the players with games, and 0 for the others, whom nobody can beat.

    Margins of pairs that never met are 0, and stay sparse.
    """
    played, seats = np.unique(games, return_inverse=True)
    wins, _ties = pair_counts(seats.reshape(games.shape)).sparse(len(played))
    probability = np.zeros(players)
    probability[played] = maximal_lottery(wins - wins.T, options=LotteryOptions(mode="any")).ratings
    return probability


METHODS: Final[dict[str, Rate]] = {
    "Elo": online(Elo()),
    "Copeland": copeland_scores,
    "approval, k = 2": lambda games, players: approval(place_counts(games), 2, agents=players).ratings,
    "approval, k = 3": lambda games, players: approval(place_counts(games), 3, agents=players).ratings,
    "plurality": lambda games, players: plurality(place_counts(games), agents=players).ratings,
    "Borda": lambda games, players: borda(place_counts(games), agents=players).ratings,
    "Weng-Lin": online(WengLin()),
    "Glicko-2": online(Glicko2()),
    "SCO, online": online(Sco()),
    "Bradley-Terry": lambda games, players: (
        bradley_terry(of_tally(pair_counts(games), players), options=BradleyTerryOptions(prior=0.1)).ratings
    ),
    "maximal lottery": any_lottery,
}
"""Methods for any number of players: those of figure 5, three more online raters, and two that the paper does not run at this size."""
DENSE: Final[dict[str, Rate]] = METHODS | {
    "Kemeny-Young": lambda games, players: by_rank(kemeny(pair_counts(games).dense(players)[0]).ranking),
    "ranked pairs": lambda games, players: by_rank(ranked_pairs(pair_counts(games).margins(players), ties=0).ranking),
    "Schulze": lambda games, players: by_rank(schulze(pair_counts(games).dense(players)[0]).ranking),
    "STV": lambda games, players: by_rank(stv(Profile.from_orders(games, names=[str(i) for i in range(players)])).ranking),
    "IML": lambda games, players: iterated_maximal_lotteries(pair_counts(games).margins(players)).ratings,
}
"""All methods of the paper, for tens of players."""


def by_rank(ranking: Ranking) -> Floats:
    """Minus the level of each agent, so that a better rank is a higher number."""
    levels = np.empty(len(ranking))
    for place, level in enumerate(ranking.levels):
        levels[list(level)] = -place
    return levels


def error_per_game(ratings: Floats, games: Ids) -> float:
    """Mean Kendall distance between the order of the ratings and that of a game; equal ratings count half."""
    first, second = np.triu_indices(SEATS, 1)
    ahead, behind = ratings[games[:, first]], ratings[games[:, second]]
    return float(((ahead < behind) + 0.5 * (ahead == behind)).sum(axis=1).mean())


def split_errors(methods: dict[str, Rate], games: Ids, players: int, tested: int, seed: int) -> list[float]:
    """Error of each method on games that it did not see."""
    order = np.random.default_rng(seed).permutation(len(games))
    seen, unseen = games[np.sort(order[tested:])], games[order[:tested]]
    return [error_per_game(rate(seen, players), unseen) for rate in methods.values()]


def experiment(run: Run, methods: dict[str, Rate], games: int, players: int, tested: int) -> tuple[list[Value], Drawn, int]:
    """Mean errors of methods over random splits of synthetic games, as rows and as a figure. Also returns the number of splits."""
    splits = run.pick(3, 50)
    first, *seeds = run.seeds(splits + 1)
    played = synthetic_games(first, games, players)
    parts = [(f"split-{seed}", lambda seed=seed: split_errors(methods, played, players, tested, seed)) for seed in seeds]
    errors = np.array(run.each(parts, splits))
    mean, spread = errors.mean(axis=0), 1.96 * errors.std(axis=0, ddof=1) / np.sqrt(splits)
    rows = zip(methods, mean.tolist(), spread.tolist(), strict=True)
    values = [unprinted(f"error a game: {name}", f"{one:.3f} ± {half:.3f}") for name, one, half in rows]
    figure, (axes,) = grid(width=6.4)
    axes.errorbar(range(len(mean)), mean, yerr=spread, fmt="o", color=COLOURS[0], capsize=3)
    axes.set_xticks(range(len(mean)), list(methods), rotation=35, ha="right")
    axes.set(ylabel="error a game, of 21 pairs", title="Predicted order of seven players")
    caption = f"Mean error over {splits} splits, with 95 % intervals (compare with figure 5)."
    return values, Drawn("errors", caption, figure), splits


PAPERS_ORDER: Final = {"Copeland": "lower", "approval, k = 2": "lower", "approval, k = 3": "lower", "plurality": "lower", "Borda": "higher"}
"""Observation 9: the error of a method beside that of Elo. The paper calls the difference of plurality not significant."""
VOTING: Final = ("Copeland", "approval, k = 2", "approval, k = 3", "plurality", "Borda")
"""Voting methods of figure 5."""
_OTHER_GAMES: Final = "other games: ours are drawn from one skill for each player, which favours Elo"


def _beside_elo(name: str, how: str, of: dict[str, str]) -> Value:
    """The paper's statement about a method beside Elo. of: text of each method's error, which begins with the error."""
    error, elo = (float(of[one].split()[0]) for one in (name, "Elo"))
    holds = error < elo if how == "lower" else error > elo
    return claim(f"error of {name}", f"{how} than Elo's", f"{of[name]}, Elo {of['Elo']}", holds=holds, other_input=_OTHER_GAMES)


def _best(of: dict[str, str]) -> Value:
    """The paper's statement that Copeland performed best, of the voting methods."""
    best = min(VOTING, key=lambda name: float(of[name].split()[0]))
    return claim(
        "voting method with the lowest error", "Copeland", f"{best}, {of[best]}", holds=best == "Copeland", other_input=_OTHER_GAMES
    )


@PAPER.item("diplomacy", "Section 4.3, figure 5", "Predicting ranks in a seven-player game")
def diplomacy(run: Run) -> Output:
    games, players, tested = run.pick((4000, 6800, 400), (GAMES, PLAYERS, TESTED))
    values, drawn, splits = experiment(run, METHODS, games, players, tested)
    of = {value.label.removeprefix("error a game: "): value.ours for value in values}
    compared = [_beside_elo(name, how, of) for name, how in PAPERS_ORDER.items()] + [_best(of)]
    note = f"""**Synthetic games, no reproduction.** The paper uses {GAMES:,} games of {PLAYERS:,} players of webDiplomacy, which are not
public. We draw {games:,} games of seven among {players:,} players, with heavy-tailed activity and normal skills, and split them {splits}
times into {games - tested:,} games to rate and {tested:,} to predict. The paper prints its errors as a figure, so only its statements about
the order of two methods can be compared. They depend on the games: ours are drawn from one skill for each player, which is the model of
Elo, Weng-Lin and Glicko-2, so these methods predict them best. The rows neither confirm nor refute the paper's. The paper calls the game of
maximal lotteries too large here; sparse margins make it small. The lottery of the players with games has mass on hundreds of them who won
all their games, mostly a single one, so it predicts no better than chance, whose error is 10.5. Kemeny-Young, ranked pairs and Schulze need
a table of all pairs (22 GB), and IML takes minutes for each split; the next item has them for few players."""
    return Output([*compared, *values], [drawn], note=note)


@PAPER.item("small-league", "Section 4.3", "The same with all methods, for few players")
def small_league(run: Run) -> Output:
    values, drawn, splits = experiment(run, DENSE, 900, 18, 150)
    note = f"""**Synthetic games, no reproduction.** 900 games of seven among 18 players, drawn as before and split {splits} times into 750
games to rate and 150 to predict. All methods of the paper can be computed for 18 players."""
    return Output(values, [drawn], note=note)

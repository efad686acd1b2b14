"""Online ratings from columns in memory, beside bare loops and peers.

`python -m benchmarks.online [--quick]`. Goals: 1v1 Elo at half the speed of a bare numba loop with libm's exp or better, and at
three times evalica's Rust core or better; 7-player Elo and SCO at 1.5 M games/s, Weng-Lin at 4 M games/s or better; 3.2 M votes of
soft Condorcet optimisation at the size of the Diplomacy data in 0.8 s. Ours includes checking the batch.
Peers are the optional group `bench`; one that is missing is said, not timed. Rates are games a CPU second, one thread.
"""

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import free_for_alls, zipf_games
from ratings_core.online import Elo, FenchelYoung, Glicko2, Melo, OnlineState, Prequential, Rater, Sco, WengLin
from ratings_core.records.outcomes import OutcomeBatch

SLOPE = math.log(10) / 400
UNIT = "M games/s"


@njit
def bare_duels(winner: Any, loser: Any, result: Any, rating: Any) -> None:
    for i in range(len(winner)):
        a, b = winner[i], loser[i]
        step = 32.0 * (result[i] - 1.0 / (1.0 + math.exp((rating[b] - rating[a]) * SLOPE)))
        rating[a] += step
        rating[b] -= step


@njit
def bare_free_for_alls(games: Any, rating: Any) -> None:
    n, k = games.shape
    gain = np.empty(k)
    for i in range(n):
        gain[:] = 0.0
        for a in range(k):
            for b in range(a + 1, k):
                miss = 1.0 - 1.0 / (1.0 + math.exp((rating[games[i, b]] - rating[games[i, a]]) * SLOPE))
                gain[a] += miss
                gain[b] -= miss
        for a in range(k):
            rating[games[i, a]] += 32.0 / (k - 1) * gain[a]


@njit
def bare_plackett_luce(games: Any, mu: Any, sigma: Any) -> None:
    """Weng and Lin's Algorithm 4 for single players without ties, with openskill's defaults."""
    n, k = games.shape
    beta2, tau2 = (25.0 / 6.0) ** 2, (25.0 / 300.0) ** 2
    strength, total = np.empty(k), np.empty(k)
    for i in range(n):
        c2 = 0.0
        for a in range(k):
            c2 += sigma[games[i, a]] ** 2 + tau2 + beta2
        c, behind = math.sqrt(c2), 0.0
        for a in range(k - 1, -1, -1):
            strength[a] = math.exp(mu[games[i, a]] / c)
            behind += strength[a]
            total[a] = behind
        once = twice = 0.0
        for a in range(k):
            once += 1.0 / total[a]
            twice += 1.0 / (total[a] * total[a])
            agent = games[i, a]
            variance = sigma[agent] ** 2 + tau2
            delta = (strength[a] * once - strength[a] ** 2 * twice) * variance / c2 * math.sqrt(variance) / c
            mu[agent] += variance / c * (1.0 - strength[a] * once)
            sigma[agent] = math.sqrt(variance * max(1.0 - delta, 1e-4))


def dict_loop(pairs: list[tuple[int, int]]) -> None:
    """What one writes first: a dict and a few lines."""
    rating: dict[int, float] = {}
    for a, b in pairs:
        ra, rb = rating.get(a, 1500.0), rating.get(b, 1500.0)
        step = 32.0 * (1.0 - 1.0 / (1.0 + math.exp((rb - ra) * SLOPE)))
        rating[a], rating[b] = ra + step, rb - step


def dict_free_for_alls(games: list[list[int]]) -> None:
    rating: dict[int, float] = {}
    for game in games:
        before = [rating.get(a, 1500.0) for a in game]
        for i, agent in enumerate(game):
            gain = sum((i < j) - 1.0 / (1.0 + math.exp((other - before[i]) * SLOPE)) for j, other in enumerate(before) if j != i)
            rating[agent] = before[i] + 32.0 / (len(game) - 1) * gain


def evalica_core(winner: Any, loser: Any, m: int) -> Callable[[], Any]:
    """Elo in Rust on prepared lists, without evalica's Python."""
    evalica = import_module("evalica")
    core = import_module("evalica._brzo")
    lists = {"xs": winner.tolist(), "ys": loser.tolist(), "winners": [evalica.Winner.X] * len(winner), "weights": [1.0] * len(winner)}
    settings = {"initial": 1500.0, "base": 10.0, "scale": 400.0, "k": 32.0, "win_weight": 1.0, "tie_weight": 0.5}
    return lambda: core.elo(**lists, total=m, **settings)


def evalica_api(winner: Any, loser: Any) -> Callable[[], Any]:
    evalica = import_module("evalica")
    lists = winner.tolist(), loser.tolist(), [evalica.Winner.X] * len(winner)
    return lambda: evalica.elo(*lists, initial=1500.0, k=32.0)


def openskill_loop(games: list[list[int]]) -> Callable[[], Any]:
    """Plackett-Luce, its default model, object by object as it is used."""
    model = import_module("openskill.models").PlackettLuce()

    def run() -> None:
        rating: dict[int, Any] = {}
        for game in games:
            rated = model.rate([[rating.get(agent) or model.rating()] for agent in game])
            rating.update(zip(game, (side[0] for side in rated), strict=True))

    return run


def open_spiel_sco(games: list[list[int]], iterations: int) -> Callable[[], Any]:
    """Its C++ optimiser, batches of 32 votes."""
    sco = import_module("pyspiel").sco
    votes = [(1, [str(agent) for agent in game]) for game in games]
    optimizer = sco.SoftCondorcetOptimizer(votes, rating_lower_bound=0.0, rating_upper_bound=100.0, batch_size=32)
    return lambda: optimizer.run_solver(iterations, 0.01)


def ours(rater: Rater[Any], batch: OutcomeBatch, m: int, repeats: int, *, scored: bool = False) -> float:
    """Millions of games a second."""

    def fold(state: OnlineState) -> None:
        rater.fold(state, batch, Prequential() if scored else None)

    batch = batch.numbered()
    fold(rater.init(m))
    return len(batch) / seconds(fold, repeats, lambda: (rater.init(m),)) / 1e6


def rate(run: Callable[..., Any], n: int, repeats: int, prepare: Callable[[], tuple[Any, ...]] = tuple) -> float:
    run(*prepare())
    return n / seconds(run, repeats, prepare) / 1e6


def peer(build: Callable[[], Callable[[], Any]], n: int, repeats: int = 1) -> float | None:
    """Its rate, or None where it is not installed."""
    try:
        run = build()
    except ModuleNotFoundError:
        return None
    return n / seconds(run, repeats) / 1e6


def duels(quick: bool, repeats: int) -> None:
    n, m = (50_000, 5_000) if quick else (1_000_000, 100_000)
    winner, loser = zipf_games(n, m)
    swap = np.random.default_rng(0).random(n) < 0.5  # either side may be listed first
    first, second, result = np.where(swap, loser, winner), np.where(swap, winner, loser), np.where(swap, 0.0, 1.0)
    batch = OutcomeBatch.of_pairs(first, second, result, m)
    size = f"{n:,} games, {m:,} agents"
    bare = rate(lambda rating: bare_duels(first, second, result, rating), n, repeats, lambda: (np.full(m, 1500.0),))
    elo = ours(Elo(), batch, m, repeats)
    show(Row("online Elo, 1v1", size, elo, "bare numba loop, libm's exp", bare, UNIT))
    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    few = pairs[: n // 50]
    for name, value in (
        ("evalica, Rust core", peer(lambda: evalica_core(winner, loser, m), n, repeats)),
        ("evalica, Python API", peer(lambda: evalica_api(winner, loser), n)),
        ("plain dict loop", rate(lambda: dict_loop(pairs), n, 1)),
        (f"openskill Plackett-Luce, {len(few):,} games", peer(lambda: openskill_loop([list(pair) for pair in few]), len(few))),
    ):
        show(Row("", "", elo, name, value, UNIT))
    show(Row("  with prequential scores", size, ours(Elo(), batch, m, repeats, scored=True), "bare numba loop, not scored", bare, UNIT))
    show(Row("online SCO, 1v1", size, ours(Sco(), batch, m, repeats), "bare numba loop (Elo)", bare, UNIT))


def many_players(quick: bool, repeats: int) -> None:
    n, m = (2_000, 3_500) if quick else (31_049, 52_958)
    games: NDArray[np.int32] = free_for_alls(n, m)
    batch = OutcomeBatch.of_rankings(games, m)
    size = f"{n:,} games of 7, {m:,} agents"
    bare = rate(lambda rating: bare_free_for_alls(games, rating), n, repeats, lambda: (np.full(m, 1500.0),))
    elo = ours(Elo(), batch, m, repeats)
    show(Row("online Elo, free-for-all of 7", size, elo, "bare numba loop, libm's exp", bare, UNIT))
    lists = games.tolist()
    few = lists[: n // 10]
    for name, value in (
        ("plain dict loop", rate(lambda: dict_free_for_alls(lists), n, 1)),
        (f"openskill Plackett-Luce, {len(few):,} games", peer(lambda: openskill_loop(few), len(few))),
    ):
        show(Row("", "", elo, name, value, UNIT))
    show(Row("  with prequential scores", size, ours(Elo(), batch, m, repeats, scored=True), "bare numba loop, not scored", bare, UNIT))
    show(Row("online SCO, free-for-all of 7", size, ours(Sco(), batch, m, repeats), "bare numba loop (Elo)", bare, UNIT))
    believed = rate(lambda mu, sigma: bare_plackett_luce(games, mu, sigma), n, repeats, lambda: (np.full(m, 25.0), np.full(m, 25.0 / 3.0)))
    weng_lin = ours(WengLin(), batch, m, repeats)
    show(Row("online Weng-Lin, free-for-all of 7", size, weng_lin, "bare numba loop, libm's exp", believed, UNIT))
    openskill = peer(lambda: openskill_loop(few), len(few))
    show(Row("", "", weng_lin, f"openskill Plackett-Luce, {len(few):,} games", openskill, UNIT))
    for name, rater in (("Fenchel-Young", FenchelYoung()), ("mElo2", Melo()), ("Glicko-2", Glicko2())):
        show(Row(f"online {name}, free-for-all of 7", size, ours(rater, batch, m, repeats), "bare numba loop (Elo)", bare, UNIT))


def many_votes(quick: bool, repeats: int) -> None:
    """Stochastic gradient descent on votes drawn from the games; ours takes a step a vote, of alpha over 32."""
    n, m, iterations = (2_000, 3_500, 1_000) if quick else (31_049, 52_958, 100_000)
    games = free_for_alls(n, m)
    drawn = games[np.random.default_rng(0).integers(0, n, 32 * iterations)]
    batch, rater = OutcomeBatch.of_rankings(drawn, m), Sco(alpha=0.01 / 32)
    mine = seconds(lambda state: rater.fold(state, batch), repeats, lambda: (rater.init(m),))
    theirs = peer(lambda: open_spiel_sco(games.tolist(), iterations), iterations)
    size = f"{iterations:,} x 32 votes of 7, {m:,} agents"
    show(Row("SCO by stochastic gradient", size, mine, "OpenSpiel, C++", None if theirs is None else iterations / theirs / 1e6))


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("Online ratings beside bare loops and peers", argv)
    header("Online ratings", ("numba", "numpy"))
    duels(options.quick, options.repeats)
    many_players(options.quick, options.repeats)
    many_votes(options.quick, options.repeats)


if __name__ == "__main__":
    main()

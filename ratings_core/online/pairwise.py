"""The fold that pairwise raters share: an outcome counts as its pairs of sides, all with the ratings before the outcome.

A rater passes three functions and their settings. They are compiled into the rater's own kernel, so the shared loop costs nothing
(measured: the same speed and the same bits as separate loops for Elo and SCO).
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, template
from ratings_core.kernels.prefetch import prefetch
from ratings_core.online.games import UNIT, Scoring, result_of, side_means, zero
from ratings_core.online.prequential import MOST_PAIRS, SCORED_PAIRS, score_games
from ratings_core.online.trace import Tracing
from ratings_core.records.games import GameColumns
from ratings_core.records.outcomes import MAX_SIDES

Settings: TypeAlias = Any
"""A tuple of numbers, defined by the rater."""
Keys: TypeAlias = NDArray[np.uint64]
Noise: TypeAlias = Callable[[Settings, Keys, int, int], float]
"""(settings, keys, outcome, side): the side's random number, for `Push`."""
Push: TypeAlias = Callable[[Settings, float, float, float], float]
"""(settings, x, result, difference of the sides' random numbers): what a pair adds to a side's push, and
subtracts from the other side's.
"""
Moved: TypeAlias = Callable[[Settings, float, int, float, int, int, float], float]
"""(settings, rating, outcomes so far, weight, opponents, members of the side, push): a member's rating after the outcome."""


_AHEAD: Final = 16
"""Number of agents between those that are rated and those that are prefetched: eight games."""


@template
def fold_pairs(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, key: Keys, slope: float, settings: Settings,
    scoring: Scoring, trace: Tracing, noise: Noise, push: Push, moved: Moved,
) -> None:  # fmt: skip
    """Fold `games` in order; a pair is predicted by sigmoid(slope * difference). key: as `OutcomeBatch.key`, used only by `noise`.

    trace: arrays of a `RatingTrace`, in kernel form. A trace needs `scoring`.
    Games of two single agents are written out here, because passing arrays would double their cost; the bits are the same as in `play`.
    A batch of such games alone needs no starts, whose reading took a third of the time. Agents of later games are prefetched, because
    ratings of many agents are not in the cache (measured with Elo, a million games of 100,000 agents: 19 ms without both, 11 ms with both).
    Pairs are scored some outcomes later, because ratings do not wait for scores.
    """
    mean, luck, total = np.empty(MAX_SIDES), np.empty(MAX_SIDES), np.empty(MAX_SIDES)
    odds, results = np.empty(MOST_PAIRS), np.empty(MOST_PAIRS)
    wanted, counts, sums, rows = scoring
    traced, before, after, expected = trace
    scored, pairs = zero(), zero()
    duels = len(games.agent) == 2 * len(games.weight)  # every outcome has two sides or more, and every side an agent or more
    for i in range(len(games.weight)):
        first, n = (2 * i, 2) if duels else (games.side_start[i], games.side_start[i + 1] - games.side_start[i])
        begin, weight = first if duels else games.agent_start[first], games.weight[i] * UNIT
        if pairs and pairs + n * (n - 1) // 2 > SCORED_PAIRS:
            score_games(counts, sums, rows, odds, results, games.weight, scored, i, traced, games.side_start, expected)
            scored, pairs = i, zero()
        if not duels and (n != 2 or games.agent_start[first + 2] - begin != 2):
            play(
                rating, outcomes, games, i, key, slope, settings, traced, before, after, noise, push, moved, mean, luck, total,
                odds, results, pairs,
            )  # fmt: skip
            pairs += n * (n - 1) // 2 if wanted else zero()
            continue
        if begin + _AHEAD + 1 < len(games.agent):
            for agent in (games.agent[begin + _AHEAD], games.agent[begin + _AHEAD + 1]):
                prefetch(rating, agent)
                prefetch(outcomes, agent)
        a, b = games.agent[begin], games.agent[begin + 1]
        x, result = slope * (rating[a] - rating[b]), result_of(games.place[first], games.place[first + 1])
        up = push(settings, x, result, noise(settings, key, i, 0) - noise(settings, key, i, 1))
        if wanted:
            odds[pairs], results[pairs] = x, result
            pairs += 1
        if traced:
            before[begin], before[begin + 1] = rating[a], rating[b]
        rating[a] = moved(settings, rating[a], outcomes[a], weight, 1, 1, up)
        rating[b] = moved(settings, rating[b], outcomes[b], weight, 1, 1, 0.0 - up)
        if traced:
            after[begin], after[begin + 1] = rating[a], rating[b]
        outcomes[a] += 1
        outcomes[b] += 1
    if wanted:
        score_games(counts, sums, rows, odds, results, games.weight, scored, len(games.weight), traced, games.side_start, expected)


@template
def play(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, i: int, key: Keys, slope: float, settings: Settings,
    traced: bool, before: NDArray[np.float64], after: NDArray[np.float64], noise: Noise, push: Push, moved: Moved,
    mean: NDArray[np.float64], luck: NDArray[np.float64], total: NDArray[np.float64], odds: NDArray[np.float64],
    results: NDArray[np.float64], pairs: int,
) -> None:  # fmt: skip
    """Fold outcome `i`, with any number and size of sides, and write log odds and results of its pairs, from `pairs` on."""
    first, n, weight = games.side_start[i], games.side_start[i + 1] - games.side_start[i], games.weight[i] * UNIT
    side_means(rating, games.agent_start, games.agent, first, n, mean)
    for side in range(n):
        luck[side] = noise(settings, key, i, side)
    _sum_pairs(games.place, first, n, mean, luck, slope, settings, push, total, odds, results, pairs)
    for side in range(n):
        begin, end = games.agent_start[first + side], games.agent_start[first + side + 1]
        for member in range(begin, end):
            agent = games.agent[member]
            if traced:
                before[member] = rating[agent]
            rating[agent] = moved(settings, rating[agent], outcomes[agent], weight, n - 1, end - begin, total[side])
            if traced:
                after[member] = rating[agent]
            outcomes[agent] += 1


@template
def _sum_pairs(
    place: NDArray[np.int32], first: int, n: int, mean: NDArray[np.float64], luck: NDArray[np.float64], slope: float, settings: Settings,
    push: Push, total: NDArray[np.float64], odds: NDArray[np.float64], results: NDArray[np.float64], pair: int,
) -> None:  # fmt: skip
    """Write each side's sum of pushes over its pairs, in the order of the sides, and each pair's log odds and result. Columns are separate
    arguments: a tuple costs a fifth more.
    """
    total[:n] = 0.0
    for a in range(n):
        for b in range(a + 1, n):
            x, result = slope * (mean[a] - mean[b]), result_of(place[first + a], place[first + b])
            up = push(settings, x, result, luck[a] - luck[b])
            odds[pair], results[pair] = x, result
            pair += 1
            total[a] += up
            total[b] -= up


@inlined
def no_noise(_settings: Settings, _key: Keys, _outcome: int, _side: int) -> float:
    """Noise of raters that draw no random numbers."""
    return 0.0

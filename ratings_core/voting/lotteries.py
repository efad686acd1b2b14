"""Maximal lotteries and iterated maximal lotteries, of largest entropy and certified.

A lottery p is maximal when no other lottery is preferred to it, M'p >= 0 with M the margins (Kreweras 1965; Fishburn 1984;
Lanctot et al. 2023, sec. 3.1.1 and C.2.9). Where several are, the paper leaves the choice open; here it is the one of largest
entropy over classes of exact duplicates. Iterating on the agents that no maximal lottery elects gives levels (their Algorithm 1).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.clones import singletons, split_evenly
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.games.rules import Rules, ZeroSumOptions, begin, classes_by, judged
from ratings_core.games.zero_sum import symmetric_within
from ratings_core.options import option
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.any_lotteries import any_levels
from ratings_core.voting.lottery_records import IteratedMaximalLotteries, Level, MaximalLottery, Mode

_DENSE_AGENTS: Final = 5_000
"""Sparse margins of more agents are never made dense: a matrix of 8 m*m bytes, and a solve of minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryOptions(ZeroSumOptions):
    """Options of maximal lotteries."""

    mode: Mode = option("maxent", "the lottery of largest entropy, or any", choices=get_args(Mode))


_DEFAULTS: Final = LotteryOptions()


def maximal_lottery(margins: Any, *, options: LotteryOptions = _DEFAULTS, start: ArrayLike | None = None) -> MaximalLottery:
    """The maximal lottery of largest entropy, or some maximal lottery.

    margins: (m, m), antisymmetric, finite: by how much a beats b, in any unit (the answer does not depend on it); a dense array or
    any scipy sparse one, in which agents that never met tie. options.mode: ``maxent``, or ``any``, for which sparse margins stay sparse:
    of every unbeaten component of the graph of victories some optimal strategy, all at even shares; certified all the same, and
    `unique` where that is proven. options.merge: totals are then independent of how often an agent was copied (`any` merges nobody
    and settles no membership). Each iteration of the interior point is O(m**3).
    start: ratings of like margins (m,), tried first: where those elected then form the only lottery now, which is proven, no
    path to it is followed (`any` takes none).

    Raises `InputError` for bad margins or arguments, and for sparse margins of more than 5,000 agents in mode `maxent`;
    `SolverError` (with the lottery found) beyond the tolerance. Time: that of the top component, about 0.4 s at 1,000 agents and 3 s at
    2,000 in a random tournament on one core; in mode `any` some seconds at 50,000 agents with 40 opponents each.
    """
    LotteryOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    M = _accept(margins, options.mode)
    level, stats = next(_solve_levels(M, rules, _levels_before(start, M.shape[0])))
    lottery = np.zeros(M.shape[0])
    lottery[level.agents] = level.lottery
    exploitability = _exploitability(lottery @ M, M) if isinstance(M, np.ndarray) else level.exploitability
    found = MaximalLottery(
        ratings=lottery,
        certificate=Certificate("exploitability", exploitability),
        status=level.status if exploitability <= options.tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats=stats,
        lottery=lottery,
        support=level.agents,
        entropy=level.entropy,
        unique=level.unique,
    )
    return judged(found, options, "a maximal lottery", "margins")


def iterated_maximal_lotteries(
    margins: Any, *, options: LotteryOptions = _DEFAULTS, start: ArrayLike | None = None
) -> IteratedMaximalLotteries:
    """Levels of maximal lotteries: the first elects, its whole possible support is taken out, the rest elects again.

    Arguments and errors as for `maximal_lottery`; duplicates are merged among the agents left at each level. A level takes
    everyone that some maximal lottery elects, not only whom one solver's lottery happens to, so the levels are unique; entropy
    sets only the shares inside one. In mode `any` a level takes whom the lottery found elects, and only levels whose lottery and all
    those above are `unique` are the only ones possible.
    Levels below an approximate one are of status `approximate` too, as its members are unsure.
    """
    LotteryOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    M = _accept(margins, options.mode)
    solved = list(_solve_levels(M, rules, _levels_before(start, M.shape[0])))
    levels = tuple(level for level, _ in solved)
    worst = max(level.exploitability for level in levels)
    found = IteratedMaximalLotteries(
        ratings=_scores(M.shape[0], levels),
        certificate=Certificate("exploitability", worst),
        status=Status.OPTIMAL if all(level.status is Status.OPTIMAL for level in levels) else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={"levels": len(levels), **_totals([stats for _, stats in solved])},
        levels=levels,
    )
    return judged(found, options, "a maximal lottery", "margins")


def _accept(margins: Any, mode: Mode) -> checks.Matrix:
    """Margins as the mode solves them: dense ones for `maxent`, sparse ones for `any`."""
    if not checks.is_sparse(margins):
        dense = checks.antisymmetric("margins", margins)
        return dense if mode == "maxent" else sparse.csr_array(dense)
    given = checks.sparse_antisymmetric("margins", margins)
    if mode == "any":
        return given
    if given.shape[0] > _DENSE_AGENTS:
        raise InputError("mode", mode, f"must be any for sparse margins of more than {_DENSE_AGENTS} agents ({given.shape[0]} given)")
    return np.asarray(given.toarray())


def _levels_before(start: ArrayLike | None, m: int) -> Floats | None:
    """The level of each agent (m,), largest first, by earlier ratings: a lottery, or levels below it and a lottery. Raises `InputError`."""
    if start is None:
        return None
    given = checks.finite("start", start)
    if given.shape != (m,):
        raise InputError("start", given.shape, f"must be of {m} agents")
    return np.asarray(np.ceil(given), np.float64)


def _solve_levels(M: checks.Matrix, rules: Rules[ZeroSumOptions], before: Floats | None) -> Iterator[tuple[Level, dict[str, float]]]:
    if isinstance(M, np.ndarray):
        return _levels(M, rules, before)
    return any_levels(M, tolerance=rules.options.tolerance, max_iterations=rules.options.max_iterations)


def _totals(stats: list[dict[str, float]]) -> dict[str, float]:
    """Over levels: gaps and sizes are the worst, all else is summed."""
    worst = ("support_gap", "entropy_gap", "largest")
    return {
        name: (max if name in worst else sum)(one[name] for one in stats)
        for name in stats[0]
        if name in ("iterations", "dense", "first_order", "interior", *worst)
    }


def _levels(M: Floats, rules: Rules[ZeroSumOptions], before: Floats | None) -> Iterator[tuple[Level, dict[str, float]]]:
    alive, wins = np.arange(len(M)), weak_wins(M)
    status = Status.OPTIMAL
    while alive.size:
        level, stats = _top_level(M, alive, wins, rules, before)
        status = status if level.status is Status.OPTIMAL else level.status
        yield replace(level, status=status), stats
        alive = np.setdiff1d(alive, level.agents, assume_unique=True)
        wins -= np.count_nonzero(M[level.agents] <= 0, axis=0)


def _top_level(
    M: Floats, alive: NDArray[np.int64], wins: NDArray[np.int64], rules: Rules[ZeroSumOptions], before: Floats | None
) -> tuple[Level, dict[str, float]]:
    """The first level of the agents `alive`, solved on their top component; duplicates are duplicates against all of them. before: who
    was highest among these is tried first.
    """
    top = top_component(M, alive, wins)
    classes = classes_by(rules.options, M[np.ix_(top, alive)]) if len(top) > 1 else singletons(1)
    agents = top[classes.first]
    guess = None if before is None else before[agents] == before[agents].max()
    solved = symmetric_within(M[np.ix_(agents, agents)], rules, guess)
    member = solved.support[classes.member]
    elected, lottery = top[member], split_evenly(solved.strategy, classes)[member]
    exploitability = _exploitability(lottery @ M[np.ix_(elected, alive)], M[np.ix_(top, top)])
    level = Level(
        agents=elected,
        lottery=lottery,
        exploitability=exploitability,
        entropy=solved.entropy,
        unique=solved.unique,
        status=solved.status if exploitability <= rules.options.tolerance else Status.APPROXIMATE,
    )
    return level, {**solved.stats, "component": len(top), "merged": len(top) - len(classes)}


def _exploitability(preferred: Floats, margins: Floats) -> float:
    """From the caller's margins, not the merged and scaled ones. preferred: of the lottery over each agent, M'p; margins: its unit."""
    return max(0.0, -float(preferred.min())) / (float(np.abs(margins).max()) or 1.0)


def _scores(m: int, levels: tuple[Level, ...]) -> Floats:
    scores = np.empty(m)
    for below, level in enumerate(reversed(levels)):
        scores[level.agents] = below + level.lottery
    return scores

"""Maximal lotteries and iterated maximal lotteries of largest entropy, with certificates.

A lottery p is maximal if no other lottery is preferred to it: M'p >= 0, where M are the margins (Kreweras 1965; Fishburn 1984; Lanctot et
al. 2023, sec. 3.1.1 and C.2.9). If there are several, the paper does not define a choice; this module chooses the lottery of largest
entropy over classes of exact duplicates. Repeating this for the agents that no maximal lottery elects gives levels (their Algorithm 1).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

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
"""Largest number of agents whose sparse margins become a dense matrix, which takes 8 m*m bytes; a larger solve would take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryOptions(ZeroSumOptions):
    """Options of maximal lotteries."""

    mode: Mode = option("maxent", "the lottery of largest entropy, or any", choices=get_args(Mode))


_DEFAULTS: Final = LotteryOptions()


def maximal_lottery(margins: Any, *, options: LotteryOptions = _DEFAULTS, start: ArrayLike | None = None) -> MaximalLottery:
    """Compute the maximal lottery of largest entropy, or an arbitrary maximal lottery.

    margins: (m, m), antisymmetric, finite: by how much a beats b; the unit does not affect the result. A dense array or any scipy sparse
    array, in which agents that never met tie.
    options.mode: ``maxent``, or ``any``, which keeps sparse margins sparse. ``any`` computes some optimal strategy for each unbeaten
    component of the graph of victories and gives all these components equal shares. The result is certified, too, and `unique` is set if
    uniqueness is proven.
    options.merge: merges duplicates, so that the total probability of an agent and its copies does not depend on their number (`any` never
    merges, and elects only the agents of the computed lottery). Each iteration of the interior point takes O(m**3).
    start: ratings (m,) of similar margins, as a guess. If it is proven that the agents elected before have the only maximal lottery now,
    the solver skips the interior point. Mode `any` ignores it.

    Raises `InputError` for invalid margins or arguments, and for sparse margins of more than 5,000 agents in mode `maxent`; `SolverError`
    (with the computed lottery) if the tolerance is not reached. The time depends on the top component: about 0.4 s for 1,000 agents and 3 s
    for 2,000 in a random tournament on one core; in mode `any` some seconds for 50,000 agents with 40 opponents each.
    """
    LotteryOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    M = _accept(margins, options.mode)
    level, stats = next(_solve_levels(M, rules, _levels_before(start, M.shape[0])))
    lottery = np.zeros(M.shape[0])
    lottery[level.agents] = level.lottery
    exploitability = _exploitability(lottery @ M, M) if isinstance(M, np.ndarray) else level.exploitability
    solution = MaximalLottery(
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
    return judged(solution, options, "a maximal lottery", "margins")


def iterated_maximal_lotteries(
    margins: Any, *, options: LotteryOptions = _DEFAULTS, start: ArrayLike | None = None
) -> IteratedMaximalLotteries:
    """Compute levels of maximal lotteries: each level contains the agents elected among those that no higher level contains.

    Arguments and errors as for `maximal_lottery`. Duplicates are merged among the remaining agents of each level. A level contains every
    agent that some maximal lottery elects, independent of the solver, so the levels are unique; entropy determines only the probabilities
    inside a level. In mode `any` a level contains the agents that the computed lottery elects; such a level is the only possible one if
    its lottery and those of all higher levels are `unique`. The levels below an approximate level have the status `approximate`, too,
    because their members are uncertain.
    """
    LotteryOptions.require(options)
    started = time.perf_counter()
    rules = begin(options)
    M = _accept(margins, options.mode)
    solved = list(_solve_levels(M, rules, _levels_before(start, M.shape[0])))
    levels = tuple(level for level, _ in solved)
    worst = max(level.exploitability for level in levels)
    solution = IteratedMaximalLotteries(
        ratings=_scores(M.shape[0], levels),
        certificate=Certificate("exploitability", worst),
        status=Status.OPTIMAL if all(level.status is Status.OPTIMAL for level in levels) else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={"levels": len(levels), **_totals([stats for _, stats in solved])},
        levels=levels,
    )
    return judged(solution, options, "a maximal lottery", "margins")


def _accept(margins: Any, mode: Mode) -> checks.Matrix:
    """Checked margins: a dense array for mode `maxent`, a sparse array for `any`. Raises `InputError`."""
    if not checks.is_sparse(margins):
        dense = checks.antisymmetric("margins", margins)
        return dense if mode == "maxent" else scipy.sparse.csr_array(dense)
    given = checks.sparse_antisymmetric("margins", margins)
    if mode == "any":
        return given
    if given.shape[0] > _DENSE_AGENTS:
        raise InputError("mode", mode, f"must be any for sparse margins of more than {_DENSE_AGENTS} agents ({given.shape[0]} given)")
    return np.asarray(given.toarray())


def _levels_before(start: ArrayLike | None, m: int) -> Floats | None:
    """Earlier level of each agent (m,): the earlier rating, rounded up; higher is better. None without `start`. Raises `InputError`."""
    if start is None:
        return None
    given = checks.finite("start", start)
    if given.shape != (m,):
        raise InputError("start", given.shape, f"must contain a value for each of {m} agents")
    return np.asarray(np.ceil(given), np.float64)


def _solve_levels(M: checks.Matrix, rules: Rules[ZeroSumOptions], before: Floats | None) -> Iterator[tuple[Level, dict[str, float]]]:
    if isinstance(M, np.ndarray):
        return _levels(M, rules, before)
    return any_levels(M, tolerance=rules.options.tolerance, max_iterations=rules.options.max_iterations)


def _totals(stats: list[dict[str, float]]) -> dict[str, float]:
    """Statistics of all levels: the maximum of gaps and sizes, and the sum of counts."""
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
    """The first level of the agents `alive`, solved on their top component. Duplicates have equal margins against all of `alive`.

    before: earlier level of each agent; those of the highest level in the component are the first guess of the support.
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
    """Exploitability by the caller's margins, before merging and scaling. preferred: M'p; margins: their largest |entry| is the unit."""
    return max(0.0, -float(preferred.min())) / (float(np.abs(margins).max()) or 1.0)


def _scores(m: int, levels: tuple[Level, ...]) -> Floats:
    scores = np.empty(m)
    for below, level in enumerate(reversed(levels)):
        scores[level.agents] = below + level.lottery
    return scores

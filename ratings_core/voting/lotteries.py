"""Maximal lotteries and iterated maximal lotteries, of largest entropy and certified.

A lottery p is maximal when no other lottery is preferred to it, M'p >= 0 with M the margins (Kreweras 1965; Fishburn 1984;
Lanctot et al. 2023, sec. 3.1.1 and C.2.9). Where several are, the paper leaves the choice open; here it is the one of largest
entropy over classes of exact duplicates. Iterating on whoever no maximal lottery elects gives levels (their Algorithm 1).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import SolverError
from ratings_core.games.clones import clone_classes, singletons, split_evenly
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.games.zero_sum import SymmetricSolution, shortfall, solve_symmetric
from ratings_core.solution import Certificate, Floats, Solution, Status

SolutionT = TypeVar("SolutionT", bound=Solution)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of an iterated lottery, best first.

    agents: ids, ascending: whoever some maximal lottery of the agents left elects; lottery: their probabilities, all positive;
    exploitability: -(least entry of M'p) over the largest |margin| within the top component of the agents left;
    entropy: nats, over classes of duplicates; unique: proven to be the only maximal lottery of the merged agents left.
    """

    agents: NDArray[np.int64]
    lottery: Floats
    exploitability: float
    entropy: float
    unique: bool
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximalLottery(Solution):
    """ratings: the lottery itself, as the paper ranks by it. lottery: (m,), sums to 1; support: ids that some maximal lottery
    elects, all of which this one does; entropy, unique: as in `Level`. certificate: ``exploitability``, -(least entry of M'p)
    over the largest |margin|, at least 0.
    """

    lottery: Floats
    support: NDArray[np.int64]
    entropy: float
    unique: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IteratedMaximalLotteries(Solution):
    """ratings: levels below an agent's own plus its probability in it, so the last level's members get their probability and a
    sole member of level l of L gets L - l + 1 (the paper's sec. 4.3). levels: best first, every agent in one.
    certificate: ``exploitability``, the worst of the levels'.
    """

    levels: tuple[Level, ...]


def maximal_lottery(
    margins: ArrayLike,
    *,
    merge: bool = True,
    tolerance: float = 1e-9,
    close: float = 1e-6,
    max_iterations: int = 100,
    accept_approximate: bool = False,
) -> MaximalLottery:
    """The maximal lottery of largest entropy.

    margins: (m, m), antisymmetric, finite: by how much a beats b, in any unit (the answer does not depend on it); merge: exact
    duplicates share one agent's probability evenly, which makes totals independent of how often an agent was copied;
    tolerance: largest exploitability called optimal; close: memberships of the support less clear than this at the end of the
    interior point are settled by a linear program; max_iterations: of the interior point, each O(m**3);
    accept_approximate: return a lottery beyond the tolerance, with status `approximate`, instead of raising.

    Raises `InputError` for bad margins or arguments, `SolverError` (with the lottery found) beyond the tolerance. Time: that of
    the top component, about 0.4 s at 1,000 agents and 3 s at 2,000 in a random tournament on one core.
    """
    started = time.perf_counter()
    M = checks.antisymmetric("margins", margins)
    alive = np.arange(len(M))
    level, stats = _top_level(M, alive, weak_wins(M), _Rules(merge, tolerance, close, max_iterations))
    lottery = np.zeros(len(M))
    lottery[level.agents] = level.lottery
    exploitability = _exploitability(lottery @ M, M)
    found = MaximalLottery(
        ratings=lottery,
        certificate=Certificate("exploitability", exploitability),
        status=level.status if exploitability <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats=stats,
        lottery=lottery,
        support=level.agents,
        entropy=level.entropy,
        unique=level.unique,
    )
    return found if accept_approximate else _accepted(found, tolerance)


def iterated_maximal_lotteries(
    margins: ArrayLike,
    *,
    merge: bool = True,
    tolerance: float = 1e-9,
    close: float = 1e-6,
    max_iterations: int = 100,
    accept_approximate: bool = False,
) -> IteratedMaximalLotteries:
    """Levels of maximal lotteries: the first elects, its whole possible support is taken out, the rest elects again.

    Arguments and errors as for `maximal_lottery`; duplicates are merged among the agents left at each level. A level takes
    everyone that some maximal lottery elects, not only whom one solver's lottery happens to, so the levels are unique; entropy
    sets only the shares inside one. Levels below an approximate one are of status `approximate` too, as its members are unsure.
    """
    started = time.perf_counter()
    M = checks.antisymmetric("margins", margins)
    solved = list(_levels(M, _Rules(merge, tolerance, close, max_iterations)))
    levels = tuple(level for level, _ in solved)
    worst = max(level.exploitability for level in levels)
    found = IteratedMaximalLotteries(
        ratings=_scores(len(M), levels),
        certificate=Certificate("exploitability", worst),
        status=Status.OPTIMAL if all(level.status is Status.OPTIMAL for level in levels) else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={
            "levels": len(levels),
            "iterations": sum(stats["iterations"] for _, stats in solved),
            **{gap: max(stats[gap] for _, stats in solved) for gap in ("support_gap", "entropy_gap")},
        },
        levels=levels,
    )
    return found if accept_approximate else _accepted(found, tolerance)


@dataclass(frozen=True, slots=True)
class _Rules:
    merge: bool
    tolerance: float
    close: float
    max_iterations: int


def _levels(M: Floats, rules: _Rules) -> Iterator[tuple[Level, dict[str, float]]]:
    alive, wins = np.arange(len(M)), weak_wins(M)
    status = Status.OPTIMAL
    while alive.size:
        level, stats = _top_level(M, alive, wins, rules)
        status = status if level.status is Status.OPTIMAL else level.status
        yield replace(level, status=status), stats
        alive = np.setdiff1d(alive, level.agents, assume_unique=True)
        wins -= np.count_nonzero(M[level.agents] <= 0, axis=0)


def _top_level(M: Floats, alive: NDArray[np.int64], wins: NDArray[np.int64], rules: _Rules) -> tuple[Level, dict[str, float]]:
    """The first level of the agents `alive`, solved on their top component; duplicates are duplicates against all of them."""
    top = top_component(M, alive, wins)
    whole = rules.merge and len(top) > 1
    classes = clone_classes(M[np.ix_(top, alive)]) if whole else singletons(len(top))
    agents = top[classes.first]
    solved = _solved(M[np.ix_(agents, agents)], rules)
    member = solved.support[classes.member]
    elected, lottery = top[member], split_evenly(solved.strategy, classes)[member]
    exploitability = _exploitability(lottery @ M[np.ix_(elected, alive)], M[np.ix_(top, top)])
    level = Level(
        agents=elected,
        lottery=lottery,
        exploitability=exploitability,
        entropy=solved.entropy,
        unique=solved.unique,
        status=solved.status if exploitability <= rules.tolerance else Status.APPROXIMATE,
    )
    return level, {**solved.stats, "component": len(top), "merged": len(top) - len(classes)}


def _exploitability(preferred: Floats, margins: Floats) -> float:
    """From the caller's margins, not the merged and scaled ones. preferred: of the lottery over each agent, M'p; margins: its unit."""
    return max(0.0, -float(preferred.min())) / (float(np.abs(margins).max()) or 1.0)


def _solved(M: Floats, rules: _Rules) -> SymmetricSolution:
    return solve_symmetric(M, tolerance=rules.tolerance, close=rules.close, max_iterations=rules.max_iterations)


def _scores(m: int, levels: tuple[Level, ...]) -> Floats:
    scores = np.empty(m)
    for below, level in enumerate(reversed(levels)):
        scores[level.agents] = below + level.lottery
    return scores


def _accepted(found: SolutionT, tolerance: float) -> SolutionT:
    if found.status is Status.OPTIMAL:
        return found
    raise SolverError(
        f"a maximal lottery is not certain to tolerance {tolerance:g}: {shortfall(found)}; "
        "raise tolerance or max_iterations, rescale margins of very different size, or pass accept_approximate=True",
        found,
    )

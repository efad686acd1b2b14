"""The maximal lottery of posterior margins of any number of agents: solved densely among candidates, certified against all agents.

Candidates are the strongest agents. Their game is solved exactly. Then the lottery's margin over every agent is computed from the structure
(one column of predictions for each elected agent, plus the sparse corrections). An agent that an optimal lottery beats strictly is in no
optimal support (complementary slackness). So a lottery that beats all agents outside the candidates is the maximal lottery of the complete
pool, with the same support, entropy and uniqueness. Otherwise the agents that it does not beat become candidates.
"""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import SolverError
from ratings_core.games.supports import CANDIDATES
from ratings_core.margins.posterior import DENSE_AGENTS, PosteriorMargins
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.lotteries import LotteryOptions, maximal_lottery
from ratings_core.voting.lottery_records import MaximalLottery

_FIRST: Final = 2 * CANDIDATES
"""Number of the strongest agents that are candidates of the first round."""
_DEFAULTS: Final = LotteryOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorLottery(MaximalLottery):
    """A maximal lottery of posterior margins.

    candidates: ids of the agents whose margins were dense. excluded_by: smallest margin of the lottery over an agent outside the
    candidates, which proves that no such agent is in a support; infinite if all agents were candidates. The certificate
    (``exploitability``) is checked against all agents.
    """

    candidates: NDArray[np.int64]
    excluded_by: float


def posterior_lottery(
    margins: PosteriorMargins, *, options: LotteryOptions = _DEFAULTS, start: ArrayLike | None = None
) -> PosteriorLottery:
    """The maximal lottery of largest entropy of posterior margins.

    Args:
        margins: Of m agents.
        options: Of the lottery of each round, as for `maximal_lottery`; its mode must be ``maxent``.
        start: Earlier ratings of the same agents (m,); agents elected then are candidates from the first round.

    Returns:
        The lottery of all m agents. `stats` counts rounds and candidates.

    Raises:
        InputError: An argument is out of range.
        SolverError: The lottery is not certain to the tolerance, or more than `DENSE_AGENTS` agents must be candidates.
    """
    LotteryOptions.require(options)
    checks.instance("margins", margins, PosteriorMargins)
    begun, tolerance = time.perf_counter(), options.tolerance
    checks.choice("mode", options.mode, ("maxent",))
    before = None if start is None else np.asarray(start, np.float64)
    chosen = _first(margins, before)
    rounds = 0
    while True:
        rounds += 1
        inner = maximal_lottery(margins.block(chosen), options=options, start=None if before is None else before[chosen])
        elected, shares = chosen[inner.support], inner.lottery[inner.support]
        ahead = margins.preferred(elected, shares)
        more = _missing(ahead, chosen, tolerance)
        if not more.size:
            break
        chosen = np.sort(np.append(chosen, more))
        if len(chosen) > DENSE_AGENTS:
            rule = f"it may contain more than {DENSE_AGENTS} agents; solve fewer agents (most_agents) or raise prior"
            raise SolverError(f"posterior margins do not determine the support: {rule}", inner)
    lottery = _for_all_agents(margins, inner, chosen, ahead, rounds, tolerance, time.perf_counter() - begun)
    exploitability = lottery.certificate.value
    if exploitability > tolerance and not options.accept_approximate:
        raise SolverError(f"exploitability {exploitability:.3g} against all agents is above the tolerance {tolerance:g}", lottery)
    return lottery


def _first(margins: PosteriorMargins, before: Floats | None) -> NDArray[np.int64]:
    """The candidates of the first round: the strongest agents and agents elected before; all agents of a small pool."""
    order = np.argsort(-margins.strength, kind="stable")
    elected = np.flatnonzero(before > 0)[:_FIRST] if before is not None else np.empty(0, np.int64)
    return np.unique(np.append(order[:_FIRST], elected)) if len(order) > 2 * _FIRST else np.arange(len(order))


def _missing(ahead: Floats, chosen: NDArray[np.int64], tolerance: float) -> NDArray[np.int64]:
    """Agents outside the candidates that the lottery does not beat, the smallest margins first, at most as many as there are candidates."""
    outside = ahead.copy()
    outside[chosen] = np.inf
    unbeaten = np.flatnonzero(outside <= tolerance)
    return np.asarray(unbeaten[np.argsort(outside[unbeaten], kind="stable")][: len(chosen)], np.int64)


def _for_all_agents(
    margins: PosteriorMargins,
    inner: MaximalLottery,
    chosen: NDArray[np.int64],
    ahead: Floats,
    rounds: int,
    tolerance: float,
    seconds: float,
) -> PosteriorLottery:
    """The candidates' lottery as a lottery of all agents, certified against all agents."""
    m = len(margins)
    lottery = np.zeros(m)
    lottery[chosen] = inner.lottery
    unit = float(np.abs(margins.block(chosen)).max()) or 1.0
    exploitability = max(0.0, -float(ahead.min())) / unit
    outside = np.delete(ahead, chosen)
    return PosteriorLottery(
        ratings=lottery,
        certificate=Certificate("exploitability", exploitability),
        status=inner.status if exploitability <= tolerance else Status.APPROXIMATE,
        seconds=seconds,
        stats={**inner.stats, "candidate_rounds": rounds, "dense_agents": len(chosen)},
        lottery=lottery,
        support=chosen[inner.support],
        entropy=inner.entropy,
        unique=inner.unique,
        candidates=chosen,
        excluded_by=float(outside.min()) if outside.size else np.inf,
    )

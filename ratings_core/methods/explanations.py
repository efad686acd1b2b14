"""Explanations: the terms of an agent's rating by any method of the registry.

A rating that is a sum is divided into its summands: Copeland's points by opponent, Nash averages by task. A rating that solves an equation
is explained by the equation: points less expected points by opponent, which sum to 0. Methods that rank agents by a search show the
margins that the search used.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from ratings_core.analysis.terms import Terms
from ratings_core.methods import explained_fits as fits
from ratings_core.methods import explained_games as games
from ratings_core.methods import explained_votes as votes
from ratings_core.methods.explained import Explanation, KindOfMargins, Solve
from ratings_core.methods.unrated import unrated_because

Explain: TypeAlias = Callable[[Solve, int], tuple[Terms, ...]]

_UNRATED: Final = "the method gives this agent no rating"
_CHAIN: Final = "the rating is a share of time of a Markov chain, which is no sum"
_NO_SUM: Final[Mapping[str, str]] = {
    "alpharank": _CHAIN,
    "alpharank_tasks": _CHAIN,
    "stv": "the rating follows from rounds of transfers, which the board lists (`extra.rounds`)",
}
"""Method -> why its ratings have no terms."""
_EXPLAIN: Final[Mapping[str, Explain]] = {
    "bradley_terry": fits.bradley_terry,
    "contextual_bradley_terry": fits.contextual,
    "davidson": fits.bradley_terry,
    "sco_fit": fits.sco,
    "fenchel_young_fit": fits.fenchel_young,
    "copeland": votes.copeland,
    "maximal_lottery": votes.maximal_lottery,
    "iterated_maximal_lotteries": votes.iterated_maximal_lotteries,
    "nash_average": games.nash_average,
    "nash_average_agents": games.nash_average_agents,
    "deviation": games.deviation,
    "uniform": games.uniform,
    "payoff": games.payoff,
    "cce": games.cce,
    "lle": games.lle,
    "plurality": votes.placed,
    "approval": votes.placed,
    "borda": votes.placed,
    "schulze": votes.ordered,
    "ranked_pairs": votes.ordered,
    "kemeny": votes.kemeny,
}
"""Method -> function that gives the terms of the rating of an agent by id."""


def explain(solve: Solve, agent: str) -> Explanation:
    """Explain the rating of an agent.

    Args:
        solve: A solve of any method.
        agent: Name of an agent of the solve.

    Returns:
        The terms, each with an identity that the caller can check: `Terms.error` is at most `Terms.allowed`. Without terms, `why_not`.

    Raises:
        UnknownAgent: The solve has no such agent.
        SolverError: Posterior margins could not be computed again.
    """
    at, method = solve.id_of(agent), solve.taken.method.name
    rating = float(solve.solution.ratings[at])
    why_not = _why_not(solve, at, rating)
    return Explanation(
        method=method,
        agent=agent,
        rating=rating,
        rank=int(solve.rank[at]),
        agents=len(solve.names),
        terms=() if why_not is not None else _EXPLAIN[method](solve, at),
        margins=_kind_of_margins(solve),
        why_not=why_not,
    )


def _why_not(solve: Solve, at: int, rating: float) -> str | None:
    """Why the rating of the agent `at` has no terms; None if it has some."""
    if np.isnan(rating):
        return unrated_because(solve.problem, np.array([at])) if "unrated_because" in solve.rated.extra else _UNRATED
    if solve.taken.values.get("rating") in ("mass", "payoff_if_played"):
        return "this rating is a probability or a conditional mean, which is no sum"
    return _NO_SUM.get(solve.taken.method.name)


def _kind_of_margins(solve: Solve) -> KindOfMargins | None:
    margins: Any = solve.rated.extra.get("margins")
    if margins is None:
        return None
    return "posterior" if margins["kind"] == "posterior" else "observed"

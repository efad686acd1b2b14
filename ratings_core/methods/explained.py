"""A solve and what the explanations of its agents share, and the form of an explanation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.analysis.terms import Ids, Terms
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.errors import InputError
from ratings_core.margins import PosteriorMargins
from ratings_core.methods.margins import chosen
from ratings_core.methods.method import Rated
from ratings_core.methods.registry import Taken, ranking_of
from ratings_core.problems.inputs import sparse_margins
from ratings_core.solution import Floats

KindOfMargins: TypeAlias = Literal["posterior", "observed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an agent has its rating.

    method: name of the method; agent: name of the agent; rating: its rating, NaN if unrated; rank: its rank, from 1; agents: number of
    agents of the solve; terms: one or more sums; margins: the margins that the method used, `posterior` or `observed`; None for methods
    that use no margins; why_not: why there are no terms; None if there are terms.
    """

    method: str
    agent: str
    rating: float
    rank: int
    agents: int
    terms: tuple[Terms, ...]
    margins: KindOfMargins | None = None
    why_not: str | None = None


class UnknownAgent(InputError):  # noqa: N818 - names the fact
    """The solve has no agent of this name."""


class Solve:
    """A solve of a method, with what its explanations share: margins and games are computed once for all agents.

    Args:
        taken: The method with its problem and parameters.
        rated: The answer of `taken.rated()`.
        tie_tolerance: Ratings within it share a rank. None for the method's default.
        seconds: Processor time that the answer took; 0 if it is not known.

    Attributes:
        taken: As given.
        rated: As given.
        tie_tolerance: As given.
        seconds: As given.
        rank: int64 (n,), rank of each agent.
    """

    def __init__(self, taken: Taken, rated: Rated, tie_tolerance: float | None = None, *, seconds: float = 0.0) -> None:
        self.taken, self.rated, self.tie_tolerance, self.seconds = taken, rated, tie_tolerance, seconds
        self.rank = self.rank_in(rated)
        self._memory: dict[str, Any] = {}

    def id_of(self, agent: str) -> int:
        """Id of an agent in the solve. Raises `UnknownAgent`."""
        if agent in self.names:
            return self.names.index(agent)
        part = "; the method solves only a part of the pool (most_agents, only_agents)" if "roster" in self.taken.about else ""
        raise UnknownAgent("agent", agent, f"must be an agent of the solve{part}")

    def rank_in(self, rated: Rated) -> NDArray[np.int64]:
        """Rank of each agent (n,) in another answer of this method."""
        return ranking_of(self.taken.method, rated, self.tie_tolerance).rank

    @property
    def problem(self) -> Any:
        """The problem, without its static type: the registry has checked that the method accepts it."""
        return self.taken.problem

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the agents of the solve."""
        return self.taken.problem.names

    @property
    def solution(self) -> Any:
        """The solution, without its static type, which follows from the method."""
        return self.rated.solution

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the value of `compute()` under this name, computed at the first call."""
        if name not in self._memory:
            self._memory[name] = compute()
        return self._memory[name]

    def posterior(self) -> PosteriorMargins | None:
        """The posterior margins that the parameters choose; None for observed margins."""
        return cast("PosteriorMargins | None", self.once("posterior", lambda: chosen(self.problem, self.taken.values).posterior))

    def observed(self) -> Any:
        """Observed margins, sparse (n, n)."""
        return self.once("observed", lambda: scipy.sparse.csr_array(sparse_margins(self.problem)))

    def margins_over(self, agent: int) -> Floats:
        """Margins of an agent over all agents (n,), those that the method was solved on."""
        posterior = self.posterior()
        if posterior is not None:
            return np.asarray(posterior.rows(np.array([agent]))[0], np.float64)
        return np.asarray(self.observed()[[agent]].toarray()[0], np.float64)

    def preferred(self, elected: Ids, lottery: Floats) -> Floats:
        """Expected margin of a lottery over each agent (n,)."""
        posterior = self.posterior()
        if posterior is not None:
            return posterior.preferred(elected, lottery)
        return np.asarray(lottery @ self.observed()[elected], np.float64)

    def largest_margin(self) -> float:
        """Upper bound of all absolute margins."""
        return 1.0 if self.posterior() is not None else float(np.abs(self.observed().data).max(initial=0.0))

    def counts(self) -> MetPairs:
        """Results of pairs."""
        return cast("MetPairs", self.once("counts", lambda: of_tally(self.problem.counts, len(self.names))))

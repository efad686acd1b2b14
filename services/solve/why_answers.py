"""The answer to why an agent has its rating, in one form for the API, `equirank why` and `equirank solve --why`."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from ratings_core.analysis.terms import Terms
from ratings_core.methods.explained import Explanation
from ratings_core.methods.explained_changes import PairMove, RatingChange, TermsChange
from ratings_core.methods.rank_flips import RankFlip

OPPONENT: Final = "opponent"
"""`by` of sums and terms whose names are those of agents."""


class WhyTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a sum.

    Attributes:
        name: Opponent, task or place.
        value: The term.
        share: Its share of the sum of all absolute terms, with its sign.
        details: Further numbers of the row, by name, such as `games`, `points`, `expected`, `margin` or `probability`.
    """

    name: str
    value: float
    share: float
    details: dict[str, float]


class WhySum(msgspec.Struct, frozen=True, kw_only=True):
    """A sum that explains the rating.

    Attributes:
        by: What its terms belong to: `opponent`, `task` or `place`.
        quantity: What a term is.
        meaning: What the sum says about the agent.
        total: What the terms sum to by the solution: the rating, or 0 for a balance. None if the terms are evidence and no sum.
        sum: Sum of all terms, `rest` included.
        allowed: Largest difference of `sum` and `total` that the certificate of the solution allows.
        rest: Terms of no opponent, task or place, such as the prior, by name.
        terms: The largest terms by absolute value, largest first. Of Copeland's points: lost ones, then half ones, then the closest wins.
        others: Number of terms that are not listed.
        others_sum: Sum of these terms.
    """

    by: str
    quantity: str
    meaning: str
    total: float | None
    sum: float
    allowed: float
    rest: dict[str, float]
    terms: list[WhyTerm]
    others: int
    others_sum: float


class WhyResult(msgspec.Struct, frozen=True, kw_only=True):
    """Removed outcomes of one pair.

    Attributes:
        agent: Name of an agent.
        opponent: Name of its opponent.
        result: Result of `agent`: `won`, `lost` or `tied`.
        count: Number of outcomes.
    """

    agent: str
    opponent: str
    result: str
    count: int


class WhyFlip(msgspec.Struct, frozen=True, kw_only=True):
    """Few outcomes, or tasks, without which the agent has another rank. A solve without them gave `rank_after`.

    Attributes:
        direction: `down`: a worse rank; `up`: a better one.
        rank: Rank now, among all agents of the solve, provisional ones included.
        rank_after: Rank without the set, among the same agents.
        count: Size of the set; 0 if no set is given.
        unit: What is counted: `outcomes`, `results of pairs` (of games with more than two sides) or `tasks`.
        results: The removed outcomes.
        tasks: The removed tasks.
        few: Largest size of a set that is given: a twentieth of all outcomes or tasks, at least 5 and at most 10,000. Larger sets say only
            that no few outcomes decide the rank.
        at_least: Proven lower bound of the size of any such set. It can be above `few`.
        smallest: Whether it is proven that no smaller set changes the rank in this direction.
        verified: Whether a solve without the set gave another rank. True whenever a set is given.
        solves: Number of solves that the search made.
        cut_short: Whether a limit of solves or time ended the search. It may then have missed a smaller set.
        not_applicable: Why no set is given; None if there is one.
    """

    direction: str
    rank: int
    rank_after: int
    count: int
    unit: str
    results: list[WhyResult]
    tasks: list[str]
    few: int
    at_least: int
    smallest: bool
    verified: bool
    solves: int
    cut_short: bool
    not_applicable: str | None = None


class WhyState(msgspec.Struct, frozen=True, kw_only=True):
    """The agent at one position.

    Attributes:
        position: Log offset up to which outcomes were counted.
        outcomes: Number of outcomes of the pool.
        rating: Rating of the agent; None if it has none.
        rank: Rank of the agent among all agents of the solve; None if it was not part of the solve, and for an online method.
    """

    position: int
    outcomes: int
    rating: float | None
    rank: int | None


class WhyMovedTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A term at both positions. by: As in `WhySum`. name: As in `WhyTerm`. before, after: Value of the term; 0 where there was none."""

    by: str
    name: str
    before: float
    after: float


class WhyMove(msgspec.Struct, frozen=True, kw_only=True):
    """New results of one pair, and their effect on the rating.

    Wins, losses and ties are all 0 if earlier results of the pair count for the first time: the earlier solve did not rate the pair
    together with the explained agent.

    Attributes:
        agent: Name of an agent of the pair; the explained agent if it is one of the two.
        opponent: Name of its opponent.
        wins: Wins of `agent` since.
        losses: Losses of `agent` since.
        ties: Ties since.
        effect: Change of the explained agent's rating by these results.
    """

    agent: str
    opponent: str
    wins: float
    losses: float
    ties: float
    effect: float


class WhyChange(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two positions.

    Attributes:
        before: The agent at the earlier position.
        after: The agent at the later position.
        outcomes: Number of outcomes of the pool in between.
        moved_terms: Terms that changed most, largest change first.
        moves: Results that moved the rating most, largest effect first.
        other_moves: Number of further pairs, which are not listed.
        other_effect: Sum of their effects.
        joined_effect: Effect of agents that the earlier solve did not rate together with this agent: they shift the mean of the ratings. Of
            an online method: effect of outcomes whose history is missing. Effects and this one sum to the change of the rating.
        no_moves: Why `moves` is empty; None if moves were computed.
    """

    before: WhyState
    after: WhyState
    outcomes: int
    moved_terms: list[WhyMovedTerm]
    moves: list[WhyMove]
    other_moves: int
    other_effect: float
    joined_effect: float
    no_moves: str | None


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent has its rating: by a solved method from a solve of one checkpoint, by an online method from the history of outcomes.

    Attributes:
        pool: Name of the pool; empty for a file.
        method: Name of the method.
        agent: Name of the agent.
        generation: Generation of the pool; 0 for a file.
        position: Log offset up to which outcomes were counted; 0 for a file.
        outcomes: Number of outcomes counted; None for a file.
        rating: Rating of the agent; None if it has none.
        rank: Rank of the agent among all agents of the solve, provisional ones included; None for an online method, whose board has it.
        agents: Number of agents of the solve, or of the pool for an online method.
        margins: Margins that the method used: `posterior` or `observed`; None for methods without margins.
        sums: The sums that explain the rating.
        not_applicable: Why there are no sums; None if there are.
        parameters: Parameters of the method, such as `k` of Elo, without those of intervals. Absent if they are not known.
        deviation: By an online method with deviations, the standard deviation of the belief about the agent on the live board now; a wide
            one makes ratings move further. None for other methods, and while the board does not have the agent.
        flips: Sets of results without which the rank would change, one for each direction in which it can; None if not requested.
        change: What changed since an earlier position; None if not requested.
        missing: Of an online method: number of outcomes of the pool whose history should be kept and cannot be read.
        seconds: Duration of the computation.
        slice: Slice of the pool's outcomes that the solve counts, such as `language:English`. Absent for all outcomes.
        display_names: Agent -> its display name, for the agents that are named here. Absent if none of them has one.
    """

    pool: str
    method: str
    agent: str
    generation: int
    position: int
    outcomes: int | None
    rating: float | None
    rank: int | None
    agents: int
    margins: Literal["posterior", "observed"] | None
    sums: list[WhySum]
    not_applicable: str | None = None
    parameters: dict[str, float | str | bool] | msgspec.UnsetType = msgspec.UNSET
    deviation: float | None = None
    flips: list[WhyFlip] | None = None
    change: WhyChange | None = None
    missing: int = 0
    seconds: float = 0.0
    slice: str | msgspec.UnsetType = msgspec.UNSET
    display_names: dict[str, str] | msgspec.UnsetType = msgspec.UNSET

    def named_agents(self) -> set[str]:
        """The agents that the answer names, besides tasks and places."""
        pairs = [*(flip for one in self.flips or () for flip in one.results), *(self.change.moves if self.change else ())]
        return {
            *(term.name for one in self.sums if one.by == OPPONENT for term in one.terms),
            *(term.name for term in (self.change.moved_terms if self.change else ()) if term.by == OPPONENT),
            *(name for pair in pairs for name in (pair.agent, pair.opponent)),
        }


def sum_of(terms: Terms, count: int) -> WhySum:
    """One sum with its first `count` terms. Rows in which all numbers are 0 are left out of the list and counted in `others`."""
    order = [row for row in terms.order.tolist()[:count] if terms.values[row] or any(column[row] for column in terms.columns.values())]
    listed = [
        WhyTerm(
            name=terms.names[row],
            value=float(terms.values[row]),
            share=float(terms.shares[row]),
            details={name: float(column[row]) for name, column in terms.columns.items()},
        )
        for row in order
    ]
    return WhySum(
        by=terms.by,
        quantity=terms.quantity,
        meaning=terms.meaning,
        total=terms.total,
        sum=terms.sum,
        allowed=terms.allowed,
        rest=dict(terms.rest),
        terms=listed,
        others=len(terms.names) - len(listed),
        others_sum=float(terms.values.sum()) - sum(term.value for term in listed),
    )


def flip_of(flip: RankFlip) -> WhyFlip:
    """A flip as answered."""
    results = [WhyResult(agent=one.agent, opponent=one.opponent, result=one.result, count=one.count) for one in flip.removed.results]
    return WhyFlip(
        direction=flip.direction,
        rank=flip.rank,
        rank_after=flip.rank_after,
        count=flip.count,
        unit=flip.unit,
        results=results,
        tasks=list(flip.removed.tasks),
        few=flip.few,
        at_least=flip.at_least,
        smallest=flip.smallest,
        verified=flip.why_not is None,
        solves=flip.solves,
        cut_short=flip.cut_short,
        not_applicable=flip.why_not,
    )


def state_of(position: int, outcomes: int, explained: Explanation | None) -> WhyState:
    """The agent at one position."""
    if explained is None:
        return WhyState(position=position, outcomes=outcomes, rating=None, rank=None)
    return WhyState(position=position, outcomes=outcomes, rating=number(explained.rating), rank=explained.rank)


def change_of(change: RatingChange, before: WhyState, after: WhyState, count: int) -> WhyChange:
    """A change with the `count` largest terms and moves."""
    terms = sorted((row for table in change.terms for row in _moved(table)), key=lambda row: -abs(row.after - row.before))
    shown, others = change.moves[:count], change.moves[count:]
    return WhyChange(
        before=before,
        after=after,
        outcomes=after.outcomes - before.outcomes,
        moved_terms=terms[:count],
        moves=[_move(move) for move in shown],
        other_moves=len(others),
        other_effect=float(sum(move.effect for move in others)),
        joined_effect=change.joined,
        no_moves=change.no_moves,
    )


def number(value: float) -> float | None:
    """A rating as JSON can hold it: None for NaN."""
    return float(value) if np.isfinite(value) else None


def _moved(table: TermsChange) -> Sequence[WhyMovedTerm]:
    rows = np.flatnonzero(table.moved).tolist()
    return [WhyMovedTerm(by=table.by, name=table.names[i], before=float(table.before[i]), after=float(table.after[i])) for i in rows]


def _move(move: PairMove) -> WhyMove:
    return WhyMove(agent=move.agent, opponent=move.opponent, wins=move.wins, losses=move.losses, ties=move.ties, effect=move.effect)

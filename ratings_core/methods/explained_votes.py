"""Explanations of votes: points by opponent or place, and margins against lotteries."""

import numpy as np

from ratings_core.analysis.terms import Ids, Terms, copeland_points, lottery_payoff, named
from ratings_core.methods.explained import Solve
from ratings_core.problems.inputs import GamesInput, wins
from ratings_core.solution import Floats
from ratings_core.voting.lottery_records import IteratedMaximalLotteries, Level, MaximalLottery
from ratings_core.voting.positional import approval_points, borda_points, unlisted_points


def copeland(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Copeland's rule: points by opponent."""
    tolerance = float(solve.taken.values["tie_tolerance"])
    rating = float(solve.solution.ratings[agent])
    return (copeland_points(solve.margins_over(agent), agent, solve.names, tolerance, rating),)


def maximal_lottery(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """The maximal lottery: expected margin against it, by elected agent."""
    found: MaximalLottery = solve.solution
    elected = np.flatnonzero(found.lottery > 0)
    share = float(found.lottery[agent])
    return (_against(solve, agent, elected, found.lottery[elected], share, found.certificate.value),)


def iterated_maximal_lotteries(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Iterated lotteries: expected margins against the lottery of the agent's level, and against that of the level above."""
    found: IteratedMaximalLotteries = solve.solution
    at = next(i for i, level in enumerate(found.levels) if agent in level.agents)
    return tuple(_against_level(solve, agent, found.levels[i], i) for i in range(at, max(at - 2, -1), -1))


def _against_level(solve: Solve, agent: int, level: Level, number: int) -> Terms:
    share = float(level.lottery[level.agents == agent].sum())
    return _against(solve, agent, level.agents, level.lottery, share, level.exploitability, f" of level {number + 1}")


def _against(solve: Solve, agent: int, elected: Ids, lottery: Floats, share: float, exploitability: float, of: str = "") -> Terms:
    """Payoff of an agent against a lottery. share: its probability there; exploitability: of the lottery, over its largest margin."""
    row = solve.margins_over(agent)[elected]
    if share > 0:
        others = "no agent of this level or a lower one" if of else "no agent"
        meaning = f"the agent is elected in the lottery{of}: its expected margin against it is 0, and {others} has a positive one"
        slack = exploitability * solve.largest_margin() / share
        return lottery_payoff(row, elected, lottery, solve.names, 0.0, slack, meaning)
    total = -float(solve.preferred(elected, lottery)[agent])
    meaning = f"the agent is not elected in the lottery{of}: its expected margin against it is not positive"
    return lottery_payoff(row, elected, lottery, solve.names, total, 0.0, meaning)


def placed(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Plurality, approval and Borda's count: points by place."""
    problem, values, method = solve.problem, solve.taken.values, solve.taken.method.name
    places = problem.places if isinstance(problem, GamesInput) else solve.once("places", problem.profile.place_counts)
    rest: dict[str, float] = {}
    if method == "borda":
        last = not isinstance(problem, GamesInput) and problem.unlisted == "last"
        points = borda_points(places, len(solve.names) if last else places.sides)
        if values["unlisted_pairs"] == "half":
            rest = {"votes that do not list the agent": float(unlisted_points(places, len(solve.names))[agent])}
    else:
        points = approval_points(places, int(values["k"]) if method == "approval" else 1)
    own = np.flatnonzero(places.agent == agent)
    keys = np.column_stack([places.sides[own], places.ahead[own], places.tied[own]])
    kinds, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    weight = np.bincount(place, places.weight[own], len(kinds))
    terms = Terms(
        by="place",
        quantity="points",
        names=tuple(_place_name(*row) for row in kinds.tolist()),
        values=np.asarray(np.bincount(place, (places.weight * points)[own], len(kinds)), np.float64),
        meaning="the rating is the number of points, summed over the agent's places",
        total=float(solve.solution.ratings[agent]),
        columns={"votes": np.asarray(weight, np.float64)},
        rest=rest,
    )
    return (terms,)


def _place_name(sides: int, ahead: int, tied: int) -> str:
    first = int(ahead) + 1
    span = f"{first}" if tied == 1 else f"{first} to {first + int(tied) - 1} (tied)"
    return f"place {span} of {int(sides)}"


def kemeny(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Kemeny's score (VasE, app. C.2.6): votes over each agent ranked below; half of those over agents of the same rank."""
    rank = solve.rank
    row = solve.once("wins", lambda: _wins(solve))[agent]
    others = np.flatnonzero(np.arange(len(row)) != agent)
    share = np.select([rank > rank[agent], rank == rank[agent]], [1.0, 0.5], 0.0)[others]
    return (
        Terms(
            by="opponent",
            quantity="votes that agree with the order",
            names=named(solve.names, others),
            values=row[others] * share,
            meaning="the rating is the number of votes for this agent over each agent that the best order places below it; no "
            "term is negative",
            total=float(solve.solution.ratings[agent]),
            columns={"margin": solve.margins_over(agent)[others], "votes": row[others]},
        ),
    )


def _wins(solve: Solve) -> Floats:
    posterior = solve.posterior()
    return wins(solve.problem) if posterior is None else np.maximum(posterior.dense(), 0.0)


def ordered(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Schulze and ranked pairs: the margins that chains of victories are made of."""
    row = solve.margins_over(agent)
    others = np.flatnonzero(np.arange(len(row)) != agent)
    return (
        Terms(
            by="opponent",
            quantity="margin",
            names=named(solve.names, others),
            values=row[others],
            meaning="the method orders agents by chains of victories; these margins are their links, and the rating is not their sum; "
            "a positive one is a victory, and a negative one a defeat",
            total=None,
        ),
    )

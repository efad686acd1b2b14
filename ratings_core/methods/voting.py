"""The voting methods of the registry: the inputs of `ratings_core.voting`, and the fields that boards of these methods add."""

from typing import Any, Final, TypeAlias

from ratings_core.margins import posterior_copeland
from ratings_core.methods.margins import MARGINS, chosen, on_margins
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.options import Parameter
from ratings_core.problems.inputs import GamesInput, MarginsInput, Problem, ProfileInput, ScoresInput, sparse_margins, wins
from ratings_core.voting.copeland import copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import Votes, approval, borda, plurality
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from ratings_core.voting.ties import TieRule, Voted

Placed: TypeAlias = GamesInput | ProfileInput | ScoresInput

_CUBIC_AGENTS: Final = 2_000
_KEMENY_AGENTS: Final = 1_000


def _plurality(problem: Placed, parameters: dict[str, Any]) -> Rated:
    return _rated(plurality(_votes(problem), agents=len(problem.names), ties=_rule(parameters)), problem)


def _approval(problem: Placed, parameters: dict[str, Any]) -> Rated:
    return _rated(approval(_votes(problem), parameters["k"], agents=len(problem.names), ties=_rule(parameters)), problem)


def _borda(problem: Placed, parameters: dict[str, Any]) -> Rated:
    unlisted = "unknown" if isinstance(problem, GamesInput) else problem.unlisted
    pairs = parameters["unlisted_pairs"]
    voted = borda(_votes(problem), unlisted=unlisted, unlisted_pairs=pairs, agents=len(problem.names), ties=_rule(parameters))
    return _rated(voted, problem)


def _votes(problem: Placed) -> Votes:
    """The ballots of a problem. For games: their places, where each game is one ballot of its players."""
    return problem.places if isinstance(problem, GamesInput) else problem.profile


def _stv(problem: ProfileInput | ScoresInput, parameters: dict[str, Any]) -> Rated:
    result = stv(problem.profile, parameters["winners"] or None, surplus=parameters["surplus"], ties=_rule(parameters))
    extra: dict[str, object] = {
        "winners": [problem.names[i] for i in result.winners],
        "quota": result.quota,
        "scores": dict(zip(problem.names, result.scores, strict=True)),
        "rounds": [{"elected": one.elected, "agents": [problem.names[i] for i in one.agents], "votes": one.votes} for one in result.rounds],
        "unused": result.unused,
    }
    return _rated(result, problem, extra)


def _schulze(problem: Problem, parameters: dict[str, Any]) -> Rated:
    return _rated(schulze(wins(problem), strength=parameters["strength"], ties=_rule(parameters)), problem)


def _ranked_pairs(problem: Problem, parameters: dict[str, Any]) -> Rated:
    result = ranked_pairs(problem.margins, ties=_rule(parameters), universes=parameters["universes"])
    return _rated(result, problem, {"universes": result.universes})


def _kemeny(problem: Problem, parameters: dict[str, Any]) -> Rated:
    options = {name: parameters[name] for name in ("most_programs", "accept_approximate")}
    result = kemeny(wins(problem), ties=_rule(parameters), **options)
    order = [problem.names[i] for i in result.order.tolist()]
    return _rated(result, problem, {"order": order, "value": result.value, "bound": result.bound, "unique": result.unique})


def _rule(parameters: dict[str, Any]) -> TieRule:
    rule: TieRule = parameters["seed"] if parameters["tie_rule"] == "seed" else parameters["tie_rule"]
    return rule


def _copeland(problem: Problem, parameters: dict[str, Any]) -> Rated:
    margins = chosen(problem, parameters)
    if margins.posterior is not None:
        return margins.reported(Rated(solution=posterior_copeland(margins.posterior, **margins.rest)))
    observed = problem.margins if isinstance(problem, MarginsInput) else sparse_margins(problem)
    return margins.reported(Rated(solution=copeland(observed, **margins.rest)))


def _rated(result: Voted, problem: Problem, extra: dict[str, object] | None = None) -> Rated:
    broken = [[problem.names[i] for i in group] for group in result.broken]
    return Rated(solution=result, ranking=result.ranking, extra={**(extra or {}), "broken_ties": broken})


_TIES: Final = (
    Parameter("tie_rule", "keep", "how ties are settled", choices=("keep", "order", "seed")),
    Parameter("seed", 0, "random seed of the order that settles ties, with tie_rule=seed", 0, 2**31 - 1),
)
REGISTERED: Final = (
    Method(
        name="copeland",
        takes=Takes.MARGINS,
        run=_copeland,
        cost=1,
        tie_tolerance=0.0,
        parameters=(Parameter("tie_tolerance", 0.0, "margins of at most this size are ties", 0.0, 1e300), *MARGINS),
    ),
    Method(name="plurality", takes=Takes.PLACES, run=_plurality, cost=1, tie_tolerance=None, parameters=_TIES),
    Method(
        name="approval",
        takes=Takes.PLACES,
        run=_approval,
        cost=1,
        tie_tolerance=None,
        parameters=(Parameter("k", 2, "number of first places on a ballot that count as approval", 1, 1_000_000), *_TIES),
    ),
    Method(
        name="borda",
        takes=Takes.PLACES,
        run=_borda,
        cost=1,
        tie_tolerance=None,
        parameters=(
            Parameter("unlisted_pairs", "none", "points that two unlisted agents get against each other", choices=("none", "half")),
            *_TIES,
        ),
    ),
    Method(
        name="stv",
        takes=Takes.PROFILE,
        run=_stv,
        cost=2,
        tie_tolerance=None,
        parameters=(
            Parameter("winners", 0, "number of seats; 0: half of the agents, rounded down", 0, 1_000_000),
            Parameter("surplus", "fractional", "how votes beyond the quota are transferred", choices=("fractional", "in_order")),
            *_TIES,
        ),
    ),
    Method(
        name="schulze",
        takes=Takes.MARGINS,
        run=on_margins(_schulze),
        cost=3,
        tie_tolerance=None,
        most_agents=_CUBIC_AGENTS,
        parameters=(
            Parameter("strength", "winning_votes", "measure of a victory's strength", choices=("winning_votes", "margins")),
            *_TIES,
            *MARGINS,
        ),
    ),
    Method(
        name="ranked_pairs",
        takes=Takes.MARGINS,
        run=on_margins(_ranked_pairs),
        cost=3,
        tie_tolerance=None,
        most_agents=_CUBIC_AGENTS,
        parameters=(Parameter("universes", 100, "largest number of possible results followed if margins tie", 1, 10_000), *_TIES, *MARGINS),
    ),
    Method(
        name="kemeny",
        takes=Takes.MARGINS,
        run=on_margins(_kemeny),
        cost=3,
        tie_tolerance=None,
        most_agents=_KEMENY_AGENTS,
        parameters=(
            Parameter("most_programs", 100, "largest number of linear programs for a cycle of more than 20 agents", 1, 100_000),
            Parameter("accept_approximate", True, "accept an order that is not proven best, with its bound"),
            *_TIES,
            *MARGINS,
        ),
    ),
)

"""The roster of a solve: which agents of a large input it takes (all, named ones, the most active or the best rated).

The result states how many agents were left out.
"""

import json
from typing import Final

import numpy as np

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.methods.margins import is_posterior
from ratings_core.methods.method import Method
from ratings_core.options import Parameter, Value
from ratings_core.problems.inputs import GamesInput, Ids, MarginsInput, Problem
from ratings_core.solution import Floats

ROSTER: Final = (
    Parameter("most_agents", 0, "largest number of agents to solve; 0: the method's limit", 0, 1_000_000_000),
    Parameter("roster_by", "activity", "order by which agents are selected, if there are more", choices=("activity", "rating")),
    Parameter("only_agents", "", "solve only these agents: a JSON list of names", free=True),
)
"""Parameters that every solved method has in addition to its own."""
_PRIOR_GAMES: Final = 1.0


def roster(problem: Problem, method: Method, values: dict[str, Value]) -> tuple[Problem, dict[str, object]]:
    """The part of a problem that a solve takes, and the field of `extra` about the agents left out (empty if there are none).

    Activity is what the input counts for an agent: results of pairs, ballots or measured tasks. For `roster_by=rating`, ratings are a
    Bradley-Terry fit of the input's pairs with one prior game for each agent, so the choice is the same live and offline. For a table of
    margins they are the agents' sums of margins. Ties are broken by name.

    Args:
        problem: The problem, agents in order of their names.
        method: The method; its limits on agents apply.
        values: Accepted values of parameters, with those of the roster.

    Raises:
        InputError: The list of names is invalid.
    """
    n, named = len(problem.names), _named(problem, str(values["only_agents"]))
    if named is not None:
        problem = problem.take(named)
    dense = method.dense_agents if "margins" in values and is_posterior(problem, values) else None
    limits = [limit for limit in (int(values["most_agents"]), method.most_agents, dense) if limit]
    most = min(limits, default=n)
    by_rating = values["roster_by"] == "rating"
    if len(problem.names) > most:
        first = _rating(problem) if by_rating else problem.activity
        problem = problem.take(np.sort(np.argsort(-first, kind="stable")[:most]))
    if len(problem.names) == n:
        return problem, {}
    cut = "best rated" if by_rating else "most active"
    by = cut if named is None else "named" if len(problem.names) == len(named) else f"{cut} of those named"
    return problem, {"roster": {"agents": len(problem.names), "left_out": n - len(problem.names), "by": by}}


def playing(games: GamesInput) -> GamesInput:
    """The games without agents that are in none of them. In a new season of a pool, these are the agents that have not played yet.

    If no two agents met, all stay.
    """
    active = games.activity > 0.0
    return games if active.all() or not active.any() else games.take(np.flatnonzero(active))


def _rating(problem: Problem) -> Floats:
    if isinstance(problem, MarginsInput):
        return np.asarray(problem.margins.sum(axis=1), np.float64)
    return bradley_terry(of_tally(problem.counts, len(problem.names)), options=BradleyTerryOptions(prior=_PRIOR_GAMES)).ratings


def names_of(text: str) -> list[str]:
    """The names in a value of `only_agents`; empty for the empty text. Raises `InputError` unless it is a JSON list of distinct names."""
    if not text:
        return []
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names) or len({*names}) != len(names):
        raise InputError("only_agents", text, 'must be a JSON list of names, each once, such as ["ann", "bob"]')
    return names


def _named(problem: Problem, text: str) -> Ids | None:
    names = names_of(text)
    if not names:
        return None
    ids = {name: i for i, name in enumerate(problem.names)}
    if unknown := [name for name in names if name not in ids]:
        raise InputError("only_agents", unknown[0], f"must name agents of the input{checks.similar(unknown[0], problem.names)}")
    return np.array(sorted(ids[name] for name in names), np.int64)

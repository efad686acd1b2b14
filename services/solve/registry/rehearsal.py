"""Rehearsal of a method on a few agents, so that parameters that cannot work on any data are refused when they are chosen.

Two small problems of the pool's kind are solved with the given parameters. In the first problem every agent met every other agent on every
task, so an error there would occur on all data. In the second problem cells are missing, as in every pool that gets a new agent. An error
there means that the caller must choose a policy for missing cells.
"""

from collections.abc import Mapping
from itertools import permutations
from typing import Final

import numpy as np

from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError, SolverError
from ratings_core.methods.method import Method, Takes
from ratings_core.methods.parameters import accepted
from ratings_core.methods.rosters import names_of
from ratings_core.options import Parameter, Value
from ratings_core.problems.games import games_of
from ratings_core.problems.history import BucketedGames
from ratings_core.problems.inputs import FeaturesInput, GamesInput, Problem, ScoresInput
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Side
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats
from ratings_core.tallies import PairTally, PlaceTally
from services.wire.pools import Kind

_AGENTS: Final = ("a", "b", "c", "d")
_TASKS: Final = ("x", "y", "z")
_SCORES: Final = np.array([[1.0, 4.0, 3.0], [2.0, 1.0, 4.0], [3.0, 2.0, 1.0], [4.0, 3.0, 2.0]])
"""Scores such that each agent beats each other agent on at least one task."""
_LACKED: Final = ((0, 1), (0, 2), (1, 0), (2, 2), (3, 0))
"""Cells of agent and task that the second problem lacks: no task has all agents, and agents a and b never meet."""
_MOST: Final = {"replicates": 2, "max_steps": 100}
"""Parameter -> largest value in a rehearsal, which bounds its work, because a rehearsal cannot be cancelled."""
_POLICIES: Final = {Takes.FEATURES: "prior"}
"""Input -> the parameter with the policy for agents with few games, if it is not `missing`."""
_OF_DATA: Final = frozenset({"winners"})
"""Parameters whose upper bound is the number of agents. A pool may have more agents than a rehearsal, so their errors are ignored."""


def rehearse(method: Method, kind: Kind, given: Mapping[str, Value]) -> None:
    """Solve small problems of a pool's kind by a method.

    Args:
        method: The method; it applies to pools of this kind.
        kind: Kind of the pool.
        given: Accepted values of parameters, including those of the roster.

    Raises:
        InputError: The parameters fail on the complete problem; or they fail on the problem with missing cells, and no policy for missing
            cells is given.
    """
    _check_roster(method, given)
    own = {parameter.name for parameter in method.parameters}
    values = accepted(method.parameters, {name: value for name, value in given.items() if name in own})
    values |= {name: min(int(values[name]), most) for name, most in _MOST.items() if name in values}
    if (error := _error(method, _problem(kind, method.takes, complete=True), values)) is not None:
        raise error
    policy = next((parameter for parameter in method.parameters if parameter.name == _POLICIES.get(method.takes, "missing")), None)
    if policy is None or policy.name in given:
        return
    if _error(method, _problem(kind, method.takes, complete=False), values) is not None:
        raise InputError(policy.name, "nothing", _policy_rule(policy))


def _check_roster(method: Method, given: Mapping[str, Value]) -> None:
    """Raise `InputError` for a roster of fewer agents than the method takes."""
    named, most = names_of(str(given.get("only_agents", ""))), int(given.get("most_agents", 0))
    if named and len(named) < method.least_agents:
        raise InputError("only_agents", named, f"must name at least {method.least_agents} agents for {method.name}")
    if most and most < method.least_agents:
        rule = f"must be 0 (as many as the method takes) or at least {method.least_agents} for {method.name}"
        raise InputError("most_agents", most, rule)


def _policy_rule(policy: Parameter) -> str:
    if not policy.choices:
        return (
            f"must be given for a pool, because a new agent has won or lost all of its games at first: {policy.name}=1, for example; "
            f"or {policy.name}={policy.default:g}, which fails while any agent has"
        )
    others = ", ".join(choice for choice in policy.choices if choice != policy.default)
    return (
        f"must be given for a pool, because a new agent lacks results at first: one of {others}; "
        f"or missing={policy.default}, which fails while anything is missing"
    )


def _error(method: Method, problem: Problem, values: dict[str, Value]) -> InputError | None:
    """The error that the method raises for its parameters, if any. Errors that depend on the data, such as `SolverError`, are ignored."""
    try:
        method.run(problem, values, **({"start": None} if method.starts else {}))
    except SolverError:
        return None
    except InputError as error:
        return None if error.argument in _OF_DATA else error
    return None


def _problem(kind: Kind, takes: Takes, *, complete: bool) -> Problem:
    if takes is Takes.FEATURES:
        return _featured(complete=complete)
    scores = _SCORES.copy()
    if not complete:
        scores[tuple(np.transpose(_LACKED))] = np.nan
    return _games(scores) if kind is Kind.GAMES else ScoresInput(_AGENTS, _TASKS, scores)


def _games(scores: Floats) -> GamesInput:
    """Games in which, on every task, the agent of higher score beats the other twice and loses once. Agents without a score do not play."""
    outcomes = [
        Outcome((Side((_AGENTS[a],), 1), Side((_AGENTS[b],), 2)), task=task)
        for t, task in enumerate(_TASKS)
        for a, b in permutations(range(len(_AGENTS)), 2)
        for _ in range(1 + int(scores[a, t] > scores[b, t]))
        if not np.isnan(scores[[a, b], t]).any()
    ]
    agents, tasks = Roster(), Roster()
    batch = OutcomeBatch.of(outcomes, agents, tasks)
    pairs, places, bucket = PairTally(per_task=True), PlaceTally(), np.zeros(len(batch), np.int64)
    for tally in (pairs, places):
        tally.add(batch, bucket)
    return games_of(tuple(agents.names()), BucketedGames(tuple(tasks.names()), pairs, places))


def _featured(*, complete: bool) -> FeaturesInput:
    """Games with one feature that does not determine results. Complete: each agent beats each other agent and loses to it.

    Otherwise the last agent loses all of its games.
    """
    first, second = map(np.array, zip(*permutations(range(len(_AGENTS)), 2), strict=True))
    both = np.repeat(np.arange(len(first)), 2)
    result, value = np.tile([1.0, 0.0], len(first)), np.arange(2.0 * len(first)) % 3
    if not complete:
        last = len(_AGENTS) - 1
        result = np.where(first[both] == last, 0.0, np.where(second[both] == last, 1.0, result))
    rows = np.arange(len(both))
    games = Comparisons(len(_AGENTS), first[both], second[both], result, rows, np.ones(len(both)))
    return FeaturesInput(_AGENTS, games, value[:, None], ("feature",))

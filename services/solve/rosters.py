"""Which agents of a large input a solve takes: all, those named, or the most active; what was left out is part of the result."""

import json
from typing import Final, NamedTuple

import numpy as np

from ratings_core.errors import InputError
from services.solve.inputs import Ids, Problem
from services.solve.method import Method
from services.solve.parameters import Parameter, Value

ROSTER: Final = (
    Parameter("most_agents", 0, "solve the most active ones only; 0: as many as the method takes", 0, 1_000_000_000),
    Parameter("only_agents", "", "solve these only: a JSON list of names", free=True),
)
"""Parameters that every method has beside its own."""


class Roster(NamedTuple):
    """The problem on the agents taken, and what to say of the others (nothing where there are none)."""

    problem: Problem
    extra: dict[str, object]


def roster(problem: Problem, method: Method, values: dict[str, Value]) -> Roster:
    """The part of `problem`, sorted by name, that a solve takes. Raises `InputError` for a list of names that is none.

    Activity is what the input counts: pairs met, ballots, tasks measured. Equal activity goes by name.
    """
    n, named = len(problem.names), _named(problem, str(values["only_agents"]))
    if named is not None:
        problem = problem.take(named)
    limits = [limit for limit in (int(values["most_agents"]), method.most_agents) if limit]
    most = min(limits, default=n)
    if len(problem.names) > most:
        problem = problem.take(np.sort(np.argsort(-problem.activity, kind="stable")[:most]))
    if len(problem.names) == n:
        return Roster(problem, {})
    by = "most active" if named is None else "named" if len(problem.names) == len(named) else "most active of those named"
    return Roster(problem, {"roster": {"agents": len(problem.names), "left_out": n - len(problem.names), "by": by}})


def _named(problem: Problem, text: str) -> Ids | None:
    if not text:
        return None
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names) or len({*names}) != len(names):
        raise InputError("only_agents", text, 'must be a JSON list of names, each once, such as ["ann", "bob"]')
    ids = {name: i for i, name in enumerate(problem.names)}
    if unknown := [name for name in names if name not in ids]:
        raise InputError("only_agents", unknown[0], "must name agents of the input")
    return np.array(sorted(ids[name] for name in names), np.int64)

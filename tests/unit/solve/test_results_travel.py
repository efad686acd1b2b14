"""Results reach readers as JSON: what every method says of a real table reads the same on the other side."""

from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ratings_core.methods.method import GIVEN_BY_SCORES
from ratings_core.methods.registry import METHODS
from ratings_core.problems.inputs import ScoresInput
from services.boards.result import SolveResult
from services.solve.registry.methods import solve

ATARI = Path(__file__).parents[2] / "golden" / "deviation" / "atari_table3.csv"


LARGE = "alpharank_tasks"
"""Its chain has a state for each two agents and task: seconds for the whole table."""


@cache
def atari(agents: int) -> ScoresInput:
    head, *rows = [line.split(",") for line in ATARI.read_text().split()]
    scores = np.array([row[1 : agents + 1] for row in rows], np.float64).T
    return ScoresInput(tuple(head[1 : agents + 1]), tuple(row[0] for row in rows), scores)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.takes in GIVEN_BY_SCORES])
def test_what_every_method_says_of_the_atari_table_reads_the_same_from_json(method: str) -> None:
    agents = 5 if method == LARGE else 20
    found = solve(method, atari(agents))
    assert len(found.agents) == agents
    read = msgspec.json.decode(msgspec.json.encode(found), type=SolveResult)
    assert read == msgspec.convert(msgspec.to_builtins(found), SolveResult)

"""49,520 football matches in `equirank up`, solved by every pairwise method in one round: the same as `equirank solve` on the file."""

from pathlib import Path

import msgspec

from services.solve.registry import methods
from tests.support.loading import load
from tests.support.rounds import PAIRWISE, compared, offline, show, solved_live
from tests.support.shared import shared_file

EVERY = 15
"""Of them there are; a new one counts itself."""


def test_every_pairwise_method_says_live_what_it_says_of_the_file(tmp_path: Path) -> None:
    file = shared_file("data/football/results.csv")
    problem = load(file).problem
    with solved_live(tmp_path, file) as (one, boards):
        said = {name: msgspec.to_builtins(methods.solve(name, problem, parameters)) for name, parameters in PAIRWISE.items()}
        lines = [compared(name, boards[name], said[name]) for name in PAIRWISE]
        by_command = offline(one, file, "bradley_terry")
    show(lines)
    assert len(lines) >= EVERY
    assert by_command["agents"] == said["bradley_terry"]["agents"]
    for line in lines:
        assert line.apart <= line.tolerance, line
        assert line.ranks, line
    assert {line.status for line in lines} == {"optimal"}, "the posterior margins of football have no cycles"

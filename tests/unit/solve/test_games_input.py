"""What games give to solve, from a pool's content and from a file: places, and pairs on each task; points against a count by hand."""

import json
import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.options import PLAIN
from ratings_core.front.counted import Counted, Counting
from ratings_core.methods.registry import NotApplicable
from ratings_core.problems.inputs import GamesInput
from services.control.records import FoldSettings
from services.solve.problems.checkpointed import problem
from services.solve.problems.chosen import Chosen
from services.solve.problems.load import OFFLINE
from services.solve.registry.methods import solve
from services.wire.events import Event, decode
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of

TASKS = ["dust", "mirage", None]


def games(count: int = 300, seed: int = 5) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    made = []
    for number in range(count):
        agents = draw.sample("abcdefgh", draw.choice([2, 2, 3, 7]))
        sides = [{"agents": [agent], "place": draw.choice([1, 2, 3])} for agent in agents]
        if draw.random() < 0.1:
            sides[0]["agents"].append("team-mate")
        made.append({"id": f"g{number}", "pool": "p", "time": 0.0, "v": 1, "sides": sides, "weight": draw.choice([1.0, 0.5, 3.25])})
        if (task := draw.choice(TASKS)) is not None:
            made[-1]["task"] = task
    return made


def events(rows: list[dict[str, Any]]) -> list[Event]:
    found = decode([json.dumps(row).encode() for row in rows])
    assert not found.refusals
    return list(found.events)


def folded(rows: list[dict[str, Any]], **fold: Any) -> GamesInput:
    state = state_of(fold=FoldSettings(**fold))
    assert fold_events(state, events(rows)) == []
    found = problem(Kind.GAMES, state.arrays())
    assert isinstance(found, GamesInput)
    return found


def points(rows: list[dict[str, Any]], rule: Any) -> dict[str, float]:
    """Each game gives the points of the places that a side's tie takes up, shared evenly."""
    total: defaultdict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        sides = row["sides"]
        for side in sides:
            ahead = sum(other["place"] < side["place"] for other in sides)
            tied = sum(other["place"] == side["place"] for other in sides)
            share = sum((Fraction(rule(place, len(sides))) for place in range(ahead, ahead + tied)), Fraction(0)) / tied
            for agent in side["agents"] if len(side["agents"]) == 1 else []:
                total[agent] += Fraction(row["weight"]) * share
    return {agent: float(given) for agent, given in total.items()}


@pytest.mark.parametrize(
    ("method", "parameters", "rule"),
    [
        ("plurality", {}, lambda place, sides: place == 0),
        ("approval", {"k": 2}, lambda place, sides: place < 2),
        ("borda", {}, lambda place, sides: sides - 1 - place),
    ],
)
def test_points_of_games_are_those_counted_by_hand(method: str, parameters: dict[str, Any], rule: Any) -> None:
    rows = games()
    expected = points(rows, rule)
    found = solve(method, folded(rows), parameters)
    rated = {row.agent: row.rating for row in found.agents if row.agent != "team-mate"}
    assert len(rated) == 8
    assert rated == pytest.approx(expected, rel=1e-12)
    assert (found.input, found.status) == ("games", "optimal")


def test_a_file_gives_what_a_pool_gives() -> None:
    rows = games()
    counted, chosen = Counted(Counting(per_task=True)), Chosen(PLAIN, OFFLINE.retractions)
    for start in range(0, len(rows), 7):
        for _, columns in chosen.slices(events(rows[start : start + 7])):
            counted.add(columns)
    live, offline = folded(rows, per_task=True).by_name(), counted.problem().by_name()
    assert isinstance(offline, GamesInput)
    assert (live.names, live.tasks) == (offline.names, offline.tasks)
    assert offline.tasks == ("dust", "mirage")
    for name in ("agent", "sides", "ahead", "tied", "weight"):
        np.testing.assert_array_equal(getattr(live.places, name), getattr(offline.places, name))
    for one, other in zip((live.counts, *live.by_task), (offline.counts, *offline.by_task), strict=True):
        np.testing.assert_array_equal(one.dense(9), other.dense(9))


def test_pairs_of_a_task_are_those_of_its_games_alone() -> None:
    rows = games()
    found = folded(rows, per_task=True)
    for task, counts in zip(found.tasks, found.by_task, strict=True):
        alone = folded([row for row in rows if row.get("task") == task]).by_name()
        ids = [found.names.index(name) for name in alone.names]
        np.testing.assert_array_equal(counts.dense(len(found.names))[0][np.ix_(ids, ids)], alone.counts.dense(len(ids))[0])
    assert sum(counts.wins.sum() + counts.losses.sum() for counts in found.by_task) < found.counts.wins.sum() + found.counts.losses.sum()


def test_a_pool_that_keeps_no_tasks_says_so() -> None:
    assert folded(games()).tasks == ()
    with pytest.raises(NotApplicable, match="needs ballots or scores"):
        solve("stv", folded(games()))


def test_tasks_of_few_games_are_denoised_where_asked() -> None:
    weighted = [row for row in games() if len(row["sides"]) > 2]
    found, options = folded([{**row, "weight": 1.0} for row in weighted], per_task=True), {"missing": "zero"}
    one, other = (solve("deviation", found, {**options, "difference": difference}) for difference in ("observed", "denoised"))
    assert one.status == other.status == "optimal"
    assert [row.rating for row in one.agents] != [row.rating for row in other.agents]
    with pytest.raises(InputError, match="difference"):
        solve("deviation", found, {**options, "difference": "denoised", "players": 2})
    with pytest.raises(InputError, match="weight 1"):
        solve("deviation", folded(weighted, per_task=True), {**options, "difference": "denoised"})

"""A half-life: results of games count less the older they are, in files and in pools."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.front.counted import Counted, Counting
from ratings_core.methods.recency import chosen_half_life
from ratings_core.methods.registry import taken
from ratings_core.problems.games import games_of
from ratings_core.problems.inputs import GamesInput
from services.control.records import FoldSettings
from services.solve.problems.checkpointed import problem
from services.solve.problems.chosen import Chosen
from services.solve.problems.load import OFFLINE
from services.solve.registry.choice import plan_of
from services.solve.registry.methods import solve
from services.wire.events import Event, decode
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.loading import load
from tests.support.pools import control_of, pool_of, state_of
from tests.support.shared import shared_file

DAY = 86_400.0


def rows_of(days: int, agents: int, seed: int, wander: float = 0.0, per_day: int = 20) -> list[dict[str, Any]]:
    """Games of agents whose strengths, in logits, take a normal step of deviation `wander` every day."""
    draw, rows = np.random.default_rng(seed), []
    strength = draw.normal(0.0, 1.0, agents)
    for day in range(days):
        strength = strength + wander * draw.normal(size=agents)
        for number in range(per_day):
            a, b = draw.choice(agents, 2, replace=False)
            won = draw.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            sides = [{"agents": [f"a{a}"], "place": 1 if won else 2}, {"agents": [f"a{b}"], "place": 2 if won else 1}]
            rows.append({"v": 1, "id": f"{day}-{number}", "pool": "p", "time": (day + 0.5) * DAY, "sides": sides, "task": f"t{number % 2}"})
    return rows


def events(rows: list[dict[str, Any]]) -> list[Event]:
    found = decode([json.dumps(row).encode() for row in rows])
    assert not found.refusals
    return list(found.events)


def counted(rows: list[dict[str, Any]], **counting: Any) -> GamesInput:
    tally = Counted(Counting(**{"bucket_seconds": DAY, **counting}))
    for _, columns in Chosen(PLAIN, OFFLINE.retractions).slices(events(rows)):
        tally.add(columns)
    found = tally.problem()
    assert isinstance(found, GamesInput)
    return found


def by_hand(rows: list[dict[str, Any]], names: tuple[str, ...], half_life: float) -> np.ndarray:
    """The readable twin: wins of each agent over each other one."""
    newest = max(row["time"] // DAY for row in rows)
    wins = np.zeros((len(names), len(names)))
    for row in rows:
        winner, loser = (side["agents"][0] for side in sorted(row["sides"], key=lambda side: side["place"]))
        weight = 2.0 ** ((row["time"] // DAY - newest) / half_life)
        wins[names.index(winner), names.index(loser)] += weight if weight >= 2.0**-20 else 0.0
    return wins


@pytest.mark.parametrize("half_life", [0.5, 3.0, 1000.0])
def test_results_count_half_after_each_half_life(half_life: float) -> None:
    rows = rows_of(30, 6, seed=1)
    found = taken("bradley_terry", counted(rows), {"half_life": half_life})
    wins, _ = found.problem.counts.dense(6)
    np.testing.assert_allclose(wins, by_hand(rows, found.problem.names, half_life), rtol=1e-12)
    assert found.about == {"recency": {"half_life": half_life, "oldest_bucket": 0, "newest_bucket": 29}}


def test_places_tasks_and_groups_count_alike() -> None:
    given = counted(rows_of(20, 5, seed=2), per_task=True, clustered=True)
    assert given.history is not None
    found = games_of(given.names, given.history, 4.0)
    total = found.counts.dense(5)[0]
    np.testing.assert_allclose(sum(counts.dense(5)[0] for counts in found.by_task), total, rtol=1e-12)
    np.testing.assert_allclose(sum(counts.dense(5)[0] for counts in found.groups), total, rtol=1e-12)
    assert found.places.weight.sum() == pytest.approx(2 * total.sum())
    assert len(found.groups) == 64


def test_a_pool_counts_as_a_file_does() -> None:
    rows = rows_of(12, 5, seed=3)
    state = state_of(fold=FoldSettings(bucket_seconds=int(DAY)))
    assert fold_events(state, events(rows)) == []
    live, offline = solve_rows(problem(Kind.GAMES, state.arrays())), solve_rows(counted(rows))
    assert live == offline
    assert live != solve_rows(counted(rows), half_life=0.0)


def solve_rows(given: Any, half_life: float = 2.0) -> list[tuple[str, float | None]]:
    found = solve("bradley_terry", given, {"half_life": half_life, "prior": 1.0})
    return [(row.agent, row.rating) for row in found.agents]


def test_drifting_strengths_get_a_half_life_that_predicts_better() -> None:
    choice = chosen_half_life(counted(rows_of(160, 12, seed=4, wander=0.25)), {})
    losses = dict(choice.losses)
    assert 1 <= choice.half_life <= 64
    assert losses[choice.half_life] == min(losses.values())
    assert losses[choice.half_life] < losses[0.0] - 0.01
    assert choice.games == 10 * 20


def test_a_half_life_is_chosen_of_short_buckets_over_months() -> None:
    """As many as there are buckets in the time, full or empty, were listed: of a millisecond each they exceeded any memory."""
    rows = rows_of(160, 4, seed=1)
    fine = chosen_half_life(counted(rows, bucket_seconds=0.001), {})
    coarse = chosen_half_life(counted(rows), {})
    assert fine.games == pytest.approx(coarse.games, rel=0.1)
    assert fine.period * 0.001 == pytest.approx(DAY, rel=0.01)


def test_constant_strengths_get_none_or_a_long_one() -> None:
    choice = chosen_half_life(counted(rows_of(160, 12, seed=5)), {})
    assert choice.half_life == 0.0 or choice.half_life >= 32
    assert (choice.period, len(choice.losses)) == (1, 9)


def test_long_histories_are_divided_into_periods() -> None:
    choice = chosen_half_life(counted(rows_of(400, 6, seed=6, per_day=4)), {})
    assert choice.period == 3
    assert [half_life for half_life, _ in choice.losses] == [3.0 * 2**power for power in range(8)] + [0.0]
    assert choice.games == 10 * 3 * 4


@pytest.mark.parametrize(
    ("bucket_seconds", "days", "parameters", "rule"),
    [
        (None, 9, {}, "must be 0 where games are not counted by time"),
        (DAY, 3, {}, "must be chosen from at least 4 time buckets"),
        (DAY, 9, {"half_life": "3"}, "but not both"),
    ],
)
def test_no_half_life_can_be_chosen(bucket_seconds: float | None, days: int, parameters: dict[str, str], rule: str) -> None:
    with pytest.raises(InputError, match=rule) as caught:
        chosen_half_life(counted(rows_of(days, 4, seed=7), bucket_seconds=bucket_seconds), parameters)
    assert caught.value.argument == "half_life"


@pytest.mark.parametrize("half_life", [-1.0, float("nan"), float("inf"), 2e9, "soon", True])
def test_nonsense_is_refused(half_life: Any) -> None:
    with pytest.raises(InputError, match="half_life must be a number from 0 to 1e"):
        solve("bradley_terry", counted(rows_of(9, 4, seed=8)), {"half_life": half_life})


@pytest.mark.parametrize(
    ("kind", "fold", "rule"),
    [
        (Kind.GAMES, {}, "equirank pools settings POOL --set bucket_seconds=S"),
        (Kind.SCORES, {"bucket_seconds": 60}, "only results of games have ages"),
    ],
)
def test_a_pool_that_does_not_count_by_time_is_told_so_at_once(kind: Kind, fold: dict[str, int], rule: str) -> None:
    control = control_of(pool_of(kind=kind, fold=FoldSettings(**fold)))
    with pytest.raises(InputError, match=rule):
        plan_of(control, "p", {"copeland": {"half_life": 30.0}}, 0.0)


def test_a_pool_that_counts_by_time_takes_it() -> None:
    control = control_of(pool_of(fold=FoldSettings(bucket_seconds=60)))
    assert plan_of(control, "p", {"copeland": {"half_life": "30"}}, 0.0).methods == {"copeland": {"half_life": 30.0}}


def test_football_is_predicted_better_with_a_half_life_of_some_years(tmp_path: Path) -> None:
    """Of the 60 teams that played most: 14,576 games, whose losses are found in a quarter of the time that all games take."""
    with shared_file("data/football/results.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    most = {team for team, _ in Counter(team for row in rows for team in row[1:3]).most_common(60)}
    path, year = tmp_path / "results.csv", 365.25 * DAY
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(row for row in rows if most.issuperset(row[1:3]))])
    given = load(path, ReadOptions(), counting=Counting(bucket_seconds=year)).problem
    choice = chosen_half_life(given, {})
    losses = dict(choice.losses)
    assert choice.half_life in (4.0, 8.0)
    assert losses[choice.half_life] < losses[0.0] - 0.01

"""Tallies against twins of dicts and loops, and the laws that all of them keep."""

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations, pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core import tallies
from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.records.outcomes import WEIGHT_ONE, Outcome, OutcomeBatch, ScoreBatch, Scores, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairCounts, PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.place_tally import TeamTally
from ratings_core.tallies.slabs import MAX_WEIGHT_SUM
from ratings_core.tallies.task_ballots import ballot_pairs

NAMES = "abcdefgh"
TASKS = "xyz"
WEIGHTS = [1.0, 0.5, 0.3, 1000.0, 0.001]
BUCKETS = st.integers(-1, 2)


def game(seed: int) -> tuple[Outcome, int]:
    """One number draws a game and its bucket, because hypothesis takes far longer to draw each part of it."""
    rng = Random(seed)
    agents = rng.sample(NAMES, rng.randint(2, len(NAMES)))
    cuts = sorted(rng.sample(range(1, len(agents)), rng.randint(1, len(agents) - 1)))
    teams = [tuple(agents[a:b]) for a, b in pairwise([0, *cuts, len(agents)])]
    sides = tuple(Side(team, rng.randint(-1, 2)) for team in teams)
    return Outcome(sides, weight=rng.choice(WEIGHTS), task=rng.choice([None, *TASKS])), rng.randint(-1, 2)


def measurement(seed: int) -> tuple[Scores, int]:
    rng = Random(seed)
    agents = sorted(rng.sample(NAMES, rng.randint(1, len(NAMES))))
    scores = tuple((agent, rng.choice([*range(-3, 4), 0.1, -0.7])) for agent in agents)
    return Scores(rng.choice(TASKS), scores, weight=rng.choice(WEIGHTS)), rng.randint(-1, 2)


SEEDS = st.integers(0, 2**32 - 1)
laws = settings(max_examples=50)
GAMES, MEASUREMENTS = (st.lists(st.builds(one, SEEDS), max_size=12) for one in (game, measurement))


def rosters() -> tuple[Roster, Roster]:
    agents, tasks = Roster(), Roster()
    agents.intern(list(NAMES))
    tasks.intern(list(TASKS))
    return agents, tasks


def add(tally: Any, events: list[tuple[Any, int]]) -> Any:
    items = [event for event, _ in events]
    batch = ScoreBatch.of(items, *rosters()) if isinstance(tally, ScoreTable) else OutcomeBatch.of(items, *rosters())
    tally.add(batch, np.array([bucket for _, bucket in events], np.int64))
    return tally


SUBJECTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "pairs": (PairTally, GAMES),
    "pairs per task": (lambda: PairTally(per_task=True), GAMES),
    "places": (PlaceTally, GAMES),
    "places of teams": (TeamTally, GAMES),
    "scores": (ScoreTable, MEASUREMENTS),
}
THREE_SIDES = Outcome((Side(("a",), 1), Side(("b",), 2), Side(("c", "d"), 3)))
EXACT = [name for name in SUBJECTS if name != "scores"]


# laws of all tallies


@pytest.mark.parametrize("subject", SUBJECTS)
@given(data=st.data())
@laws
def test_cuts_change_nothing(subject: str, data: st.DataObject) -> None:
    make, source = SUBJECTS[subject]
    events = data.draw(source)
    cut, single = make(), make()
    middle = data.draw(st.integers(0, len(events)))
    add(add(cut, events[:middle]), events[middle:])
    for event in events:
        add(single, [event])
    assert digest(cut.arrays()) == digest(single.arrays()) == digest(add(make(), events).arrays())


@pytest.mark.parametrize("subject", EXACT)
@given(data=st.data())
@laws
def test_integer_tallies_know_no_order(subject: str, data: st.DataObject) -> None:
    make, source = SUBJECTS[subject]
    events = data.draw(source)
    assert digest(add(make(), data.draw(st.permutations(events))).arrays()) == digest(add(make(), events).arrays())


@pytest.mark.parametrize("subject", SUBJECTS)
@given(data=st.data())
@laws
def test_merging_is_adding_both(subject: str, data: st.DataObject) -> None:
    make, source = SUBJECTS[subject]
    first, second = data.draw(source), data.draw(source)
    merged, other, both = add(make(), first), add(make(), second), add(make(), first + second)
    before = digest(other.arrays())
    merged.merge(other)
    assert digest(other.arrays()) == before
    if subject in EXACT:
        assert digest(merged.arrays()) == digest(both.arrays())
    else:
        for name, column in both.arrays().items():
            np.testing.assert_allclose(merged.arrays()[name], column, rtol=1e-12, atol=1e-9 * WEIGHT_ONE)


@pytest.mark.parametrize("subject", SUBJECTS)
@given(data=st.data())
@laws
def test_restored_ones_continue(subject: str, data: st.DataObject) -> None:
    make, source = SUBJECTS[subject]
    before, after = data.draw(source), data.draw(source)
    tally = add(make(), before)
    arrays = tally.arrays()
    for array in arrays.values():
        array.flags.writeable = False
    restored = type(tally).from_arrays(arrays)
    assert digest(restored.arrays()) == digest(arrays)
    assert digest(add(restored, after).arrays()) == digest(add(tally, after).arrays())


@pytest.mark.parametrize("subject", SUBJECTS)
@given(data=st.data())
@laws
def test_dropped_buckets_were_never_there(subject: str, data: st.DataObject) -> None:
    make, source = SUBJECTS[subject]
    events, least = data.draw(source), data.draw(BUCKETS)
    tally = add(make(), events)
    tally.drop_before(least)
    assert digest(tally.arrays()) == digest(add(make(), [event for event in events if event[1] >= least]).arrays())
    assert all(bucket >= least for bucket in tally.buckets)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_wrong_bucket_column_is_refused_and_counts_nothing(subject: str) -> None:
    make, _ = SUBJECTS[subject]
    event = Scores("x", (("a", 1.0),)) if subject == "scores" else Outcome((Side(("a",), 1), Side(("b",), 2)))
    tally = add(make(), [])
    batch = ScoreBatch.of([event], *rosters()) if subject == "scores" else OutcomeBatch.of([event], *rosters())
    for bucket in (np.zeros(2, np.int64), np.zeros(1, np.int32), np.zeros((1, 1), np.int64)):
        with pytest.raises(InputError, match="bucket must be int64"):
            tally.add(batch, bucket)
    assert digest(tally.arrays()) == digest(make().arrays())


@pytest.mark.parametrize("subject", SUBJECTS)
def test_arrays_of_no_tally_are_refused(subject: str) -> None:
    make, _ = SUBJECTS[subject]
    event = (Scores("x", (("a", 1.0), ("b", 2.0))), 0) if subject == "scores" else (THREE_SIDES, 0)
    tally = add(make(), [event])
    good = tally.arrays()
    weight = "wins" if "wins" in good else "weight"
    bad = [
        {name: array for name, array in good.items() if name != "start"},
        {**good, "more": good["key"]},
        {**good, "key": good["key"][::-1] - 1 if len(good["key"]) > 1 else -good["key"]},
        {**good, "key": good["key"].astype(np.int32)},
        {**good, "start": good["start"] + 1},
        {**good, weight: -good[weight]},
        {**good, "bucket": np.repeat(good["bucket"], 2), "task": np.repeat(good["task"], 2)},
    ]
    for arrays in bad:
        with pytest.raises(InputError):
            type(tally).from_arrays(arrays)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_cell_near_overflow_refuses_more(subject: str) -> None:
    make, _ = SUBJECTS[subject]
    event = (Scores("x", (("a", 1.0),)), 0) if subject == "scores" else (THREE_SIDES, 0)
    tally = add(make(), [event])
    arrays = tally.arrays()
    weight = "wins" if "wins" in arrays else "weight"
    arrays[weight][:] = MAX_WEIGHT_SUM - WEIGHT_ONE
    full = add(type(tally).from_arrays(arrays), [event])
    before = digest(full.arrays())
    with pytest.raises(InputError, match="weight must keep"):
        add(full, [event])
    with pytest.raises(InputError, match="weight must keep"):
        full.merge(tally)
    assert digest(full.arrays()) == before
    full.drop_before(1)
    assert add(full, [event]).buckets == [0]


def test_the_public_names() -> None:
    assert tallies.__all__ == ["PairCounts", "PairTally", "PlaceCounts", "PlaceTally", "ScoreCells", "ScoreTable"]


# pairs


def pair_twin(events: list[tuple[Outcome, int]], weights: dict[int, float] | None, task: str | None = "any") -> dict[Any, list[float]]:
    """(first, second) to [wins, losses, ties], from single-agent sides."""
    counts: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for outcome, bucket in events:
        times = 1.0 if weights is None else weights.get(bucket, 0.0)
        if not times or task not in ("any", outcome.task):
            continue
        singles = sorted((NAMES.index(side.agents[0]), side.place) for side in outcome.sides if len(side.agents) == 1)
        for (a, place_a), (b, place_b) in combinations(singles, 2):
            column = 0 if place_a < place_b else 1 if place_b < place_a else 2
            counts[a, b][column] += times * round(outcome.weight * WEIGHT_ONE) / WEIGHT_ONE
    return counts


def as_dict(counts: PairCounts) -> dict[Any, list[float]]:
    ids = zip(counts.first.tolist(), counts.second.tolist(), strict=True)
    return dict(zip(ids, np.column_stack([counts.wins, counts.losses, counts.ties]).tolist(), strict=True))


def assert_same_counts(counts: PairCounts, expected: dict[Any, list[float]]) -> None:
    found = as_dict(counts)
    assert list(found) == sorted(expected)
    for pair, row in expected.items():
        assert found[pair] == pytest.approx(row, rel=1e-12)


@given(GAMES, st.none() | st.dictionaries(BUCKETS, st.sampled_from([0.0, 0.5, 1.0, 3.0])))
def test_pair_counts_equal_the_twin(events: list[tuple[Outcome, int]], weights: dict[int, float] | None) -> None:
    assert_same_counts(add(PairTally(), events).counts(weights), pair_twin(events, weights))
    assert_same_counts(add(PairTally(per_task=True), events).counts(weights), pair_twin(events, weights))


NO_PAIRS = PairCounts(*(np.zeros(0, np.int32),) * 2, *(np.zeros(0),) * 3)


@given(GAMES)
def test_pair_counts_of_one_task_equal_the_twin(events: list[tuple[Outcome, int]]) -> None:
    tally = add(PairTally(per_task=True), events)
    apart = tally.counts_by_task()
    assert list(apart) == tally.tasks
    for i, task in enumerate([None, *TASKS], start=-1):
        assert_same_counts(tally.counts(task=i), pair_twin(events, None, task))
        assert_same_counts(apart.get(i, NO_PAIRS), pair_twin(events, None, task))
        assert (i in tally.tasks) == bool(pair_twin(events, None, task))


@given(GAMES)
def test_matrices_agree_with_the_columns(events: list[tuple[Outcome, int]]) -> None:
    counts = add(PairTally(), events).counts()
    wins, ties = counts.dense(len(NAMES))
    for (a, b), row in as_dict(counts).items():
        assert [wins[a, b], wins[b, a], ties[a, b]] == row
    assert (ties == ties.T).all()
    np.testing.assert_array_equal(counts.margins(len(NAMES)), wins - wins.T)
    for dense, sparse in zip((wins, ties), counts.sparse(len(NAMES)), strict=True):
        np.testing.assert_array_equal(sparse.toarray(), dense)
        assert sparse.has_sorted_indices
        assert (sparse.data > 0).all()
    again = PairCounts.from_dense(wins, ties)
    assert as_dict(again) == as_dict(counts)


def test_a_tally_without_tasks_has_none_to_ask_for() -> None:
    with pytest.raises(InputError, match="task must be None"):
        PairTally().counts(task=0)
    with pytest.raises(InputError, match=r"other\.per_task must be False"):
        PairTally().merge(PairTally(per_task=True))
    with pytest.raises(InputError, match=r"buckets\[3\]"):
        PairTally().counts({3: float("nan")})
    with pytest.raises(InputError, match=r"buckets\[3\]"):
        PairTally().counts({3: -1.0})


def test_most_sides_and_large_ids() -> None:
    rng = np.random.default_rng(3)
    ids = np.sort(rng.choice(2**31 - 1, 64, replace=False)).astype(np.int32)
    ids[-1] = 2**31 - 1
    order = rng.permutation(64)
    batch = OutcomeBatch.of_rankings(ids[order][None, :], 2**31)
    tally = PairTally()
    tally.add(batch, np.zeros(1, np.int64))
    counts = tally.counts()
    assert len(counts) == 64 * 63 // 2
    assert counts.second.max() == 2**31 - 1
    place = dict(zip(ids[order].tolist(), range(64), strict=True))
    better = [place[a] < place[b] for a, b in zip(counts.first.tolist(), counts.second.tolist(), strict=True)]
    assert (counts.wins == better).all()


def test_places_are_only_compared() -> None:
    batch = unsound(place=np.array([-(2**31), 2**31 - 1], np.int32))
    pairs, places = PairTally(), PlaceTally()
    for tally in (pairs, places):
        tally.add(batch, np.zeros(1, np.int64))
    assert as_dict(pairs.counts()) == {(0, 1): [1.0, 0.0, 0.0]}
    assert places.counts().ahead.tolist() == [0, 1]


def unsound(**columns: Any) -> OutcomeBatch:
    good = {
        "side_start": np.array([0, 2]),
        "place": np.array([1, 2], np.int32),
        "agent_start": np.array([0, 1, 2]),
        "agent": np.array([0, 1], np.int32),
        "weight": np.array([WEIGHT_ONE]),
        "time": np.zeros(1),
        "task": np.array([-1], np.int32),
        "key": np.zeros((1, 2), np.uint64),
    }
    return OutcomeBatch(**{**good, **columns})


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"agent": np.array([0, 0], np.int32)}, "must name each agent once"),
        ({"agent": np.array([0, -1], np.int32)}, "ids >= 0"),
        ({"agent": np.array([0.0, 1.5])}, "must be int32"),
        ({"place": np.array([[1, 2]], np.int32)}, "must be int32"),
        ({"weight": np.array([0])}, "must have a weight"),
        ({"weight": np.array([1001 * WEIGHT_ONE])}, "must have a weight"),
        ({"side_start": np.array([0, 3])}, "side_start must cut"),
        ({"side_start": np.array([0, 0])}, "side_start must cut"),
        ({"agent_start": np.array([0, 0, 2])}, "must have agents"),
        ({"agent_start": np.array([0, 5, 2])}, "must have agents"),
        ({"agent_start": np.array([0, 2])}, "agent_start must cut"),
        ({"side_start": np.array([0, 9, 2]), "weight": np.ones(2, np.int64)}, "must have 2 to 64 sides"),
        ({"side_start": np.array([0, 1, 2]), "weight": np.ones(2, np.int64)}, "must have 2 to 64 sides"),
    ],
)
@pytest.mark.parametrize("make", [PairTally, PlaceTally, TeamTally])
def test_batches_that_break_their_rules_count_nothing(make: Callable[[], Any], columns: dict[str, Any], rule: str) -> None:
    tally, batch = make(), unsound(**columns)
    with pytest.raises(InputError, match=rule):
        tally.add(batch, np.zeros(len(batch), np.int64))
    assert tally.buckets == []


@pytest.mark.parametrize(
    ("wins", "ties", "rule"),
    [
        ([[0, 1], [2, 0], [0, 0]], None, "square"),
        ([[0, -1], [2, 0]], None, "nonnegative"),
        ([[0, np.nan], [2, 0]], None, "finite"),
        ([[1, 0], [2, 0]], None, "must be 0"),
        ([[0, 1], [2, 0]], [[0, 1], [2, 0]], "transpose"),
        ([[0, 1], [2, 0]], [[0]], "shape of wins"),
    ],
)
def test_matrices_that_count_no_pairs_are_refused(wins: list[list[float]], ties: list[list[float]] | None, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        PairCounts.from_dense(wins, ties)


def test_columns_that_count_no_pairs_are_refused() -> None:
    one, two = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    zero = np.zeros(2)
    PairCounts(one, two, zero, zero, zero)
    bad = [
        (two, one, zero, zero, zero),
        (one, two[::-1].copy(), zero, zero, zero),
        (one, np.array([1, 1], np.int32), zero, zero, zero),
        (one, two, zero - 1, zero, zero),
        (one, two, zero, zero + np.inf, zero),
        (one, two, zero, zero, np.zeros(3)),
        (one, two.astype(np.int64), zero, zero, zero),
    ]
    for columns in bad:
        with pytest.raises(InputError):
            PairCounts(*columns)
    for read in (PairCounts.dense, PairCounts.sparse, PairCounts.margins):
        with pytest.raises(InputError, match="n must be above the largest agent id, 2"):
            read(PairCounts(one, two, zero, zero, zero), 2)


# places


@pytest.mark.parametrize("make", [PlaceTally, TeamTally])
@given(GAMES, st.none() | st.dictionaries(BUCKETS, st.sampled_from([0.0, 0.5, 1.0, 3.0])))
def test_place_counts_equal_the_twin(make: type[PlaceTally], events: list[tuple[Outcome, int]], weights: dict[int, float] | None) -> None:
    expected: dict[Any, float] = defaultdict(float)
    for outcome, bucket in events:
        places = [side.place for side in outcome.sides]
        times = 1.0 if weights is None else weights.get(bucket, 0.0)
        for side in outcome.sides:
            for agent in side.agents if (len(side.agents) > 1) == (make is TeamTally) and times else ():
                ahead, tied = sum(place < side.place for place in places), places.count(side.place)
                key = NAMES.index(agent), len(places), ahead, tied
                expected[key] += times * round(outcome.weight * WEIGHT_ONE) / WEIGHT_ONE
    counts = add(make(), events).counts(weights)
    keys = np.column_stack([counts.agent, counts.sides, counts.ahead, counts.tied])
    assert keys.dtype == np.int32
    assert [tuple(key) for key in keys.tolist()] == sorted(expected)
    assert counts.weight.tolist() == pytest.approx([expected[key] for key in sorted(expected)], rel=1e-12)


# scores


@given(MEASUREMENTS, st.none() | st.dictionaries(BUCKETS, st.sampled_from([0.0, 0.5, 1.0, 3.0])))
def test_cells_and_means_equal_the_twin(events: list[tuple[Scores, int]], weights: dict[int, float] | None) -> None:
    expected: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for measurement, bucket in events:
        times = 1.0 if weights is None else weights.get(bucket, 0.0)
        for agent, score in measurement.scores:
            if times:
                cell = expected[NAMES.index(agent), TASKS.index(measurement.task)]
                weight = times * round(measurement.weight * WEIGHT_ONE) / WEIGHT_ONE
                cell[:] = cell[0] + weight, cell[1] + weight * score, cell[2] + weight * score * score
    table = add(ScoreTable(), events)
    cells = table.cells(weights)
    assert list(zip(cells.agent.tolist(), cells.task.tolist(), strict=True)) == sorted(expected)
    for i, key in enumerate(sorted(expected)):
        assert [cells.weight[i], cells.total[i], cells.squares[i]] == pytest.approx(expected[key], rel=1e-9, abs=1e-9)
    means = table.means(len(NAMES), len(TASKS), weights)
    assert np.isnan(means).sum() == means.size - len(expected)
    for key, (weight, total, _) in expected.items():
        assert means[key] == pytest.approx(total / weight, rel=1e-9, abs=1e-9)


@given(MEASUREMENTS)
def test_every_task_is_one_ballot(events: list[tuple[Scores, int]]) -> None:
    table = add(ScoreTable(), events)
    means = table.means(len(NAMES), len(TASKS))
    expected: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for task in range(len(TASKS)):
        for a, b in combinations(np.flatnonzero(~np.isnan(means[:, task])).tolist(), 2):
            expected[a, b][0 if means[a, task] > means[b, task] else 1 if means[a, task] < means[b, task] else 2] += 1
    assert_same_counts(table.pairs(len(NAMES)), expected)
    cells = table.cells()
    for block_cells in (1, 9, 20):
        assert_same_counts(ballot_pairs(cells.agent, cells.task, cells.mean, block_cells), expected)


def test_a_task_measured_often_is_still_one_ballot() -> None:
    events = [(Scores("x", (("a", 1.0), ("b", 0.0))), 0)] * 5 + [(Scores("y", (("a", 0.0), ("b", 0.0))), 0)]
    assert as_dict(add(ScoreTable(), events).pairs(2)) == {(0, 1): [1.0, 0.0, 1.0]}


def test_tables_know_their_bounds() -> None:
    table = add(ScoreTable(), [(Scores("z", (("c", 1.0),)), 0)])
    assert table.means(3, 3)[2].tolist()[2] == 1.0
    for read in (lambda: table.means(2, 3), lambda: table.means(3, 2), lambda: table.pairs(2)):
        with pytest.raises(InputError, match="must be above the largest id, 2"):
            read()


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("score", np.array([np.nan]), "must be finite"),
        ("score", np.array([-1e200]), "must be finite, within"),  # its square would overflow
        ("score", np.array([1]), "must be float64"),
        ("agent", np.array([0.5]), "must be int32"),
        ("agent", np.array([-1], np.int32), "ids >= 0"),
        ("task", np.array([-1], np.int32), "id >= 0"),
        ("weight", np.array([0]), "must be from 1 to"),
        ("start", np.array([0, 2]), "must cut"),
        ("start", np.array([0, 0]), "must cut"),
    ],
)
def test_measurements_that_break_their_rules_count_nothing(column: str, value: Any, rule: str) -> None:
    good = {
        "start": np.array([0, 1]),
        "agent": np.array([0], np.int32),
        "score": np.array([1.0]),
        "task": np.array([0], np.int32),
        "weight": np.array([WEIGHT_ONE]),
    }
    table = ScoreTable()
    with pytest.raises(InputError, match=rule):
        table.add(ScoreBatch(**{**good, column: value}), np.zeros(1, np.int64))
    assert table.buckets == []

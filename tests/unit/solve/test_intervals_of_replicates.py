"""Intervals from replicates: the same however they are cut, right about as often as they say, and honest about what they assume."""

from itertools import count

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ratings_core.analysis.resampling import PairGroups
from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.refits import LEAST, MOST, Sample, most_of, sample
from ratings_core.methods.resampling import normal_reach, resampling
from ratings_core.problems.inputs import GamesInput, MarginsInput, PairsInput, ProfileInput, ScoresInput
from ratings_core.ranking import Ranking
from ratings_core.tallies import PairCounts, PlaceCounts
from ratings_core.voting.profile import Ballot, Profile
from services.boards.result import AgentRow, CertificateRow, Intervals, SolveResult
from services.solve.intervals.replicates import Ends, Facts, Replication, about, add_intervals, measured, seed_of, with_ends
from services.solve.registry import methods

TEAMS = ("Argentina", "Brazil", "England", "Germany", "South Korea", "Sweden")
STRENGTHS = np.array([1579.0, 1605, 1521, 1503, 1321, 1470])
"""Bradley-Terry ratings of the six most active teams of the football results, rounded; and how often each pair of them met."""
FIRST, SECOND = np.triu_indices(6, 1)
MET = np.array([110, 16, 23, 3, 3, 27, 23, 9, 15, 35, 1, 25, 4, 37, 4])
NO_PLACES = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
TABLE = np.array([[3.0, 1, 2, 5, 4, 3], [2, 2, 3, 4, 3, 1], [1, 3, 1, 3, 5, 2]])
SCORES = ScoresInput(("a", "b", "c"), tuple("uvwxyz"), TABLE)


def season(rng: np.random.Generator) -> PairsInput:
    """As many games between the six as there were, won as their strengths say."""
    wins = rng.binomial(MET, 1 / (1 + 10 ** ((STRENGTHS[SECOND] - STRENGTHS[FIRST]) / 400))).astype(float)
    return PairsInput(TEAMS, PairCounts(FIRST.astype(np.int32), SECOND.astype(np.int32), wins, MET - wins, np.zeros(15)))


def test_intervals_of_football_teams_cover_their_strengths_about_as_often_as_they_say() -> None:
    rng, covered = np.random.default_rng(7), []
    for _ in range(25):
        whole = registry.taken("bradley_terry", season(rng), {"prior": 0.1})
        found = sample(whole, resampling(whole.problem, whole.method), 0, 0, 40, np.inf)
        low, high = np.quantile(found.ratings, [0.025, 0.975], axis=0)
        covered.append((low <= STRENGTHS) & (high >= STRENGTHS))
    assert 0.85 <= np.mean(covered) <= 0.99


def test_games_of_many_sides_need_whole_outcomes_redrawn() -> None:
    """Five equal agents a game: pairs redrawn apart are too narrow by sqrt(6/3)."""
    rng, groups, n = np.random.default_rng(3), [np.zeros((5, 5)) for _ in range(64)], 640
    for game in range(n):
        order = rng.permutation(5)
        for place in range(5):
            groups[game % 64][order[place], order[place + 1 :]] += 1
    counts = PairCounts.from_dense(sum(groups))
    places = PlaceCounts(*(np.array([value], np.int32) for value in (0, 5, 0, 1)), np.ones(1))
    errors = {}
    for kind, parts in {"cells": (), "clustered": tuple(map(PairCounts.from_dense, groups))}.items():
        whole = registry.taken("bradley_terry", GamesInput(tuple("abcde"), counts, places, groups=parts))
        source = resampling(whole.problem, whole.method)
        assert source.kind == kind
        assert ("too narrow, by up to 1.4" in source.assumes) == (kind == "cells")
        errors[kind] = sample(whole, source, 0, 0, 100, np.inf).ratings.std(axis=0).mean()
    assert errors["clustered"] / errors["cells"] == pytest.approx(np.sqrt(2), abs=0.2)


def test_means_over_few_tasks_have_student_s_interval() -> None:
    """The deviation of refits is that of six tasks: too small by the root of 5/6, and known with five degrees of freedom."""
    whole = registry.taken("uniform", SCORES)
    source = resampling(whole.problem, whole.method, whole.values)
    assert source.units == 6
    assert normal_reach(whole.method, source) == pytest.approx(np.sqrt(6 / 5) * 2.570582 / 1.959964, rel=1e-6)
    means = {row.agent: row for row in add_intervals("uniform", SCORES, {}, methods.solve("uniform", SCORES), 5.0).agents}
    scatter = (TABLE - TABLE.mean(axis=0)).std(axis=1, ddof=1) / np.sqrt(6)
    widths = [means[name].high - means[name].low for name in "abc"]  # type: ignore[operator]
    np.testing.assert_allclose(widths, 2 * 2.570582 * scatter, rtol=0.25)
    copied = ScoresInput(SCORES.names, tuple("uvwxyz12"), np.hstack([TABLE, TABLE[:, :2]]))
    assert resampling(copied, whole.method, whole.values).units == 6, "copies are no further tasks"
    assert normal_reach(registry.find("nash_average"), source) == 0.0


@pytest.mark.parametrize(
    ("method", "margins", "factor"), [("copeland", "posterior", 1.0), ("copeland", "observed", 0.0), ("maximal_lottery", "posterior", 0.0)]
)
def test_copeland_scores_of_drawn_margins_have_a_normal_interval(method: str, margins: str, factor: float) -> None:
    """Percentiles of draws alone covered 93 % of planted scores; those of observed margins and the chances of a lottery jump."""
    whole = registry.taken(method, season(np.random.default_rng(4)), {"margins": margins})
    source = resampling(whole.problem, whole.method, whole.values)
    assert (source.kind == "posterior") == (margins == "posterior")
    assert normal_reach(whole.method, source) == factor


@pytest.mark.parametrize("method", ["nash_average", "uniform"])
def test_copies_of_a_task_are_drawn_with_it_so_they_narrow_nothing(method: str) -> None:
    """A fair method's intervals stay as they are; and where copies count, a copied task scatters by all of them."""
    rng = np.random.default_rng(5)
    scores, copies = rng.random((4, 8)), 30
    both = {"once": scores, "copied": np.hstack([scores, np.tile(scores[:, :1], copies)])}
    errors, assumed = {}, {}
    for name, table in both.items():
        whole = registry.taken(method, ScoresInput(tuple("abcd"), tuple(map(str, range(table.shape[1]))), table))
        source = resampling(whole.problem, whole.method)
        errors[name], assumed[name] = sample(whole, source, 0, 0, 60, np.inf).ratings.std(axis=0).mean(), source.assumes
    assert ("30 exact copies of tasks are drawn with what they copy" in assumed["copied"]) > ("copies" in assumed["once"])
    if method == "nash_average":
        assert errors["copied"] == pytest.approx(errors["once"], rel=1e-9)
    else:
        assert errors["copied"] > 0.9 * errors["once"], "31 tasks that pass for as many would scatter by a sixth of one"


def test_means_over_tasks_scatter_as_their_standard_error() -> None:
    """A task that is drawn twice counts twice. Merged with itself, it made the scatter a quarter too small."""
    scores = np.random.default_rng(3).normal(size=(4, 40))
    whole = registry.taken("uniform", ScoresInput(tuple("abcd"), tuple(map(str, range(40))), scores))
    found = sample(whole, resampling(whole.problem, whole.method, whole.values), 0, 0, 400, np.inf).ratings.std(axis=0)
    centered = scores - scores.mean(axis=0)
    np.testing.assert_allclose(found, centered.std(axis=1) / np.sqrt(40), rtol=0.12)


def test_tasks_that_are_all_copies_of_one_are_no_sample() -> None:
    whole = registry.taken("copeland", ScoresInput(("a", "b"), ("t", "u"), np.array([[1.0, 1.0], [2.0, 2.0]])))
    with pytest.raises(InputError, match="at least two different tasks"):
        resampling(whole.problem, whole.method)


def test_groups_add_up_and_weigh_like_their_sum() -> None:
    parts = [PairCounts.from_dense(np.triu(np.full((3, 3), float(g)), 1)) for g in (0, 1, 2)]
    groups = PairGroups(parts)
    assert groups.weighted(np.ones(3)).wins.tolist() == [3.0, 3.0, 3.0]
    assert groups.weighted(np.array([5.0, 0, 2])).wins.tolist() == [4.0, 4.0, 4.0]
    assert len(groups.weighted(np.array([9.0, 0, 0]))) == 0
    with pytest.raises(InputError, match="at least two groups"):
        PairGroups(parts[:1])


@pytest.mark.parametrize(
    ("method", "problem", "kind"),
    [
        ("copeland", SCORES, "tasks"),
        ("nash_average", SCORES, "tasks"),
        ("borda", ProfileInput(Profile.from_ballots([Ballot(9.0, ((0,), (1,))), Ballot(4.0, ((1,), (0,)))], ("a", "b"))), "ballots"),
        ("bradley_terry", season(np.random.default_rng(1)), "cells"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_slices_of_replicates_are_the_replicates(method: str, problem: methods.Problem, kind: str) -> None:
    whole = registry.taken(method, problem)
    source = resampling(whole.problem, whole.method)
    assert source.kind == kind
    seed = seed_of("blitz", 17, method)
    at_once = sample(whole, source, seed, 0, 9, np.inf)
    parts = [sample(whole, source, seed, first, 3, np.inf) for first in (6, 0, 3)]
    np.testing.assert_array_equal(np.concatenate([parts[i].ratings for i in (1, 2, 0)]), at_once.ratings)
    assert not np.array_equal(sample(whole, source, seed_of("blitz", 18, method), 0, 9, np.inf).ratings, at_once.ratings)


def test_time_that_is_spent_ends_a_slice_after_one_replicate_at_least() -> None:
    whole = registry.taken("copeland", SCORES)
    ticks = count()
    found = sample(whole, resampling(whole.problem, whole.method), 0, 0, 100, 4.0, clock=lambda: float(next(ticks)))
    assert len(found.ratings) == 4
    assert len(sample(whole, resampling(whole.problem, whole.method), 0, 0, 100, 0.0).ratings) == 1


def test_intervals_are_the_same_for_the_same_data_and_contain_the_estimate() -> None:
    problem = season(np.random.default_rng(2))
    plain = methods.solve("bradley_terry", problem)
    found, again = (add_intervals("bradley_terry", problem, {}, plain, 3600.0) for _ in range(2))
    assert found.agents == again.agents
    assert isinstance(found.intervals, Intervals)
    assert found.intervals.kind == "sandwich"
    for row, bare in zip(found.agents, plain.agents, strict=True):
        assert (row.agent, row.rating, row.rank) == (bare.agent, bare.rating, bare.rank)
        assert (row.low or 0) < (row.rating or 0) < (row.high or 0)
        assert (row.rank_low or 0) <= row.rank <= (row.rank_high or 0)


def test_ranks_of_a_lottery_with_a_certain_winner_are_certain() -> None:
    """Differences from a single agent that sometimes wins would leave all of them open."""
    wins = np.triu(np.full((5, 5), 30.0), 1)
    wins[1, 2:] = 15.0
    wins[2:, 1] = 15.0
    problem = PairsInput(tuple("abcde"), PairCounts.from_dense(wins))
    rows = add_intervals("maximal_lottery", problem, {}, methods.solve("maximal_lottery", problem), 3600.0).agents
    assert [(row.agent, row.rank_low, row.rank_high) for row in rows] == [("a", 1, 1), *((name, 2, 2) for name in "bcde")]


@pytest.mark.parametrize("method", ["copeland", "schulze", "uniform"])
def test_ranks_of_equal_agents_are_open(method: str) -> None:
    """Draws repeat the order of the data, which is chance among equal agents."""
    rng = np.random.default_rng(6)
    if method == "uniform":
        problem: methods.Problem = ScoresInput(tuple("abcdefgh"), tuple(map(str, range(30))), rng.normal(size=(8, 30)))
    else:
        wins = np.triu(rng.binomial(40, 0.5, (8, 8)), 1).astype(float)
        problem = PairsInput(tuple("abcdefgh"), PairCounts.from_dense(wins + np.triu(40 - wins, 1).T))
    rows = add_intervals(method, problem, {}, methods.solve(method, problem), 3600.0).agents
    assert {row.rank_low for row in rows} == {1}


BOARD = SolveResult(
    method="copeland", input="pairs", agents=[], seconds=0.0, status="optimal", certificate=CertificateRow(kind="exact", value=0.0)
)


def begun(agents: int, seconds: float, top: int = 2) -> Replication:
    """A replication without replicates. top: number of agents on the board."""
    names = tuple(map(str, range(agents)))
    rows = [AgentRow(agent=name, rating=-float(rank), rank=rank) for rank, name in enumerate(names[:top], 1)]
    return Replication(Facts(names, Intervals(kind="cells"), 0.0), msgspec.structs.replace(BOARD, agents=rows), seconds)


def one(ranks: list[list[int]], seconds: float = 0.0, failed: int = 0) -> Sample:
    return Sample(-np.array(ranks, float), np.array(ranks, np.int64), failed, seconds)


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=6, max_size=6), min_size=LEAST, max_size=LEAST + 8),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_ranks_of_replicates_count_settled_agents_alone(ratings: list[list[int]], marks: list[bool]) -> None:
    """As if the replicates had no provisional agents: an agent that is hardly known widens no interval of ranks of others."""
    names, settled = tuple(map(str, range(6))), [i for i in range(6) if not marks[i]]
    rows = [AgentRow(agent=name, rating=float(i), rank=None if marks[i] else 1, provisional=marks[i]) for i, name in enumerate(names)]
    table, about = np.array(ratings, float), Intervals(kind="cells")
    board = msgspec.structs.replace(BOARD, agents=rows, ranked=len(settled))
    found = Replication(Facts(names, about, 0.0), board, 3600.0)
    found.add(drawn(table))
    ends = measured(found)[1]
    if settled:
        alone = msgspec.structs.replace(BOARD, agents=[rows[i] for i in settled])
        expected = Replication(Facts(tuple(names[i] for i in settled), about, 0.0), alone, 3600.0)
        expected.add(drawn(table[:, settled]))
        for name, of_settled in measured(expected)[1].items():
            assert (ends[name].rank_low, ends[name].rank_high) == (of_settled.rank_low, of_settled.rank_high)
    for row in with_ends(rows, ends):
        assert (row.rank_low is None) is (row.rank_high is None) is (row.rank is None)


def drawn(ratings: NDArray[np.float64]) -> Sample:
    """Replicates with these ratings (replicates, agents)."""
    return Sample(ratings, np.array([Ranking.from_scores(row).rank for row in ratings], np.int64), 0, 0.0)


def test_their_number_doubles_until_the_widest_rank_interval_of_the_top_stays() -> None:
    found = begun(2, 3600.0)
    assert found.next == (0, 64)
    found.add(one([[1, 2]] * 32 + [[2, 1]] * 32))
    assert not found.done, "its first half said 1 to 1"
    assert found.next == (64, 64)
    found.add(one([[1, 2], [2, 1]] * 32))
    assert (found.settled, found.done) == (True, True)


def test_time_ends_it_and_so_does_their_number() -> None:
    spent = begun(2, 5.0, top=1)
    spent.add(one([[1, 2]] * 10, seconds=5.0))
    assert (spent.done, spent.settled) == (True, False)
    many = begun(2, 5.0, top=1)
    many.add(one([[1, 2]] * (MOST - 1)))
    assert many.next == (MOST - 1, 1)
    many.add(one([[2, 1]]))
    assert many.done


@pytest.mark.parametrize(
    ("method", "problem", "proven"),
    [
        ("bradley_terry", season(np.random.default_rng(2)), True),
        ("copeland", season(np.random.default_rng(2)), True),
        ("copeland", SCORES, False),
        ("nash_average", SCORES, False),
        ("uniform", SCORES, True),
    ],
)
def test_refits_of_ratings_that_can_jump_prove_no_coverage(method: str, problem: PairsInput | ScoresInput, proven: bool) -> None:
    """What readers see of it, and what the assumption says, is the same."""
    prepared = registry.taken(method, problem)
    source = resampling(prepared.problem, prepared.method, prepared.values)
    told = Facts.of(prepared, source).about
    assert told.proven == proven == ("no proven coverage" not in told.assumes)


def test_stored_boards_without_the_field_say_it_by_their_assumption() -> None:
    for assumes, proven in (("tasks drawn at random; how often is no proven coverage", False), ("tasks drawn at random", True)):
        stored = msgspec.json.encode({"kind": "tasks", "assumes": assumes})
        assert msgspec.json.decode(stored, type=Intervals).proven is proven


def test_too_few_or_too_many_without_an_answer_are_no_intervals() -> None:
    problem = season(np.random.default_rng(2))
    whole, plain = registry.taken("bradley_terry", problem), methods.solve("bradley_terry", problem)
    source = resampling(whole.problem, whole.method)

    def told(given: Sample) -> tuple[Intervals, dict[str, Ends]]:
        run = Replication(Facts(whole.problem.names, about(source, 0.0), 0.0), plain, 1.0)
        run.add(given)
        return measured(run)

    ranks = [list(range(1, 7))]
    few, selected = told(one(ranks * (LEAST - 1), seconds=2.0)), told(one(ranks * 50, failed=10))
    for result, why in ((few, f"{LEAST - 1} refits took 2 s; {LEAST} are needed within 1 s"), (selected, "10 of 60 refits")):
        intervals, ends = result
        assert (intervals.kind, ends) == ("none", {})
        assert why in (intervals.why_not or "")


@pytest.mark.parametrize(
    ("problem", "rule"),
    [
        (MarginsInput(("a", "b"), np.array([[0.0, 1], [-1, 0]])), "margins have no number of games"),
        (PairsInput(("a", "b"), PairCounts.from_dense([[0, 0.5], [1, 0]])), "must be a whole number"),
    ],
    ids=["margins", "weights"],
)
def test_what_does_not_say_how_many_games_cannot_be_redrawn(problem: methods.Problem, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        add_intervals("copeland", problem, {"margins": "observed"}, methods.solve("copeland", problem, {"margins": "observed"}), 1.0)


def test_intervals_that_parameters_ask_for_say_what_they_are() -> None:
    problem = season(np.random.default_rng(2))
    normal = methods.solve("bradley_terry", problem, {"standard_errors": "sandwich"}).intervals
    redrawn = methods.solve("davidson", problem, {"replicates": 8})
    assert isinstance(normal, Intervals)
    assert (normal.kind, normal.level) == ("sandwich", 0.95)
    assert isinstance(redrawn.intervals, Intervals)
    assert (redrawn.intervals.kind, redrawn.intervals.replicates) == ("cells", 8)
    assert all(row.rank_low is not None and row.rank_low <= (row.rank_high or 0) for row in redrawn.agents)


def test_large_boards_get_fewer_replicates_and_the_largest_say_that_they_get_none() -> None:
    """What the engine holds of them stays small: 2**21 ratings."""
    assert [most_of(agents) for agents in (0, 1024, 4096, 65_536)] == [MOST, MOST, 512, LEAST]
    with pytest.raises(InputError, match="must be at most 65536"):
        most_of(65_537)
    few = begun(2, 1e9, top=1)
    few.most = 48
    assert few.next == (0, 48)
    few.add(one([[1, 2]] * 48))
    assert few.done

"""No interval excludes its own estimate: over methods and random sparse pools."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratings_core.problems.inputs import GamesInput
from ratings_core.tallies import PairCounts, PlaceCounts
from services.boards.result import AgentRow, Intervals
from services.solve.intervals.replicates import Ends, add_intervals
from services.solve.registry import methods

METHODS = {
    "copeland": {}, "maximal_lottery": {}, "iterated_maximal_lotteries": {}, "schulze": {}, "ranked_pairs": {}, "kemeny": {},
    "nash_average_agents": {}, "alpharank": {}, "sco_fit": {}, "fenchel_young_fit": {}, "bradley_terry": {"prior": 1.0},
    "davidson": {"prior": 1.0},
}  # fmt: skip
NO_PLACES = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))


def sparse_pool(seed: int, agents: int, density: float) -> GamesInput:
    """Pairs that met one to five times, some agents connected by a single game."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(agents, 1)
    met = (rng.random(len(first)) < density) | (second - first == 1)
    first, second = first[met], second[met]
    games = rng.integers(1, 6, len(first))
    won = rng.binomial(games, 0.5)
    counts = PairCounts(first.astype(np.int32), second.astype(np.int32), won + 0.0, games - won + 0.0, np.zeros(len(first)))
    return GamesInput(tuple(f"a{i:02}" for i in range(agents)), counts, NO_PLACES)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), agents=st.integers(3, 8), density=st.floats(0.0, 1.0))
def test_no_interval_excludes_its_estimate(method: str, seed: int, agents: int, density: float) -> None:
    problem = sparse_pool(seed, agents, density)
    found = add_intervals(method, problem, METHODS[method], methods.solve(method, problem, METHODS[method]), 0.2, seed)
    assert isinstance(found.intervals, Intervals)
    for row in found.agents:
        assert row.rating is None or row.low is None or row.low <= row.rating <= (row.high or 0.0)
        assert row.rank_low is None or row.rank_low <= row.rank <= (row.rank_high or 0)


def test_copeland_of_a_sparse_pool_has_credible_intervals_that_include_all_estimates() -> None:
    """Percentiles of resampled games excluded the estimate of 230 agents of 1,000: a resampled sparse pool has fewer pairs."""
    problem = sparse_pool(1, 60, 0.08)
    found = add_intervals("copeland", problem, {}, methods.solve("copeland", problem), 3.0)
    assert isinstance(found.intervals, Intervals)
    assert found.intervals.kind == "posterior"
    assert "kappa" in found.intervals.assumes
    assert all(row.low is not None and row.low <= (row.rating or 0.0) <= (row.high or 0.0) for row in found.agents)
    assert any((row.low or 0.0) < (row.high or 0.0) for row in found.agents)


def test_intervals_of_copeland_end_at_possible_scores() -> None:
    """Normal intervals of draws reached below 0 wins and above one win over each opponent."""
    problem = sparse_pool(1, 12, 0.5)
    rows = add_intervals("copeland", problem, {}, methods.solve("copeland", problem), 3.0).agents
    assert [row.low for row in rows if row.low is not None and row.low < 0] == []
    assert [row.high for row in rows if row.high is not None and row.high > 11] == []
    assert 0.0 in {row.low for row in rows}


def test_an_interval_that_ends_at_possible_ratings_includes_an_estimate_beyond_them() -> None:
    """A result can be older than the problem that is resampled, with more agents."""
    ends = Ends(low=1.0, high=10.0, rank_low=1, rank_high=2, reach=5.0, possible=(0.0, 11.0))
    found = ends.add_to(AgentRow(agent="ann", rank=1, rating=14.0))
    assert (found.low, found.high) == (1.0, 14.0)

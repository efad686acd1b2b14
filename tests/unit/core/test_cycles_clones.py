"""Strongest cycles against all cycles, clones against their definition, and who is linked to whom."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ratings_core.analysis.clones import exact_clones, near_clones
from ratings_core.analysis.connectivity import connectivity
from ratings_core.analysis.cycles import level_cycles, strongest_cycle, strongest_cycles
from ratings_core.errors import InputError
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.voting import iterated_maximal_lotteries
from ratings_core.voting.schulze import schulze


def drawn(seed, largest=3, agents=6):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, agents + 1))
    U = np.triu(rng.integers(-largest, largest + 1, (m, m)), 1).astype(float)
    return U - U.T


margins = st.builds(drawn, st.integers(0, 2**32))


def all_cycles(M):
    """(weakest victory, minus the length) of every cycle of victories."""
    for length in range(3, len(M) + 1):
        for agents in permutations(range(len(M)), length):
            won = [M[a, b] for a, b in zip(agents, agents[1:] + agents[:1], strict=True)]
            if agents[0] == min(agents) and min(won) > 0:
                yield min(won), -length


@given(margins, st.integers(0, 3))
def test_the_strongest_cycles_share_no_agent_and_each_is_the_strongest_of_what_is_left(M, most):
    free, expected = set(range(len(M))), []
    while len(expected) < most and (cycle := strongest_cycle(M, sorted(free))) is not None:
        expected.append(cycle)
        free -= set(cycle.agents)
    assert strongest_cycles(M, most) == tuple(expected)


@given(margins)
def test_the_strongest_cycle_has_the_best_weakest_victory_and_then_the_fewest_agents(M):
    found, best = strongest_cycle(M), max(all_cycles(M), default=None)
    assert (found is None) == (best is None)
    if found is not None:
        assert (found.weakest, -len(found.agents)) == best
        assert found.margins == tuple(M[a, b] for a, b in zip(found.agents, found.agents[1:] + found.agents[:1], strict=True))
        assert found.agents[0] == min(found.agents)
    assert strongest_cycle(sparse.csr_array(M)) == found


@given(margins)
def test_cycles_of_levels_stay_inside_them(M):
    found = iterated_maximal_lotteries(M)
    cycles = level_cycles(M, found)
    assert len(cycles) == len(found.levels)
    for cycle, level in zip(cycles, found.levels, strict=True):
        assert cycle == strongest_cycle(M, level.agents)
        assert cycle is None or set(cycle.agents) <= set(level.agents.tolist())


def test_schulzes_graph_is_who_is_ahead():
    found = schulze([[0, 5, 2], [1, 0, 4], [4, 2, 0]])
    assert {edge[:2] for edge in found.edges} == {(a, b) for a in range(3) for b in range(3) if found.paths[a, b] > found.paths[b, a]}
    assert all(found.paths[a, b] == strength for a, b, strength in found.edges)
    assert [edge[2] for edge in found.edges] == sorted((edge[2] for edge in found.edges), reverse=True)


def test_bad_ids_are_refused():
    for among in ([3], [-1], [0.5], [[0]]):
        with pytest.raises(InputError, match="among"):
            strongest_cycle(np.zeros((3, 3)), among)
    with pytest.raises(InputError, match="margins"):
        level_cycles(np.zeros((2, 2)), iterated_maximal_lotteries(np.zeros((3, 3))))


@given(margins, st.integers(0, 5))
def test_exact_clones_are_agents_with_equal_rows(M, copied):
    ids = [*range(len(M)), copied % len(M)]
    C = M[np.ix_(ids, ids)]
    groups = exact_clones(C)
    assert {(a, b) for group in groups for a in group for b in group if a < b} == {
        (a, b) for a in range(len(C)) for b in range(a + 1, len(C)) if (C[a] == C[b]).all()
    }
    assert exact_clones(sparse.csr_array(C)) == groups
    assert len(groups) >= 1


@given(margins, st.integers(0, 3))
def test_near_clones_are_pairs_within_the_radius(M, radius):
    found = near_clones(M, radius)
    expected = {}
    for a in range(len(M)):
        for b in range(a + 1, len(M)):
            others = [c for c in range(len(M)) if c not in (a, b)]
            expected[a, b] = max(abs(M[a, b]), *(abs(M[a, c] - M[b, c]) for c in others), 0.0)
    assert {(pair.first, pair.second): pair.distance for pair in found} == {pair: d for pair, d in expected.items() if d <= radius}
    assert [pair.distance for pair in found] == sorted(pair.distance for pair in found)


def counts(*rows):
    """Rows of (first, second, wins, losses, ties)."""
    first, second, wins, losses, ties = (np.array(column) for column in zip(*rows, strict=True))
    return PairCounts(first.astype(np.int32), second.astype(np.int32), wins.astype(float), losses.astype(float), ties.astype(float))


def test_connectivity_tells_meeting_from_winning_both_ways():
    found = connectivity(counts((0, 1, 2, 1, 0), (0, 4, 0, 0, 0), (1, 2, 3, 0, 0), (2, 3, 0, 0, 1)), 5)
    assert found.met.tolist() == [0, 0, 0, 0, 1]
    assert found.won.tolist() == [0, 0, 1, 1, 2]
    assert found.opponents.tolist() == [1, 2, 2, 1, 0]
    assert (found.pairs, found.games, found.density) == (3, 7.0, 0.3)
    assert not found.connected
    assert not found.rateable


def test_one_agent_is_connected_with_everybody_there_is():
    nobody = PairCounts(*(np.zeros(0, np.int32),) * 2, *(np.zeros(0),) * 3)
    found = connectivity(nobody, 1)
    assert found.connected
    assert found.rateable
    assert found.density == 0

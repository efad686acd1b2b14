"""Ranked pairs against every order of equal margins, and against locking together; laws; published profiles."""

from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.voting.condorcet import smith_set
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.ranked_pairs import ranked_pairs
from tests.support.profiles import preflib, profiles

CYCLE = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])


def closure(edges, m):
    reach = np.zeros((m, m), bool)
    for a, b in edges:
        reach[a, b] = True
    for c in range(m):
        reach |= np.outer(reach[:, c], reach[c])
    return reach


def groups(M):
    edges = sorted(((-M[a, b], a, b) for a, b in np.argwhere(M > 0)), key=lambda edge: edge[0])
    return [[(a, b) for _, a, b in group] for _, group in groupby(edges, key=lambda edge: edge[0])]


def locked_in(order, m):
    kept = []
    for a, b in order:
        if not closure(kept, m)[b, a]:
            kept.append((a, b))
    return frozenset(kept)


def every_universe(M):
    orders = product(*(permutations(group) for group in groups(M)))
    return {locked_in([edge for group in order for edge in group], len(M)) for order in orders}


def locked_together(M):
    kept = []
    for group in groups(M):
        free = [(a, b) for a, b in group if not closure(kept, len(M))[b, a]]
        joint = closure([*kept, *free], len(M))
        kept += [(a, b) for a, b in free if not joint[b, a]]
    return set(kept)


def score(M, kept):
    won = np.zeros(len(M))
    for a, b in kept:
        won[a] += M[a, b]
    return won + closure(kept, len(M)) @ won


@st.composite
def small_margins(draw, m=4, largest=3):
    upper = np.triu(np.array(draw(st.lists(st.integers(-largest, largest), min_size=m * m, max_size=m * m))).reshape(m, m), 1)
    return upper - upper.T


@given(small_margins(largest=4))
@settings(max_examples=60)
def test_follows_exactly_the_universes_there_are(M):
    if np.prod([float(len(list(permutations(group)))) for group in groups(M)] or [1.0]) > 1000:
        return
    expected = every_universe(M)
    found = ranked_pairs(M)
    assert found.universes == len(expected)
    assert {(a, b) for a, b, _ in found.edges} == set.intersection(*map(set, expected)) if M.any() else not found.edges
    assert found.ratings == pytest.approx(np.mean([score(M, kept) for kept in expected], axis=0))
    above = np.logical_and.reduce([closure(kept, len(M)) for kept in expected])
    level = found.ranking.level
    assert (level[:, None] < level)[above].all()
    assert found.ranking.levels[0] == tuple(np.flatnonzero(~above.any(axis=0)))
    assert (found.certificate.kind, found.certificate.value, found.status) == ("unopposed_margin", 0.0, "optimal")


@given(small_margins(m=5, largest=2))
def test_too_many_universes_are_locked_together(M):
    found = ranked_pairs(M, universes=1)
    if found.universes != 1:
        assert {(a, b) for a, b, _ in found.edges} == locked_together(M)
        assert found.universes == 0
    assert found.certificate.value == 0


@given(small_margins(m=5), st.sampled_from(["order", 1, 2]))
def test_a_rule_follows_one_universe_in_its_order(M, ties):
    place = np.arange(5) if ties == "order" else np.random.default_rng(ties).permutation(5)
    order = [edge for group in groups(M) for edge in sorted(group, key=lambda edge: (place[edge[0]], place[edge[1]]))]
    kept = locked_in(order, 5)
    found = ranked_pairs(M, ties=ties)
    assert {(a, b) for a, b, _ in found.edges} == kept
    assert all(len(level) == 1 for level in found.ranking.levels)
    level = found.ranking.level
    assert all(level[a] < level[b] for a, b in kept)


@given(profiles(), st.integers(0, 99), st.sampled_from([1, 100]))
def test_neutral_and_of_any_unit(profile, seed, universes):
    M = profile.margins()
    found = ranked_pairs(M, universes=universes)
    order = np.random.default_rng(seed).permutation(len(M))
    assert ranked_pairs(M[np.ix_(order, order)], universes=universes).ratings == pytest.approx(found.ratings[order])
    assert ranked_pairs(M / 8, universes=universes).ranking == found.ranking


@given(st.integers(0, 999))
def test_different_margins_reverse(seed):
    drawn = np.triu(np.random.default_rng(seed).permutation(49).reshape(7, 7) + 1, 1)
    M = np.where(np.random.default_rng(seed + 1).random((7, 7)) < 0.5, drawn, -drawn)
    M = np.triu(M) - np.triu(M).T
    found = ranked_pairs(M)
    assert found.universes == 1
    assert all(len(level) == 1 for level in found.ranking.levels)
    assert ranked_pairs(-M).ranking.levels == found.ranking.levels[::-1]


def test_a_cycle_of_equal_margins_is_three_universes():
    found = ranked_pairs(CYCLE)
    assert (found.universes, found.ranking.levels, found.edges) == (3, ((0, 1, 2),), ())
    assert found.ratings.tolist() == [1.0, 1.0, 1.0]
    ordered = ranked_pairs(CYCLE, ties="order")
    assert ordered.ranking.levels == ((0,), (1,), (2,))
    assert ordered.edges == ((0, 1, 1.0), (1, 2, 1.0))
    assert ranked_pairs(CYCLE, universes=2).universes == 0


def test_large_cycles_of_equal_margins_are_locked_together():
    upper = np.triu(np.where(np.random.default_rng(1).random((40, 40)) < 0.5, 1, -1), 1)
    found = ranked_pairs(upper - upper.T)
    assert found.universes == 0
    assert set(found.ranking.levels[0]) <= set(smith_set(upper - upper.T))
    assert found.certificate.value == 0


def test_published_profiles():
    for name, profile in preflib().items():
        M = profile.margins()
        found = ranked_pairs(M)
        strong = condorcet_winners(M).strong
        assert found.certificate.value == 0, name
        assert strong is None or found.ranking.levels[0] == (strong,), name
        assert set(found.ranking.levels[0]) <= set(smith_set(M)), name


def test_refusals():
    with pytest.raises(InputError, match="margins"):
        ranked_pairs([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="universes"):
        ranked_pairs(CYCLE, universes=0)
    assert ranked_pairs([[0]]).ranking.levels == ((0,),)

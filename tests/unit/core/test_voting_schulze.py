"""Schulze's method against all simple paths, its laws, and Smith and Schwartz sets against their definitions."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ratings_core.errors import InputError
from ratings_core.voting.condorcet import essential_set, schwartz_set, smith_set
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.schulze import schulze
from tests.support.profiles import preflib, profiles, scaled, written

SCHULZE_2011 = [(5, "a c b e d"), (5, "a d e c b"), (8, "b e d a c"), (3, "c a b e d"), (7, "c a e b d"), (2, "c b a d e"),
                (7, "d c e b a"), (8, "e b a d c")]  # fmt: skip


def strongest(N, strength):
    """By every path without repetition."""
    m = len(N)
    links = np.where(N > N.T, N if strength == "winning_votes" else N - N.T, 0)
    found = np.zeros((m, m))
    for length in range(2, m + 1):
        for path in permutations(range(m), length):
            weakest = min(links[a, b] for a, b in pairwise(path))
            found[path[0], path[-1]] = max(found[path[0], path[-1]], weakest)
    return found


@given(profiles(largest=5), st.sampled_from(["winning_votes", "margins"]))
def test_paths_are_the_strongest_of_all(profile, strength):
    N = profile.preferences()
    found = schulze(N, strength=strength)
    np.testing.assert_array_equal(found.paths, strongest(N, strength))
    assert (found.certificate.kind, found.certificate.value, found.status) == ("path_gap", 0.0, "optimal")


@given(profiles())
def test_chains_have_the_strength_said(profile):
    N = profile.preferences()
    found = schulze(N)
    for a in range(len(N)):
        for b in range(len(N)):
            chain = found.chain(a, b)
            assert bool(chain) == (found.paths[a, b] > 0)
            if chain:
                assert (chain[0], chain[-1]) == (a, b)
                assert min(N[x, y] for x, y in pairwise(chain)) == found.paths[a, b]


@given(profiles())
def test_the_ranking_extends_the_relation_and_starts_with_its_winners(profile):
    found = schulze(profile.preferences())
    ahead = found.paths > found.paths.T
    level = found.ranking.level
    assert (level[:, None] < level)[ahead].all()
    assert found.ranking.levels[0] == tuple(np.flatnonzero(~ahead.any(axis=0)))
    assert set(found.ranking.levels[0]) <= set(smith_set(profile.margins()))


@given(profiles(), st.integers(0, 99))
def test_neutral_of_any_unit_and_the_winner_loses_reversed(profile, seed):
    N = profile.preferences()
    found = schulze(N)
    order = np.random.default_rng(seed).permutation(len(N))
    assert schulze(N[np.ix_(order, order)]).ratings == pytest.approx(found.ratings[order])
    assert schulze(scaled(profile, 3.0).preferences()).ranking == found.ranking
    if len(found.ranking.levels[0]) == 1 < len(N):
        turned = schulze(N.T).ranking.levels[0]
        assert turned != found.ranking.levels[0]


@given(profiles(ties=False, complete=True))
def test_variants_agree_on_complete_strict_votes(profile):
    N = profile.preferences()
    by_margins = schulze(N, strength="margins")
    assert schulze(N).ranking == by_margins.ranking
    assert schulze(np.maximum(N - N.T, 0)).ranking == by_margins.ranking


def test_the_example_of_its_inventor():
    """Schulze 2011, sec. 3.1: 45 voters, p(e, a) = 25 and so on, ranking e a c b d."""
    found = schulze(written(*SCHULZE_2011, names="abcde").preferences())
    assert found.ranking.levels == ((4,), (0,), (2,), (1,), (3,))
    np.testing.assert_array_equal(
        found.paths, [[0, 28, 28, 30, 24], [25, 0, 28, 33, 24], [25, 29, 0, 29, 24], [25, 28, 28, 0, 24], [25, 28, 28, 31, 0]]
    )


def test_levels_of_ties_step_by_the_mean():
    found = schulze([[0, 3, 5], [1, 0, 2], [1, 2, 0]])
    assert found.ranking.levels == ((0,), (1, 2))
    assert found.ratings.tolist() == [4.0, 0.0, 0.0]
    assert schulze([[0, 3, 5], [1, 0, 2], [1, 2, 0]], ties="order").ratings.tolist() == [5.0, 2.0, 0.0]


def test_published_profiles():
    for name, profile in preflib().items():
        found = schulze(profile.preferences())
        strong = condorcet_winners(profile.margins()).strong
        assert found.certificate.value == 0, name
        assert strong is None or found.ranking.levels[0] == (strong,), name
        assert set(found.ranking.levels[0]) <= set(smith_set(profile.margins())), name


def test_refusals():
    bad = {"nonnegative": [[0, -1], [0, 0]], "plays itself": [[1]], "finite": [[0, np.nan], [0, 0]], "square": np.zeros((2, 3))}
    for words, wins in bad.items():
        with pytest.raises(InputError, match=words):
            schulze(wins)
    with pytest.raises(InputError, match="strength"):
        schulze([[0]], strength="losing_votes")


# Smith and Schwartz sets


def sets_of(m):
    return [set(members) for size in range(1, m + 1) for members in combinations(range(m), size)]


@given(profiles(largest=5))
def test_smith_and_schwartz_are_their_definitions(profile):
    M = profile.margins()
    m = len(M)
    outside = {tuple(s): [b for b in range(m) if b not in s] for s in sets_of(m)}
    dominant = [set(s) for s, rest in outside.items() if all(M[a, b] > 0 for a in s for b in rest)]
    assert set(smith_set(M)) == min(dominant, key=len)
    unbeaten = [set(s) for s, rest in outside.items() if all(M[b, a] <= 0 for a in s for b in rest)]
    smallest = [s for s in unbeaten if not any(other < s for other in unbeaten)]
    assert set(schwartz_set(M)) == set().union(*smallest)
    assert set(schwartz_set(M)) <= set(smith_set(M))


def test_a_tie_parts_schwartz_from_smith():
    margins = np.array([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    assert smith_set(margins) == (0, 1, 2)
    assert schwartz_set(margins) == (0, 1)
    with pytest.raises(InputError, match="margins"):
        smith_set([[0, 1], [1, 0]])


@given(profiles())
def test_sets_lie_in_each_other_and_sparse_margins_have_the_same(profile):
    M = profile.margins()
    assert set(essential_set(M)) <= set(smith_set(M))
    assert set(schwartz_set(M)) <= set(smith_set(M))
    for one in (smith_set, schwartz_set, essential_set):
        assert one(sparse.csr_array(M)) == one(M)

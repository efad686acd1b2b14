"""Least numbers of votes against all subsets of votes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.analysis.flips import flip_pair, flip_to, flip_top, flip_top_of_margins
from ratings_core.errors import InputError
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.profile import Ballot, Profile
from tests.support.profiles import profiles, written


def without_votes(profile, gone):
    """The margins without these votes."""
    weight = profile.weight.copy()
    weight[list(gone)] = 0
    return Profile(profile.names, profile.start, profile.agent, profile.level, weight).margins("unknown")


def fewest(profile, done):
    """The least number of votes whose removal gives margins that are `done`, by trying all."""
    for size in range(len(profile) + 1):
        for gone in combinations(range(len(profile)), size):
            if done(without_votes(profile, gone)):
                return size
    raise AssertionError


def duels(seed):
    """Weighted votes on pairs of up to five agents."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 6))
    votes = [Ballot(float(rng.integers(1, 4)), tuple((int(a),) for a in rng.permutation(m)[:2])) for _ in range(rng.integers(1, 9))]
    return Profile.from_ballots(votes, tuple("abcde"[:m]))


@given(profiles(largest=4, votes=7, least=2), st.integers(0, 3), st.integers(1, 3))
def test_a_pair_is_exact(profile, ahead, step):
    m = len(profile.names)
    ahead %= m
    behind = (ahead + 1 + step % (m - 1)) % m
    found = flip_pair(profile, ahead, behind)
    assert found.exact
    assert found.high == len(found.votes) == fewest(profile, lambda M: M[ahead, behind] <= 0)
    assert without_votes(profile, found.votes)[ahead, behind] <= 0


@given(profiles(largest=5, votes=7), st.integers(0, 4))
@settings(max_examples=60)
def test_bounds_hold_the_least_number_and_the_votes_do_it(profile, agent):
    agent %= len(profile.names)
    found = flip_to(profile, agent)
    assert found.low <= fewest(profile, lambda M: (M[agent] >= 0).all()) <= found.high == len(found.votes)
    assert (without_votes(profile, found.votes)[agent] >= 0).all()


@given(st.integers(0, 2**32), st.integers(0, 4))
@settings(max_examples=60)
def test_votes_on_one_pair_each_are_exact(seed, agent):
    profile = duels(seed)
    agent %= len(profile.names)
    found = flip_to(profile, agent)
    assert found.exact
    assert found.high == fewest(profile, lambda M: (M[agent] >= 0).all())


def test_a_vote_whose_removal_loses_another_pair_does_not_suffice():
    """Only a beats b. Without a > b > c that is a tie, but then c > a = b alone compares b with c."""
    votes = [Ballot(2.0, ((0,), (1,), (2,))), Ballot(2.0, ((2,), (0, 1)))]
    found = flip_to(Profile.from_ballots(votes, ("a", "b", "c")), 1)
    assert (found.low, found.high, found.votes) == (2, 2, (0, 1))


def top_changed(before):
    strong, weak = condorcet_winners(before).strong, set(condorcet_winners(before).weak)
    if strong is not None:
        return lambda M: condorcet_winners(M).strong != strong
    return lambda M: not set(condorcet_winners(M).weak) <= weak


@given(profiles(largest=4, votes=6))
@settings(max_examples=60)
def test_the_top_changes_within_the_bounds(profile):
    found, before = flip_top(profile), profile.margins("unknown")
    if found is None:
        assert (before >= 0).all()
        return
    assert found.low <= fewest(profile, top_changed(before)) <= found.high
    assert top_changed(before)(without_votes(profile, found.votes))


@given(st.integers(0, 2**32))
def test_margins_alone_say_the_same_of_duels_of_weight_one(seed):
    drawn = duels(seed)
    profile = Profile(drawn.names, drawn.start, drawn.agent, drawn.level, np.ones(len(drawn)))
    found, alone = flip_top(profile), flip_top_of_margins(profile.margins("unknown"), two_sided=True)
    assert (found is None) == (alone is None)
    if found is not None:
        assert (found.agent, found.low, found.high) == (alone.agent, alone.low, alone.high)


@given(profiles(largest=4, votes=6))
def test_margins_alone_bound_what_votes_of_many_pairs_need_from_below(profile):
    unit = Profile(profile.names, profile.start, profile.agent, profile.level, np.ones(len(profile)))
    alone = flip_top_of_margins(unit.margins("unknown"), two_sided=False)
    if alone is not None:
        least = fewest(unit, top_changed(unit.margins("unknown")))
        assert alone.low <= least
        assert alone.high in (None, least)


def test_one_vote_can_make_up_two_pairs():
    profile = written((1, "b c a"), (1, "b c a"), (1, "a b c"), names="abc")
    found = flip_to(profile, 0)
    assert (found.low, found.high) == (1, 1)
    assert profile.margins()[0].tolist() == [0, -1, -1]


def test_bad_agents_are_refused():
    profile = written((1, "a b"), names="ab")
    for call in (lambda: flip_pair(profile, 0, 0), lambda: flip_pair(profile, 0, 2), lambda: flip_to(profile, -1)):
        with pytest.raises(InputError):
            call()

"""Profiles: what they count against plain loops over the ballots, how they are made, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.tallies.task_ballots import ballot_pairs
from ratings_core.voting.profile import Ballot, Profile, mcgarvey
from tests.support.profiles import preflib, profiles, scaled, shuffled, without, written

NAMES = ("a", "b", "c")


def place_of(ballot, m, unlisted):
    """Level of each alternative; None where the ballot says nothing about it."""
    places = [len(ballot.levels) if unlisted == "last" else None] * m
    for k, members in enumerate(ballot.levels):
        for member in members:
            places[member] = k
    return places


def counted(profile, unlisted):
    m = len(profile.names)
    wins, ties = np.zeros((m, m)), np.zeros((m, m))
    for ballot in profile.ballots:
        places = place_of(ballot, m, unlisted)
        listed = {member for level in ballot.levels for member in level}
        for a in range(m):
            for b in range(m):
                if a != b and None not in (places[a], places[b]):
                    wins[a, b] += ballot.weight * (places[a] < places[b])
                    ties[a, b] += ballot.weight * (places[a] == places[b] and {a, b} <= listed)
    return wins, ties


@given(profiles(), st.sampled_from(["last", "unknown"]))
def test_pairs_are_those_of_the_ballots(profile, unlisted):
    wins, ties = counted(profile, unlisted)
    np.testing.assert_array_equal(profile.preferences(unlisted), wins)
    np.testing.assert_array_equal(profile.margins(unlisted), wins - wins.T)
    found = profile.pair_counts(unlisted).dense(len(profile.names))
    np.testing.assert_array_equal(found[0], wins)
    np.testing.assert_array_equal(found[1], ties)


@given(profiles(largest=9, votes=2))
def test_few_pairs_of_many_alternatives_are_counted_sparsely_and_equal(profile):
    wide = Profile(profile.names + tuple(map(str, range(40))), profile.start, profile.agent, profile.level, profile.weight)
    wins, ties = counted(wide, "unknown")
    np.testing.assert_array_equal(wide.preferences("unknown"), wins)
    found = wide.pair_counts("unknown").dense(len(wide.names))
    np.testing.assert_array_equal(found[0], wins)
    np.testing.assert_array_equal(found[1], ties)


@given(profiles())
def test_ballots_rebuild_the_profile(profile):
    again = Profile.from_ballots(profile.ballots, profile.names)
    assert again.ballots == profile.ballots
    assert profile.voters == sum(ballot.weight for ballot in profile.ballots)
    assert profile.complete == all(sum(map(len, ballot.levels)) == len(profile.names) for ballot in profile.ballots)


@given(profiles())
def test_place_counts(profile):
    places = profile.place_counts()
    expected = [
        (member, sum(map(len, ballot.levels)), sum(map(len, ballot.levels[:k])), len(level), ballot.weight)
        for ballot in profile.ballots
        for k, level in enumerate(ballot.levels)
        for member in level
    ]
    columns = (places.agent, places.sides, places.ahead, places.tied, places.weight)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


@given(profiles(), st.integers(0, 99))
def test_order_of_votes_weights_and_names(profile, seed):
    np.testing.assert_array_equal(shuffled(profile, seed).margins(), profile.margins())
    np.testing.assert_array_equal(scaled(profile, 0.5).margins(), profile.margins() / 2)
    order = np.random.default_rng(seed).permutation(len(profile.names))
    taken = profile.take(order)
    assert taken.names == tuple(profile.names[i] for i in order)
    np.testing.assert_array_equal(taken.margins(), profile.margins()[np.ix_(order, order)])


def test_constructors_agree():
    by_ballots = written((2, "a b c"), (1, "c a b"), names="abc")
    by_orders = Profile.from_orders([[0, 1, 2], [2, 0, 1]], [2, 1], NAMES)
    by_scores = Profile.from_scores([[9, 2], [8, 1], [-7, 3]], [2, 1], NAMES)
    assert by_ballots.ballots == by_orders.ballots == by_scores.ballots
    assert Profile.from_orders([[2, 0]]).names == ("0", "1", "2")


def test_scores_tie_are_missing_and_vote_by_column():
    profile = Profile.from_scores([[1.0, np.nan, np.nan], [1.0, np.nan, 5.0], [2.0, np.nan, -0.5]], [1, 7, 3])
    assert profile.ballots == (Ballot(1.0, ((2,), (0, 1))), Ballot(3.0, ((1,), (2,))))


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 999))
def test_scores_count_pairs_as_task_ballots_do(m, n, seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((m, n)) < 0.3, np.nan, rng.integers(0, 3, (m, n)))
    if not np.isnan(scores).all():
        agent, task = np.nonzero(~np.isnan(scores))
        theirs = ballot_pairs(agent.astype(np.int32), task.astype(np.int32), scores[agent, task]).dense(m)
        ours = Profile.from_scores(scores).pair_counts("unknown").dense(m)
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


@given(st.integers(1, 6), st.integers(0, 99))
def test_mcgarvey_has_the_margins(m, seed):
    drawn = np.triu(np.random.default_rng(seed).integers(-5, 6, (m, m)), 1)
    profile = mcgarvey(drawn - drawn.T)
    assert profile.complete
    np.testing.assert_array_equal(profile.margins(), drawn - drawn.T)


def test_an_alternative_struck_out():
    assert without(written((1, "a b=c"), (2, "b"), names="abc"), 1).ballots == (Ballot(1.0, ((0,), (1,))),)


def test_published_profiles_count_every_voter():
    for name, profile in preflib().items():
        counts = profile.pair_counts()
        total = counts.wins + counts.losses + counts.ties
        assert (total <= profile.voters).all(), name
        if profile.complete:
            assert (total == profile.voters).all(), name
            assert len(counts) == len(profile.names) * (len(profile.names) - 1) // 2, name
        np.testing.assert_array_equal(profile.preferences(), counted(profile, "last")[0])


@pytest.mark.parametrize(
    ("ballots", "names", "argument"),
    [
        ([], NAMES, "weight"),
        ([Ballot(1.0, ())], NAMES, "start"),
        ([Ballot(1.0, ((0,), ()))], NAMES, "ballots[0].levels[1]"),
        ([Ballot(1.0, ((0, 1), (0,)))], NAMES, "vote 0"),
        ([Ballot(1.0, ((0,), (3,)))], NAMES, "agent[1]"),
        ([Ballot(1.0, ((-1,),))], NAMES, "ballots[0].levels[0][0]"),
        ([Ballot(1.0, ((0,),)), Ballot(-1.0, ((0,),))], NAMES, "weight[1]"),
        ([Ballot(float("nan"), ((0,),))], NAMES, "weight[0]"),
        ([Ballot(1.0, ((0,),))], (), "names"),
        ([Ballot(1.0, ((0,),))], ("a", "a"), "names"),
    ],
)
def test_refusals(ballots, names, argument):
    with pytest.raises(InputError) as caught:
        Profile.from_ballots(ballots, names)
    assert caught.value.argument == argument


@pytest.mark.parametrize("level", [[1, 1], [0, 2], [0, -1]])
def test_levels_rise_by_one(level):
    with pytest.raises(InputError, match="level"):
        Profile(NAMES, np.array([0, 2]), np.array([0, 1], np.int32), np.array(level, np.int32), np.ones(1))


def test_other_refusals():
    with pytest.raises(InputError, match="orders"):
        Profile.from_orders([[0.5, 1.0]])
    with pytest.raises(InputError, match="scores"):
        Profile.from_scores([[np.inf]])
    with pytest.raises(InputError, match="weight"):
        Profile.from_orders([[0, 1]], [1, 2])
    with pytest.raises(InputError, match="unlisted"):
        Profile.from_orders([[0, 1]]).preferences("first")
    with pytest.raises(InputError, match="margins"):
        mcgarvey([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="weight"):
        Profile.from_scores([[np.nan]])


def test_the_histogram_has_each_different_vote_once_the_heaviest_first():
    votes = [(1.0, ((0,), (1,))), (2.0, ((1,), (0, 2))), (1.5, ((0,), (1,))), (2.0, ((0, 1),)), (0.0, ((2,),))]
    found = Profile.from_ballots([Ballot(*vote) for vote in votes], "abc").histogram
    assert [(ballot.weight, ballot.levels) for ballot in found] == [
        (2.5, ((0,), (1,))), (2.0, ((0, 1),)), (2.0, ((1,), (0, 2))), (0.0, ((2,),)),
    ]  # fmt: skip

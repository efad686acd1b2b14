"""Plurality, approval and Borda against plain loops, pair counts, published scores, and the laws of scoring rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.tallies.place_tally import PlaceCounts
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile
from tests.support.profiles import preflib, profiles, scaled, shuffled, written

RULES = {"plurality": plurality, "approval": lambda votes, **options: approval(votes, 2, **options), "borda": borda}


def points(rule, profile):
    """Points place by place, a level sharing those of the places it takes up."""
    m = len(profile.names)
    scores = np.zeros(m)
    for ballot in profile.ballots:
        place = 0
        for level in ballot.levels:
            taken = range(place, place + len(level))
            given = {"plurality": lambda p: p == 0, "approval": lambda p: p < 2, "borda": lambda p: m - 1 - p}[rule]
            scores[list(level)] += ballot.weight * sum(map(given, taken)) / len(level)
            place += len(level)
    return scores


@pytest.mark.parametrize("rule", RULES)
@given(profile=profiles())
def test_are_their_definitions(rule, profile):
    found = RULES[rule](profile)
    assert found.ratings == pytest.approx(points(rule, profile), abs=1e-12)
    assert found.status == "optimal"
    assert (found.certificate.kind, found.certificate.value) == ("exact", pytest.approx(0, abs=1e-12))
    assert found.ranking == Ranking.from_scores(points(rule, profile), 1e-9)


@given(profiles(), st.sampled_from(["last", "unknown"]))
def test_borda_is_the_row_sum_of_pairs(profile, unlisted):
    wins, ties = profile.pair_counts(unlisted).dense(len(profile.names))
    assert borda(profile, unlisted=unlisted).ratings == pytest.approx((wins + ties / 2).sum(axis=1), abs=1e-12)


@given(profiles())
def test_borda_with_half_points_is_that_of_ballots_completed_by_a_tie(profile):
    found = borda(profile, unlisted_pairs="half")
    assert found.ratings == pytest.approx(borda(completed(profile)).ratings, abs=1e-12)
    assert found.certificate.value == pytest.approx(0, abs=1e-12)


def completed(profile):
    """The profile with a last level of all that a ballot does not list."""
    ballots = []
    for ballot in profile.ballots:
        rest = set(range(len(profile.names))) - {agent for level in ballot.levels for agent in level}
        ballots.append(Ballot(ballot.weight, (*ballot.levels, tuple(sorted(rest)))) if rest else ballot)
    return Profile.from_ballots(ballots, profile.names)


def test_half_points_change_the_order_of_three_published_elections():
    orders = [[borda(profile, unlisted_pairs=pairs).ranking for pairs in ("none", "half")] for profile in preflib().values()]
    assert sum(none != half for none, half in orders) == 3


@pytest.mark.parametrize("given", ["unknown", "games"])
def test_half_points_need_alternatives_that_come_last(given):
    profile = written((3, "ab"), names="abc")
    votes, options = (profile, {"unlisted": "unknown"}) if given == "unknown" else (profile.place_counts(), {"agents": 3})
    with pytest.raises(InputError, match="unlisted_pairs"):
        borda(votes, unlisted_pairs="half", **options)


@given(profiles())
def test_approval_of_one_is_plurality_and_of_all_is_being_listed(profile):
    m = len(profile.names)
    np.testing.assert_array_equal(approval(profile, 1).ratings, plurality(profile).ratings)
    listed = [sum(ballot.weight for ballot in profile.ballots if any(a in level for level in ballot.levels)) for a in range(m)]
    assert approval(profile, m).ratings == pytest.approx(listed)


@pytest.mark.parametrize("rule", RULES)
@given(profile=profiles(), seed=st.integers(0, 99))
def test_neutral_anonymous_and_of_any_unit(rule, profile, seed):
    found = RULES[rule](profile)
    order = np.random.default_rng(seed).permutation(len(profile.names))
    assert RULES[rule](profile.take(order)).ratings == pytest.approx(found.ratings[order])
    assert RULES[rule](shuffled(profile, seed)).ratings == pytest.approx(found.ratings)
    assert RULES[rule](scaled(profile, 0.25)).ratings == pytest.approx(found.ratings / 4)


@given(profiles(complete=True))
def test_borda_of_reversed_votes_is_reversed(profile):
    reverse = Ranking.from_scores(-borda(profile).ratings, 1e-9)
    turned = type(profile).from_ballots([type(b)(b.weight, b.levels[::-1]) for b in profile.ballots], profile.names)
    assert borda(turned).ranking == reverse


@pytest.mark.parametrize("rule", RULES)
@given(profile=profiles())
def test_places_of_games_give_the_same(rule, profile):
    options = {"unlisted": "unknown"} if rule == "borda" else {}
    by_places = RULES[rule](profile.place_counts(), agents=len(profile.names))
    np.testing.assert_array_equal(by_places.ratings, RULES[rule](profile, **options).ratings)


def test_ties_are_kept_ordered_or_drawn():
    profile = written((1, "a b c"), (1, "b a c"), names="abc")
    assert plurality(profile).ranking.levels == ((0, 1), (2,))
    ordered = plurality(profile, ties="order")
    assert (ordered.ranking.levels, ordered.broken) == (((0,), (1,), (2,)), ((0, 1),))
    drawn = {plurality(profile, ties=seed).ranking.levels for seed in range(20)}
    assert drawn == {((0,), (1,), (2,)), ((1,), (0,), (2,))}
    assert plurality(profile, ties=3).ranking == plurality(profile, ties=3).ranking
    assert plurality(profile).broken == ()


def test_thirds_that_add_up_tie_with_a_whole_vote():
    profile = written((1, "a=b=c"), (1, "a=b=c"), (1, "a=b=c"), (1, "d"), names="abcd")
    assert plurality(profile).ranking.levels == ((0, 1, 2, 3),)


def test_one_alternative_and_votes_without_weight():
    assert borda(written((3, "a"), names="a")).ratings.tolist() == [0.0]
    assert plurality(written((0, "a b"), names="ab")).ranking.levels == ((0, 1),)


@pytest.mark.parametrize("ties", ["first", -1, True, 1.5, None])
def test_unknown_tie_rules_are_refused(ties):
    with pytest.raises(InputError, match="ties"):
        plurality(written((1, "a b"), names="ab"), ties=ties)


def test_refusals():
    profile = written((1, "a b"), names="ab")
    for k in (0, 1.5, True):
        with pytest.raises(InputError, match="k must"):
            approval(profile, k)
    with pytest.raises(InputError, match="agents"):
        plurality(profile, agents=3)
    with pytest.raises(InputError, match="unlisted"):
        borda(profile, unlisted="gone")
    column = np.ones(1, np.int32)
    with pytest.raises(InputError, match="agents"):
        plurality(PlaceCounts(column, column * 2, column * 0, column, np.ones(1)), agents=1)

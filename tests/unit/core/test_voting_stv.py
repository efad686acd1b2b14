"""STV against a count in exact fractions, the laws it keeps, how it breaks ties and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.voting.profile import Profile
from ratings_core.voting.stv import stv
from tests.support.profiles import preflib, profiles, shuffled, strict_profiles, written


def shares(ballot, standing):
    """Who gets which share of a vote: its best level with somebody standing, evenly."""
    for level in ballot.levels:
        here = [agent for agent in level if agent in standing]
        if here:
            return dict.fromkeys(here, Fraction(1, len(here)))
    return {}


def by_hand(profile, seats, surplus="fractional"):
    """Rounds as (elected, agents, votes), ties kept, in exact fractions."""
    value = [Fraction(ballot.weight) for ballot in profile.ballots]
    standing, rounds, won = set(range(len(profile.names))), [], 0
    quota = sum(value) // (seats + 1) + 1
    while standing:
        given_to = [shares(ballot, standing) for ballot in profile.ballots]
        votes = {agent: sum(v * share.get(agent, 0) for v, share in zip(value, given_to, strict=True)) for agent in standing}
        elected = won < seats and max(votes.values()) >= quota
        mark = max(votes.values()) if elected else min(votes.values())
        leaving = tuple(sorted(agent for agent in standing if votes[agent] == mark))
        need = dict.fromkeys(leaving, quota)
        for i, share in enumerate(given_to if elected else []):
            parts = {agent: value[i] * share[agent] for agent in leaving if agent in share}
            for agent, part in parts.items():
                taken = min(part, need[agent]) if surplus == "in_order" else part * quota / mark
                need[agent] -= taken if surplus == "in_order" else 0
                value[i] -= taken
        rounds.append((elected, leaving, mark))
        won += len(leaving) * elected
        standing -= set(leaving)
    return rounds


@given(profiles(), st.sampled_from(["fractional", "in_order"]), st.integers(1, 3))
def test_is_a_count_by_hand(profile, surplus, winners):
    seats = min(winners, len(profile.names))
    found, expected = stv(profile, seats, surplus=surplus), by_hand(profile, seats, surplus)
    assert [(one.elected, one.agents) for one in found.rounds] == [(elected, agents) for elected, agents, _ in expected]
    assert [one.votes for one in found.rounds] == pytest.approx([float(votes) for _, _, votes in expected])
    assert (found.status, found.certificate.kind) == ("optimal", "exact")
    assert len(found.winners) <= seats


@given(profiles(), st.integers(0, 99))
def test_neutral_and_anonymous(profile, seed):
    found = stv(profile)
    order = np.random.default_rng(seed).permutation(len(profile.names))
    assert stv(profile.take(order)).ratings == pytest.approx(found.ratings[order])
    assert stv(shuffled(profile, seed)).ranking == found.ranking


@given(profiles(least=2), st.sampled_from(["order", 0, 1]))
def test_a_rule_leaves_no_ties_and_names_those_it_broke(profile, ties):
    found = stv(profile, ties=ties)
    assert all(len(level) == 1 for level in found.ranking.levels)
    assert all(len(one.agents) == 1 for one in found.rounds)
    assert sorted(map(sorted, found.broken)) == sorted(sorted(one.tied) for one in found.rounds if one.tied)
    assert sorted(found.ratings.tolist(), reverse=True) == [found.ratings[agent] for agent in found.ranking.ids]


@given(strict_profiles(), st.integers(0, 5))
def test_scores_are_base_and_votes(profile, ties):
    found = stv(profile, ties=ties)
    m = len(profile.names)
    for agent, score in enumerate(found.scores):
        base, votes = score.split(".", 1)
        place = found.ranking.level[agent]
        assert int(base) == (2 * m - place if agent in found.winners else m - place + len(found.winners))
        assert float(votes) == pytest.approx(next(one.votes for one in found.rounds if agent in one.agents))


def test_surplus_moves_on():
    profile = written((6, "a b"), (2, "a c"), (1, "d"), (1, "b"), names="abcd")
    found = stv(profile, 2)
    assert found.quota == 4
    assert [(one.elected, one.agents, one.votes) for one in found.rounds[:2]] == [(True, (0,), 8.0), (True, (1,), 4.0)]
    in_order = stv(profile, 2, surplus="in_order")  # four of the six "a b" are used up, two and the two "a c" move on
    assert [(one.elected, one.agents, one.votes) for one in in_order.rounds[:2]] == [(True, (0,), 8.0), (False, (3,), 1.0)]


def test_fewer_may_win_when_votes_run_out():
    found = stv(written((5, "a"), (1, "b"), (1, "c"), names="abc"), 2)
    assert found.winners == (0,)
    assert found.ranking.levels == ((0,), (1, 2))
    assert found.scores == ("6.5", "3.1", "3.1")
    assert found.unused == 4.0


def test_the_winner_can_lose_by_gaining_votes():
    """Not monotone: ten voters who lift a to the top let c instead of b reach the last round, where a loses."""
    before = written((39, "a b c"), (35, "b c a"), (26, "c a b"), names="abc")
    after = written((49, "a b c"), (25, "b c a"), (26, "c a b"), names="abc")
    assert stv(before, 1).winners == (0,)
    assert stv(after, 1).winners == (2,)


def test_a_condorcet_winner_can_be_eliminated_first():
    profile = written((2, "a c b"), (2, "b c a"), (1, "c a b"), names="abc")
    assert (profile.margins()[2] >= 0).all()
    assert stv(profile, 1).winners == (0,)


def test_published_profiles_keep_every_vote():
    for name, profile in preflib().items():
        found = stv(profile)
        assert found.certificate.value < 1e-12, name
        assert len(found.winners) <= len(profile.names) // 2, name
        expected = by_hand(profile, len(profile.names) // 2) if len(profile.names) <= 12 else []
        assert [one.agents for one in found.rounds][: len(expected)] == [agents for _, agents, _ in expected], name


def test_one_alternative_wins():
    assert stv(written((3, "a"), names="a")).scores == ("2.3",)


@pytest.mark.parametrize("winners", [0, 3, 1.5, True])
def test_seats_are_checked(winners):
    with pytest.raises(InputError, match="winners"):
        stv(written((1, "a b"), names="ab"), winners)


def test_other_refusals():
    profile = Profile.from_orders([[0, 1]])
    with pytest.raises(InputError, match="surplus"):
        stv(profile, surplus="whole")
    with pytest.raises(InputError, match="ties"):
        stv(profile, ties="random")

"""Tables 1 and 4 of VasE: the properties each method has, on random votes, and a stored counterexample for each it lacks.

Winners are the first level of a ranking with ties kept; of a lottery, everybody that some maximal lottery elects.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.voting.copeland import condorcet_winners, copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.lotteries import maximal_lottery
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile, mcgarvey
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from tests.support.profiles import profiles, random_profile, strict_profiles, without, written

TABLES = json.loads((Path(__file__).parents[2] / "golden" / "vase" / "properties_tables1_4.json").read_text())


def first(found):
    return set(found.ranking.levels[0])


METHODS = {
    "approval": lambda profile: first(approval(profile, 2)),
    "borda": lambda profile: first(borda(profile)),
    "plurality": lambda profile: first(plurality(profile)),
    "stv": lambda profile: first(stv(profile, 1)),
    "copeland": lambda profile: first(copeland(profile.margins())),
    "ranked_pairs": lambda profile: first(ranked_pairs(profile.margins())),
    "kemeny_young": lambda profile: first(kemeny(profile.preferences())),
    "schulze": lambda profile: first(schulze(profile.preferences())),
    "maximal_lotteries": lambda profile: set(maximal_lottery(profile.margins()).support.tolist()),
}
LACKING = {name: [method for method in METHODS if method not in TABLES[name]] for name in ("condorcet", "clone", "population", "agenda")}


def both(one, other):
    return Profile.from_ballots([*one.ballots, *other.ballots], one.names)


def cloned(profile, agent, seed):
    """A last alternative beside `agent` in every vote, above or below it by the vote."""
    rng = np.random.default_rng(seed)
    new = len(profile.names)
    ballots = []
    for ballot in profile.ballots:
        pair = [(agent,), (new,)] if rng.random() < 0.5 else [(new,), (agent,)]
        at = ballot.levels.index((agent,))
        ballots.append(Ballot(ballot.weight, (*ballot.levels[:at], *pair, *ballot.levels[at + 1 :])))
    return Profile.from_ballots(ballots, (*profile.names, "clone"))


def clone_consistent(method, profile, agent, seed):
    """VasE, definition 4: with a clone, the same others win, and one of the clones wins where the original does."""
    new = len(profile.names)
    before, after = METHODS[method](profile), METHODS[method](cloned(profile, agent, seed))
    return {agent if winner == new else winner for winner in after} == before


def mixed(profile, seed):
    """Votes of close weights that never tie: no sum of some equals a sum of others."""
    order = np.random.default_rng(seed).permutation(len(profile))
    return Profile(profile.names, profile.start, profile.agent, profile.level, 1000.0 + 2.0**order)


def test_the_tables_name_nine_methods():
    assert set(TABLES["complexity"]) == set(METHODS)
    assert {name: len(TABLES[name]) for name in LACKING} == {"condorcet": 5, "clone": 4, "population": 4, "agenda": 1}


@pytest.mark.parametrize("method", TABLES["condorcet"])
@given(profile=profiles())
def test_condorcet_consistent(method, profile):
    strong = condorcet_winners(profile.margins()).strong
    if strong is not None:
        assert METHODS[method](profile) == {strong}


@pytest.mark.parametrize("method", TABLES["clone"])
@given(profile=strict_profiles(largest=4, votes=7, least=2), agent=st.integers(0, 3), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_clone_consistent(method, profile, agent, seed):
    assert clone_consistent(method, mixed(profile, seed), agent % len(profile.names), seed)


@pytest.mark.parametrize("method", [method for method in TABLES["population"] if method != "maximal_lotteries"])
@given(seed=st.integers(0, 9999))
def test_population_consistent(method, seed):
    """Voters who elect somebody in common elect together whom both elect."""
    one, other = (random_profile(seed + i, largest=4, least=4) for i in (0, 10_000))
    common = METHODS[method](one) & METHODS[method](other)
    if common:
        assert METHODS[method](both(one, other)) == common


@given(seed=st.integers(0, 9999))
def test_lotteries_maximal_for_two_electorates_are_for_both(seed):
    one, other = (random_profile(seed + i, largest=4, least=4) for i in (0, 10_000))
    lottery = maximal_lottery(one.margins()).lottery
    if (lottery @ other.margins() >= -1e-9).all():
        assert (lottery @ both(one, other).margins() >= -1e-9).all()


@given(profile=profiles(largest=5, least=3), gone=st.integers(0, 4))
def test_lotteries_do_not_depend_on_losers(profile, gone):
    """Agenda consistency: striking out someone whom the lottery does not play leaves it maximal (though not of most entropy)."""
    lottery = maximal_lottery(profile.margins()).lottery
    gone %= len(profile.names)
    if lottery[gone] == 0:
        fewer = np.delete(np.delete(profile.margins(), gone, axis=0), gone, axis=1)
        assert (np.delete(lottery, gone) @ fewer >= -1e-9).all()


# Counterexamples: each property each method lacks

FAVOURITE_OF_NONE = written((3, "a c b"), (3, "b c a"), (1, "c a b"), names="abc")
MAJORITY_LOSES = written((3, "a b c"), (2, "b c a"), names="abc")
MAJORITY_AMONG_TWO = written((4, "a b c d"), (2, "b c a d"), (1, "b d a c"), names="abcd")
CONDORCET = {"plurality": FAVOURITE_OF_NONE, "stv": FAVOURITE_OF_NONE, "borda": MAJORITY_LOSES, "approval": MAJORITY_AMONG_TWO}


CYCLE = written((2, "c b a"), (3, "a c b"), (2, "b a c"), names="abc")
AGENDAS = {  # votes, and the loser without whom the winner loses
    "approval": (written((1, "c a b d"), (1, "a d b c"), (2, "d b a c"), names="abcd"), 0),
    "borda": (written((2, "b a c"), (3, "c b a"), names="abc"), 0),
    "copeland": (written((3, "c b d a"), (1, "a b d c"), (2, "d a c b"), names="abcd"), 1),
    "kemeny_young": (CYCLE, 2),
    "plurality": (written((2, "a c b"), (3, "b c a"), (2, "c a b"), names="abc"), 0),
    "ranked_pairs": (CYCLE, 2),
    "schulze": (CYCLE, 2),
    "stv": (written((2, "b c a"), (1, "c b a"), (2, "a c b"), names="abc"), 0),
}
CLONES = {  # votes in which x is a clone of a
    "approval": written((1, "b c a x"), (2, "a x c b"), names="abcx"),
    "borda": written((2, "b a x c"), (3, "c a x b"), names="abcx"),
    "copeland": written((1, "b a x c"), (1, "a x c b"), (1, "c b a x"), names="abcx"),
    "kemeny_young": written((4, "c x a b"), (4, "b c x a"), (5, "x a b c"), names="abcx"),
    "plurality": written((2, "x a b c"), (2, "a x b c"), (3, "c b a x"), names="abcx"),
}
POPULATIONS = {  # two electorates with one winner, who does not win in both together
    "copeland": (
        mcgarvey([[0, 0, -6, 4], [0, 0, -2, 4], [6, 2, 0, -4], [-4, -4, 4, 0]]),
        mcgarvey([[0, 4, -8, 0], [-4, 0, 8, 0], [8, -8, 0, 2], [0, 0, -2, 0]]),
    ),
    "kemeny_young": (
        written((4, "c b a d"), (4, "d c a b"), (1, "d a c b"), (4, "b a d c"), names="abcd"),
        written((4, "c d b a"), names="abcd"),
    ),
    "ranked_pairs": (mcgarvey([[0, 6, -6], [-6, 0, 4], [6, -4, 0]]), mcgarvey([[0, -8, -2], [8, 0, -2], [2, 2, 0]])),
    "schulze": (mcgarvey([[0, 2, 2], [-2, 0, -6], [-2, 6, 0]]), mcgarvey([[0, 6, -4], [-6, 0, 6], [4, -6, 0]])),
    "stv": (
        written((1, "a d c b"), (2, "c a d b"), (2, "a c d b"), names="abcd"),
        written((1, "c b d a"), (4, "a c b d"), (3, "d c b a"), (2, "b c d a"), names="abcd"),
    ),
}


def test_every_lack_has_a_counterexample():
    stored = {"condorcet": CONDORCET, "clone": CLONES, "population": POPULATIONS, "agenda": AGENDAS}
    assert {name: sorted(cases) for name, cases in stored.items()} == {name: sorted(methods) for name, methods in LACKING.items()}


@pytest.mark.parametrize("method", LACKING["condorcet"])
def test_not_condorcet_consistent(method):
    profile = CONDORCET[method]
    assert condorcet_winners(profile.margins()).strong not in (None, *METHODS[method](profile))


@pytest.mark.parametrize("method", LACKING["clone"])
def test_not_clone_consistent(method):
    profile = CLONES[method]
    assert METHODS[method](without(profile, 3)) != {0 if winner == 3 else winner for winner in METHODS[method](profile)}


@pytest.mark.parametrize("method", LACKING["population"])
def test_not_population_consistent(method):
    one, other = POPULATIONS[method]
    winner = METHODS[method](one)
    assert len(winner) == 1
    assert METHODS[method](other) == winner
    assert METHODS[method](both(one, other)).isdisjoint(winner)


@pytest.mark.parametrize("method", LACKING["agenda"])
def test_not_agenda_consistent(method):
    profile, loser = AGENDAS[method]
    (winner,) = METHODS[method](profile)
    left = [agent for agent in range(len(profile.names)) if agent != loser]
    assert winner != loser
    assert winner not in {left[agent] for agent in METHODS[method](without(profile, loser))}


def test_stv_of_half_the_agents_is_not_clone_consistent():
    """A clone of a raises the number of seats, and a is elected too."""
    alone = written((3, "a b c"), (3, "b c a"), (1, "c b a"), names="abc")
    copied = written((3, "a x b c"), (3, "b c a x"), (1, "c b a x"), names="abcx")
    assert stv(alone).winners == (1,)
    assert stv(copied).winners == (0, 1)

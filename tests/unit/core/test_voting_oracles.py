"""Voting methods beside pref_voting, OpenSpiel and preflibtools, on random profiles with ties, weights and missing alternatives.

Variants: pref_voting's beat path of margins is Schulze with strength `margins`, of votes with their support it is `winning_votes`;
its ranked pairs follow all orders of equal margins, as ours with ties kept; its instant runoff follows all orders of eliminations.
OpenSpiel's lotteries are left out: their program ends without an answer on some of these, and noise of 1e-10 breaks their ties.
"""

import numpy as np
import pytest
from open_spiel.python.voting import approval as spiel_approval
from open_spiel.python.voting import base as spiel
from open_spiel.python.voting import borda as spiel_borda
from open_spiel.python.voting import copeland as spiel_copeland
from open_spiel.python.voting import kemeny_young as spiel_kemeny
from open_spiel.python.voting import plurality as spiel_plurality
from open_spiel.python.voting import schulze as spiel_schulze
from open_spiel.python.voting import stv as spiel_stv
from preflibtools.instances import OrdinalInstance

from ratings_core.formats.profile import read_profile
from ratings_core.voting import maximal_lottery
from ratings_core.voting.condorcet import essential_set, schwartz_set, smith_set
from ratings_core.voting.copeland import condorcet_winners, copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.lotteries import LotteryOptions
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from tests.support.pref_voting import pref_voting
from tests.support.profiles import preflib, random_profile, written
from tests.support.shared import shared_file

SEEDS = range(40)
ODD = {  # kinds that random draws meet seldom
    "one alternative": written((2, "a"), names="a"),
    "votes of weight 0": Profile.from_ballots([Ballot(0.0, ((0,), (1,))), Ballot(0.0, ((1,), (0,)))], "ab"),
    "two identical alternatives": written((3, "a=b c"), (2, "c a=b"), (2, "a=b"), names="abc"),
    "one listed by nobody": written((1, "a b"), (1, "b a"), names="abc"),
    "everything tied": written((2, "a=b=c=d"), names="abcd"),
    "a cycle of equal margins": written((1, "a b c"), (1, "b c a"), (1, "c a b"), names="abc"),
}
PROFILES = [*ODD.values(), *(random_profile(seed, largest=5) for seed in SEEDS)]
STRICT = [random_profile(seed, largest=6, ties=False, complete=True) for seed in SEEDS]


def ids(profiles):
    return [*ODD, *map(str, SEEDS)] if len(profiles) > len(SEEDS) else list(map(str, SEEDS))


def first(found):
    return list(found.ranking.levels[0])


def ranks(profile):
    """What pref_voting takes: ranks of the alternatives that each vote lists, and whole weights."""
    return {
        "ranks": [{str(c): place + 1 for place, level in enumerate(ballot.levels) for c in level} for ballot in profile.ballots],
        "weights": [int(weight) for weight in profile.weight],
        "m": len(profile.names),
    }


def orders(profile):
    return {"orders": profile.agent.reshape(len(profile), -1).tolist(), "weights": [int(weight) for weight in profile.weight]}


def scores(answer):
    return [answer[str(c)] for c in range(len(answer))]


@pytest.mark.parametrize("unlisted", ["last", "unknown"])
@pytest.mark.parametrize("profile", PROFILES, ids=ids(PROFILES))
def test_preferences(profile, unlisted):
    assert profile.preferences(unlisted).tolist() == pref_voting().ask("support", unlisted=unlisted, **ranks(profile))


@pytest.mark.parametrize("profile", PROFILES, ids=ids(PROFILES))
def test_methods_on_margins(profile):
    M, ask = profile.margins(), pref_voting().ask
    margins = M.tolist()
    winners = condorcet_winners(M)
    assert copeland(M).ratings.tolist() == scores(ask("copeland_scores", margins=margins))
    assert first(copeland(M)) == ask("copeland", margins=margins)
    assert winners.strong == ask("condorcet", margins=margins)
    assert list(winners.weak) == (ask("weak_condorcet", margins=margins) or [])
    assert list(smith_set(M)) == ask("smith_set", margins=margins)
    assert list(schwartz_set(M)) == ask("schwartz_set", margins=margins)
    assert first(schulze(np.maximum(M, 0), strength="margins")) == ask("beat_path", margins=margins)
    found = maximal_lottery(M, options=LotteryOptions(merge=False))
    theirs = np.array(scores(ask("maximal_lottery", margins=margins)))
    assert (theirs @ M).min() >= -1e-9
    assert set(np.flatnonzero(theirs > 1e-9)) <= set(essential_set(M))
    if found.unique:
        assert found.lottery == pytest.approx(theirs, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("odd", [0, 1])
def test_the_essential_set(seed, odd):
    """pref_voting takes whom one lottery elects: all of the set where it is the only lottery, as with odd margins (Laffond et al. 1997)."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6))
    U = np.triu(2 * rng.integers(-3, 3, (m, m)) + odd, 1)
    M = (U - U.T).astype(float)
    theirs = pref_voting().ask("essential", margins=M.tolist())
    assert set(theirs) <= set(essential_set(M))
    if odd:
        assert list(essential_set(M)) == theirs


@pytest.mark.parametrize("profile", PROFILES, ids=ids(PROFILES))
def test_schulze_of_winning_votes(profile):
    theirs = pref_voting().ask("beat_path_of_votes", unlisted="last", **ranks(profile))
    assert first(schulze(profile.preferences())) == theirs


@pytest.mark.parametrize("seed", SEEDS)
def test_ranked_pairs(seed):
    """Few of the margins are equal: each order of equal ones is a universe, and pref_voting tries them all."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6))
    U = np.triu(2 * rng.integers(-8, 9, (m, m)), 1)
    M = (U - U.T).astype(float)
    found = ranked_pairs(M)
    theirs = pref_voting().ask("ranked_pairs", margins=M.tolist())
    if found.universes == 1:
        assert first(found) == theirs
    else:
        assert set(theirs) <= set(first(found))


@pytest.mark.parametrize("seed", SEEDS)
def test_borda_of_complete_votes_with_ties(seed):
    """Symmetric Borda counts those below minus those above, ours those below and half of the tied ones."""
    profile = random_profile(seed, largest=5, complete=True)
    theirs = np.array(scores(pref_voting().ask("symmetric_borda", unlisted="last", **ranks(profile))), float)
    assert borda(profile).ratings == pytest.approx((theirs + profile.voters * (len(profile.names) - 1)) / 2)


@pytest.mark.parametrize("profile", STRICT, ids=ids(STRICT))
def test_strict_votes(profile):
    ask, given = pref_voting().ask, orders(profile)
    assert borda(profile).ratings.tolist() == scores(ask("borda", **given))
    assert plurality(profile).ratings.tolist() == scores(ask("plurality", **given))
    found = kemeny(profile.preferences())
    theirs, distance = ask("kemeny", **given)
    N = profile.preferences()
    assert found.value == N.sum() - distance
    assert found.order.tolist() in theirs
    assert found.unique == (len(theirs) == 1)
    assert {stv(profile, 1, ties=seed).winners[0] for seed in range(8)} <= set(ask("instant_runoff", **given))


def spiel_votes(profile):
    votes = [spiel.WeightedVote(weight, row) for weight, row in zip(profile.weight, profile.agent.reshape(len(profile), -1), strict=True)]
    return spiel.PreferenceProfile(votes=votes, alternatives=list(range(len(profile.names))))


def spiel_scores(method, profile):
    outcome = method.run_election(spiel_votes(profile))
    return [dict(zip(outcome.ranking, outcome.scores, strict=True))[c] for c in range(len(profile.names))]


@pytest.mark.parametrize("seed", SEEDS)
def test_open_spiel_settles_ties_of_stv_by_the_order_of_alternatives(seed):
    """The earlier alternative is elected first and eliminated last, as by `order`. Listed in reverse, other ones win."""
    profile = random_profile(seed, ties=False, complete=True, least=3)
    for listed in (profile, profile.take(np.arange(len(profile.names))[::-1])):
        rows = listed.agent.reshape(len(listed), -1).tolist()
        votes = [spiel.WeightedVote(int(weight), row) for weight, row in zip(listed.weight, rows, strict=True)]
        given = spiel.PreferenceProfile(votes=votes, alternatives=list(range(len(listed.names))))
        theirs = spiel_stv.STVVoting(num_winners=len(listed.names) // 2).run_election(given)
        assert stv(listed, surplus="in_order", ties="order").ranking.ids.tolist() == theirs.ranking


@pytest.mark.parametrize("profile", STRICT, ids=ids(STRICT))
def test_open_spiel_on_strict_votes(profile):
    m = len(profile.names)
    assert borda(profile).ratings.tolist() == spiel_scores(spiel_borda.BordaVoting(), profile)
    assert plurality(profile).ratings.tolist() == spiel_scores(spiel_plurality.PluralityVoting(), profile)
    assert copeland(profile.margins()).ratings.tolist() == spiel_scores(spiel_copeland.CopelandVoting(), profile)
    for k in range(1, m + 1):
        assert approval(profile, k).ratings.tolist() == spiel_scores(spiel_approval.ApprovalVoting(k=k), profile)
    if m <= 5:
        theirs = spiel_kemeny.KemenyYoungVoting().run_election(spiel_votes(profile)).ranking
        N = profile.preferences()
        assert kemeny(N).value == sum(N[a, b] for i, a in enumerate(theirs) for b in theirs[i + 1 :])
    found = schulze(profile.preferences())
    if len(found.ranking.levels) == m > 1 and _ordered(found.paths):
        assert list(spiel_schulze.SchulzeVoting().run_election(spiel_votes(profile)).ranking) == found.ranking.order(range(m))


def _ordered(paths):
    """OpenSpiel sorts by the relation of paths, which is an order only where no two are tied."""
    return bool((paths != paths.T)[np.triu_indices(len(paths), 1)].all())


def test_preflibtools_reads_the_same_votes_from_the_published_files():
    read = 0
    for name, profile in preflib().items():
        instance = OrdinalInstance()
        instance.parse_file(str(shared_file("data/preflib") / name))
        assert _of_votes(profile) == _of_instance(instance), name
        read += 1
    assert read == 28


@pytest.mark.parametrize("seed", SEEDS)
def test_what_preflibtools_writes_is_read(seed, tmp_path):
    profile = random_profile(seed)
    instance = OrdinalInstance()
    instance.num_alternatives = len(profile.names)
    instance.alternatives_name = {c + 1: name for c, name in enumerate(profile.names)}
    for ballot in profile.ballots:
        order = tuple(tuple(c + 1 for c in level) for level in ballot.levels)
        instance.append_vote_map({order: int(ballot.weight)})
    file = tmp_path / f"votes.{instance.infer_type()}"
    instance.write(str(file))
    found = read_profile(file.read_text(encoding="utf-8"))
    assert found.names == profile.names
    assert _of_votes(found) == _of_instance(instance)
    assert (found.preferences() == profile.preferences()).all()


def _of_votes(profile):
    return sorted((ballot.weight, ballot.levels) for ballot in profile.ballots)


def _of_instance(instance):
    numbered = {number: at for at, number in enumerate(instance.alternatives_name)}
    return sorted(
        (float(instance.multiplicity[order]), tuple(tuple(sorted(numbered[c] for c in level)) for level in order))
        for order in instance.orders
    )

"""Votes, outcomes, rankings and tallies: what is none of these is refused by name, by the records and by all that take them."""

import io

import numpy as np
import pytest

from ratings_core.analysis.connectivity import connectivity, effective_games
from ratings_core.analysis.cyclicity import cyclicity
from ratings_core.analysis.disagreement import disagreement
from ratings_core.analysis.flips import flip_pair, flip_to, flip_top, flip_top_of_margins
from ratings_core.analysis.hodge import hodge
from ratings_core.analysis.insight import insight
from ratings_core.analysis.intervals import cell_replicates, outcome_replicates
from ratings_core.analysis.jackknife import group_deletions
from ratings_core.analysis.next_matches import all_ratings, next_matches
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import ContextualOptions, contextual_bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.batch.pair_counts import of_tally
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_posterior, soft_condorcet_sgd
from ratings_core.equilibria import cce, lle
from ratings_core.errors import InputError
from ratings_core.formats.margins import read_margins
from ratings_core.formats.profile import read_profile, write_profile
from ratings_core.formats.score_tables import read_scores
from ratings_core.games import NormalForm
from ratings_core.ranking import Ranking, kendall_tau, normalised_kendall_tau
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Scores, Side
from ratings_core.tallies import PairCounts, PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.place_tally import TeamTally
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile
from ratings_core.voting.stv import stv

SIDES = (Side(("ann",), 1), Side(("bob",), 2))
GAME = OutcomeBatch.of_pairs([0], [1], [1], 2)
VOTES = Profile.from_orders([[0, 1, 2], [2, 1, 0]])
FOUGHT = Comparisons.of_outcomes(GAME, 2)
COUNTS = PairCounts.from_dense([[0, 3], [2, 0]])
OF_PROFILES = {
    "plurality": plurality,
    "approval": lambda votes: approval(votes, 1),
    "borda": borda,
    "stv": lambda votes: stv(votes, 1),
    "soft_condorcet_sgd": lambda votes: soft_condorcet_sgd(votes, seed=0),
    "soft_condorcet_posterior": lambda votes: soft_condorcet_posterior(votes, seed=0),
    "flip_top": flip_top,
    "flip_to": lambda votes: flip_to(votes, 0),
    "flip_pair": lambda votes: flip_pair(votes, 0, 1),
    "write_profile": write_profile,
}
OF_COUNTS = {
    "connectivity": lambda counts: connectivity(counts, 2),
    "effective_games": lambda counts: effective_games(counts, 2),
    "cyclicity": lambda counts: cyclicity(counts, 2),
    "insight": lambda counts: insight(counts, 2, two_sided=True),
    "next_matches": lambda counts: next_matches(counts, 2, all_ratings(), games=1),
    "cell_replicates": lambda counts: cell_replicates(counts, seed=0, replicates=2),
    "of_tally": lambda counts: of_tally(counts, 2),
}
OF_OUTCOMES = {
    "Comparisons": lambda batch: Comparisons.of_outcomes(batch, 2),
    "contextual": lambda comparisons: contextual_bradley_terry(comparisons, [[1.0]]),
    "outcome_replicates": lambda comparisons: outcome_replicates(comparisons, seed=0, replicates=2),
    "group_deletions": lambda comparisons: group_deletions(comparisons, seed=0),
}
OF_RANKINGS = {
    "kendall_tau": lambda ranking: kendall_tau(Ranking.from_scores([1, 2]), ranking),
    "normalised_kendall_tau": lambda ranking: normalised_kendall_tau(ranking, Ranking.from_scores([1, 2])),
    "disagreement": lambda ranking: disagreement([Ranking.from_scores([1, 2]), ranking]),
}
BALLOTS = {
    "half an id": Ballot(1, ((0.5,), (1,))),
    "no number": Ballot(1, ((float("nan"),), (1,))),
    "an id beyond 32 bits": Ballot(1, ((2**32,), (1,))),
    "text": Ballot(1, (("a",), (1,))),
    "an id below 0": Ballot(1, ((-1,), (1,))),
    "levels without brackets": Ballot(1, (0, 1)),
    "an empty level": Ballot(1, ((0,), ())),
    "a weight that sums overflow": Ballot(1e300, ((0,), (1,))),
    "no ballot": None,
}
CASES = {
    "ids missing": lambda: VOTES.take(np.array([7])),
    "ids from the end": lambda: VOTES.take([-1]),
    "half an id": lambda: VOTES.take([0.5]),
    "ragged orders": lambda: Profile.from_orders([[0, 1], [1]]),
    "orders beyond 32 bits": lambda: Profile.from_orders([[0, 2**33], [1, 0]], names="ab"),
    "no names": lambda: Profile.from_ballots([Ballot(1, ((0,), (1,)))], None),
    "numbers as names": lambda: Profile.from_ballots([Ballot(1, ((0,), (1,)))], (1, 2)),
    "time of text": lambda: Outcome(SIDES, time="noon"),
    "weight of text": lambda: Outcome(SIDES, weight="1"),
    "true as weight": lambda: Outcome(SIDES, weight=True),
    "no sides": lambda: Outcome(None),
    "sides that are none": lambda: Outcome(((("ann",), 1), (("bob",), 2))),
    "score of text": lambda: Scores("t", (("ann", "x"),)),
    "true as score": lambda: Scores("t", (("ann", True),)),
    "scores as a dict": lambda: Scores("t", {"ann": 1.0}),
    "scores without agents": lambda: Scores("t", (1.0, 2.0)),
    "half a bound of ids": lambda: OutcomeBatch.of_pairs([0], [1], [1.0], 2.5),
    "half an id in a game": lambda: OutcomeBatch.of_pairs([0.5], [1], [1.0], 2),
    "numbered from a half": lambda: GAME.numbered(0.5),
    "a slice beyond the batch": lambda: GAME.slice(0, 5),
    "a slice from the end": lambda: GAME.slice(-1, 1),
    "a slice turned round": lambda: GAME.slice(1, 0),
    "a word for two sides": lambda: flip_top_of_margins([[0, 1], [-1, 0]], two_sided="no"),
    "no loss": lambda: next_matches(COUNTS, 2, None, games=1),
    "names that are a number": lambda: bradley_terry([[0, 1], [0, 0]], names=5),
    "a flow whose square overflows": lambda: hodge(np.array([[0, 1e300], [-1e300, 0]])),
    "weights whose sum overflows": lambda: hodge(np.array([[0, 1.0], [-1, 0]]), np.array([[0, 1e300], [1e300, 0]])),
    "features whose squares overflow": lambda: contextual_bradley_terry(
        FOUGHT, [[1e200]], options=ContextualOptions(prior=1.0, feature_prior=1.0)
    ),
    "margins whose sum overflows": lambda: read_margins("x,a,b\na,0,1e308\nb,-1e308,0\n"),
    "a file that is bytes": lambda: read_profile(b"1: 1"),
    "no file": lambda: read_margins(None),
    "no table": lambda: read_scores(5),
    "a file opened as text": lambda: read_scores(io.StringIO("x,a\nt,1\n")),
    "margins opened as text": lambda: read_margins(io.StringIO("x,a\na,0\n")),
    "votes opened as text": lambda: read_profile(io.StringIO("1: 1")),
    "payoffs whose squares vanish": lambda: cce(NormalForm.of([np.eye(2) * 1e-300, np.eye(2)])),
    "payoffs next to the least float": lambda: lle(NormalForm.of([np.eye(2) * 1e-310, np.eye(2)])),
    "tallies of another kind": lambda: PairTally().merge(PlaceTally()),
    "tallies of other sides": lambda: PlaceTally().merge(TeamTally()),
    "outcomes that are none": lambda: PairTally().add([], np.zeros(0, np.int64)),
    "measurements that are none": lambda: ScoreTable().add(GAME, np.zeros(1, np.int64)),
    "keys of other comparisons": lambda: outcome_replicates(COUNTS, seed=0, replicates=2),
    "a prior lost in rounding": lambda: bradley_terry([[0, 2e15], [1e15, 0]], options=BradleyTerryOptions(prior=1.0)),
}


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument
    assert caught.value.rule


@pytest.mark.parametrize("method", [*OF_PROFILES, *OF_COUNTS, *OF_OUTCOMES, *OF_RANKINGS])
@pytest.mark.parametrize("other", [None, "abc", 5, [[0, 1], [1, 0]]], ids=["nothing", "text", "a number", "lists"])
def test_what_is_no_record_of_its_kind(method, other):
    refused(lambda: {**OF_PROFILES, **OF_COUNTS, **OF_OUTCOMES, **OF_RANKINGS}[method](other))


@pytest.mark.parametrize("what", BALLOTS)
def test_ballots_that_are_none(what):
    refused(lambda: Profile.from_ballots([Ballot(1, ((0,), (1,))), BALLOTS[what]], "ab"))


@pytest.mark.parametrize("what", CASES)
def test_parts_that_are_none(what):
    refused(CASES[what])


def test_lists_and_numbers_of_any_type_are_taken():
    arrays = OutcomeBatch.of_pairs(np.array([0, 1], np.int32), np.array([1, 0], np.int64), np.array([1.0, 0.5]), 2)
    lists = OutcomeBatch.of_pairs([0, 1], [1, 0], [1, 0.5], 2)
    assert (lists.agent.tolist(), lists.place.tolist()) == (arrays.agent.tolist(), arrays.place.tolist())
    assert OutcomeBatch.of_rankings([[1, 0]], 2).agent.tolist() == [1, 0]
    assert VOTES.take([2, 0]).names == ("2", "0")
    assert approval(VOTES, 10**30).ratings.tolist() == [2, 2, 2]
    assert len(OutcomeBatch.of_pairs([], [], [], 2)) == 0


def test_counts_of_any_size_are_fitted():
    """Without a prior their unit does not matter; with one it must not vanish beside them."""
    wins = np.array([[0, 2.0, 1.0], [1.0, 0, 3.0], [2.0, 1.0, 0]])
    plain, ties = bradley_terry(wins).ratings, wins + wins.T
    for unit in (1e-140, 1e15, 1e140):
        assert bradley_terry(wins * unit).ratings == pytest.approx(plain, abs=1e-6)
        assert davidson(wins * unit, ties * unit).ratings == pytest.approx(davidson(wins, ties).ratings, abs=1e-6)
    assert bradley_terry(wins * 1e12, options=BradleyTerryOptions(prior=1.0)).ratings.mean() == pytest.approx(1500, abs=1e-2)

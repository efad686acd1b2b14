"""Records, intervals, replicates and tallies, argument by argument, against values that make no sense: each is refused by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ratings_core.analysis.contributions import contributions
from ratings_core.analysis.intervals import including, intervals_of, replicate_intervals, replicate_weights
from ratings_core.analysis.jackknife import jackknife_intervals
from ratings_core.analysis.normal_intervals import normal_intervals
from ratings_core.analysis.rank_intervals import (
    simultaneous_ranks,
    simultaneous_ranks_of_deviations,
    simultaneous_ranks_of_draws,
    simultaneous_ranks_of_errors,
)
from ratings_core.analysis.resampling import PairGroups, drawn_columns, poisson_pairs, poisson_places, poisson_weights
from ratings_core.arrays.arena import pack
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.pair_counts import of_tally
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_posterior, soft_condorcet_sgd
from ratings_core.deadline import Deadline
from ratings_core.errors import InputError
from ratings_core.games import Duels, NormalForm, agent_vs_agent, duel_on_task, uniform_mixes
from ratings_core.graphs import members, strong_components, weak_components
from ratings_core.margins import MarginDraws, posterior_copeland, posterior_lottery, posterior_margins
from ratings_core.online import Elo, Melo, Prequential
from ratings_core.online.melo import MeloState
from ratings_core.online.state import OnlineState
from ratings_core.ranking import Ranking
from ratings_core.records.beliefs import NO_STRETCH, Belief, BeliefModel, Stretch
from ratings_core.records.names import are_names, check_name, check_visible_name, hidden_character, is_name
from ratings_core.records.outcomes import Outcome, OutcomeBatch, ScoreBatch, Scores, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairCounts, PairTally, PlaceTally, ScoreTable
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile
from tests.support.options import assert_refused

WINS = np.array([[0, 3, 1.0], [2, 0, 2], [1, 1, 0]])
COUNTS = PairCounts.from_dense(WINS)
PAIRS = of_tally(COUNTS, 3)
VOTES = Profile.from_orders([[0, 1, 2], [2, 1, 0]])
BATCH = OutcomeBatch.of_pairs([0, 1, 2], [1, 2, 0], [1, 0.5, 0], 3)
SIDES = (Side(("ann",), 1), Side(("bob",), 2))
PLACES = PlaceTally().counts()
GROUPS = PairGroups([COUNTS, COUNTS])
MARGINS = posterior_margins(WINS)
GAME = NormalForm.of([WINS - WINS.T, WINS.T - WINS])
RATED, RANKED = np.array([[1.0, 2, 3], [2, 1, 3]]), np.array([[3, 2, 1], [2, 3, 1]])
KEY = np.arange(6, dtype=np.uint64).reshape(3, 2)
BELIEFS = BeliefModel(350.0, period_seconds=60.0)
ROSTER = Roster()
ROSTER.intern(["ann", "bob"])


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


SUBJECTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "poisson_weights": (poisson_weights, {"weight": np.ones(3), "rng": rng()}),
    "poisson_pairs": (poisson_pairs, {"counts": COUNTS, "rng": rng()}),
    "poisson_places": (poisson_places, {"places": PLACES, "rng": rng()}),
    "drawn_columns": (drawn_columns, {"member": np.array([0, 1, 1]), "rng": rng()}),
    "PairGroups": (PairGroups, {"groups": [COUNTS, COUNTS]}),
    "PairGroups.weighted": (GROUPS.weighted, {"weight": np.ones(2)}),
    "PairGroups.replicate": (GROUPS.replicate, {"rng": rng()}),
    "intervals_of": (
        intervals_of,
        {"ratings": RATED, "ranks": RANKED, "level": 0.9, "estimate": RATED[0], "ranked": np.array([1, 1, 0], bool)},
    ),
    "replicate_intervals": (replicate_intervals, {"fit": lambda _: np.ones(3), "replicates": [PAIRS] * 2}),
    "jackknife_intervals": (jackknife_intervals, {"fit": lambda _: np.ones(3), "whole": PAIRS, "deletions": [PAIRS] * 2}),
    "including": (including, {"intervals": intervals_of(RATED), "ratings": RATED[0], "ranks": RANKED[0]}),
    "replicate_weights": (replicate_weights, {"key": KEY, "seed": 0, "replicate": 0}),
    "normal_intervals": (normal_intervals, {"counts": PAIRS, "theta": np.zeros(3), "nu": None, "groups": ()}),
    "simultaneous_ranks": (simultaneous_ranks, {"theta": np.zeros(3), "covariance": np.eye(3), "freedom": None}),
    "simultaneous_ranks_of_errors": (simultaneous_ranks_of_errors, {"theta": np.zeros(3), "error": np.ones(3), "freedom": None}),
    "simultaneous_ranks_of_deviations": (simultaneous_ranks_of_deviations, {"theta": np.zeros(3), "deviations": np.ones((2, 3))}),
    "simultaneous_ranks_of_draws": (simultaneous_ranks_of_draws, {"draws": RATED, "ranks": RANKED, "estimate": None, "units": 2}),
    "posterior_copeland": (posterior_copeland, {"margins": MARGINS}),
    "posterior_lottery": (posterior_lottery, {"margins": MARGINS}),
    "PosteriorMargins.rows": (MARGINS.rows, {"agents": np.array([0])}),
    "PosteriorMargins.block": (MARGINS.block, {"agents": np.array([0])}),
    "PosteriorMargins.win_less_loss": (MARGINS.win_less_loss, {"first": np.array([0]), "second": np.array([1])}),
    "MarginDraws.of": (MarginDraws.of, {"counts": PAIRS, "margins": MARGINS, "prior": 1.0}),
    "MarginDraws.draw": (MarginDraws.of(PAIRS, MARGINS, 1.0).draw, {"rng": rng()}),
    "check_name": (check_name, {"name": "ann"}),
    "check_visible_name": (check_visible_name, {"name": "ann"}),
    "hidden_character": (hidden_character, {"text": "ann"}),
    "pack": (pack, {"names": ["ann"]}),
    "Side": (Side, {"agents": ("ann",), "place": 1}),
    "an agent of Side": (lambda agent: Side((agent,), 1), {"agent": "ann"}),
    "Outcome": (Outcome, {"sides": SIDES, "task": "t"}),
    "Scores": (Scores, {"task": "t", "scores": (("ann", 1.0),)}),
    "an agent of Scores": (lambda agent: Scores("t", ((agent, 1.0),)), {"agent": "ann"}),
    "OutcomeBatch.of": (OutcomeBatch.of, {"outcomes": [Outcome(SIDES)], "roster": Roster(), "tasks": Roster()}),
    "ScoreBatch.of": (ScoreBatch.of, {"measurements": [Scores("t", (("ann", 1.0),))], "roster": Roster(), "tasks": Roster()}),
    "OutcomeBatch.numbered": (BATCH.numbered, {"first": 0}),
    "Ranking.from_levels": (Ranking.from_levels, {"levels": [[0], [1]]}),
    "Ranking.order": (Ranking.from_scores([1, 2]).order, {"names": ["ann", "bob"]}),
    "Roster.intern": (Roster().intern, {"names": ["ann"]}),
    "Roster.lookup": (ROSTER.lookup, {"names": ["ann"]}),
    "Roster.name": (ROSTER.name, {"agent": 0}),
    "Roster.names": (ROSTER.names, {"ids": [0]}),
    "Roster.from_arrays": (Roster.from_arrays, {"arrays": ROSTER.arrays()}),
    "Prequential.from_arrays": (Prequential.from_arrays, {"arrays": Prequential().arrays()}),
    "OnlineState.from_arrays": (OnlineState.from_arrays, {"arrays": Elo().init(2).arrays()}),
    "Reading.provisional": (Elo().read(Elo().init(2), np.array([0], np.int32)).provisional, {"outcomes": 1, "deviation": 1.0}),
    "PairTally.add": (PairTally().add, {"batch": BATCH, "bucket": np.zeros(3, np.int64)}),
    "PairTally.counts": (PairTally().counts, {"buckets": None}),
    "PairCounts": (PairCounts, {name: getattr(COUNTS, name) for name in ("first", "second", "wins", "losses", "ties")}),
    "PairCounts.dense": (COUNTS.dense, {"n": 3}),
    "PairCounts.margins": (COUNTS.margins, {"n": 3}),
    "Profile": (Profile, {name: getattr(VOTES, name) for name in ("names", "start", "agent", "level", "weight")}),
    "Profile.from_ballots": (Profile.from_ballots, {"ballots": [Ballot(1, ((0,), (1,)))], "names": ["ann", "bob"]}),
    "weight of a Ballot": (lambda weight: Profile.from_ballots([Ballot(weight, ((0,), (1,)))], ["ann", "bob"]), {"weight": 1.0}),
    "levels of a Ballot": (lambda levels: Profile.from_ballots([Ballot(1.0, levels)], ["ann", "bob"]), {"levels": ((0,), (1,))}),
    "a level of a Ballot": (lambda level: Profile.from_ballots([Ballot(1.0, (level,))], ["ann", "bob"]), {"level": (0, 1)}),
    "an agent of a Ballot": (lambda agent: Profile.from_ballots([Ballot(1.0, ((0, agent),))], ["ann", "bob"]), {"agent": 1}),
    "Deadline.within": (Deadline.within, {"max_seconds": 1.0}),
    "strong_components": (strong_components, {"tails": np.array([0, 1]), "heads": np.array([1, 2]), "size": 3}),
    "weak_components": (weak_components, {"tails": np.array([0, 1]), "heads": np.array([1, 2]), "size": 3}),
    "members": (members, {"labels": np.array([0, 1, 0])}),
    "BeliefModel": (BeliefModel, {"newcomer": 350.0, "period_seconds": 60.0, "logit": 100.0, "stretch": NO_STRETCH}),
    "start of BeliefModel": (lambda start: BeliefModel(350.0, start=start), {"start": 1500.0}),
    "below of BeliefModel": (lambda below: BeliefModel(350.0, below=below), {"below": 3.0}),
    "a factor of Stretch": (lambda factor: BeliefModel(350.0, stretch=Stretch(distance=factor)), {"factor": 0.1}),
    "BeliefModel.deviation": (BELIEFS.deviation, {"belief": Belief(50.0, 10.0, 5), "time": 600.0}),
    "BeliefModel.interval": (BELIEFS.interval, {"rating": 1500.0, "belief": Belief(50.0), "time": None}),
    "deviation of a Belief": (lambda deviation: BELIEFS.deviation(Belief(deviation), 600.0), {"deviation": 50.0}),
    "wander of a Belief": (lambda wander: BELIEFS.deviation(Belief(50.0, wander), 600.0), {"wander": 10.0}),
    "since of a Belief": (lambda since: BELIEFS.deviation(Belief(50.0, 10.0, since), 600.0), {"since": 5}),
    "Contributions.of": (contributions(GAME, [np.full(3, 1 / 3)] * 2).of, {"strategy": GAME.strategies[0][0]}),
}
NONSENSE: dict[str, Any] = {
    "nothing": None,
    "less than nothing": -1,
    "a broken number": 2.5,
    "no number": float("nan"),
    "less than any number": float("-inf"),
    "a number beyond doubles": 10**400,
    "text": "nonsense",
    "bytes": b"nonsense",
    "an object": object(),
    "a function": len,
    "a dict": {"a": 1},
    "a set": {1, 2},
    "names and nothing": ["a", None, "c"],
    "numbers that are none": np.array([1.0, np.nan, np.inf]),
    "a matrix of infinity": np.full((3, 3), np.inf),
    "lists too deep": np.ones((2, 2, 2)),
    "no axis": np.array(1.5),
    "objects": np.array([[None, 1], [1, 0]], object),
    "complex numbers": np.ones(3, complex),
    "names in an array": np.array(["a", "b", "c"]),
    "ids from the end": np.array([-1, 0]),
    "ids beyond signed ones": np.array([2**64 - 1, 1], np.uint64),
    "a masked array": np.ma.masked_array(np.ones((3, 3)), np.eye(3)),
}
SIGNED_OF_BELIEFS = {"start of BeliefModel-start", "below of BeliefModel-below", "a factor of Stretch-factor"} | {
    "BeliefModel.deviation-time",
    "BeliefModel.interval-rating",
    "BeliefModel.interval-time",
}
OF_BELIEFS = SIGNED_OF_BELIEFS | {
    "BeliefModel-newcomer",
    "BeliefModel-period_seconds",
    "BeliefModel-logit",
    "deviation of a Belief-deviation",
    "wander of a Belief-wander",
}
"""Arguments that may be any number of some range, which contains 2.5."""
ACCEPTED = {
    "nothing": {"intervals_of-ranks", "normal_intervals-nu", "simultaneous_ranks-freedom", "Outcome-task", "OutcomeBatch.of-tasks"}
    | {"Roster.names-ids", "PairTally.counts-buckets", "BeliefModel-period_seconds", "BeliefModel.deviation-time"}
    | {"BeliefModel.interval-time", "simultaneous_ranks_of_errors-freedom", "simultaneous_ranks_of_draws-estimate"}
    | {"intervals_of-estimate", "intervals_of-ranked"},
    "a broken number": {"normal_intervals-nu", "MarginDraws.of-prior", "Reading.provisional-deviation", "Deadline.within-max_seconds"}
    | {"weight of a Ballot-weight"}
    | OF_BELIEFS,
    "less than nothing": {"Side-place", "since of a Belief-since"} | SIGNED_OF_BELIEFS,
    "a number beyond doubles": {"Reading.provisional-outcomes"},
    "no axis": {"normal_intervals-nu", "MarginDraws.of-prior", "Reading.provisional-deviation", "Deadline.within-max_seconds"}
    | {"weight of a Ballot-weight"}
    | OF_BELIEFS,
    "text": {
        "Ranking.order-names",
        "check_name-name",
        "check_visible_name-name",
        "hidden_character-text",
        "an agent of Side-agent",
        "Outcome-task",
        "Scores-task",
    }
    | {"an agent of Scores-agent"},
    "names in an array": {
        "Profile.from_ballots-names",
        "pack-names",
        "Side-agents",
        "Ranking.order-names",
        "Roster.intern-names",
        "Roster.lookup-names",
    },
    "names and nothing": {"Ranking.order-names"},
    "bytes": {"Ranking.order-names"},
    "numbers that are none": {"including-ratings", "Ranking.order-names"},
    "a matrix of infinity": {"Ranking.order-names"},
    "lists too deep": {"poisson_weights-weight", "Ranking.order-names"},
    "objects": {"Ranking.order-names"},
    "complex numbers": {"Ranking.order-names"},
    "ids from the end": {"Ranking.order-names"},
    "ids beyond signed ones": {"Ranking.order-names", "PairGroups.weighted-weight"},
    "a masked array": {"Ranking.order-names"},
    "a function": {"replicate_intervals-fit", "jackknife_intervals-fit", "jackknife_intervals-whole"},
}
"""Values that do make sense, or what the caller's own function decides about."""
CASES = [
    (name, argument) for name, (_, given) in SUBJECTS.items() for argument in given if argument not in ("whole", "replicates", "deletions")
]


@pytest.mark.parametrize(("name", "argument"), CASES, ids=[f"{name}-{argument}" for name, argument in CASES])
def test_nonsense_is_refused_by_name(name, argument):
    function, given = SUBJECTS[name]
    function(**given)
    for what, value in NONSENSE.items():
        if f"{name}-{argument}" in ACCEPTED.get(what, ()):
            continue
        assert_refused(partial(function, **{**given, argument: value}), what)


@pytest.mark.parametrize("tallies", [None, 5, PAIRS, np.array(1.0)])
def test_what_cannot_be_gone_through_holds_no_tallies(tallies):
    for argument, call in {
        "replicates": lambda: replicate_intervals(lambda _: np.ones(3), tallies),
        "deletions": lambda: jackknife_intervals(lambda _: np.ones(3), PAIRS, tallies),
    }.items():
        with pytest.raises(InputError, match=f"^{argument} must be iterable"):
            call()


@pytest.mark.parametrize("name", [None, 5, b"ann", ["ann"], float("nan")])
def test_what_is_no_text_is_no_name(name):
    assert not is_name(name)
    assert not are_names(["ann", name])
    with pytest.raises(InputError, match=r"^agent must be text"):
        check_name(name, "agent")


@pytest.mark.parametrize("names", [None, 5, {"ann"}, "ann"])
def test_what_is_no_list_holds_no_names(names):
    with pytest.raises(InputError, match=r"^names must be"):
        are_names(names)


@pytest.mark.parametrize("agent", [None, 5, b"ann", ("ann",)])
def test_the_place_of_an_agent_that_is_no_name_is_told(agent):
    with pytest.raises(InputError) as refused:
        Side(("ann", agent), 1)
    assert (refused.value.argument, refused.value.value, refused.value.rule) == ("agents[1]", agent, "must be a str")
    with pytest.raises(InputError) as refused:
        Scores("t", (("ann", 1.0), (agent, 2.0)))
    assert (refused.value.argument, refused.value.value) == ("scores[1][0]", agent)


@pytest.mark.parametrize("agent", [None, "ann", 0.5, True, -1])
def test_the_place_of_an_id_in_a_ballot_that_is_none_is_told(agent):
    with pytest.raises(InputError) as refused:
        Profile.from_ballots([Ballot(1, ((0,), (1,))), Ballot(1, ((1,), (0, agent)))], "ab")
    assert (refused.value.argument, refused.value.value) == ("ballots[1].levels[1][1]", agent)


@pytest.mark.parametrize("size", [2**31, 2**63, 10**400])
def test_arrays_that_no_machine_holds_are_refused_before_they_are_made(size):
    for argument, call in {
        "batch": lambda: soft_condorcet_sgd(VOTES, seed=0, batch=size),
        "samples": lambda: soft_condorcet_posterior(VOTES, seed=0, samples=size),
        "agents": lambda: Duels.of_counts([COUNTS], size),
        "n": lambda: agent_vs_agent(COUNTS, size, payoff="win_rate"),
        "shape[1]": lambda: uniform_mixes((2, size + 1)),
        "size": lambda: strong_components(np.array([0]), np.array([1]), size + 1),
        "n_agents": lambda: ScoreTable().means(size + 1, 1),
        "n_tasks": lambda: ScoreTable().means(1, size + 1),
        "m": lambda: of_tally(COUNTS, size + 1),
    }.items():
        with pytest.raises(InputError) as refused:
            call()
        assert refused.value.argument == argument


@pytest.mark.parametrize("rule", [plurality, borda, partial(approval, k=1)])
@pytest.mark.parametrize("agents", [2**31 + 1, 2**63, 10**400])
def test_a_vote_over_more_agents_than_there_are_ids_is_refused(rule, agents):
    with pytest.raises(InputError, match=r"^agents must be at most 2147483648"):
        rule(PLACES, agents=agents)


def test_comparisons_between_more_agents_than_there_are_ids_are_refused():
    with pytest.raises(InputError, match=r"^m must be at most 2147483648"):
        Comparisons.of_outcomes(BATCH, 2**31 + 1)


def test_a_matrix_of_scores_with_more_cells_than_a_dense_matrix_may_have_is_refused():
    """Both bounds are valid ids. Their product is one row more than 2**40 cells."""
    with pytest.raises(InputError, match=r"^n_agents, n_tasks must have a product of at most 1099511627776"):
        ScoreTable().means(2**20 + 1, 2**20)


@pytest.mark.parametrize("number", [10.5, -1e200, 1e308])
def test_a_state_with_vectors_that_no_fold_leaves_is_refused(number):
    """Products of such vectors overflow, and a prediction is then no number."""
    arrays = Melo().init(2).arrays()
    with pytest.raises(InputError, match=r"vector.*within \+-10"):
        MeloState.from_arrays({**arrays, "vector": np.full((2, 2), number)})
    assert Melo().predict(MeloState.from_arrays({**arrays, "vector": np.full((2, 2), 10.0)}), 0, 1) == 0.5


def test_a_prior_that_drowns_all_games_leaves_differences_as_they_are_observed():
    duels = Duels.of_counts([COUNTS, COUNTS], 3)
    far, farther = (duel_on_task(duels, missing="prior", kappa=kappa).game for kappa in (1e15, 1e300))
    np.testing.assert_allclose(farther.payoffs_at(np.array([[0, 1, 0]])), far.payoffs_at(np.array([[0, 1, 0]])), atol=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_layout_and_permission_of_arrays_do_not_matter(level):
    ratings, ranks = np.asfortranarray(np.repeat(RATED, 2, axis=1)[:, ::2]), RANKED.astype(">i8")
    for array in (ratings, ranks):
        array.flags.writeable = False
    plain, found = intervals_of(RATED, RANKED, level=level), intervals_of(ratings, ranks, level=level)
    for name in ("low", "high", "rank_low", "rank_high", "error"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))

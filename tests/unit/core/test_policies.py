"""Ratings under every policy for missing cells side by side, and |u| freed of the noise of few games."""

import itertools

import numpy as np
import pytest

from ratings_core.analysis.policies import POLICIES, by_policy
from ratings_core.equilibria import deviation, nash_average
from ratings_core.errors import InputError
from ratings_core.games import Duels, agent_vs_task, duel_on_task
from ratings_core.games.duel_noise import denoised
from ratings_core.tallies import PairCounts

NAN = np.nan


def test_each_policy_has_the_ratings_of_its_own_game():
    scores = np.random.default_rng(0).normal(size=(5, 4))
    scores[1, 2] = NAN
    found = by_policy(lambda missing: agent_vs_task(scores, missing=missing), lambda game: game.payoffs[0].mean(axis=1))
    assert found.policies == POLICIES
    assert found.refused == {}
    assert found.imputed.tolist() == [0.05, 0.05, 0, 0]
    assert (found.dropped_agents.tolist(), found.dropped_tasks.tolist()) == ([0, 0, 0, 1], [0, 0, 1, 0])
    assert found.ratings[0] == pytest.approx(np.nan_to_num(scores).mean(axis=1))
    assert found.ratings[2] == pytest.approx(np.delete(scores, 2, axis=1).mean(axis=1))
    assert np.isnan(found.ratings[3]).tolist() == np.isnan(found.moved).tolist() == [False, True, False, False, False]


def test_a_complete_table_is_one_game_whatever_the_policy():
    scores = np.random.default_rng(1).normal(size=(6, 5))
    found = by_policy(lambda missing: agent_vs_task(scores, missing=missing), lambda game: nash_average(game.payoffs[0]).ratings)
    assert found.moved.tolist() == [0] * 6
    assert (found.ratings == found.ratings[0]).all()


def test_an_order_that_rests_on_a_policy_shows():
    """The newcomer was measured on the two easy tasks only: first where those are all, last where the rest counts as 0."""
    scores = np.array([[0.9, 0.8, 0.7, 0.6], [0.8, 0.7, 0.6, 0.5], [1.0, 0.95, NAN, NAN]])
    found = by_policy(lambda missing: agent_vs_task(scores, missing=missing), lambda game: game.payoffs[0].mean(axis=1))
    rank = dict(zip(found.policies, found.ratings.tolist(), strict=True))
    assert rank["drop_tasks"][2] == max(rank["drop_tasks"])
    assert rank["zero"][2] == min(rank["zero"])


def test_policies_that_leave_nothing_say_why():
    def rate(game):
        return deviation(game).ratings

    scores = np.array([[1.0, NAN], [NAN, 2.0]])
    found = by_policy(lambda missing: agent_vs_task(scores, missing=missing), rate)
    assert found.policies == ("zero",)
    assert set(found.refused) == {"prior", "drop_tasks", "drop_agents"}
    assert all("missing" in why for why in found.refused.values())
    with pytest.raises(InputError, match="make"):
        by_policy(lambda missing: agent_vs_task([[NAN]], missing=missing), rate)


# noise


@pytest.mark.parametrize(("n", "tie"), [(2, 0.0), (3, 0.3), (5, 0.5)])
@pytest.mark.parametrize("edge", [0.0, 0.4])
def test_squares_are_estimated_without_bias(n, tie, edge):
    """Over all sequences of n results, by their chances: before the root, and before what is below 0 is cut off."""
    chances = {1: (1 - tie) * (1 + edge) / 2, 0: tie, -1: (1 - tie) * (1 - edge) / 2}
    total = 0.0
    for results in itertools.product(chances, repeat=n):
        u, d = np.mean(results), np.mean(np.abs(results))
        total += np.prod([chances[result] for result in results]) * (u * u - d / n) / (1 - 1 / n)
    assert total == pytest.approx(((1 - tie) * edge) ** 2, abs=1e-12)


def test_it_is_that_estimate():
    u, games, decided = np.array([[[0, 0.5], [-0.5, 0]]]), np.full((1, 2, 2), 8.0), np.full((1, 2, 2), 6.0)
    assert denoised(u, games, decided)[0, 0, 1] == pytest.approx(np.sqrt((0.25 - 0.75 / 8) / (1 - 1 / 8)))
    assert denoised(u, games, decided, kappa=4.0)[0, 0, 1] == pytest.approx(np.sqrt((0.25 - 0.75 / 18) / (1 - 1 / 18)))
    assert denoised(u, games * 0, decided * 0, kappa=1.0)[0, 0, 1] == 0.5
    assert denoised(np.sign(u), games / 8, decided / 6)[0].tolist() == [[0, 0], [0, 0]]


def test_a_coin_toss_looks_like_less():
    """Ten games of equals: |u| is .25 on average, freed a half of that; of unequal ones it hardly moves."""
    rng = np.random.default_rng(2)
    for edge, wanted in ((0.0, 0.13), (0.8, 0.78)):
        won = rng.binomial(10, (1 + edge) / 2, (4_000, 1, 1)).astype(float)
        u, games = (2 * won - 10) / 10, np.full((4_000, 1, 1), 10.0)
        assert denoised(u, games, games).mean() == pytest.approx(wanted, abs=0.02)
        assert np.abs(u).mean() == pytest.approx(edge or 0.25, abs=0.02)


def test_the_tasks_payoff_is_freed_where_asked_for():
    votes = [PairCounts.from_dense([[0, 1], [0, 0]]), PairCounts.from_dense([[0, 40], [20, 0]])]
    counts = Duels.of_counts(votes, 2)
    observed, freed = (duel_on_task(counts, difference=how).game.payoffs for how in ("observed", "denoised"))
    assert [part.tolist() for part in observed[:2]] == [part.tolist() for part in freed[:2]]
    assert observed[2][0, 1].tolist() == pytest.approx([1, 1 / 3])
    assert freed[2][0, 1].tolist() == pytest.approx([0, np.sqrt((1 / 9 - 1 / 60) / (1 - 1 / 60))])
    assert np.array_equal(freed[2], np.swapaxes(freed[2], 0, 1))


def test_copies_stay_copies_and_ties_tell_tasks_apart_only_where_they_count():
    win, tie = [[0, 3], [1, 0]], [[0, 4], [4, 0]]
    same = [PairCounts.from_dense(win), PairCounts.from_dense(win)]
    tied = [PairCounts.from_dense([[0, 6], [2, 0]]), PairCounts.from_dense([[0, 4], [0, 0]], tie)]
    for votes, difference, tasks in ((same, "denoised", 1), (tied, "observed", 1), (tied, "denoised", 2)):
        assert duel_on_task(Duels.of_counts(votes, 2), difference=difference).game.shape[2] == tasks


def test_differences_and_other_words_are_refused():
    for duels, difference in ((Duels.of_scores([[1.0], [2.0]], "differences"), "denoised"), (Duels.of_scores([[1.0], [2.0]]), "true")):
        with pytest.raises(InputError, match="difference"):
            duel_on_task(duels, difference=difference)


@pytest.mark.parametrize("weight", [0.25, 1.5])
def test_votes_of_other_weights_are_not_freed(weight):
    """A vote of weight 4 would pass for four votes, and a quarter of one for none; what is no whole number of votes tells itself."""
    votes = Duels.of_counts([PairCounts.from_dense([[0.0, weight], [3.0, 0.0]])], 2)
    duel_on_task(votes)
    with pytest.raises(InputError, match="games of weight 1"):
        duel_on_task(votes, difference="denoised")


def test_what_is_no_game_is_refused_by_name_and_is_no_policys_fault():
    with pytest.raises(InputError, match="make must be a Gamified"):
        by_policy(lambda _: np.zeros(3), lambda game: game)
